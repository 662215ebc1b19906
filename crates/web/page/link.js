// The sliders of the link. Each has a scale from its place, 0 to 1, to a value, and the change of the scenario for a value.
//
// Rates are on a logarithmic scale; the others reach zero.
const SLIDERS = [
  {
    key: "rate", label: "Rate", unit: "bit/s", value: ({ rate_bps }) => rate_bps,
    scale: (place) => round2(1e5 * 500 ** place), place: (value) => Math.log(value / 1e5) / Math.log(500),
    isOff: ({ is_trace }) => is_trace,
    set: (value, link) => [`rate=${quantity(value, "bit/s")}`, ...(link.varies ? ["steps=[]"] : [])],
  },
  {
    key: "delay", label: "Delay, each way", unit: "ms", value: ({ delay_ms }) => delay_ms,
    ...bent(300), set: (value) => [`delay=${value} ms`],
  },
  {
    key: "loss", label: "Random loss", unit: "%", value: ({ loss }) => loss == null ? null : loss * 100,
    ...bent(20),
    set: (value, link) => [link.is_bursty && value > 0
      ? `loss.mean=${significant(value / 100)}` : `loss={ kind = "independent", rate = ${significant(value / 100)} }`],
  },
  {
    key: "jitter", label: "Jitter", unit: "ms", value: ({ jitter_ms }) => jitter_ms,
    ...bent(60), set: (value) => [`jitter={ kind = "rfc8868", std = "${value > 0 ? `${value} ms` : "1 ns"}" }`],
  },
  {
    key: "queue", label: "Queue", unit: "ms", value: ({ queue_ms }) => queue_ms,
    // A packet of 1500 octets has room.
    least: ({ rate_bps }, { rate }) => Math.max(5, Math.ceil(1.2e7 / (rate ?? rate_bps ?? 1.2e6))),
    ...bent(1000), set: (value) => [`queue={ kind = "drop-tail", time = "${value} ms" }`],
  },
];

function round2(value) {
  return Number(value.toPrecision(2));
}

// Finer near zero: the value grows with the square of the place.
function bent(most) {
  return {
    scale: (place) => round2(most * place * place),
    place: (value) => Math.sqrt(Math.min(1, value / most)),
  };
}

// The sliders for a link. `moved` has the values of those that were moved, and `changed` runs after each change.
function showSliders(link, moved, changed) {
  const container = byId("sliders");
  byId("link").hidden = !link;
  if (!link) return container.replaceChildren();
  byId("link").querySelector("legend").textContent = `Link ${link.name}`;
  byId("link-note").textContent = link.is_trace ? "Its rate follows a recording."
    : link.varies ? "Its rate changes over the run; the slider makes it constant." : "";
  container.replaceChildren(...SLIDERS.map((slider) => sliderOf(slider, link, moved, changed)));
}

function sliderOf(slider, link, moved, changed) {
  const own = slider.value(link);
  const output = make("output");
  const input = make("input", { type: "range", min: 0, max: 1, step: 0.005 });
  const row = make("label", { className: "slider" }, make("span", { textContent: slider.label }), output, input);
  const show = (value, isChanged) => {
    row.classList.toggle("changed", isChanged);
    const text = value == null ? "as written" : slider.unit === "%" ? `${significant(value)} %` : quantity(value, slider.unit);
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  row.dataset.key = slider.key;
  if (slider.isOff?.(link)) {
    input.disabled = true;
    row.classList.add("off");
  }
  input.addEventListener("input", () => {
    const value = allowed(slider, link, moved, slider.scale(Number(input.value)));
    moved[slider.key] = value;
    show(value, true);
    changed();
  });
  const value = moved[slider.key] ?? own;
  input.value = String(slider.place(value ?? 0));
  show(value, slider.key in moved);
  return row;
}

function allowed({ least }, link, moved, value) {
  return Math.max(least?.(link, moved) ?? 0, value);
}

// The changes of the scenario that the moved sliders stand for.
const linkChanges = (link, moved) => SLIDERS.filter(({ key }) => link && moved[key] != null)
  .flatMap((slider) => slider.set(allowed(slider, link, moved, moved[slider.key]), link))
  .map((change) => `link.${link.name}.${change}`);
