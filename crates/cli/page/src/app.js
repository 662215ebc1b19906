// The page of `seaway demo` and `--web`: pictures, plots, events, controls.
//
// One socket carries JSON both ways. From the server: `hello` (once), `sample` (ten a second), `event`,
// `settings`, `error`. To the server: `set`. Names of values are those of the JSON lines and the report.
import { Controls } from "./controls.js";
import { Plots } from "./plots.js";
import { watch } from "./pictures.js";
import * as format from "./format.js";

const RETRY_MS = 1000;
const EVENTS_KEPT = 300;
const NUMBERS = [
  ["controller", (s) => s.control ?? "–"], ["phase", (s) => s.phase ?? "–"],
  ["allowed", (s) => format.rate(s.allowance_bps)], ["sent", (s) => format.rate(s.sent_bps)],
  ["received", (s) => format.rate(s.received_bps)], ["round trip", (s) => format.milliseconds(s.rtt_ms)],
  ["delay", (s) => format.milliseconds(s.delay_ms)], ["loss", (s) => format.percent(s.loss_ratio)],
  ["frames shown", (s) => format.count(s.frames_displayed)], ["freezes", (s) => format.count(s.freezes)],
  ["PSNR", (s) => format.decibels(s.psnr_db)], ["encoder", (s) => s.resolution ?? "–"],
];

const status = document.getElementById("status");
const plots = new Plots(document.getElementById("plots"));
let socket;
const controls = new Controls((message) => socket.send(JSON.stringify(message)));
const numbers = NUMBERS.map(([name, read]) => {
  const box = document.getElementById("numbers").appendChild(document.createElement("div"));
  box.appendChild(document.createElement("dt")).textContent = name;
  return [box.appendChild(document.createElement("dd")), read];
});

const on = {
  hello(message) {
    status.textContent = `${message.seaway} · ${message.title} · seed ${message.seed}`;
    document.getElementById("sent-figure").hidden = !message.pictures.includes("sent");
    document.getElementById("received-figure").hidden = !message.pictures.includes("received");
    controls.hello(message);
    const elements = message.pictures.map((name) => document.getElementById(name));
    watching ??= watch(elements, (note) => (document.getElementById("received-note").textContent = note));
  },
  sample(message) {
    plots.sample(message.time, message);
    for (const [box, read] of numbers) box.textContent = read(message);
  },
  event(message) {
    if (message.kind === "setting") plots.mark(message.time, message.what);
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
let watching;

function listEvent({ time, what, signal, threshold, before_bps, after_bps }) {
  const row = document.createElement("tr");
  const because = signal
    ? `${signal.name.replaceAll("_", " ")} ${format.quantity(signal.value, signal.unit)} against ${format.quantity(threshold, signal.unit)}`
    : "";
  const change = after_bps == null ? "" : `${format.rate(before_bps)} → ${format.rate(after_bps)}`;
  for (const text of [format.seconds(time), what, because, change]) row.appendChild(document.createElement("td")).textContent = text;
  const body = document.querySelector("#events tbody");
  body.prepend(row);
  if (body.rows.length > EVENTS_KEPT) body.lastChild.remove();
}

function connect() {
  const url = new URL("api/live", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  socket = new WebSocket(url);
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    on[message.type]?.(message);
  });
  socket.addEventListener("close", () => {
    status.textContent = "not connected";
    setTimeout(connect, RETRY_MS);
  });
}

connect();
