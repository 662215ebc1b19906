// What is shown of a row: what the paper says, its figures, its numbers.

// The tables and figures of the papers, each a link.
function list(papers) {
  const link = ({ id, title }) => make("a", { href: `#figure=${id}`, title }, make("b", { textContent: id.split("-")[1] }), title);
  byId("rows").replaceChildren(...papers.flatMap(({ id, title, rows }) => [make("h2", { textContent: `${id}: ${title}` }), ...rows.map(link)]));
}

// A row before its numbers are there.
function frame({ id, title, reported, claim, slider }) {
  byId("row-title").replaceChildren(`${id} `, make("small", { textContent: title }), " ", make("span", { id: "verdict", className: "verdict", hidden: true }));
  const terms = [["The paper", reported], ["Must come out", claim]];
  byId("claims").replaceChildren(...terms.flatMap(([term, text]) => [make("dt", { textContent: term }), make("dd", { textContent: text })]));
  for (const link of byId("rows").querySelectorAll("a")) {
    if (link.hash === `#figure=${id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const [rows, current] = [byId("rows"), byId("rows").querySelector("[aria-current]")];
  if (current.offsetTop < rows.scrollTop || current.offsetTop > rows.scrollTop + rows.clientHeight - 40) rows.scrollTop = current.offsetTop - 60;
  byId("numbers").hidden = true;
  byId("beside").hidden = true;
  byId("slider").hidden = !slider;
  if (!slider) return;
  const [min, max] = slider.range;
  Object.assign(byId("value"), { min, max, step: slider.step });
  byId("value").value = String(shown.at ?? slider.start);
  byId("slider-what").textContent = `Your own, with one seed: ${slider.what}`;
  showValue(slider, shown.at);
}

function showValue({ unit }, at) {
  const text = at == null ? "move it" : `${significant(at, 5)}${unit ? ` ${unit}` : ""}`;
  byId("slider-value").textContent = text;
  byId("value").setAttribute("aria-valuetext", text);
}

// Figures come as SVG from the module; their texts are escaped there.
function place(id, figures) {
  byId(id).replaceChildren(...figures.map((svg) => { const figure = make("figure"); figure.innerHTML = svg; return figure; }));
  byId(id).hidden = !figures.length;
}

function note(text) {
  byId("state").textContent = text;
}

function complain(problem) {
  byId("problem").hidden = false;
  byId("problem").textContent = problem;
}

// A number as the report has it.
const written = (value) => (value == null ? "no data" : significant(value, 4));
function band({ min, max }) {
  if (min != null && max != null) return min === max ? written(min) : `${written(min)} … ${written(max)}`;
  return min != null ? `≥ ${written(min)}` : `≤ ${written(max)}`;
}

const VERDICTS = { held: "good", missed: "bad" };
function numbers({ verdict, checks, parameters, remarks, substitute }, seeds) {
  const isJudged = seeds === SEEDS;
  Object.assign(byId("verdict"), { hidden: !isJudged, textContent: verdict, className: `verdict ${VERDICTS[verdict] ?? ""}` });
  const head = ["number", "paper", `ours${seeds === 1 ? ", one seed" : ""}`, "tolerance", isJudged ? "" : null];
  const rows = checks.map((check) => {
    const ours = `${written(check.ours)}${check.ci95 == null ? "" : ` ± ${written(check.ci95)}`}`;
    const result = check.counts ? make("span", { className: check.held ? "good" : "bad", textContent: check.held ? "held" : "missed" }) : "reported";
    const cells = [check.what + (check.unit ? `, ${check.unit}` : ""), check.paper == null ? "" : written(check.paper), ours, check.counts ? band(check.band) : ""];
    return make("tr", { className: check.counts ? "" : "aside" }, ...cells.map((text) => make("td", { textContent: text })), ...(isJudged ? [make("td", {}, result)] : []));
  });
  byId("checks").replaceChildren(make("thead", {}, make("tr", {}, ...head.filter((text) => text != null).map((text) => make("th", { textContent: text })))), make("tbody", {}, ...rows));
  const notes = [...(substitute ? [`Substitute: ${substitute}.`] : []), ...remarks];
  byId("remarks").replaceChildren(...notes.map((text) => make("p", { textContent: text })));
  byId("command").textContent = [`seaway reproduce ${shown.row.id}`, ...Object.entries(parameters).map(([name, value]) => `${name}: ${value}`)].join("\n");
  byId("numbers").hidden = !checks.length;
}
