// The emulated link by hand: a slider from the open road into a tunnel, presets, and its four values.

// Mbit/s, percent, ms, ms.
const ROAD = { rate: 6, loss: 0, delay: 20, jitter: 0 };
const TUNNEL = { rate: 0.3, loss: 8, delay: 50, jitter: 20 };
const PRESETS = { "open road": ROAD, "crowded cell": { rate: 1.2, loss: 1, delay: 60, jitter: 15 }, "bad Wi-Fi": { rate: 4, loss: 5, delay: 10, jitter: 10 }, tunnel: TUNNEL };
const SEND_MS = 300;

class Link {
  #send;
  #timer = null;

  constructor(send) {
    this.#send = send;
    const chips = Object.entries(PRESETS).map(([name, values]) => {
      const chip = make("button", { className: "chip", type: "button", textContent: name });
      chip.addEventListener("click", () => this.#set(values));
      return chip;
    });
    document.querySelector("#link .chips").append(...chips);
    byId("tunnel").addEventListener("input", ({ target }) => this.#set(Link.between(target.value / 100), false));
    byId("link").addEventListener("submit", (event) => event.preventDefault());
    for (const name of Object.keys(ROAD)) byId(`link-${name}`).addEventListener("change", () => this.#soon());
  }

  // The link so deep in the tunnel, from 0 to 1; the rate falls by the same factor with each step.
  static between(depth) {
    const mix = (name) => ROAD[name] + (TUNNEL[name] - ROAD[name]) * depth;
    const rate = ROAD.rate * (TUNNEL.rate / ROAD.rate) ** depth;
    return { rate: Number(rate.toPrecision(2)), loss: Number(mix("loss").toFixed(1)), delay: Math.round(mix("delay")), jitter: Math.round(mix("jitter")) };
  }

  // Shows the link in force, which may be that of a scenario.
  settings({ network }) {
    const values = /^link\((.*)\)$/.exec(network ?? "")?.[1];
    byId("link-note").textContent = network == null || values ? "" : `in force: ${network}`;
    if (!values || this.#timer) return;
    const of = (name) => Number(new RegExp(`${name}=([\\d.]+)`).exec(values)?.[1]);
    for (const name of Object.keys(ROAD)) if (document.activeElement !== byId(`link-${name}`)) byId(`link-${name}`).value = of(name);
    if (document.activeElement !== byId("tunnel")) byId("tunnel").value = Link.depthOf(of("rate"));
  }

  // The place of the slider at this rate, 0 to 100.
  static depthOf(rate) {
    return Math.round((Math.log(rate / ROAD.rate) / Math.log(TUNNEL.rate / ROAD.rate)) * 100);
  }

  #set(values, moves = true) {
    for (const [name, value] of Object.entries(values)) byId(`link-${name}`).value = value;
    if (moves) byId("tunnel").value = Link.depthOf(values.rate);
    this.#soon();
  }

  // Not each step of the slider: a new link begins with an empty queue.
  #soon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      // What is empty or no number is as on the open road.
      const of = (name) => (Number.isFinite(byId(`link-${name}`).valueAsNumber) ? byId(`link-${name}`).valueAsNumber : ROAD[name]);
      this.#send({ type: "set", settings: { network: `link(rate=${of("rate")} Mbit/s, loss=${of("loss")} %, delay=${of("delay")} ms, jitter=${of("jitter")} ms)` } });
    }, SEND_MS);
  }
}
