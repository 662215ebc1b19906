// The row that is shown, and the two workers that make it.
//
// One makes it with one seed, which is there first; the other with the five by which `seaway reproduce` judges. The slider
// asks the one that has drawn last.
const SEEDS = 5;
const FIRST = "S001-F5b";
let lab = null;
let papers = [];
let shown = null;

const desks = { quick: null, judge: null };
function hire(name) {
  desks[name]?.worker.terminate();
  const worker = new Worker(lab.script);
  const desk = { worker, waiting: [] };
  worker.onmessage = ({ data }) => desk.waiting.shift()(data.answer, data.took);
  worker.onerror = (event) => { event.preventDefault(); complain(`the simulator failed: ${event.message}`); };
  worker.postMessage(lab.module);
  desks[name] = desk;
}

// Asks a worker. Requests to one are answered in their order.
function ask(name, request) {
  const desk = desks[name];
  return new Promise((done, fail) => {
    desk.waiting.push((answer) => (answer.error ? fail(new Error(answer.error)) : done(answer)));
    desk.worker.postMessage({ number: 0, request });
  });
}

const rowOf = (id) => papers.flatMap(({ rows }) => rows).find((row) => row.id === id);
const width = () => Math.max(260, Math.min(720, byId("row").clientWidth - 16));

function fromAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const row = rowOf(fields.get("figure") ?? FIRST) ?? rowOf(FIRST);
  const at = fields.has("at") ? Number(fields.get("at")) : NaN;
  const [least, most] = row.slider?.range ?? [];
  return { row, at: at >= least && at <= most ? at : null };
}

function toAddress() {
  const at = shown.at == null ? "" : `&at=${shown.at}`;
  const address = `#figure=${shown.row.id}${at}`;
  if (address !== location.hash) history.replaceState(null, "", address);
}

// Shows a row from the beginning. A worker that is busy with another is stopped.
function open() {
  const { row, at } = fromAddress();
  for (const [name, desk] of Object.entries(desks)) if (desk.waiting.length) hire(name);
  shown = { row, at, drawn: null, isMoving: false };
  frame(row);
  byId("figures").replaceChildren();
  byId("figures").setAttribute("aria-busy", "true");
  byId("problem").hidden = true;
  const own = shown;
  const began = performance.now();
  produce(own, "quick", 1).then(() => {
    if (own !== shown) return null;
    return produce(own, "judge", SEEDS, `One seed: ${seconds(began)} in this page. `);
  }).then(() => { if (own === shown) note(`Seeds 1 to ${SEEDS}: ${seconds(began)} in this page. ± is a 95 % interval over them.`); })
    .catch((error) => { if (own === shown) complain(error.message); });
}

const seconds = (began) => `${significant((performance.now() - began) / 1000, 2)} s`;

// Makes the row case by case and draws it.
async function produce(own, name, seeds, before = "") {
  const request = () => ask(name, { do: "row", id: own.row.id, seeds, width: width() });
  const what = seeds === 1 ? "Running one seed" : `Running seeds 1 to ${seeds}, by which it is judged`;
  let most = 0;
  note(`${before}${what} …`);
  for (let answer = await request(); own === shown; answer = await request()) {
    if (answer.made) return draw(own, name, answer.made, seeds);
    most = Math.max(most, answer.left + 1);
    note(`${before}${what}: ${answer.left} of ${most} cases are left …`);
  }
}

function draw(own, name, { entry, figures }, seeds) {
  own.drawn = name;
  place("figures", figures);
  byId("figures").setAttribute("aria-busy", "false");
  numbers(entry, seeds);
  if (own.at != null) move();
}

// The slider's value over the row's figures. While one value is run, only the last of those that follow is kept.
async function move() {
  const own = shown;
  toAddress();
  if (own.isMoving || !own.drawn) return;
  own.isMoving = true;
  for (let at = null; own === shown && at !== own.at;) {
    at = own.at;
    try {
      const { figures, beside } = await ask(own.drawn, { do: "figures", at, width: width() });
      if (own !== shown) return;
      place("figures", figures);
      place("beside", beside);
      byId("value").dataset.shown = String(at);
    } catch (error) {
      if (own === shown) complain(error.message);
    }
  }
  own.isMoving = false;
}

byId("value").addEventListener("input", (event) => {
  shown.at = Number(event.target.value);
  showValue(shown.row.slider, shown.at);
  move();
});
addEventListener("hashchange", open);
let last = 0;
new ResizeObserver(() => {
  if (!shown?.drawn || width() === last) return;
  last = width();
  redraw();
}).observe(byId("row"));
function redraw() {
  if (shown.at != null) return move();
  const own = shown;
  ask(own.drawn, { do: "figures", at: null, width: width() }).then(({ figures }) => { if (own === shown) place("figures", figures); });
}

async function begin() {
  const octets = Uint8Array.from(atob(byId("lab-module").textContent), (character) => character.charCodeAt(0));
  const plain = new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.compile(await new Response(plain).arrayBuffer());
  lab = { module, script: URL.createObjectURL(new Blob([byId("lab-script").textContent], { type: "text/javascript" })) };
  Object.keys(desks).forEach(hire);
  ({ papers } = await ask("quick", { do: "papers" }));
  list(papers);
  open();
}
begin().catch((error) => complain(`The simulator cannot start here: ${error.message}`));
