// Every controller over every case.
const { card } = pageData();

const figures = (value) => {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
};

const chosen = chooser(card.controls, show, true);
const columns = () => [...card.controls.keys()].filter((index) => chosen.has(index));
const metric = (key) => card.metrics.find((candidate) => candidate.key === key);
const unitOf = ({ unit, kind }) => [unit, kind].filter(Boolean).join(", ");
// The cells of a metric for the chosen controllers.
function cells(scores, { key, better }) {
  const top = best(columns().map((index) => scores[index]?.[key]), better);
  const text = ({ mean, ci95 }) => [figures(mean), ci95 == null ? "" : figures(ci95)];
  return columns().map((index) => estimate(scores[index]?.[key], top, text));
}

// ---- Means of the suites: a row a controller.

const TITLES = {
  rfc8867: "RFC 8867: wired networks", rfc8869: "RFC 8869: cellular networks and Wi-Fi", curves: "All points of the curves",
};

function suites() {
  byId("suites").replaceChildren(...card.suites.flatMap(({ suite, cases, scores }) => {
    const known = card.metrics.filter(({ key }) => scores.some((score) => score[key]));
    const head = make("tr", {}, make("th"), ...known.map((one) =>
      make("th", {}, one.label, make("small", { textContent: unitOf(one) || "\u00a0" }))));
    const byMetric = known.map((one) => cells(scores, one));
    const rows = columns().map((index, place) => {
      const name = owned(make("th", { scope: "row" }, dot(), card.controls[index]), index);
      return make("tr", {}, name, ...byMetric.map((cells) => cells[place]));
    });
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    const title = make("h3", {}, `${TITLES[suite] ?? suite} `, make("small", { textContent: `${cases} cases, ${card.seeds} ${card.seeds === 1 ? "seed" : "seeds"}` }));
    return [title, make("div", { className: "scroll", tabIndex: 0 }, table)];
  }));
}

// ---- Curves: drawn already. They are shown or hidden, and read.

byId("curves-section").hidden = !card.curves.length;
for (const plot of document.querySelectorAll("#curves .plot")) {
  const curve = card.curves.find(({ name }) => name === plot.dataset.curve);
  const { key, label, unit } = metric(plot.dataset.metric);
  const cases = card.cases.filter((one) => one.curve === curve.name).sort((a, b) => a.x - b.x);
  const points = [...plot.querySelectorAll(".upright")];
  plot.addEventListener("pointermove", (event) => {
    const away = points.map((point) => Math.abs(point.getBoundingClientRect().x - event.clientX));
    const { x, scores } = cases[away.indexOf(Math.min(...away))];
    const known = columns().filter((index) => scores[index]?.[key]).sort((a, b) => scores[b][key].mean - scores[a][key].mean);
    const text = ({ mean, ci95 }) => quantity(mean, unit) + (ci95 == null ? "" : ` ± ${figures(ci95)}`);
    const list = known.map((index) =>
      owned(make("li", {}, dot(), card.controls[index], make("b", { textContent: text(scores[index][key]) })), index));
    showTip(event, make("strong", { textContent: `${curve.label}: ${x} ${curve.unit} · ${label}` }), make("ul", {}, ...list));
  });
  plot.addEventListener("pointerleave", hideTip);
}

// ---- Case by case: a column a controller.

function caseTable() {
  const one = metric(byId("metric").value);
  byId("metric-about").textContent = [unitOf(one), one.about].filter(Boolean).join("; ");
  const head = make("tr", {}, make("th"), ...columns().map((index) => owned(make("th", {}, dot(), card.controls[index]), index)));
  const rows = [];
  let suite = null;
  for (const each of card.cases.filter(({ scores }) => scores.some((score) => score?.[one.key]))) {
    if (each.suite !== suite) {
      suite = each.suite;
      rows.push(make("tr", { className: "suite" }, make("th", { textContent: TITLES[suite] ?? suite, colSpan: columns().length + 1 })));
    }
    const name = make("th", { scope: "row" }, each.name, make("small", { textContent: each.about }));
    rows.push(make("tr", {}, name, ...cells(each.scores, one)));
  }
  byId("cases").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

// ---- The page.

byId("left").append(...card.left_out.map(({ control, case: place, reason }) =>
  make("li", {}, make("b", { textContent: control }), `${place ? ` in ${place}` : ""}: ${reason}`)));
byId("left-section").hidden = !card.left_out.length;
byId("meaning").append(...card.metrics.flatMap(({ label, unit, kind, about }) => [
  make("dt", { textContent: label + (unit ? `, ${unit}` : "") }), make("dd", { textContent: (kind ? `${kind}: ` : "") + about }),
]));
byId("metric").append(...card.metrics.map(({ key, label }) => make("option", { value: key, textContent: label })));
byId("metric").addEventListener("change", caseTable);

function show() {
  suites();
  for (const group of document.querySelectorAll("#curves g")) group.toggleAttribute("hidden", !chosen.has(Number(group.dataset.curve)));
  caseTable();
}
show();
