// Plots and events of a log.

const { metrics, log: given } = pageData();
const MOST_ROWS = 500;
const PANELS = [
  { title: "Rate", height: 220, unit: "bit/s", over: marks, keys: ["capacity", "capacity_bps", "target_rate", "allowance_bps", "encoder_rate", "target_bps", "sent_rate", "sent_bps", "received_rate", "received_bps"] },
  { title: "Delay", height: 140, unit: "ms", keys: ["picture_delay", "delay_ms", "rtt", "rtt_ms", "queue_delay_ms", "playout_buffer_ms", "glass_to_glass_ms", "picture_age_ms"] },
  { title: "Queue", note: "of the link", height: 90, unit: "packets", keys: ["queue"] },
  { title: "Send queue", height: 90, unit: "B", keys: ["backlog", "backlog_bytes"] },
  { title: "Lost", note: "in 0.1 s", height: 80, unit: "packets", kind: "bars", step: 0.1, keys: ["lost"] },
  { title: "Loss", note: "before and after repair", height: 80, unit: "%", keys: ["loss_ratio", "residual_loss_ratio"] },
  { title: "PSNR", note: "of the picture on screen", height: 120, unit: "dB", floor: true, keys: ["psnr_db"] },
];

let log = null;
let charts = [];
let span = [0, 1];

// The series of a name: of the flow that is chosen, else of the link.
const groupsShown = () => [byId("flow").value, byId("link").value].map((name) => log.groups.get(name)).filter(Boolean);
const seriesOf = (key) => groupsShown().map(({ series }) => series.get(key)).find(Boolean);
const decisions = () => log.groups.get(byId("flow").value)?.decisions ?? [];
// What is inside of the span, and the neighbours at its ends.
function visible(points) {
  const times = points.map(([time]) => time);
  return points.slice(Math.max(0, after(times, span[0]) - 1), after(times, span[1]) + 1);
}

function marks(context, chart) {
  drawDecisions(context, chart, decisions(), "--ink");
}

function chartOf(panel) {
  const found = panel.keys.map(seriesOf).filter(Boolean);
  if (!found.length) return [];
  const series = found.map(({ key, label, points }, index) => {
    const isCapacity = key.startsWith("capacity");
    const times = points.map(([time]) => time);
    return {
      label, kind: isCapacity ? "area" : panel.kind ?? "line", step: panel.step, colour: isCapacity ? "--capacity" : colour(index),
      points: () => visible(points), value: (time) => points[after(times, time) - 1]?.[1] ?? null, isShown: () => true,
    };
  });
  return [{ ...panel, series }];
}

// The plots of what is chosen.
function plot() {
  byId("plots").replaceChildren();
  const more = seriesOf(byId("more").value);
  const extra = more ? [{ title: more.label, height: 120, unit: more.unit, keys: [more.key] }] : [];
  const panels = [...PANELS, ...extra].flatMap(chartOf);
  charts = panels.map((panel, index) => new Chart(byId("plots"), { ...panel, last: index === panels.length - 1 }));
  charts.forEach(follow);
  redraw();
}

function redraw() {
  if (!log) return;
  for (const chart of charts) { chart.draw(span, []); chart.read(span[1]); }
  byId("whole").hidden = span[0] <= log.span[0] && span[1] >= log.span[1];
  list();
}

// Values and cause at the pointer; a part that is dragged over is shown alone.
function follow(chart) {
  const { canvas } = chart;
  let from = null;
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); from = chart.timeAt(event); });
  canvas.addEventListener("pointermove", (event) => {
    const time = chart.timeAt(event);
    const lines = from === null ? [[time, "pointer"]] : [[from, "playhead"], [time, "playhead"]];
    for (const each of charts) { each.mark(lines); each.read(time); }
    const made = decisions();
    const decision = made[after(made.map(({ at }) => at), time) - 1];
    const cause = make("p", {}, ...(decision ? describeDecision(decision) : ["the rate has not changed yet"]));
    showTip(event, make("strong", { textContent: `${time.toFixed(2)} s` }), cause);
  });
  canvas.addEventListener("pointerup", (event) => {
    const to = chart.timeAt(event);
    const part = from === null ? [0, 0] : [Math.min(from, to), Math.max(from, to)];
    from = null;
    if (part[1] - part[0] > (span[1] - span[0]) / 100) span = part;
    redraw();
  });
  canvas.addEventListener("dblclick", showWhole);
  canvas.addEventListener("pointerleave", () => { hideTip(); for (const each of charts) { each.mark([]); each.read(span[1]); } });
}

function showWhole() {
  span = log.span;
  redraw();
}

// Decisions and events of the time shown.
function list() {
  const groups = groupsShown();
  const rows = groups.flatMap(({ events, decisions }) => [...events, ...decisions]).filter(({ at }) => at >= span[0] && at <= span[1]);
  rows.sort((a, b) => a.at - b.at);
  byId("events-note").textContent = rows.length > MOST_ROWS ? `the first ${MOST_ROWS} of ${rows.length}; drag over a part for its own` : String(rows.length);
  const cells = ({ at, kind, what, cause, signal, value, unit, threshold, before, after }) => {
    if (what != null) return [`${at.toFixed(2)} s`, `${kind}: ${what}`, "", ""];
    const bound = threshold == null ? "" : `, threshold ${quantity(threshold, unit)}`;
    return [`${at.toFixed(2)} s`, cause, `${signal.replaceAll("_", " ")} ${quantity(value, unit)}${bound}`, `${quantity(before, "bit/s")} → ${quantity(after, "bit/s")}`];
  };
  const row = (event) => make("tr", {}, ...cells(event).map((textContent) => make("td", { textContent })));
  document.querySelector("#events tbody").replaceChildren(...rows.slice(0, MOST_ROWS).map(row));
}

function fill(select, names) {
  select.replaceChildren(...names.map(([value, textContent]) => make("option", { value, textContent })));
  select.parentElement.hidden = names.length < 2;
}

// Series that no panel has.
function fillMore() {
  const drawn = new Set(PANELS.flatMap(({ keys }) => keys));
  const others = groupsShown().flatMap(({ series }) => [...series.values()]).filter(({ key }) => !drawn.has(key));
  fill(byId("more"), [["", "nothing"], ...others.map(({ key, label, unit }) => [key, unit ? `${label} (${unit})` : label])]);
}

function show(parsed, name) {
  log = new Log(parsed, metrics);
  span = log.span;
  const { title, trace } = log.header;
  document.querySelector("h1").textContent = typeof title === "string" ? title : name;
  const { type = "", name: program = "" } = trace?.vantage_point ?? {};
  const place = { client: "at the sender", server: "at the receiver", network: "at both ends" }[type] ?? "";
  const facts = [name, place, program, `${significant(log.span[1], 4)} s`, `${log.count} events`];
  if (log.others) facts.push(`${log.others} of other kinds`);
  if (log.damaged) facts.push(`${log.damaged} damaged or cut off`);
  byId("facts").replaceChildren(...facts.filter(Boolean).map((fact) => make("li", { textContent: fact })));
  fill(byId("flow"), log.flows.map((name) => [name, name]));
  fill(byId("link"), log.links.map((name) => [name, name]));
  fillMore();
  plot();
}

async function open(file) {
  byId("reply").textContent = "";
  try {
    show(parseLog(await file.text()), file.name);
  } catch (error) {
    byId("reply").textContent = `${file.name}: ${error.message}`;
  }
}

for (const name of ["flow", "link"]) byId(name).addEventListener("change", () => { fillMore(); plot(); });
byId("more").addEventListener("change", plot);
byId("whole").addEventListener("click", showWhole);
byId("file").addEventListener("change", ({ target }) => { if (target.files.length) open(target.files[0]); });
const mark = (isOver) => byId("file-row").classList.toggle("over", isOver);
document.addEventListener("dragover", (event) => { event.preventDefault(); mark(true); });
document.addEventListener("dragleave", () => mark(false));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  mark(false);
  if (event.dataTransfer.files.length) open(event.dataTransfer.files[0]);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", redraw);
if (given) show(given, document.querySelector("h1").textContent);
