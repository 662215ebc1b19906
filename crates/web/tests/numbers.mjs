// The lab as WebAssembly gives the bytes that the binary prints: `node numbers.mjs MODULE BINARY`.
//
// Every scenario of the library runs in both, for twenty seconds where it lasts longer and may be cut, and two networks under
// every controller; so do the papers' rows with one seed. The page's own scripts drive the module, and no slider of theirs leads to
// a scenario that is refused.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import vm from "node:vm";

const [module, binary] = process.argv.slice(2);
const folder = join(dirname(fileURLToPath(import.meta.url)), "../page");
const scripts = ["../../report/src/page/kit.js", "lab.js", "link.js"].map((name) => readFileSync(join(folder, name), "utf8"));
vm.runInThisContext(`${scripts.join("\n")}\nObject.assign(globalThis, { labOf, SLIDERS, linkChanges });`);
const { instance } = await WebAssembly.instantiate(gunzipSync(readFileSync(module)), {});
const lab = labOf(instance);
const ask = (request) => JSON.parse(lab(request));

const SHORT = ["duration=20 s", "warmup=0 s"];
const CONTROLLED = ["lossy-wifi", "squeeze"];
const { scenarios, controls } = ask({ do: "list" });
const runs = scenarios.map(({ name, text }) => {
  const long = Number(/^duration = "(\d+) s"/m.exec(text)?.[1] ?? Infinity) > 20;
  const isCut = long && !ask({ do: "describe", file: name, library: name, set: SHORT }).error;
  return [name, isCut ? SHORT : []];
});
for (const name of CONTROLLED) {
  runs.push(...controls.map((control) => [name, [...SHORT, `flow.video.control=${control.name}`]]));
}

// The binary exits with 3 if an expectation of the scenario or a number of a paper is missed.
function native(...options) {
  try {
    return execFileSync(binary, options, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    if (error.status === 3) return error.stdout;
    throw new Error(`seaway ${options.join(" ")}: ${error.stderr || error.message}`);
  }
}

let refused = 0;
for (const { name } of scenarios) {
  const { link } = ask({ do: "describe", file: name, library: name });
  for (const { key, scale, isOff } of SLIDERS.filter(() => link)) {
    for (const place of isOff?.(link) ? [] : [0, 0.3, 1]) {
      const set = linkChanges(link, { [key]: scale(place) });
      const { error } = ask({ do: "describe", file: name, library: name, set });
      refused += error ? 1 : 0;
      if (error) console.error(`${name}, slider ${key} at ${place}: ${error}`);
    }
  }
}

let differ = 0;
// A release names the commit it is of; a binary for tests does not.
const withoutCommit = (document) => document.replace(/^(  "seaway": "[^"+]+)[^"]*"/m, '$1"');

// The first line in which the page's document is not the binary's.
function compare(what, module, native) {
  const [here, printed] = [module, native].map(withoutCommit);
  if (here === printed) return;
  differ += 1;
  const lines = printed.split("\n");
  const line = here.split("\n").findIndex((text, index) => text !== lines[index]);
  console.error(`${what}: line ${line + 1}: ${here.split("\n")[line]}, the binary: ${lines[line]}`);
}

let events = 0;
for (const [name, set] of runs) {
  const printed = native("sim", name, "--json", "--no-timing", ...set.flatMap((change) => ["--set", change]));
  events += JSON.parse(printed).events;
  compare(`${name} ${set.join(" ")}`, `${lab({ do: "summary", file: name, library: name, set })}\n`, printed);
}

let rows = 0;
let sliders = 0;
for (const paper of ask({ do: "papers" }).papers) {
  const ids = paper.rows.map(({ id }) => id);
  rows += ids.length;
  const printed = native("reproduce", ...ids, "--seeds", "1", "--json");
  compare(paper.id, `${lab({ do: "reproduce", ids, seeds: 1 })}\n`, printed);
  sliders += paper.rows.filter(({ slider }) => slider).length;
}

if (refused > 0 || differ > 0 || runs.length < 60 || events < 1e6 || rows < 40 || sliders < 20) {
  console.error(`playground: ${refused} sliders are refused, ${differ} documents differ, ${runs.length} runs, ${events} events, ${rows} rows of papers`);
  process.exit(1);
}
console.log(`playground: ${runs.length} runs, ${events} events, and ${rows} rows of papers give the binary's bytes`);
