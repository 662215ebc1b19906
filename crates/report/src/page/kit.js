"use strict";
// The kit of all pages: elements, numbers, colours, the choice of controllers, tips, and charts over time.
const byId = (id) => document.getElementById(id);
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const pageData = () => JSON.parse(byId("data").textContent);

// Eight colours; beyond them the same again, dashed and hollow.
const colour = (index) => `--c${index % 8}`;
const owned = (element, index) => {
  element.style.setProperty("--own", `var(${colour(index)})`);
  if (index >= 8) element.classList.add("second");
  return element;
};
const dot = () => make("span", { className: "dot" });

// Numbers for readers. Kilo is 1000.
const significant = (value, digits = 3) => Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : "–";
const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const prefixOf = (value) => PREFIXES.find(([step]) => Math.abs(value) >= step) ?? PREFIXES[3];
const quantity = (value, unit) => {
  if (value == null) return "–";
  if (unit === "bit/s" || unit === "B") {
    const [step, prefix] = prefixOf(value);
    return `${significant(value / step)} ${prefix}${unit}`;
  }
  if (unit === "dB") return `${value.toFixed(1)} dB`;
  return unit ? `${significant(value)} ${unit}` : significant(value);
};

// The best mean of these cells, where they differ.
function best(cells, better) {
  const means = cells.map((cell) => cell?.mean).filter((mean) => mean != null);
  if (new Set(means).size < 2 || !better) return NaN;
  return better === "more" ? Math.max(...means) : Math.min(...means);
}

// A table cell with mean and interval, as `text` writes them.
function estimate(cell, top, text) {
  if (cell?.mean == null) return make("td", { textContent: "–" });
  const [mean, half] = text(cell);
  const element = make("td", { className: cell.mean === top ? "best" : "" }, make("b", { textContent: mean }));
  if (cell.ci95 != null) element.append(make("small", { textContent: ` ± ${half}` }));
  return element;
}

// Buttons that choose among the controllers. Returns the set of chosen indices; `onChange` runs after each press.
function chooser(names, onChange, withAll) {
  const chosen = new Set(names.keys());
  const chips = names.map((name, index) => {
    const chip = owned(make("button", { className: "chip", type: "button" }, dot(), make("span", { textContent: name })), index);
    chip.addEventListener("click", () => { if (!chosen.delete(index)) chosen.add(index); changed(); });
    return chip;
  });
  const all = make("button", { className: "chip all", type: "button", hidden: !withAll });
  all.addEventListener("click", () => {
    const fill = chosen.size < names.length;
    chosen.clear();
    if (fill) for (const index of names.keys()) chosen.add(index);
    changed();
  });
  const show = () => {
    chips.forEach((chip, index) => chip.setAttribute("aria-pressed", String(chosen.has(index))));
    all.textContent = chosen.size < names.length ? "all" : "none";
  };
  const changed = () => { show(); onChange(); };
  byId("choice").append(...chips, all);
  show();
  return chosen;
}

// The index of the first of these instants after `time`.
function after(instants, time) {
  let low = 0, high = instants.length;
  while (low < high) { const middle = (low + high) >> 1; if (instants[middle] <= time) low = middle + 1; else high = middle; }
  return low;
}

// New target rates over a chart of rates, of changes by a tenth and more: full where the rate fell, hollow where it rose.
function drawDecisions(context, chart, decisions, colour) {
  context.strokeStyle = context.fillStyle = chart.paint(colour);
  let last = -Infinity;
  for (const { at, before, after } of decisions) {
    const x = chart.x(at);
    if (Math.abs(after - before) < 0.1 * before || x - last < 7) continue;
    last = x;
    context.beginPath();
    context.arc(x, chart.y(after), 2.6, 0, 7);
    context.save();
    if (after > before) context.fillStyle = chart.paint("--card");
    context.fill();
    context.stroke();
    context.restore();
  }
}

// A change of the rate and its cause, as nodes of text.
function describeDecision({ at, before, after, cause, signal, value, unit, threshold, phase, more }) {
  const change = `${quantity(before, "bit/s")} → ${quantity(after, "bit/s")}`;
  const bound = threshold == null ? "" : ` (threshold ${quantity(threshold, unit)})`;
  return [
    ` ${at.toFixed(2)} s · `, make("b", { textContent: change }), ` · ${cause}`, make("br"),
    `${signal.replaceAll("_", " ")} ${quantity(value, unit)}${bound}`, phase ? ` · ${phase}` : "",
    more ? ` · one of ${more + 1} within 0.1 s` : "",
  ];
}

// A box beside the pointer.
function showTip(event, ...content) {
  const tip = byId("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - width - 16 : event.clientX + 16;
  const y = event.clientY + 16 + height > innerHeight - 60 ? event.clientY - height - 16 : event.clientY + 16;
  tip.style.left = `${Math.max(8, Math.min(x, innerWidth - width - 8))}px`;
  tip.style.top = `${Math.max(8, y)}px`;
}
const hideTip = () => { byId("tip").hidden = true; };

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) found.push(Number(tick.toPrecision(12)));
  return found;
}

// A canvas with curves over time, and their values at an instant beside it.
//
// Options: title, note, unit, height, last (with time labels), floor (the axis need not begin at zero), range (the ends of the axis), over (draws
// more on the plot); series: { label, colour (a property of the style), kind: "line", "bars" or "area", points(): pairs of
// time and value, value(time), isShown() }.
class Chart {
  static LEFT = 64;
  static RIGHT = 8;

  constructor(container, options) {
    Object.assign(this, { unit: "", height: 150, last: false, floor: false, over() {} }, options);
    this.canvas = make("canvas");
    this.canvas.setAttribute("aria-label", `${this.title} over time`);
    this.canvas.setAttribute("role", "img");
    this.cells = this.series.map(({ label, colour }) => {
      const row = make("li", {}, dot(), make("span", { textContent: label, title: label }), make("b"));
      row.style.setProperty("--own", `var(${colour})`);
      return row;
    });
    const heading = make("h3", {}, `${this.title} `, make("small", { textContent: this.note ?? "" }));
    container.append(make("div", { className: "panel" }, this.canvas,
      make("aside", {}, heading, make("ul", { className: "values" }, ...this.cells))));
  }

  // The time under the pointer.
  timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = (event.clientX - box.left - Chart.LEFT) / (box.width - Chart.LEFT - Chart.RIGHT);
    const [from, to] = this.span;
    return Math.max(from, Math.min(to, from + part * (to - from)));
  }

  // The values beside the plot.
  read(time) {
    this.series.forEach((series, index) => {
      const row = this.cells[index];
      row.style.display = series.isShown() ? "" : "none";
      row.lastChild.textContent = quantity(series.value(time), this.unit);
    });
  }

  // Draws what is fixed to a layer of its own, once; the marks are drawn over it.
  draw(span, marks) {
    this.span = span;
    const width = this.canvas.clientWidth;
    const height = this.height + (this.last ? 22 : 0);
    const ratio = devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    this.layer ??= make("canvas");
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const style = getComputedStyle(document.documentElement);
    this.paint = (name) => style.getPropertyValue(name).trim();
    const context = this.layer.getContext("2d");
    context.scale(ratio, ratio);
    const shown = this.series.filter((series) => series.isShown()).map((series) => ({ ...series, points: series.points() }));
    const [bottom, top] = this.#range(shown);
    const area = { left: Chart.LEFT, right: width - Chart.RIGHT, top: 10, bottom: this.height - 6 };
    this.x = (time) => area.left + (time - span[0]) / (span[1] - span[0]) * (area.right - area.left);
    this.y = (value) => area.bottom - (Math.min(value, top) - bottom) / (top - bottom) * (area.bottom - area.top);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.#axes(context, area, bottom, top);
    context.save();
    context.beginPath();
    context.rect(area.left, 0, area.right - area.left, this.height);
    context.clip();
    const bars = shown.filter(({ kind }) => kind === "bars");
    for (const series of shown) {
      context.strokeStyle = context.fillStyle = this.paint(series.colour);
      if (series.kind === "area") this.#area(context, series.points);
      else if (series.kind === "bars") this.#bars(context, series, bars.indexOf(series), bars.length);
      else this.#line(context, series.points);
    }
    this.over(context, this);
    context.restore();
    this.mark(marks);
  }

  // Vertical lines over the plot: pairs of time and style, `playhead` or `pointer`.
  mark(marks) {
    if (!this.layer?.width) return;
    const context = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.layer, 0, 0);
    context.save();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const [time, style] of marks) {
      const x = Math.round(this.x(time)) + 0.5;
      context.strokeStyle = this.paint(style === "playhead" ? "--ink" : "--soft");
      context.setLineDash(style === "playhead" ? [] : [3, 3]);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.height);
      context.stroke();
    }
    context.restore();
  }

  // An area far above the curves does not flatten them.
  #range(shown) {
    if (this.range) return this.range;
    const most = (series) => series.flatMap(({ points }) => points).reduce((most, [, value]) => Math.max(most, value), 0);
    const curves = shown.filter(({ kind }) => kind !== "area");
    const area = most(shown.filter(({ kind }) => kind === "area"));
    let [bottom, top] = [0, most(curves)];
    if (area <= top * 2.5 || !top) top = Math.max(top, area);
    const values = this.floor ? curves.flatMap(({ points }) => points.map(([, value]) => value)) : [];
    if (values.length) {
      // PSNR: identical pictures count as 100 dB, which would flatten the others.
      top = values.reduce((most, value) => (value < 60 ? Math.max(most, value) : most), 0) || 60;
      bottom = Math.max(0, Math.floor(values.reduce((least, value) => Math.min(least, value), top) / 5) * 5 - 2);
    }
    return [bottom, bottom + (top - bottom || 1) * 1.08];
  }

  #axes(context, area, bottom, top) {
    context.strokeStyle = this.paint("--grid");
    context.fillStyle = this.paint("--soft");
    const line = (...points) => {
      context.beginPath();
      for (const point of points) context.lineTo(...point);
      context.stroke();
    };
    context.textAlign = "right";
    for (const tick of ticks(bottom, top, this.height > 120 ? 4 : 2)) {
      const y = Math.round(this.y(tick)) + 0.5;
      line([area.left, y], [area.right, y]);
      const label = tick === 0 ? "0" : quantity(tick, this.unit === "packets" ? "" : this.unit).replace(/\.0 dB/, " dB");
      context.fillText(label, area.left - 6, y);
    }
    context.textAlign = "center";
    for (const tick of ticks(...this.span, area.right - area.left > 500 ? 10 : 5)) {
      const x = Math.round(this.x(tick)) + 0.5;
      line([x, area.top], [x, area.bottom]);
      if (this.last) context.fillText(`${tick} s`, Math.min(x, area.right - 8), this.height + 8);
    }
  }

  #line(context, points) {
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    context.beginPath();
    for (const [time, value] of points) context.lineTo(this.x(time), this.y(value));
    context.stroke();
    context.lineWidth = 1;
  }

  // Each point holds until the next.
  #area(context, points) {
    if (!points.length) return;
    const end = this.x(Math.max(this.span[1], points.at(-1)[0]));
    context.beginPath();
    context.moveTo(this.x(points[0][0]), this.y(0));
    points.forEach(([time, value], index) => {
      context.lineTo(this.x(time), this.y(value));
      context.lineTo(index + 1 < points.length ? this.x(points[index + 1][0]) : end, this.y(value));
    });
    context.lineTo(end, this.y(0));
    context.fillStyle = this.paint("--fill");
    context.fill();
    context.stroke();
  }

  // The bars of several series stand side by side.
  #bars(context, { points, step }, place, count) {
    const width = Math.max(1, (this.x(step) - this.x(0)) / count);
    for (const [time, value] of points) {
      if (value > 0) {
        const left = this.x(time - step / 2) + place * width;
        context.fillRect(left, this.y(value), Math.max(1, width - 0.3), this.y(0) - this.y(value));
      }
    }
  }
}
