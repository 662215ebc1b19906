// The page of a live session: pictures, plots, events, controls.
//
// One socket carries JSON both ways. From the server: `hello` (once), `sample` (ten a second), `event`, `settings`,
// `error`. To the server: `set`. The keys of values are those of the JSON lines; `hello` has their labels and units.
const RETRY_MS = 1000;
const EVENTS_KEPT = 300;
const SHOWN_S = 60;
const NUMBERS = [
  "control", "phase", "allowance_bps", "sent_bps", "received_bps", "rtt_ms", "delay_ms", "loss_ratio", "frames_displayed",
  "freezes", "psnr_db", "resolution",
];
const PANELS = [
  { title: "Rate", height: 200, keys: ["capacity_bps", "allowance_bps", "target_bps", "sent_bps", "received_bps"] },
  { title: "Round-trip time and queueing", height: 120, keys: ["rtt_ms", "queue_delay_ms"] },
  { title: "Loss", height: 100, keys: ["loss_ratio", "residual_loss_ratio"] },
  { title: "Playout buffer and delay", height: 120, keys: ["playout_buffer_ms", "delay_ms", "glass_to_glass_ms", "picture_age_ms"] },
  { title: "Sound", note: "its level", height: 80, range: [-60, 0], keys: ["sound_level_dbfs"] },
  { title: "Client's buffer", note: "its level and the thresholds of the controller", height: 120, keys: ["buffer_bytes", "buffer_low_bytes", "buffer_high_bytes"] },
  { title: "Where the delay comes from", note: "the rest is the way", height: 120, keys: ["encoding_ms", "queueing_ms", "pacing_ms", "assembly_ms", "playout_ms", "decoding_ms"] },
  { title: "PSNR", note: "received against sent", height: 120, keys: ["psnr_db"] },
];

let socket;
let samples = [];
let marks = [];
let pointer = null;
let charts = [];
let numbers = [];
let watching;
const controls = new Controls((message) => socket.send(JSON.stringify(message)));

function build(metrics) {
  const metricOf = (key) => metrics.find((metric) => metric.key === key) ?? { key, label: key[0].toUpperCase() + key.slice(1), unit: "" };
  const valueOf = ({ key, factor = 1 }, sample) => (sample?.[key] == null ? null : sample[key] * factor);
  numbers = NUMBERS.map(metricOf).map((metric) => {
    const box = make("dd");
    // Until it has a value.
    byId("numbers").append(make("div", { hidden: true }, make("dt", { textContent: metric.label }), box));
    const text = (value) => (typeof value === "string" ? value : quantity(valueOf(metric, { [metric.key]: value }), metric.unit));
    return [box, ({ [metric.key]: value }) => text(value)];
  });
  charts = PANELS.map(({ keys, ...options }) => {
    const pointsOf = (metric) => samples.map((sample) => [sample.time, valueOf(metric, sample)]).filter(([, value]) => value != null);
    const series = keys.map(metricOf).map((metric, index) => ({
      label: metric.label,
      kind: metric.key === "capacity_bps" ? "area" : "line",
      colour: metric.key === "capacity_bps" ? "--capacity" : colour(index),
      points: () => pointsOf(metric),
      value: (time) => valueOf(metric, samples.findLast((sample) => sample.time <= time)),
      // Each end of a session has values of its own.
      isShown: () => pointsOf(metric).length > 0,
    }));
    const unit = metricOf(keys[0]).unit;
    const chart = new Chart(byId("plots"), { ...options, unit, series, over: drawMarks });
    chart.canvas.addEventListener("pointermove", (event) => { pointer = chart.timeAt(event); redraw(); });
    chart.canvas.addEventListener("pointerleave", () => { pointer = null; redraw(); });
    return chart;
  });
}

// Browsers play sound after a gesture of their user.
function listen(video) {
  const button = document.querySelector("#sound button");
  button.addEventListener("click", () => {
    video.muted = !video.muted;
    button.textContent = video.muted ? "Listen" : "Mute";
    video.play().catch(() => {});
  });
}

// The level of the sound, where the session has some; silence has none.
function showSound({ sound_packets: packets, sound_level_dbfs: level }) {
  const row = byId("sound");
  row.hidden = packets == null;
  row.querySelector("meter").value = level ?? -60;
  row.querySelector("output").textContent = level == null ? "silent" : `${level.toFixed(0)} dBFS`;
}

// The lanes of a bonded sender, a row each.
function showLanes(lanes) {
  const table = byId("lanes");
  table.hidden = !lanes;
  const row = ({ via, state, allowance_bps: allowed, sent_bps: sent, rtt_ms: rtt, loss_ratio: loss }) => {
    const percent = loss == null ? "" : `${(loss * 100).toFixed(1)} %`;
    const values = [[allowed, "bit/s"], [sent, "bit/s"], [rtt, "ms"]].map(([value, unit]) => (value == null ? "" : quantity(value, unit)));
    return make("tr", {}, ...[via, state, ...values, percent].map((textContent) => make("td", { textContent })));
  };
  table.querySelector("tbody").replaceChildren(...(lanes ?? []).map(row));
}

// A switch of controller or network is a dashed line through every panel.
function drawMarks(context, chart) {
  context.save();
  context.strokeStyle = context.fillStyle = chart.paint("--bad");
  context.setLineDash([4, 4]);
  context.textAlign = "left";
  marks.forEach(({ time, label }, index) => {
    const x = chart.x(time);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, chart.height);
    context.stroke();
    if (chart === charts[0]) context.fillText(label, x + 4, 16 + (index % 4) * 12);
  });
  context.restore();
}

function redraw() {
  const now = samples.at(-1)?.time;
  if (now == null) return;
  const shown = charts.filter(({ series }) => series.some(({ isShown }) => isShown()));
  for (const chart of charts) {
    chart.canvas.parentElement.style.display = shown.includes(chart) ? "" : "none";
    if (!shown.includes(chart)) continue;
    chart.last = chart === shown.at(-1);
    chart.draw([Math.max(0, now - SHOWN_S), Math.max(1, now)], pointer == null ? [] : [[pointer, "pointer"]]);
    chart.read(pointer ?? now);
  }
}

const on = {
  hello(message) {
    document.querySelector("h1").textContent = message.title;
    // Of the network that is emulated here, if one is.
    const facts = message.networks.length ? [`seed ${message.seed}`] : [];
    byId("facts").replaceChildren(...facts.map((textContent) => make("li", { textContent })));
    byId("sent-figure").hidden = !message.pictures.includes("sent");
    byId("received-figure").hidden = !message.pictures.includes("received");
    if (!charts.length) build(message.metrics);
    controls.hello(message);
    if (watching || !message.pictures.length) return;
    const pictures = message.pictures.map(byId);
    listen(pictures.at(-1));
    watching = watch(pictures, (note) => (byId("received-note").textContent = note));
  },
  sample(message) {
    samples.push(message);
    samples = samples.filter(({ time }) => time >= message.time - SHOWN_S);
    marks = marks.filter(({ time }) => time >= message.time - SHOWN_S);
    redraw();
    showSound(message);
    showLanes(message.lanes);
    for (const [box, text] of numbers) {
      box.textContent = text(message);
      box.parentElement.hidden &&= ["", "–"].includes(box.textContent);
    }
  },
  event(message) {
    if (message.kind === "stale" || message.kind === "fresh") byId("received-figure").classList.toggle("stale", message.kind === "stale");
    if (message.kind === "setting") marks.push({ time: message.time, label: message.what });
    listEvent(message);
  },
  settings(message) {
    controls.settings(message.settings);
    controls.reply("applied", false);
  },
  error(message) {
    controls.reply(message.text, true);
  },
};

function listEvent({ time, what, signal, threshold, before_bps, after_bps }) {
  const cause = signal
    ? `${signal.name.replaceAll("_", " ")} ${quantity(signal.value, signal.unit)}, threshold ${quantity(threshold, signal.unit)}`
    : "";
  const change = after_bps == null ? "" : `${quantity(before_bps, "bit/s")} → ${quantity(after_bps, "bit/s")}`;
  const cells = [`${time.toFixed(1)} s`, what, cause, change].map((textContent) => make("td", { textContent }));
  const body = document.querySelector("#events tbody");
  body.prepend(make("tr", {}, ...cells));
  if (body.rows.length > EVENTS_KEPT) body.lastChild.remove();
}

function connect() {
  const url = new URL(`api/live${location.search}`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  socket = new WebSocket(url);
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    on[message.type]?.(message);
  });
  socket.addEventListener("close", () => {
    byId("facts").replaceChildren(make("li", { textContent: "not connected" }));
    setTimeout(connect, RETRY_MS);
  });
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", redraw);
connect();
