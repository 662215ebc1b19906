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

// ---- The picture: a row a controller, a column a point of a curve of loss. The best stand above.

const LOSS_CURVES = ["loss", "burst"];
const CLASSES = ["broken", "fair", "sharp"];
const MARKS = ["✕", "◐", "●"];

function seen(score) {
  if (!score?.psnr || !score.frozen) return null;
  const [psnr, frozen] = [score.psnr.mean, score.frozen.mean];
  const is = (least, most) => psnr >= least && frozen <= most;
  return { psnr, frozen, level: is(38, 2) ? 2 : is(33, 10) ? 1 : 0 };
}

function picture() {
  const tables = LOSS_CURVES.map((name) => card.curves.find((curve) => curve.name === name)).filter(Boolean).map((curve) => {
    const cases = card.cases.filter((one) => one.curve === curve.name).sort((a, b) => a.x - b.x);
    const views = (index) => cases.map(({ scores }) => seen(scores[index]));
    const worth = (index) => views(index).reduce((sum, view) => sum + (view ? view.level + view.psnr / 1e3 : 0), 0);
    const order = columns().sort((a, b) => worth(b) - worth(a));
    const head = make("tr", {}, make("th", { textContent: curve.label }), ...cases.map(({ x }) => make("th", { textContent: `${x} ${curve.unit}` })));
    const rows = order.map((index) => make("tr", {},
      owned(make("th", { scope: "row" }, dot(), card.controls[index]), index),
      ...views(index).map((view) => {
        if (!view) return make("td", { textContent: "–" });
        const frozen = view.frozen >= 0.5 ? `${view.frozen.toFixed(0)} % frozen` : "\u00a0";
        return make("td", { className: CLASSES[view.level], title: `${view.psnr.toFixed(1)} dB, frozen ${view.frozen.toFixed(1)} % of the time` },
          make("b", {}, `${MARKS[view.level]} ${view.psnr.toFixed(0)}`, make("span", { textContent: " dB" })), make("small", { textContent: frozen }));
      })));
    return make("div", { className: "scroll", tabIndex: 0 }, make("table", { className: "heat" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  });
  byId("picture-section").hidden = !tables.length;
  byId("picture").replaceChildren(...tables);
}

// ---- The bars: a row for each of the suite, with what each controller misses; its bars below once it is opened.

function bars() {
  byId("bars-section").hidden = !card.rows.length;
  const open = new Set([...byId("bars").querySelectorAll("tr.row[aria-expanded=true]")].map((row) => row.dataset.key));
  byId("bars").replaceChildren(...card.suites.filter(({ has_bars }) => has_bars).flatMap(({ suite }) => {
    const rows = card.rows.filter((row) => row.suite === suite);
    const head = make("tr", {}, make("th"), ...columns().map((index) => owned(make("th", {}, dot(), card.controls[index]), index)));
    const sums = make("tr", { className: "sum" }, make("th", { textContent: `rows whole, of ${rows.length}` }),
      ...columns().map((index) => make("td", {}, make("b", { textContent: rows.filter((row) => row.whole[index]).length }))));
    const body = rows.flatMap((row) => rowWithBars(row, `${suite} ${row.name}`, open));
    const table = make("table", { className: "bars" }, make("thead", {}, head), make("tbody", {}, sums, ...body));
    const title = make("h3", {}, `${TITLES[suite] ?? suite} `, make("small", { textContent: `${card.seeds} ${card.seeds === 1 ? "seed" : "seeds"}` }));
    return [title, make("div", { className: "scroll", tabIndex: 0 }, table)];
  }));
}

function rowWithBars(row, key, open) {
  const label = make("button", { type: "button", className: "open" }, `${row.name}: ${row.about}`);
  const verdict = (index) => {
    const missed = row.bars.filter(({ held }) => !held[index]).length;
    const text = missed ? `${missed} of ${row.bars.length}` : "● whole";
    return make("td", { className: missed ? (missed * 4 <= row.bars.length ? "fair" : "broken") : "sharp" }, make("b", { textContent: text }));
  };
  const head = make("tr", { className: "row" }, make("th", { scope: "row" }, label), ...columns().map(verdict));
  head.dataset.key = key;
  const bound = ({ least, most }) => [least != null ? `≥ ${figures(least)}` : "", most != null ? `≤ ${figures(most)}` : ""].filter(Boolean).join(", ");
  const inside = row.bars.map((bar) => make("tr", { className: "bar" },
    make("th", { scope: "row" }, bar.case, make("small", { textContent: `${bar.quantity} ${bound(bar)} ${bar.unit}` })),
    ...columns().map((index) => make("td", { className: bar.held[index] ? "" : "broken", textContent: bar.reached[index] == null ? "–" : figures(bar.reached[index]) }))));
  const show = (isOpen) => {
    head.setAttribute("aria-expanded", String(isOpen));
    for (const each of inside) each.hidden = !isOpen;
  };
  label.addEventListener("click", () => show(head.getAttribute("aria-expanded") !== "true"));
  show(open.has(key));
  return [head, ...inside];
}

// ---- Means of the suites: a row a controller.

const TITLES = {
  rfc8867: "RFC 8867: wired networks", rfc8869: "RFC 8869: cellular networks and Wi-Fi", curves: "All points of the curves",
  acceptance: "Acceptance", "real-loss": "Loss as it is measured", traps: "Traps that caught others",
};

function suites() {
  const compared = card.suites.filter(({ has_bars }) => !has_bars);
  byId("suites-section").hidden = !compared.length;
  byId("suites").replaceChildren(...compared.flatMap(({ suite, cases, scores }) => {
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

const withBars = new Set(card.suites.filter(({ has_bars }) => has_bars).map(({ suite }) => suite));
byId("cases-section").hidden = card.suites.every(({ has_bars }) => has_bars);

function caseTable() {
  const one = metric(byId("metric").value);
  byId("metric-about").textContent = [unitOf(one), one.about].filter(Boolean).join("; ");
  const head = make("tr", {}, make("th"), ...columns().map((index) => owned(make("th", {}, dot(), card.controls[index]), index)));
  const rows = [];
  let suite = null;
  for (const each of card.cases.filter(({ scores, suite: of }) => !withBars.has(of) && scores.some((score) => score?.[one.key]))) {
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
  picture();
  bars();
  suites();
  for (const group of document.querySelectorAll("#curves g")) group.toggleAttribute("hidden", !chosen.has(Number(group.dataset.curve)));
  caseTable();
}
show();
