"use strict";
// Data stands in the page; nothing is loaded.
const { card, command } = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const draw = (name, attributes = {}, text = "") => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
};

// Eight colours; beyond them again, dashed and hollow.
const owned = (element, index) => {
  element.style.setProperty("--own", `var(--c${index % 8})`);
  if (index >= 8) element.classList.add("second");
  return element;
};
const dot = () => make("span", { className: "dot" });

// Numbers as people read them.
const figures = (value) => {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
};
const quantity = (value, unit) => (value == null ? "–" : unit ? `${figures(value)} ${unit}` : figures(value));

const chosen = new Set(card.controls.keys());
const columns = () => [...card.controls.keys()].filter((index) => chosen.has(index));
const metric = (key) => card.metrics.find((candidate) => candidate.key === key);

// The best of the scores that the chosen controllers have, if they differ.
function best(scores, { key, better }) {
  const means = columns().map((index) => scores[index]?.[key]?.mean).filter((mean) => mean != null);
  if (new Set(means).size < 2) return NaN;
  return better === "more" ? Math.max(...means) : Math.min(...means);
}

function cell(score, key, top) {
  const number = score?.[key];
  if (!number) return make("td", { textContent: "–" });
  const text = make("td", {}, make("b", { textContent: figures(number.mean) }));
  if (number.ci95 != null) text.append(make("small", { textContent: ` ± ${figures(number.ci95)}` }));
  if (number.mean === top) text.className = "best";
  return text;
}

// ---- Means of the suites: a row a controller.

const TITLES = {
  rfc8867: "RFC 8867: wired networks", rfc8869: "RFC 8869: cellular networks and Wi-Fi", curves: "All points of the curves",
};

function suites() {
  byId("suites").replaceChildren(...card.suites.flatMap(({ suite, cases, scores }) => {
    const known = card.metrics.filter(({ key }) => scores.some((score) => score[key]));
    const head = make("tr", {}, make("th"), ...known.map(({ label, unit, kind }) =>
      make("th", {}, label, make("small", { textContent: [unit, kind].filter(Boolean).join(", ") || "\u00a0" }))));
    const rows = columns().map((index) => {
      const name = owned(make("th", { scope: "row" }, dot(), card.controls[index]), index);
      return make("tr", {}, name, ...known.map((one) => cell(scores[index], one.key, best(scores, one))));
    });
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    const title = make("h3", {}, `${TITLES[suite] ?? suite} `, make("small", { textContent: `${cases} cases, ${card.seeds} seeds` }));
    return [title, make("div", { className: "scroll", tabIndex: 0 }, table)];
  }));
}

// ---- Curves.

const SHOWN = ["utilisation", "queue_p95", "psnr"];
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [400, 230, 40, 10, 10, 34];

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) found.push(Number(tick.toPrecision(12)));
  return found;
}

function curves() {
  byId("curves-section").hidden = !card.curves.length;
  byId("curves").replaceChildren(...card.curves.flatMap((curve) => [
    make("h3", { textContent: curve.label[0].toUpperCase() + curve.label.slice(1) }),
    make("div", { className: "plots" }, ...SHOWN.map((key) => plot(curve, metric(key)))),
  ]));
}

function plot(curve, { key, label, unit, kind }) {
  const cases = card.cases.filter((one) => one.curve === curve.name).sort((a, b) => a.x - b.x);
  const at = (index, one) => one.scores[index]?.[key];
  const ends = columns().flatMap((index) => cases.map((one) => at(index, one)?.mean).filter((mean) => mean != null));
  // A quality of nothing says nothing; all else begins at zero.
  let low = key === "psnr" ? Math.floor(Math.min(...ends) / 5) * 5 : 0;
  let high = Math.max(...ends, key === "utilisation" ? 100 : low + 1e-9);
  if (!ends.length) [low, high] = [0, 1];
  high += (high - low) * 0.04;
  // Evenly, whatever the distance: where little is lost much changes.
  const x = (one) => LEFT + 12 + cases.indexOf(one) / Math.max(1, cases.length - 1) * (WIDTH - LEFT - RIGHT - 12);
  const y = (value) => HEIGHT - BOTTOM - (Math.min(Math.max(value, low), high) - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label} against ${curve.label}` });
  for (const tick of ticks(low, high, 4)) {
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }));
    svg.append(draw("text", { x: LEFT - 5, y: y(tick) + 4, "text-anchor": "end" }, String(tick)));
  }
  for (const one of cases) svg.append(draw("text", { x: x(one), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, String(one.x)));
  svg.append(draw("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, `${curve.label}, ${curve.unit}`));
  const lines = columns().map((index) => {
    const group = owned(draw("g"), index);
    const points = cases.filter((one) => at(index, one)).map((one) => [x(one), at(index, one)]);
    const extra = index >= 8 ? " second" : "";
    for (const [left, { mean, ci95 }] of points) {
      if (ci95) group.append(draw("line", { class: "bar", x1: left, x2: left, y1: y(mean - ci95), y2: y(mean + ci95) }));
    }
    group.append(draw("polyline", { class: `line${extra}`, points: points.map(([left, { mean }]) => `${left},${y(mean)}`).join(" ") }));
    for (const [left, { mean }] of points) group.append(draw("circle", { class: `point${extra}`, cx: left, cy: y(mean), r: 2.4 }));
    svg.append(group);
    return { index, group };
  });
  const cursor = draw("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
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
    tip(`${curve.label}: ${one.x} ${curve.unit} · ${label}`, columns().map((index) => [index, at(index, one)]), unit, near, event);
  });
  svg.addEventListener("pointerleave", () => {
    for (const { group } of lines) group.classList.remove("faint");
    cursor.setAttribute("visibility", "hidden");
    byId("tip").hidden = true;
  });
  const note = [unit, kind].filter(Boolean).join(", ");
  return make("div", { className: "plot" }, make("h4", {}, `${label} `, make("small", { textContent: note })), svg);
}

function tip(title, values, unit, near, event) {
  const list = values.filter(([, number]) => number).sort(([, a], [, b]) => b.mean - a.mean).map(([index, { mean, ci95 }]) => {
    const text = quantity(mean, unit) + (ci95 == null ? "" : ` ± ${figures(ci95)}`);
    const name = make(index === near ? "strong" : "span", { textContent: card.controls[index] });
    return owned(make("li", {}, dot(), name, make("b", { textContent: text })), index);
  });
  const box = byId("tip");
  box.replaceChildren(make("strong", { textContent: title }), make("ul", {}, ...list));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - width - 16 : event.clientX + 16;
  const y = Math.min(event.clientY + 16, innerHeight - height - 8);
  box.style.left = `${Math.max(8, Math.min(x, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, y)}px`;
}

// ---- Case by case: a column a controller.

function cases() {
  const one = metric(byId("metric").value);
  byId("metric-about").textContent = [one.unit, one.kind, one.about].filter(Boolean).join("; ");
  const head = make("tr", {}, make("th"), ...columns().map((index) => owned(make("th", {}, dot(), card.controls[index]), index)));
  const rows = [];
  let suite = null;
  for (const each of card.cases.filter(({ scores }) => scores.some((score) => score?.[one.key]))) {
    if (each.suite !== suite) {
      suite = each.suite;
      rows.push(make("tr", { className: "suite" }, make("th", { textContent: TITLES[suite] ?? suite, colSpan: columns().length + 1 })));
    }
    const name = make("th", { scope: "row" }, each.name, make("small", { textContent: each.about }));
    rows.push(make("tr", {}, name, ...columns().map((index) => cell(each.scores[index], one.key, best(each.scores, one)))));
  }
  byId("cases").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

// ---- The page.

const count = card.cases.length;
byId("facts").append(...[
  `${card.controls.length} controllers`, `${count} ${count === 1 ? "case" : "cases"}`,
  card.seeds > 1 ? `${card.seeds} seeds from ${card.first_seed}` : `seed ${card.first_seed}`,
  "video: a pre-encoded ladder; quality is modelled",
].map((fact) => make("li", { textContent: fact })));
byId("foot").append(`Seaway ${card.seaway}. Made by `, make("code", { textContent: command }));
byId("left").append(...card.left_out.map(({ control, case: place, reason }) =>
  make("li", {}, make("b", { textContent: control }), `${place ? ` in ${place}` : ""}: ${reason}`)));
byId("left-section").hidden = !card.left_out.length;
byId("meaning").append(...card.metrics.flatMap(({ label, unit, kind, about }) => [
  make("dt", { textContent: label + (unit ? `, ${unit}` : "") }), make("dd", { textContent: (kind ? `${kind}: ` : "") + about }),
]));
byId("metric").append(...card.metrics.map(({ key, label }) => make("option", { value: key, textContent: label })));
byId("metric").addEventListener("change", cases);

const chips = card.controls.map((control, index) => {
  const chip = owned(make("button", { className: "chip", type: "button" }, dot(), make("span", { textContent: control })), index);
  chip.addEventListener("click", () => {
    if (chosen.has(index)) chosen.delete(index); else chosen.add(index);
    show();
  });
  return chip;
});
const all = make("button", { className: "chip all", type: "button" });
all.addEventListener("click", () => {
  const fill = chosen.size < card.controls.length;
  chosen.clear();
  if (fill) for (const index of card.controls.keys()) chosen.add(index);
  show();
});
byId("choice").append(...chips, all);

function show() {
  chips.forEach((chip, index) => chip.setAttribute("aria-pressed", String(chosen.has(index))));
  all.textContent = chosen.size < card.controls.length ? "all" : "none";
  suites();
  curves();
  cases();
}
show();
