// The settings that a viewer can change during the session.

class Controls {
  #form = byId("controls");
  #reply = byId("reply");
  #fields = { control: "control", network: "network", min: "limit-min", max: "limit-max", latency: "latency" };
  #inForce = {};
  #send;

  constructor(send) {
    this.#send = send;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#apply();
    });
  }

  hello({ controls, networks, settings }) {
    byId("control-names").replaceChildren(...controls.map(({ name, source }) => new Option(source, name)));
    this.#field("network").replaceChildren(...networks.map((name) => new Option(name, name)));
    // The list has chosen its first entry by itself; what is in force is chosen next.
    this.#field("network").value = "";
    delete this.#inForce.network;
    this.settings(settings);
    this.#field("network").closest("label").hidden = networks.length === 0;
    this.#field("latency").closest("label").hidden = !("latency" in settings);
    // A receiver has none.
    this.#form.hidden = Object.keys(settings).length === 0;
  }

  // Shows the present settings, except in a field that the viewer is editing.
  settings(settings) {
    for (const [name, value] of Object.entries(settings)) {
      if (!(name in this.#fields)) continue;
      const field = this.#field(name);
      const isUntouched = field.value === (this.#inForce[name] ?? "");
      // A network from a file or by hand is in no list.
      if (field instanceof HTMLSelectElement && ![...field.options].some((option) => option.value === value)) field.add(new Option(value, value));
      if (isUntouched || field.value === value) field.value = value;
      this.#inForce[name] = value;
    }
  }

  reply(text, bad) {
    this.#reply.textContent = text;
    this.#reply.classList.toggle("bad", bad);
  }

  #field(name) {
    return byId(this.#fields[name]);
  }

  #apply() {
    const changed = Object.keys(this.#fields)
      .map((name) => [name, this.#field(name).value.trim()])
      .filter(([name, value]) => value !== (this.#inForce[name] ?? ""));
    if (changed.length === 0) this.reply("nothing changed", false);
    else this.#send({ type: "set", settings: Object.fromEntries(changed) });
  }
}
