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
  { title: "Rate", height: 210, keys: ["capacity_bps", "allowance_bps", "target_bps", "sent_bps", "received_bps"] },
  { title: "Delay", note: "of the picture, and on the way", height: 130, keys: ["delay_ms", "glass_to_glass_ms", "rtt_ms", "queue_delay_ms"] },
  { title: "Loss", height: 90, keys: ["loss_ratio", "residual_loss_ratio"] },
  { title: "Sound", note: "its level", height: 80, range: [-60, 0], keys: ["sound_level_dbfs"] },
  { title: "Client's buffer", note: "its level and the thresholds of the controller", height: 120, keys: ["buffer_bytes", "buffer_low_bytes", "buffer_high_bytes"] },
];
// These wait behind a heading.
const MORE = [
  { title: "Where the delay comes from", note: "the rest is the way", height: 120, keys: ["encoding_ms", "queueing_ms", "pacing_ms", "assembly_ms", "playout_ms", "decoding_ms"] },
  { title: "Playout buffer and age of the picture", height: 120, keys: ["playout_buffer_ms", "picture_age_ms"] },
  { title: "PSNR", note: "received against sent", height: 120, keys: ["psnr_db"] },
];

let socket;
let samples = [];
let marks = [];
let pointer = null;
let charts = [];
let numbers = [];
let watching;
let lastDelay = null;
const send = (message) => socket.send(JSON.stringify(message));
const controls = new Controls(send);
const link = new Link(send);

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
  charts = [...PANELS, ...MORE].map(({ keys, ...options }) => {
    const box = byId(MORE.some(({ title }) => title === options.title) ? "more-plots" : "plots");
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
    const chart = new Chart(box, { ...options, unit, series, over: drawMarks });
    chart.canvas.addEventListener("pointermove", (event) => { pointer = chart.timeAt(event); redraw(); });
    chart.canvas.addEventListener("pointerleave", () => { pointer = null; redraw(); });
    return chart;
  });
}

// The picture that this page is about, with its state and its tools on it.
const hero = () => document.querySelector(".hero video");

// How long a picture stood still in all, as this browser saw it: each time for longer than a viewer overlooks.
function countFreezes(video, note) {
  const LONG_MS = 300;
  let [last, total] = [null, 0];
  const onPicture = (now) => {
    if (last != null && now - last > LONG_MS) total += now - last;
    last = now;
    video.requestVideoFrameCallback?.(onPicture);
  };
  video.requestVideoFrameCallback?.(onPicture);
  setInterval(() => {
    const still = last == null ? 0 : performance.now() - last;
    const all = total + (still > LONG_MS ? still : 0);
    note.textContent = all > 0 ? `${still > LONG_MS ? "still, " : ""}frozen ${(all / 1000).toFixed(1)} s in all` : "";
  }, 250);
}

function stage(pictures) {
  const main = byId(`${pictures.includes("received") ? "received" : "sent"}-figure`);
  const stage = document.querySelector(".stage");
  for (const figure of stage.querySelectorAll("figure")) figure.classList.toggle("hero", figure === main);
  stage.classList.toggle("alone", pictures.length < 2);
  stage.prepend(main);
  main.querySelector(".screen").append(byId("overlay"));
  byId("overlay").hidden = false;
}

// How the session is, in one word, and the delay.
function showHealth({ state, delay_ms: delay, glass_to_glass_ms: glass, rtt_ms: rtt, received_bps: received, sent_bps: sent }) {
  const box = byId("health");
  const [word, rest] = box.children;
  const isWell = state === "live" || state === "running";
  box.className = isWell ? "well" : ["waiting", "connecting"].includes(state) ? "" : "ill";
  // For a moment without pictures the last one counts.
  if ((glass ?? delay) != null) lastDelay = glass ?? delay;
  const late = lastDelay;
  const values = [late == null ? (rtt == null ? null : `${Math.round(rtt)} ms round trip`) : `${Math.round(late)} ms`, received ?? sent];
  const text = values.filter((value) => value != null).map((value) => (typeof value === "number" ? quantity(value, "bit/s") : value)).join(" · ");
  // A screen reader gets the words alone.
  if (word.textContent !== state) word.textContent = state ?? "";
  rest.textContent = text;
  rest.setAttribute("aria-hidden", "true");
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

// A switch of controller or network is a dashed line through every panel; a freeze, and a fall of the rate, a tick with its cause in
// the first. Captions that would overlap are left out: the list below has them.
function drawMarks(context, chart) {
  const ends = [-Infinity, -Infinity, -Infinity];
  const right = chart.canvas.clientWidth - Chart.RIGHT;
  context.save();
  for (const { time, label, kind } of marks) {
    const x = chart.x(time);
    context.strokeStyle = context.fillStyle = chart.paint(kind === "fall" ? "--soft" : "--bad");
    context.setLineDash(kind === "setting" ? [4, 4] : []);
    context.beginPath();
    context.moveTo(x, kind === "setting" ? 0 : chart.height - 12);
    context.lineTo(x, chart.height);
    context.stroke();
    if (chart !== charts[0]) continue;
    const width = context.measureText(label).width;
    // At the edge the caption stands before its mark.
    const left = Math.min(x + 4, right - width);
    const row = ends.findIndex((end) => end < left);
    if (row < 0) continue;
    context.textAlign = "left";
    context.fillText(label, left, 16 + row * 13);
    ends[row] = left + width + 8;
  }
  context.restore();
}

function redraw() {
  const now = samples.at(-1)?.time;
  if (now == null) return;
  const isOpen = ({ canvas }) => byId("more").open || !byId("more-plots").contains(canvas);
  const shown = charts.filter((chart) => isOpen(chart) && chart.series.some(({ isShown }) => isShown()));
  const lasts = ["plots", "more-plots"].map((id) => shown.findLast(({ canvas }) => byId(id).contains(canvas)));
  for (const chart of charts) {
    chart.canvas.parentElement.style.display = shown.includes(chart) ? "" : "none";
    if (!shown.includes(chart)) continue;
    chart.last = lasts.includes(chart);
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
    for (const id of ["sent", "received", "beside"]) byId(`${id}-figure`).hidden = !message.pictures.includes(id);
    byId("beside-name").textContent = message.beside ?? "";
    stage(message.pictures);
    if (!charts.length) build(message.metrics);
    controls.hello(message);
    byId("link").hidden = message.networks.length === 0;
    link.settings(message.settings);
    if (watching || !message.pictures.length) return;
    const pictures = message.pictures.map(byId);
    listen(hero());
    for (const id of ["received", "beside"]) if (message.pictures.includes(id)) countFreezes(byId(id), byId(`${id}-note`));
    watching = watch(pictures, (note) => (byId("connection").textContent = note));
  },
  sample(message) {
    samples.push(message);
    samples = samples.filter(({ time }) => time >= message.time - SHOWN_S);
    marks = marks.filter(({ time }) => time >= message.time - SHOWN_S);
    redraw();
    showHealth(message);
    showSound(message);
    showLanes(message.lanes);
    for (const [box, text] of numbers) {
      box.textContent = text(message);
      box.parentElement.hidden &&= ["", "–"].includes(box.textContent);
    }
  },
  event(message) {
    if (message.kind === "stale" || message.kind === "fresh") byId("received-figure").classList.toggle("stale", message.kind === "stale");
    const mark = markOf(message);
    if (mark) marks.push(mark);
    listEvent(message);
  },
  settings(message) {
    controls.settings(message.settings);
    link.settings(message.settings);
    controls.reply("applied", false);
  },
  error(message) {
    controls.reply(message.text, true);
  },
};

// A signal in words, times in ms.
function causeOf({ signal, threshold }) {
  if (!signal) return "";
  const inWords = (value) => (signal.unit === "s" ? `${significant(value * 1000)} ms` : quantity(value, signal.unit));
  const bound = threshold == null ? "" : `, threshold ${inWords(threshold)}`;
  return `${signal.name.replaceAll("_", " ")} ${inWords(signal.value)}${bound}`;
}

// What stands over the time axis: settings, freezes, and falls of the rate by a tenth and more.
function markOf(event) {
  const { time, kind, what, before_bps: before, after_bps: after } = event;
  if (kind === "setting") return { time, kind, label: what.replace(/network link\((.*)\)/, (_, values) => `link ${values.replaceAll(/\w+=/g, "")}`) };
  if (kind === "freeze") return { time, kind, label: what };
  if (after < 0.9 * before) return { time, kind: "fall", label: causeOf(event).split(",")[0] || what };
  return null;
}

// The newest event first. Another of the same kind joins the line of the last.
function listEvent(event) {
  const { time, what, before_bps: before, after_bps: after } = event;
  const body = document.querySelector("#events tbody");
  const same = body.firstChild?.what === what ? body.firstChild : null;
  const count = (same?.count ?? 0) + 1;
  const first = same?.before ?? before;
  const change = after == null ? "" : `${quantity(first, "bit/s")} → ${quantity(after, "bit/s")}`;
  const times = make("span", { className: "count", textContent: count > 1 ? ` ×${count}` : "" });
  const cells = [[`${time.toFixed(1)} s`], [what, times], [causeOf(event)], [change]].map((content) => make("td", {}, ...content.filter((part) => part !== "")));
  const row = Object.assign(make("tr", {}, ...cells), { what, count, before: first });
  if (same) same.replaceWith(row);
  else body.prepend(row);
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

byId("more").addEventListener("toggle", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", redraw);
connect();
