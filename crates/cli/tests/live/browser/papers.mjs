// Drives Chromium over the page of the papers' figures, from its file.
//
// node papers.mjs FILE BINARY FOLDER: exits with 0 where all is well; screenshots go into FOLDER.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, offline } from "./chromium.mjs";

const [file, binary, folder] = process.argv.slice(2).map((path) => resolve(path));
const browser = await launch();
try {
  await desktop();
  await phone();
} finally {
  await browser.close();
}

async function visit(viewport, address) {
  const { page, problems } = await offline(browser, viewport, 120_000);
  await page.goto(pathToFileURL(file).href + address);
  await drawn(page);
  return { page, problems };
}

// The row's figures are on the page.
function drawn(page) {
  return page.waitForFunction(() => document.getElementById("figures").getAttribute("aria-busy") === "false");
}

function judged(page) {
  return page.waitForSelector("#verdict", { state: "visible" });
}

async function desktop() {
  const { page, problems } = await visit({ width: 1280, height: 900 }, "#figure=S000-F12");
  await step("a slider over a figure", slider(page));
  await step("the verdict", verdict(page));
  await page.screenshot({ path: `${folder}/papers.png` });
  await step("the address", address(page));
  await step("another figure", another(page));
  await step("the page is not held up", answers(page));
  await step("width", fits(page, 1280));
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: `${folder}/papers-dark.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

async function phone() {
  const { page, problems } = await visit({ width: 390, height: 844 }, "#figure=S000-F7&at=24576");
  await judged(page);
  await step("width on a phone", fits(page, 390));
  await page.screenshot({ path: `${folder}/papers-phone.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

// A value of the reader's own is one curve more.
async function slider(page) {
  const curves = () => page.locator("#figures polyline.curve").count();
  const before = await curves();
  const took = await page.evaluate(() => new Promise((done) => {
    const input = document.getElementById("value");
    const began = performance.now();
    input.value = "20480";
    input.dispatchEvent(new Event("input"));
    const look = () => (input.dataset.shown === "20480" ? done(performance.now() - began) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  }));
  console.log(`slider to plot, a run of 60 s: ${took.toFixed(0)} ms`);
  assert.equal(await curves(), before + 1);
  assert.match(await page.textContent("#figures"), /20480 B/);
  assert.match(page.url(), /#figure=S000-F12&at=20480$/);
}

// With five seeds the page says what the binary says.
async function verdict(page) {
  await judged(page);
  const { stdout } = spawnSync(binary, ["reproduce", "S000-F12", "--json"], { encoding: "utf8" });
  const [entry] = JSON.parse(stdout).experiments;
  assert.equal(await page.textContent("#verdict"), entry.verdict);
  assert.equal(await page.locator("#checks tbody tr").count(), entry.checks.length);
  const ours = await page.locator("#checks tbody tr td:nth-child(3)").allTextContents();
  ours.forEach((text, index) => assert.ok(Math.abs(parseFloat(text) - entry.checks[index].ours) <= 1e-3 * Math.abs(entry.checks[index].ours), text));
}

async function address(page) {
  const figures = await page.innerHTML("#figures");
  const other = await visit({ width: 1280, height: 900 }, new URL(page.url()).hash);
  await judged(other.page);
  await other.page.waitForFunction((expected) => document.getElementById("figures").innerHTML === expected, figures);
  await other.page.close();
}

async function another(page) {
  await page.click('#rows a[href="#figure=S001-F5b"]');
  await page.waitForFunction(() => document.getElementById("row-title").textContent.startsWith("S001-F5b"));
  await drawn(page);
  assert.ok(!await page.isVisible("#verdict"), "one seed gives no verdict");
  assert.match(await page.textContent("#claims"), /CTFRC above MULTFRC/);
  assert.match(await page.textContent("#command"), /^seaway reproduce S001-F5b/);
}

// While seeds run, the page draws: no task of it is as long as a run.
async function answers(page) {
  const longest = await page.evaluate(async () => {
    let longest = 0;
    for (let frame = 0, last = performance.now(); frame < 60; frame += 1) {
      await new Promise(requestAnimationFrame);
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    return longest;
  });
  assert.ok(!await page.isVisible("#verdict"), "the runs ended before");
  console.log(`longest time between two frames while seeds run: ${longest.toFixed(0)} ms`);
  assert.ok(longest < 1000, `${longest} ms`);
}

async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `the page is ${wide} wide in ${width}`);
}

async function step(name, work) {
  await work;
  console.log(`${name}: well`);
}
