"use strict";
// One clock for all: videos, plots, readouts. Data stands in the page; nothing is loaded.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const colour = (index) => `var(--c${index % 8})`;
const owned = (element, index) => { element.style.setProperty("--own", colour(index)); return element; };
const dot = () => make("span", { className: "dot" });

// Numbers as people read them.
const significant = (value, digits = 3) => Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : "–";
const STEPS = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const scaled = (value, unit) => {
  const [step, prefix] = STEPS.find(([step]) => Math.abs(value) >= step) ?? STEPS[3];
  return `${significant(value / step)} ${prefix}${unit}`;
};
const quantity = (value, unit) => {
  if (value == null) return "–";
  if (unit === "bit/s" || unit === "B") return scaled(value, unit);
  if (unit === "dB") return `${value.toFixed(1)} dB`;
  return unit ? `${significant(value)} ${unit}` : significant(value);
};

const chosen = new Set(data.controls.keys());
const isChosen = (index) => chosen.has(index);

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
    // A video that cannot keep up holds the clock, for a while.
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

function film(name, encoded, index) {
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

// ---- The plots: one canvas a panel, one time axis for all.

const STEP = data.step;
const at = (values, time) => values?.[Math.min(values.length - 1, Math.max(0, Math.floor(time / STEP)))] ?? null;
// The picture that was captured last.
function psnrAt(control, time) {
  const { at, db } = control.psnr;
  let low = 0, high = at.length;
  while (low < high) { const middle = (low + high) >> 1; if (at[middle] <= time) low = middle + 1; else high = middle; }
  return low > 0 ? db[low - 1] : null;
}
const grid = (name) => ({
  points: (control) => (control.lines[name] ?? []).map((value, index) => [(index + 0.5) * STEP, value]),
  value: (control, time) => at(control.lines[name], time),
});
const PANELS = [
  { title: "Rate received", unit: "bit/s", height: 210, capacity: true, decisions: true, ...grid("received_rate") },
  { title: "Queue", note: data.bottleneck, unit: "packets", height: 110, ...grid("queue") },
  { title: "Lost", note: "in 0.1 s", unit: "packets", height: 90, bars: true, ...grid("lost") },
  { title: "Buffer", note: "of the receiver", unit: "B", height: 90, ...grid("receiver_buffer") },
  { title: "PSNR", note: "of what is on the screen", unit: "dB", height: 150, floor: true,
    points: (control) => control.psnr.at.map((time, index) => [time, control.psnr.db[index]]), value: psnrAt },
];

class Panel {
  constructor(options, index) {
    Object.assign(this, options, { last: index === PANELS.length - 1 });
    this.lines = data.controls.map((control) => options.points(control).filter(([, value]) => value != null));
    this.canvas = make("canvas");
    this.canvas.setAttribute("aria-label", `${options.title} over time`);
    this.canvas.setAttribute("role", "img");
    this.values = make("ul", { className: "values" });
    const heading = make("h3", { textContent: options.title + " " }, make("small", { textContent: options.note ?? "" }));
    byId("plots").append(make("div", { className: "panel" }, this.canvas, make("aside", {}, heading, this.values)));
    this.cells = data.controls.map((control, index) => {
      const value = make("b");
      const row = owned(make("li", {}, dot(), make("span", { textContent: control.name }), value), index);
      this.values.append(row);
      return { row, value };
    });
  }

  get range() {
    const shown = this.lines.filter((_, index) => isChosen(index)).flat().map(([, value]) => value);
    let top = shown.reduce((most, value) => Math.max(most, value), 0);
    let bottom = 0;
    if (this.capacity) {
      const most = Math.max(...data.capacity.filter((value) => value != null));
      if (most <= top * 2.5) top = Math.max(top, most);
    }
    if (this.floor && shown.length) {
      const capped = shown.filter((value) => value < 60);
      top = capped.length ? capped.reduce((most, value) => Math.max(most, value), 0) : 60;
      bottom = Math.max(0, Math.floor(shown.reduce((least, value) => Math.min(least, value), top) / 5) * 5 - 2);
    }
    return [bottom, bottom + (top - bottom || 1) * 1.08];
  }

  draw() {
    const width = this.canvas.clientWidth;
    const height = this.height + (this.last ? 22 : 0);
    const ratio = devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    // What stands still is drawn once, beside; the playhead over it many times a second.
    this.layer = make("canvas");
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = this.layer.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const paint = (name) => style.getPropertyValue(name).trim();
    const [bottom, top] = this.range;
    const area = { left: LEFT, right: width - RIGHT, top: 10, bottom: this.height - 6 };
    this.x = (time) => area.left + time / data.duration * (area.right - area.left);
    const y = (value) => area.bottom - (Math.min(value, top) - bottom) / (top - bottom) * (area.bottom - area.top);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.#axes(context, area, paint, bottom, top, y);
    context.save();
    context.beginPath();
    context.rect(area.left, 0, area.right - area.left, this.height);
    context.clip();
    if (this.capacity) this.#capacity(context, area, paint, y);
    this.lines.forEach((points, index) => {
      if (!isChosen(index)) return;
      context.strokeStyle = context.fillStyle = paint(`--c${index % 8}`);
      if (this.bars) this.#bars(context, points, index, y); else this.#line(context, points, y);
      if (this.decisions) this.#decisions(context, data.controls[index], paint("--card"), y);
    });
    context.restore();
    this.mark(now, null);
  }

  // The playhead and the pointer, over what was drawn.
  mark(time, pointer) {
    if (!this.layer?.width) return;
    const context = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.layer, 0, 0);
    const style = getComputedStyle(document.documentElement);
    for (const [moment, name, dash] of [[pointer, "--soft", [3, 3]], [time, "--ink", []]]) {
      if (moment == null) continue;
      const x = Math.round(this.x(moment)) + 0.5;
      context.save();
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.strokeStyle = style.getPropertyValue(name).trim();
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.height);
      context.stroke();
      context.restore();
    }
  }

  read(time) {
    this.cells.forEach(({ row, value }, index) => {
      row.hidden = !isChosen(index);
      row.style.display = row.hidden ? "none" : "";
      value.textContent = quantity(this.value(data.controls[index], time), this.unit);
    });
  }

  #axes(context, area, paint, bottom, top, y) {
    context.strokeStyle = paint("--grid");
    context.fillStyle = paint("--soft");
    context.textAlign = "right";
    for (const tick of ticks(bottom, top, this.height > 120 ? 4 : 2)) {
      const line = Math.round(y(tick)) + 0.5;
      context.beginPath();
      context.moveTo(area.left, line);
      context.lineTo(area.right, line);
      context.stroke();
      context.fillText(tick === 0 ? "0" : quantity(tick, this.unit === "packets" ? "" : this.unit).replace(/\.0 dB/, " dB"), area.left - 6, line);
    }
    context.textAlign = "center";
    for (const tick of ticks(0, data.duration, area.right - area.left > 500 ? 10 : 5)) {
      const line = Math.round(this.x(tick)) + 0.5;
      context.beginPath();
      context.moveTo(line, area.top);
      context.lineTo(line, area.bottom);
      context.stroke();
      if (this.last) context.fillText(`${significant(tick)} s`, Math.min(line, area.right - 8), this.height + 8);
    }
  }

  #capacity(context, area, paint, y) {
    context.beginPath();
    context.moveTo(area.left, area.bottom);
    data.capacity.forEach((value, index) => {
      context.lineTo(this.x(index * STEP), y(value ?? 0));
      context.lineTo(this.x((index + 1) * STEP), y(value ?? 0));
    });
    context.lineTo(area.right, area.bottom);
    context.fillStyle = paint("--fill");
    context.fill();
    context.strokeStyle = paint("--capacity");
    context.stroke();
  }

  #line(context, points, y) {
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    context.beginPath();
    points.forEach(([time, value], index) => context[index ? "lineTo" : "moveTo"](this.x(time), y(value)));
    context.stroke();
    context.lineWidth = 1;
  }

  #bars(context, points, index, y) {
    const places = [...chosen].sort((a, b) => a - b);
    const width = Math.max(1, (this.x(STEP) - this.x(0)) / places.length);
    const shift = places.indexOf(index) * width;
    for (const [time, value] of points) {
      if (value > 0) context.fillRect(this.x(time - STEP / 2) + shift, y(value), Math.max(1, width - 0.3), y(0) - y(value));
    }
  }

  // Changes by a tenth and more: full where the rate fell, hollow where it rose.
  #decisions(context, control, paper, y) {
    let last = -Infinity;
    for (const decision of control.decisions) {
      const [before, after] = [decision.before, decision.after];
      const x = this.x(decision.at);
      if (Math.abs(after - before) < 0.1 * before || x - last < 7) continue;
      last = x;
      context.beginPath();
      context.arc(x, y(Math.min(after, this.range[1])), 2.6, 0, 7);
      context.save();
      if (after > before) context.fillStyle = paper;
      context.fill();
      context.stroke();
      context.restore();
    }
  }
}

const [LEFT, RIGHT] = [64, 8];

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) found.push(Number(tick.toPrecision(12)));
  return found;
}

// ---- Causes.

function lastDecision(control, time) {
  let low = 0, high = control.decisions.length;
  while (low < high) { const middle = (low + high) >> 1; if (control.decisions[middle].at <= time) low = middle + 1; else high = middle; }
  return control.decisions[low - 1] ?? null;
}

function cause(index, time) {
  const control = data.controls[index];
  const decision = lastDecision(control, time);
  const text = make("p");
  if (!decision) {
    text.append(make("b", { textContent: control.name }), " has decided nothing yet");
  } else {
    const { signal, value, unit, threshold } = decision;
    const change = `${quantity(decision.before, "bit/s")} → ${quantity(decision.after, "bit/s")}`;
    const border = threshold == null ? "" : ` (threshold ${quantity(threshold, unit)})`;
    text.append(
      make("b", { textContent: control.name }), ` ${decision.at.toFixed(2)} s · `, make("b", { textContent: change }),
      ` · ${decision.cause}`, make("br"), `${signal.replaceAll("_", " ")} ${quantity(value, unit)}${border}`,
      decision.phase ? ` · ${decision.phase}` : "",
      decision.more ? ` · one of ${decision.more + 1} within 0.1 s` : "");
  }
  return owned(make("li", { className: "cause" }, dot(), text), index);
}

function showTip(time, event) {
  const tip = byId("tip");
  const list = make("ul", {}, ...[...chosen].sort((a, b) => a - b).map((index) => cause(index, time)));
  tip.replaceChildren(make("strong", { textContent: `${time.toFixed(2)} s` }), list);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - width - 16 : event.clientX + 16;
  const y = event.clientY + 16 + height > innerHeight - 60 ? event.clientY - height - 16 : event.clientY + 16;
  tip.style.left = `${Math.max(8, Math.min(x, innerWidth - width - 8))}px`;
  tip.style.top = `${Math.max(8, y)}px`;
}

// ---- The page.

let now = 0;
let shownWhy = "";
byId("title").textContent = data.title;
byId("about").textContent = data.about;
byId("facts").append(...data.facts.map((fact) => make("li", { textContent: fact })));
byId("foot").append(data.foot + " ", make("code", { textContent: data.command }));
byId("table-note").textContent = data.note;

const sent = film("sent", data.sent, null);
const films = data.controls.map((control, index) => film(control.name, control.video, index));
const panels = PANELS.map((options, index) => new Panel(options, index));
const player = new Player([sent.video, ...films.map(({ video }) => video)], data.duration, update);

data.controls.forEach((control, index) => {
  const chip = owned(make("button", { className: "chip", type: "button" }, dot(), make("span", { textContent: control.name })), index);
  chip.setAttribute("aria-pressed", "true");
  chip.addEventListener("click", () => {
    if (isChosen(index)) chosen.delete(index); else chosen.add(index);
    chip.setAttribute("aria-pressed", String(isChosen(index)));
    choose();
  });
  byId("choice").append(chip);
});

function choose() {
  films.forEach(({ figure }, index) => { figure.hidden = !isChosen(index); });
  byId("videos").dataset.count = String(chosen.size + 1);
  table();
  redraw();
}

function redraw() {
  panels.forEach((panel) => panel.draw());
  shownWhy = "";
  update(now);
}

function update(time) {
  now = time;
  byId("scrub").value = String(time);
  byId("clock").textContent = `${time.toFixed(1)} / ${data.duration.toFixed(0)} s`;
  const play = byId("play");
  play.textContent = player?.playing ? "❚❚" : "▶";
  play.setAttribute("aria-label", player?.playing ? "Pause" : "Play");
  for (const panel of panels) { panel.mark(time, null); panel.read(time); }
  data.controls.forEach((control, index) => {
    const [psnr, rate] = [psnrAt(control, time), at(control.lines.received_rate, time)];
    films[index].note.textContent = `${quantity(psnr, "dB")} · ${quantity(rate, "bit/s")}`;
  });
  sent.note.textContent = quantity(at(data.capacity, time), "bit/s") + " link";
  const why = [...chosen].map((index) => `${index}@${lastDecision(data.controls[index], time)?.at}`).join();
  byId("why-time").textContent = `at ${time.toFixed(1)} s`;
  if (why !== shownWhy) {
    shownWhy = why;
    byId("why").replaceChildren(...[...chosen].sort((a, b) => a - b).map((index) => cause(index, time)));
  }
}

function table() {
  const columns = [...data.controls.keys()].filter(isChosen);
  const head = make("tr", {}, make("th"), ...columns.map((index) => owned(make("th", {}, dot(), data.controls[index].name), index)));
  const rows = data.table.map(({ label, unit, better, cells }) => {
    const known = columns.filter((index) => cells[index]?.mean != null);
    const means = known.map((index) => cells[index].mean);
    const best = better === "more" ? Math.max(...means) : better === "less" ? Math.min(...means) : NaN;
    const cell = (index) => {
      const { mean, ci95 } = cells[index] ?? {};
      if (mean == null) return make("td", { textContent: "–" });
      const text = make("td", {}, make("b", { textContent: quantity(mean, unit) }));
      if (ci95 != null) text.append(make("small", { textContent: ` ± ${significant(unit === "bit/s" ? ci95 / spread(mean) : ci95, 2)}` }));
      if (new Set(means).size > 1 && mean === best) text.className = "best";
      return owned(text, index);
    };
    return make("tr", {}, make("th", { scope: "row", textContent: label }), ...columns.map(cell));
  });
  byId("table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

// The interval in the unit that the mean is shown in.
const spread = (mean) => (STEPS.find(([step]) => Math.abs(mean) >= step) ?? STEPS[3])[0];

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
for (const panel of panels) {
  const timeOf = (event) => {
    const box = panel.canvas.getBoundingClientRect();
    const part = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    return Math.max(0, Math.min(data.duration, part * data.duration));
  };
  panel.canvas.addEventListener("pointermove", (event) => {
    const time = timeOf(event);
    if (event.buttons & 1) player.seek(time);
    panels.forEach((each) => each.mark(now, time));
    showTip(time, event);
  });
  panel.canvas.addEventListener("pointerdown", (event) => {
    panel.canvas.setPointerCapture(event.pointerId);
    if (player.playing) player.pause();
    player.seek(timeOf(event));
    showTip(timeOf(event), event);
  });
  panel.canvas.addEventListener("pointerleave", () => {
    byId("tip").hidden = true;
    panels.forEach((each) => each.mark(now, null));
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let width = 0;
new ResizeObserver(([entry]) => {
  if (entry.contentRect.width !== width) { width = entry.contentRect.width; redraw(); }
}).observe(byId("plots"));
choose();
