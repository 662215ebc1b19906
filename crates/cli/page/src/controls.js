// What a viewer may change while it runs.

export class Controls {
  #form = document.getElementById("controls");
  #reply = document.getElementById("reply");
  #fields = { control: "control", network: "network", min: "limit-min", max: "limit-max" };
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
    fill(document.getElementById("control-names"), controls.map(({ name, source }) => new Option(source, name)));
    fill(this.#field("network"), networks.map((name) => new Option(name, name)));
    this.settings(settings);
    this.#field("network").closest("label").hidden = networks.length === 0;
    this.#form.hidden = false;
  }

  // What is in force now; a field that the viewer is editing is left alone.
  settings(settings) {
    for (const [name, value] of Object.entries(settings)) {
      if (!(name in this.#fields)) continue;
      const field = this.#field(name);
      if (field.value === (this.#inForce[name] ?? "") || field.value === value) field.value = value;
      this.#inForce[name] = value;
    }
  }

  reply(text, bad) {
    this.#reply.textContent = text;
    this.#reply.classList.toggle("bad", bad);
  }

  #field(name) {
    return document.getElementById(this.#fields[name]);
  }

  #apply() {
    const changed = Object.keys(this.#fields)
      .map((name) => [name, this.#field(name).value.trim()])
      .filter(([name, value]) => value !== this.#inForce[name]);
    if (changed.length === 0) this.reply("nothing changed", false);
    else this.#send({ type: "set", settings: Object.fromEntries(changed) });
  }
}

function fill(element, options) {
  element.replaceChildren(...options);
}
