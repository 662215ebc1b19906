// Every controller over every case.
const { card } = pageData();

const figures = (value) => {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
};
const withUnit = (value, unit) => (unit ? `${figures(value)} ${unit}` : figures(value));

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

// ---- Curves.

const SHOWN = ["utilisation", "queue_p95", "psnr"];
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [400, 230, 40, 10, 10, 34];

function curves() {
  byId("curves-section").hidden = !card.curves.length;
  byId("curves").replaceChildren(...card.curves.flatMap((curve) => [
    make("h3", { textContent: curve.label[0].toUpperCase() + curve.label.slice(1) }),
    make("div", { className: "plots" }, ...SHOWN.map((key) => plot(curve, metric(key)))),
  ]));
}

function plot(curve, one) {
  const { key, label, unit } = one;
  const cases = card.cases.filter((one) => one.curve === curve.name).sort((a, b) => a.x - b.x);
  const at = (index, each) => each.scores[index]?.[key];
  const ends = columns().flatMap((index) => cases.map((one) => at(index, one)?.mean).filter((mean) => mean != null));
  // The axis of PSNR need not begin at zero.
  let low = key === "psnr" ? Math.floor(Math.min(...ends) / 5) * 5 : 0;
  let high = Math.max(...ends, key === "utilisation" ? 100 : low + 1e-9);
  if (!ends.length) [low, high] = [0, 1];
  high += (high - low) * 0.04;
  // The points are evenly spaced, since most changes at small losses.
  const x = (one) => LEFT + 12 + cases.indexOf(one) / Math.max(1, cases.length - 1) * (WIDTH - LEFT - RIGHT - 12);
  const y = (value) => HEIGHT - BOTTOM - (Math.min(Math.max(value, low), high) - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label} against ${curve.label}` });
  for (const tick of ticks(low, high, 4)) {
    svg.append(drawn("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }));
    svg.append(drawn("text", { x: LEFT - 5, y: y(tick) + 4, "text-anchor": "end" }, String(tick)));
  }
  for (const one of cases) svg.append(drawn("text", { x: x(one), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, String(one.x)));
  svg.append(drawn("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, `${curve.label}, ${curve.unit}`));
  const lines = columns().map((index) => {
    const group = owned(drawn("g"), index);
    const points = cases.filter((one) => at(index, one)).map((one) => [x(one), at(index, one)]);
    const extra = index >= 8 ? " second" : "";
    for (const [left, { mean, ci95 }] of points) {
      if (ci95) group.append(drawn("line", { class: "bar", x1: left, x2: left, y1: y(mean - ci95), y2: y(mean + ci95) }));
    }
    group.append(drawn("polyline", { class: `line${extra}`, points: points.map(([left, { mean }]) => `${left},${y(mean)}`).join(" ") }));
    for (const [left, { mean }] of points) group.append(drawn("circle", { class: `point${extra}`, cx: left, cy: y(mean), r: 2.4 }));
    svg.append(group);
    return { index, group };
  });
  const cursor = drawn("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  svg.append(cursor);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const [left, top] = [(event.clientX - box.left) / box.width * WIDTH, (event.clientY - box.top) / box.height * HEIGHT];
    const one = cases.reduce((near, each) => (Math.abs(x(each) - left) < Math.abs(x(near) - left) ? each : near));
    const away = (index) => Math.abs(y(at(index, one)?.mean ?? Infinity) - top);
    const near = columns().reduce((found, index) => (found == null || away(index) < away(found) ? index : found), null);
    for (const { index, group } of lines) group.classList.toggle("faint", index !== near);
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(one));
    cursor.setAttribute("visibility", "visible");
    const values = columns().filter((index) => at(index, one)).sort((a, b) => at(b, one).mean - at(a, one).mean);
    const list = values.map((index) => {
      const { mean, ci95 } = at(index, one);
      const text = withUnit(mean, unit) + (ci95 == null ? "" : ` ± ${figures(ci95)}`);
      const name = make(index === near ? "strong" : "span", { textContent: card.controls[index] });
      return owned(make("li", {}, dot(), name, make("b", { textContent: text })), index);
    });
    const title = `${curve.label}: ${one.x} ${curve.unit} · ${label}`;
    showTip(event, make("strong", { textContent: title }), make("ul", {}, ...list));
  });
  svg.addEventListener("pointerleave", () => {
    for (const { group } of lines) group.classList.remove("faint");
    cursor.setAttribute("visibility", "hidden");
    hideTip();
  });
  return make("div", { className: "plot card" }, make("h4", {}, `${label} `, make("small", { textContent: unitOf(one) })), svg);
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
  curves();
  caseTable();
}
show();
