// What is chosen, where it is kept, and the workers that run it.
const MOST_CONTROLS = 8;
const FIRST = { network: "lossy-wifi", controls: ["seaway", "gcc", "tfrc"], moved: {}, seed: null, flow: null, text: null };
let chosen = structuredClone(FIRST);
let listing = null;
let description = null;
// What was wrong with the address.
let notice = "";

// ---- The link to what is chosen: the part of the address behind the `#`.

function fromAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const made = structuredClone(FIRST);
  if (fields.has("network")) made.network = fields.get("network");
  if (fields.has("controls")) made.controls = fields.get("controls").split(/,(?![^(]*\))/).filter(Boolean).slice(0, MOST_CONTROLS);
  for (const { key } of SLIDERS) {
    const value = Number(fields.get(key) ?? NaN);
    if (Number.isFinite(value)) made.moved[key] = value;
  }
  if (/^\d{1,6}$/.test(fields.get("seed") ?? "")) made.seed = Number(fields.get("seed"));
  if (fields.has("flow")) made.flow = fields.get("flow");
  if (fields.has("text")) made.text = fields.get("text");
  return made;
}

function toAddress() {
  const { network, controls, moved, seed, flow, text } = chosen;
  const fields = new URLSearchParams({ network, controls: controls.join(",") });
  for (const [key, value] of Object.entries(moved)) fields.set(key, String(value));
  if (seed != null) fields.set("seed", String(seed));
  if (flow != null) fields.set("flow", flow);
  if (text != null) fields.set("text", text);
  const address = `#${String(fields).replaceAll("%2C", ",")}`;
  if (address !== location.hash) history.replaceState(null, "", address);
}

// ---- The workers. What was asked before the last choice is given up; a run that takes long for it is stopped.

const STALE_RUN_MS = 300;
let lab = null;
let round = 0;
let waiting = [];
const workers = [];

// A new worker in this place.
function hire(place) {
  const worker = new Worker(lab.script);
  worker.postMessage(lab.module);
  const hand = { worker, job: null };
  worker.onmessage = ({ data }) => finish(hand, data.answer, data.took);
  // The simulator stopped where it should not: its memory may be damaged.
  worker.onerror = (event) => {
    event.preventDefault();
    const { job } = hand;
    replace(hand);
    job?.done({ error: `the simulator failed: ${event.message}` }, 0);
    give();
  };
  workers[place] = hand;
}

function replace(hand) {
  hand.worker.terminate();
  hire(workers.indexOf(hand));
}

function finish(hand, answer, took) {
  const { job } = hand;
  hand.job = null;
  if (job.round === round) job.done(answer, took);
  give();
}

function give() {
  for (const hand of workers) {
    if (hand.job || !waiting.length) continue;
    hand.job = waiting.shift();
    hand.worker.postMessage({ number: 0, request: hand.job.request });
  }
}

function ask(request, done) {
  waiting.push({ request, done, round });
  give();
}

function giveUp() {
  round += 1;
  waiting = [];
  const stale = workers.filter(({ job }) => job);
  const jobs = stale.map(({ job }) => job);
  setTimeout(() => stale.forEach((hand, index) => {
    if (hand.job === jobs[index] && workers.includes(hand)) { replace(hand); give(); }
  }), STALE_RUN_MS);
}

// ---- From a choice to its runs.

const name = () => (chosen.text == null ? chosen.network : "scenario.toml");
const entries = () => [...new Set(description.flows.map(({ entry }) => entry))];
function changesFor(control) {
  const seed = chosen.seed == null ? [] : [`seed=${chosen.seed}`];
  return [...linkChanges(description.link, chosen.moved), ...seed, ...(control === OWN ? [] : entries().map((entry) => `flow.${entry}.control=${control}`))];
}
const sourceOf = (set) => ({ file: name(), library: chosen.network, set, ...(chosen.text == null ? {} : { text: chosen.text }) });

// The scenario was chosen or edited: reads it, then runs it.
function read() {
  giveUp();
  byId("plots").setAttribute("aria-busy", "true");
  ask({ do: "describe", ...sourceOf([]) }, (answer) => {
    if (answer.error) return complain(answer.error);
    description = answer;
    byId("scenario-about").textContent = answer.about ?? "";
    showSliders(answer.link, chosen.moved, start);
    const flows = answer.flows.map(({ name }) => name);
    byId("flow-field").hidden = flows.length < 2;
    byId("flow").replaceChildren(...flows.map((flow) => make("option", { textContent: flow })));
    if (!flows.includes(chosen.flow)) chosen.flow = null;
    byId("flow").value = chosen.flow ?? flows[0] ?? "";
    if (!flows.length) return complain(`${name()}: it has no media flow, which is what a rate controller controls`);
    start();
  });
}

// Runs what is chosen.
function start() {
  if (!description) return;
  giveUp();
  toAddress();
  showCommand();
  const began = performance.now();
  const flow = byId("flow").value;
  const found = new Map();
  const { controls } = chosen;
  if (!controls.length) return complain("Choose a controller.");
  byId("plots").setAttribute("aria-busy", "true");
  const own = round;
  setTimeout(() => {
    if (own === round && found.size < controls.length) byId("state").textContent = `Running ${significant(description.duration_s)} s of virtual time …`;
  }, STALE_RUN_MS);
  for (const control of controls) {
    ask({ do: "run", flow, source: sourceOf(changesFor(control)) }, (answer) => {
      found.set(control, answer);
      const isAll = found.size === controls.length;
      if (isAll || performance.now() - began > STALE_RUN_MS) present(controls, found, flow);
      if (isAll) state(controls.length, performance.now() - began);
    });
  }
}

function present(controls, found, flow) {
  const runs = controls.filter((control) => found.get(control)?.traces).map((control) => [control, found.get(control)]);
  const errors = controls.filter((control) => found.get(control)?.error).map((control) => found.get(control).error);
  const problems = [...new Set([notice, ...errors])].filter(Boolean);
  byId("problem").hidden = !problems.length;
  byId("problem").textContent = problems.join("\n");
  show(runs, flow);
  byId("plots").setAttribute("aria-busy", String(found.size < controls.length));
}

function state(count, took) {
  const runs = count === 1 ? "A run" : `${count} runs`;
  byId("state").textContent = `${runs} of ${significant(description.duration_s)} s in ${significant(took, 2)} ms. `
    + "A dot is a new target rate, a tenth or more above (hollow) or below (full) the one before.";
}

function complain(problem) {
  byId("problem").hidden = false;
  byId("problem").textContent = problem;
  byId("plots").setAttribute("aria-busy", "true");
}

function showCommand() {
  const quoted = (text) => (/^[\w.,:=()\/-]+$/.test(text) && !/[()]/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const set = changesFor(chosen.controls[0] ?? "seaway").map((change) => ` --set ${quoted(change)}`);
  byId("command").textContent = `seaway sim ${name()}${set.join("")}`;
}

// ---- The controls of the page.

function fillChoice() {
  // Those that are chosen first, then the newest.
  const names = [...listing.controls.map(({ name }) => name).reverse(), OWN];
  const order = [...chosen.controls, ...names.filter((control) => !chosen.controls.includes(control))];
  const sources = new Map(listing.controls.map(({ name, source }) => [name, source]));
  byId("choice").replaceChildren(...order.map((control) => {
    const chip = make("button", { className: "chip", type: "button", title: sources.get(control) ?? "" }, dot(), make("span", { textContent: labelOf(control) }));
    chip.dataset.control = control;
    chip.addEventListener("click", () => toggle(control));
    return chip;
  }));
  showChoice();
}

function toggle(control) {
  const { controls } = chosen;
  if (controls.includes(control)) chosen.controls = controls.filter((other) => other !== control);
  else if (controls.length < MOST_CONTROLS) chosen.controls = [...controls, control];
  showChoice();
  start();
}

function showChoice() {
  freeSlots(chosen.controls);
  chosen.controls.forEach(slotOf);
  const isFull = chosen.controls.length >= MOST_CONTROLS;
  for (const chip of byId("choice").children) {
    const isOn = chosen.controls.includes(chip.dataset.control);
    chip.setAttribute("aria-pressed", String(isOn));
    chip.disabled = isFull && !isOn;
    if (isOn) owned(chip, slotOf(chip.dataset.control));
    else chip.style.setProperty("--own", "var(--line)");
  }
}

const GROUPS = [
  ["networks", "Networks"], ["controllers", "Phases of controllers"], ["rfc8867", "RFC 8867"], ["rfc8869", "RFC 8869: wireless"],
  ["acceptance", "Acceptance"], ["scorecard", "Scorecard"], ["papers", "Papers"],
];
function fillScenarios() {
  const known = GROUPS.map(([group]) => group);
  const others = [...new Set(listing.scenarios.map(({ group }) => group))].filter((group) => !known.includes(group));
  byId("scenario").replaceChildren(...[...GROUPS, ...others.map((group) => [group, group])].map(([group, label]) => {
    const inside = listing.scenarios.filter((scenario) => scenario.group === group && /\nkind = "media"|kind = "media"/.test(scenario.text));
    return make("optgroup", { label }, ...inside.map(({ name, about }) => make("option", { value: name, textContent: name, title: about })));
  }).filter((group) => group.children.length));
}

const textOf = (network) => listing.scenarios.find((scenario) => scenario.name === network)?.text;

// Shows what is chosen in every control, and runs it.
function choose() {
  if (textOf(chosen.network) == null) {
    notice = `${chosen.network}: no scenario of that name; this is ${FIRST.network}`;
    chosen.network = FIRST.network;
  }
  byId("scenario").value = chosen.network;
  byId("text").value = chosen.text ?? textOf(chosen.network);
  byId("seed").value = chosen.seed ?? "";
  fillChoice();
  read();
}

byId("scenario").addEventListener("change", (event) => {
  notice = "";
  chosen = { ...chosen, network: event.target.value, moved: {}, text: null, flow: null };
  choose();
});
byId("flow").addEventListener("change", (event) => { chosen.flow = event.target.value; start(); });
byId("seed").placeholder = "of the scenario";
byId("seed").addEventListener("input", (event) => {
  chosen.seed = event.target.value === "" || !event.target.checkValidity() ? null : Number(event.target.value);
  start();
});
let typed = 0;
byId("text").addEventListener("input", (event) => {
  clearTimeout(typed);
  typed = setTimeout(() => {
    chosen.text = event.target.value === textOf(chosen.network) ? null : event.target.value;
    toAddress();
    read();
  }, 150);
});
byId("reset").addEventListener("click", () => { chosen = { ...structuredClone(FIRST), network: chosen.network }; choose(); });
byId("share").addEventListener("click", async () => {
  toAddress();
  const said = await navigator.clipboard?.writeText(location.href).then(() => "Copied", () => null);
  if (!said) prompt("The link to this page as it is:", location.href);
  byId("share").textContent = said ?? "Copy link";
  setTimeout(() => { byId("share").textContent = "Copy link"; }, 1500);
});
byId("time").addEventListener("input", (event) => look(Number(event.target.value)));
addEventListener("hashchange", () => { chosen = fromAddress(); choose(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let width = 0;
new ResizeObserver(([entry]) => {
  if (entry.contentRect.width !== width) { width = entry.contentRect.width; if (shown.length) redraw(); }
}).observe(byId("plots"));

async function begin() {
  const octets = Uint8Array.from(atob(byId("lab-module").textContent), (character) => character.charCodeAt(0));
  const plain = new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.compile(await new Response(plain).arrayBuffer());
  lab = { module, script: URL.createObjectURL(new Blob([byId("lab-script").textContent], { type: "text/javascript" })) };
  const count = Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2)));
  for (let place = 0; place < count; place += 1) hire(place);
  ask({ do: "list" }, (answer) => {
    listing = answer;
    metrics = answer.metrics;
    chosen = fromAddress();
    fillScenarios();
    choose();
  });
}
begin().catch((error) => complain(`The simulator cannot start here: ${error.message}`));
