// What is shown: plots, the list of rate changes, the table.
const STEP = 0.1;
const MOST_CHANGES = 120;
// The runs on the page by controller, each with its colour, and the instant that the page looks at.
let shown = [];
let now = null;
let span = [0, 1];
let metrics = [];
// Stands for the controllers that the scenario itself names.
const OWN = "as-written";
const labelOf = (control) => control.replace(OWN, "as written");

const traceOf = (run, of, name, or) => {
  const named = (name) => run.traces.find((trace) => trace.of === of && trace.name === name)?.values;
  return named(name) ?? named(or) ?? [];
};
// Pairs of time and value, each the mean of so many values.
function grid(values, count = 1) {
  const points = [];
  for (let from = 0; from < values.length; from += count) {
    const known = values.slice(from, from + count).filter((value) => value != null);
    if (known.length) points.push([(from + known.length / 2) * STEP, known.reduce((sum, value) => sum + value) / known.length]);
  }
  return points;
}
const at = (values, time) => values[Math.min(values.length - 1, Math.max(0, Math.floor(time / STEP)))] ?? null;
const PANELS = [
  { title: "Rate received", unit: "bit/s", height: 210, kind: "line", name: "received_rate", mean: 5, note: "mean of 0.5 s", over: dots, capacity: true },
  { title: "Round-trip time", unit: "ms", height: 120, kind: "line", name: "rtt" },
  { title: "Queue", unit: "packets", height: 90, kind: "line", name: "queue", isOfLink: true },
  // Where the controller steers by a buffer of bytes, that buffer is shown.
  { title: "Buffer", note: "of the receiver", unit: "B", height: 80, kind: "line", name: "receiver_buffer", or: "buffer" },
  { title: "Lost", note: "in 0.1 s", unit: "packets", height: 80, kind: "bars", name: "lost" },
];
let charts = [];

// The colours of the controllers: each keeps its own while it is on the page.
const slots = [];
function slotOf(name) {
  if (!slots.includes(name)) {
    const free = slots.indexOf(null);
    slots[free < 0 ? slots.length : free] = name;
  }
  return slots.indexOf(name);
}
function freeSlots(names) {
  slots.forEach((name, index) => { if (!names.includes(name)) slots[index] = null; });
}

// Shows these runs: pairs of a controller and its run of the flow.
function show(runs, flow) {
  shown = runs.map(([control, run]) => ({ name: labelOf(control), run, slot: slotOf(control) }));
  if (!shown.length) return;
  span = [0, shown[0].run.duration_s];
  byId("time").max = String(span[1]);
  now = Math.min(now ?? span[1] / 2, span[1]);
  byId("time").value = String(now);
  const place = shown[0].run.bottleneck;
  const panels = PANELS.map((panel) => ({ ...panel, of: panel.isOfLink ? place : flow, place }))
    .filter((panel) => shown.some(({ run }) => traceOf(run, panel.of, panel.name, panel.or).some((value) => value > 0)));
  const plots = make("div");
  charts = panels.map((panel, index) => chartOf(plots, panel, index === panels.length - 1));
  byId("plots").replaceChildren(...plots.childNodes);
  redraw();
  cards();
  table();
  listChanges();
}

function chartOf(container, { name, or, of, place, kind, capacity, mean, ...options }, last) {
  const series = shown.map(({ name: label, run, slot }) => {
    const values = traceOf(run, of, name, or);
    const points = grid(values, mean);
    return { label, colour: colour(slot), kind, step: STEP, points: () => points, value: (time) => at(values, time), isShown: () => true };
  });
  const carried = capacity ? traceOf(shown[0].run, place, "capacity") : [];
  if (carried.length) {
    const points = carried.map((value, index) => [index * STEP, value ?? 0]);
    series.unshift({ label: "capacity", colour: "--capacity", kind: "area", points: () => points, value: (time) => at(carried, time), isShown: () => true });
  }
  const chart = new Chart(container, { ...options, note: of === place ? of : options.note, series, last });
  point(chart);
  return chart;
}

function dots(context, chart) {
  for (const { run, slot } of shown) drawDecisions(context, chart, run.changes, colour(slot));
}

function point(chart) {
  const { canvas } = chart;
  canvas.addEventListener("pointermove", (event) => {
    const time = chart.timeAt(event);
    if (event.buttons & 1) look(time);
    charts.forEach((each) => { each.mark([[time, "pointer"], [now, "playhead"]]); each.read(time); });
    const causes = shown.map(({ name, run, slot }) => changeItem(name, slot, lastChange(run, time)));
    showTip(event, make("strong", { textContent: `${time.toFixed(1)} s` }), make("ul", {}, ...causes));
  });
  canvas.addEventListener("pointerdown", (event) => look(chart.timeAt(event)));
  canvas.addEventListener("pointerleave", () => { hideTip(); mark(); });
}

// A controller's last rate change before an instant; `null` for none.
function changeItem(name, index, change) {
  const text = make("p", {}, make("b", { textContent: name }), ...(change ? describeDecision(change) : [" has not changed its rate yet"]));
  return owned(make("li", { className: "cause" }, dot(), text), index);
}

const lastChange = ({ changes }, time) => changes[after(changes.map(({ at }) => at), time) - 1] ?? null;

function redraw() {
  charts.forEach((chart) => chart.draw(span, [[now, "playhead"]]));
  mark();
}

function mark() {
  charts.forEach((chart) => { chart.mark([[now, "playhead"]]); chart.read(now); });
}

// Looks at an instant: the plots mark it, and the list shows the changes before it.
function look(time) {
  now = Math.max(0, Math.min(time, span[1]));
  byId("time").value = String(now);
  mark();
  markChange();
}

// ---- Why the rate changed.

let listed = [];
const isLarge = ({ before, after }) => Math.abs(after - before) >= 0.1 * before;
function listChanges() {
  const all = shown.flatMap(({ name, run, slot }) => run.changes.filter(isLarge).map((change) => ({ name, slot, change })));
  const extent = ({ change }) => Math.abs(Math.log((change.after || 1) / (change.before || 1)));
  listed = all.toSorted((a, b) => extent(b) - extent(a)).slice(0, MOST_CHANGES).sort((a, b) => a.change.at - b.change.at);
  const rows = listed.map(({ name, slot, change }) => {
    const button = make("button", { type: "button" }, dot(), make("b", { textContent: name }), ...describeDecision(change));
    button.addEventListener("click", () => look(change.at));
    return owned(make("li", {}, button), slot);
  });
  const most = all.length > listed.length ? `, the ${listed.length} largest of ${all.length}` : "";
  const note = rows.length ? `Changes by a tenth and more${most}` : "No rate changed by a tenth or more.";
  byId("changes").replaceChildren(make("li", { className: "empty", textContent: note }), ...rows);
  markChange();
}

function markChange() {
  const index = after(listed.map(({ change }) => change.at), now);
  const rows = byId("changes").children;
  byId("changes").querySelector("[aria-current]")?.removeAttribute("aria-current");
  if (index > 0) rows[index].setAttribute("aria-current", "true");
  byId("changes").scrollTop = index > 0 ? rows[index].offsetTop - byId("changes").offsetTop - 60 : 0;
}

// ---- In numbers.

const CARD = ["delay_ms.p95", "freezes.total_s", "residual_loss_ratio"];
function cards() {
  const number = (run, key) => {
    const index = metrics.findIndex((metric) => metric.key === key);
    return run.numbers[index] == null ? null : [metrics[index].label.toLowerCase(), quantity(run.numbers[index], metrics[index].unit)];
  };
  byId("cards").replaceChildren(...shown.map(({ name, run, slot }) => {
    const lines = CARD.map((key) => number(run, key)).filter(Boolean).map(([label, value]) => make("span", {}, make("strong", { textContent: value }), ` ${label}`));
    return owned(make("li", {}, make("span", { textContent: name }), make("b", { textContent: number(run, "received_bps")?.[1] ?? "–" }), ...lines), slot);
  }));
}

function table() {
  const head = make("tr", {}, make("th"), ...shown.map(({ name, slot }) => owned(make("th", {}, dot(), name), slot)));
  const rows = metrics.flatMap(({ label, unit, better }, index) => {
    const cells = shown.map(({ run }) => run.numbers[index] == null ? null : { mean: run.numbers[index] });
    if (!cells.some((cell) => cell)) return [];
    const top = best(cells, better);
    const row = cells.map((cell, place) => owned(estimate(cell, top, ({ mean }) => [quantity(mean, unit)]), shown[place].slot));
    return [make("tr", {}, make("th", { scope: "row", textContent: label }), ...row)];
  });
  byId("table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}
