// The live plots: one panel a quantity, one cursor for all, a mark for each event.
import uPlot from "./uplot.js";
import * as format from "./format.js";

const WINDOW = 60; // seconds kept in sight
const PANELS = [
  { title: "rate", format: format.rate, series: [
    ["capacity_bps", "capacity", "#9aa5b1"], ["allowance_bps", "allowed", "#0b62b8"], ["target_bps", "encoder target", "#8e44ad"],
    ["sent_bps", "sent", "#d35400"], ["received_bps", "received", "#1e8449"]] },
  { title: "round-trip time and queueing delay", format: format.milliseconds, series: [
    ["rtt_ms", "round trip", "#0b62b8"], ["queue_delay_ms", "queueing", "#d35400"]] },
  { title: "loss", format: format.percent, series: [
    ["loss_ratio", "on the way", "#b3261e"], ["residual_loss_ratio", "after repair", "#8e44ad"]] },
  { title: "playout buffer and capture-to-display delay", format: format.milliseconds, series: [
    ["playout_buffer_ms", "buffer", "#1e8449"], ["delay_ms", "delay", "#0b62b8"]] },
  { title: "PSNR of received against sent", format: format.decibels, series: [["psnr_db", "luma", "#0b62b8"]] },
];

export class Plots {
  #time = [];
  #columns = new Map(PANELS.flatMap((panel) => panel.series.map(([name]) => [name, []])));
  #marks = [];
  #charts = [];

  constructor(container) {
    for (const panel of PANELS) {
      const frame = container.appendChild(document.createElement("div"));
      frame.className = "plot";
      const chart = new uPlot(this.#options(panel, frame), [[], ...panel.series.map(() => [])], frame);
      this.#charts.push({ panel, chart });
      new ResizeObserver(() => chart.setSize(size(frame))).observe(frame);
    }
  }

  sample(time, values) {
    this.#time.push(time);
    for (const [name, column] of this.#columns) column.push(values[name] ?? null);
    while (this.#time.length && this.#time[0] < time - WINDOW) {
      this.#time.shift();
      for (const column of this.#columns.values()) column.shift();
    }
    this.#marks = this.#marks.filter((mark) => mark.time >= time - WINDOW);
    for (const { panel, chart } of this.#charts) {
      chart.setData([this.#time, ...panel.series.map(([name]) => this.#columns.get(name))]);
    }
  }

  mark(time, label) {
    this.#marks.push({ time, label });
  }

  #options(panel, frame) {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ["--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    return {
      title: panel.title,
      ...size(frame),
      cursor: { sync: { key: "seaway" } },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, size: 74, values: (_, ticks) => ticks.map(panel.format) },
      ],
      series: [
        { label: "time", value: (_, time) => (time == null ? "–" : format.seconds(time)) },
        ...panel.series.map(([, label, stroke]) => ({
          label, stroke, width: 1.5, spanGaps: false, value: (_, value) => (value == null ? "–" : panel.format(value)),
        })),
      ],
      hooks: { draw: [(chart) => this.#drawMarks(chart)] },
    };
  }

  // A switch of controller or network is a dashed line through every panel.
  #drawMarks(chart) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = "#b3261e";
    ctx.setLineDash([4, 4]);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    for (const [index, { time, label }] of this.#marks.entries()) {
      const x = chart.valToPos(time, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(label, x + 4, bbox.top + (1 + (index % 4)) * 12 * devicePixelRatio);
    }
    ctx.restore();
  }
}

function size(frame) {
  return { width: Math.max(200, frame.clientWidth - 10), height: 190 };
}
