// One clock for all: videos, plots, readouts.
const data = pageData();

// ---- The clock and the videos that follow it.

class Player {
  #base = 0; #since = null; #rate = 1; #held = 0;
  constructor(videos, duration, onTime) {
    Object.assign(this, { videos, duration, onTime });
    requestAnimationFrame(() => this.#tick());
  }
  get playing() { return this.#since !== null; }
  get time() {
    const passed = this.playing ? (performance.now() - this.#since) / 1000 * this.#rate : 0;
    return Math.min(this.#base + passed, this.duration);
  }
  seek(time) {
    this.#base = Math.max(0, Math.min(time, this.duration));
    if (this.playing) this.#since = performance.now();
    for (const video of this.videos) video.currentTime = this.#at(this.#base);
    this.onTime(this.#base);
  }
  play() {
    if (this.time >= this.duration - 0.01) this.seek(0);
    this.#since = performance.now();
    for (const video of this.videos) this.#start(video);
    this.onTime(this.time);
  }
  pause() {
    this.#base = this.time;
    this.#since = null;
    for (const video of this.videos) { video.pause(); video.currentTime = this.#at(this.#base); }
    this.onTime(this.#base);
  }
  set rate(rate) {
    this.#base = this.time;
    if (this.playing) this.#since = performance.now();
    this.#rate = rate;
  }
  // Within the last picture, not after it.
  #at(time) { return Math.min(time + 0.001, this.duration - 0.5 / data.fps); }
  #start(video) { video.playbackRate = this.#rate; video.play().catch(() => {}); }
  #tick() {
    requestAnimationFrame(() => this.#tick());
    if (!this.playing) return;
    // A video that cannot keep up stops the clock for up to 120 frames.
    const slow = this.videos.some((video) => !video.error && !video.ended && video.readyState < 2);
    this.#held = slow ? this.#held + 1 : 0;
    if (slow && this.#held < 120) { this.#base = this.time; this.#since = performance.now(); }
    const time = this.time;
    if (time >= this.duration) { this.pause(); return; }
    for (const video of this.videos) this.#follow(video, time);
    this.onTime(time);
  }
  #follow(video, time) {
    if (video.seeking) return;
    if (video.paused && !video.ended) this.#start(video);
    const ahead = video.currentTime - time;
    if (Math.abs(ahead) > 0.3) video.currentTime = this.#at(time);
    else video.playbackRate = this.#rate * (Math.abs(ahead) < 0.02 ? 1 : 1 - Math.max(-0.2, Math.min(0.2, ahead * 2)));
  }
}

function source(encoded) {
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
}

function videoOf(name, encoded, index) {
  const video = make("video", { muted: true, playsInline: true, preload: "auto", src: source(encoded) });
  video.style.aspectRatio = `${data.width} / ${data.height}`;
  video.setAttribute("aria-label", name);
  const note = make("span", { className: "note" });
  const caption = make("figcaption", {}, make("b", { textContent: name, title: name }), note);
  if (index !== null) caption.prepend(dot());
  const figure = make("figure", {}, video, caption);
  if (index !== null) owned(figure, index);
  byId("videos").append(figure);
  return { figure, video, note };
}

// ---- The plots.

const STEP = data.step;
const at = (values, time) => values?.[Math.min(values.length - 1, Math.max(0, Math.floor(time / STEP)))] ?? null;
const psnrAt = ({ psnr }, time) => psnr.db[after(psnr.at, time) - 1] ?? null;
const known = (points) => points.filter(([, value]) => value != null);
const grid = (values = []) => known(values.map((value, index) => [(index + 0.5) * STEP, value]));
const ofLine = (name) => ({ points: ({ lines }) => grid(lines[name]), value: ({ lines }, time) => at(lines[name], time) });
const PANELS = [
  { title: "Rate received", unit: "bit/s", height: 210, capacity: true, over: decisions, ...ofLine("received_rate") },
  { title: "Queue", note: data.bottleneck, unit: "packets", height: 110, ...ofLine("queue") },
  { title: "Lost", note: "in 0.1 s", unit: "packets", height: 90, kind: "bars", ...ofLine("lost") },
  { title: "Buffer", note: "of the receiver", unit: "B", height: 90, ...ofLine("receiver_buffer") },
  { title: "PSNR", note: "of the picture on screen", unit: "dB", height: 150, floor: true,
    points: ({ psnr }) => known(psnr.at.map((time, index) => [time, psnr.db[index]])), value: psnrAt },
];

const chosen = chooser(data.controls.map(({ name }) => name), choose);
const isChosen = (index) => chosen.has(index);
const inOrder = () => [...chosen].sort((a, b) => a - b);

const charts = PANELS.map(({ points, value, kind = "line", capacity, ...options }, index) => {
  const series = data.controls.map((control, index) => {
    const known = points(control);
    return {
      label: control.name, colour: colour(index), kind, step: STEP,
      points: () => known, value: (time) => value(control, time), isShown: () => isChosen(index),
    };
  });
  if (capacity) {
    const steps = data.capacity.map((value, index) => [index * STEP, value ?? 0]);
    series.unshift({
      label: "capacity", colour: "--capacity", kind: "area",
      points: () => steps, value: (time) => at(data.capacity, time), isShown: () => true,
    });
  }
  return new Chart(byId("plots"), { ...options, series, last: index === PANELS.length - 1 });
});

function decisions(context, chart) {
  for (const index of inOrder()) drawDecisions(context, chart, data.controls[index].decisions, colour(index));
}

// ---- Causes.

const lastDecision = (control, time) =>
  control.decisions[after(control.decisions.map(({ at }) => at), time) - 1] ?? null;

function cause(index, time) {
  const control = data.controls[index];
  const decision = lastDecision(control, time);
  const text = make("p", {}, make("b", { textContent: control.name }));
  text.append(...(decision ? describeDecision(decision) : [" has not changed its rate yet"]));
  return owned(make("li", { className: "cause" }, dot(), text), index);
}

// ---- The page.

let now = 0;
let shownWhy = "";
byId("table-note").textContent = data.note;
const sent = videoOf("sent", data.sent, null);
const videos = data.controls.map((control, index) => videoOf(control.name, control.video, index));
const player = new Player([sent.video, ...videos.map(({ video }) => video)], data.duration, update);

function choose() {
  videos.forEach(({ figure }, index) => { figure.hidden = !isChosen(index); });
  byId("videos").dataset.count = String(chosen.size + 1);
  table();
  redraw();
}

function redraw() {
  charts.forEach((chart) => chart.draw([0, data.duration], [[now, "playhead"]]));
  shownWhy = "";
  update(now);
}

function update(time) {
  now = time;
  byId("scrub").value = String(time);
  byId("clock").textContent = `${time.toFixed(1)} / ${data.duration.toFixed(0)} s`;
  const play = byId("play");
  play.textContent = player.playing ? "❚❚" : "▶";
  play.setAttribute("aria-label", player.playing ? "Pause" : "Play");
  for (const chart of charts) { chart.mark([[time, "playhead"]]); chart.read(time); }
  data.controls.forEach((control, index) => {
    const [psnr, rate] = [psnrAt(control, time), at(control.lines.received_rate, time)];
    videos[index].note.textContent = `${quantity(psnr, "dB")} · ${quantity(rate, "bit/s")}`;
  });
  sent.note.textContent = quantity(at(data.capacity, time), "bit/s") + " link";
  const why = [...chosen].map((index) => `${index}@${lastDecision(data.controls[index], time)?.at}`).join();
  byId("why-time").textContent = `at ${time.toFixed(1)} s`;
  if (why !== shownWhy) {
    shownWhy = why;
    byId("why").replaceChildren(...inOrder().map((index) => cause(index, time)));
  }
}

function table() {
  const head = make("tr", {}, make("th"), ...inOrder().map((index) => owned(make("th", {}, dot(), data.controls[index].name), index)));
  const rows = data.table.map(({ label, unit, better, cells }) => {
    const top = best(inOrder().map((index) => cells[index]), better);
    // The interval in the unit of the mean.
    const text = ({ mean, ci95 }) => [quantity(mean, unit), significant(unit === "bit/s" ? ci95 / prefixOf(mean)[0] : ci95, 2)];
    const row = inOrder().map((index) => owned(estimate(cells[index], top, text), index));
    return make("tr", {}, make("th", { scope: "row", textContent: label }), ...row);
  });
  byId("table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

const scrub = byId("scrub");
scrub.max = String(data.duration);
scrub.addEventListener("input", () => { if (player.playing) player.pause(); player.seek(Number(scrub.value)); });
byId("play").addEventListener("click", () => (player.playing ? player.pause() : player.play()));
byId("speed").addEventListener("change", (event) => { player.rate = Number(event.target.value); });
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, button")) return;
  if (event.key === " ") { event.preventDefault(); if (player.playing) player.pause(); else player.play(); }
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") player.seek(now + (event.key === "ArrowLeft" ? -1 : 1));
});
for (const chart of charts) {
  const { canvas } = chart;
  const point = (event) => {
    const time = chart.timeAt(event);
    charts.forEach((each) => each.mark([[time, "pointer"], [now, "playhead"]]));
    const causes = make("ul", {}, ...inOrder().map((index) => cause(index, time)));
    showTip(event, make("strong", { textContent: `${time.toFixed(2)} s` }), causes);
  };
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) player.seek(chart.timeAt(event));
    point(event);
  });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (player.playing) player.pause();
    player.seek(chart.timeAt(event));
    point(event);
  });
  canvas.addEventListener("pointerleave", () => {
    hideTip();
    charts.forEach((each) => each.mark([[now, "playhead"]]));
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let width = 0;
new ResizeObserver(([entry]) => {
  if (entry.contentRect.width !== width) { width = entry.contentRect.width; redraw(); }
}).observe(byId("plots"));
choose();
