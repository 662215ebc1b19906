// Drives Chromium over the playground, from its file: what a viewer sees and does.
//
// node playground.mjs FILE BINARY FOLDER: exits with 0 where all is well; screenshots go into FOLDER.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
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

async function visit(viewport, address = "") {
  const { page, problems } = await offline(browser, viewport, 60_000);
  await page.goto(pathToFileURL(file).href + address);
  await settled(page);
  return { page, problems };
}

// The runs of the last choice are on the page.
function settled(page) {
  return page.waitForFunction(() => document.getElementById("plots").getAttribute("aria-busy") === "false");
}

async function desktop() {
  const { page, problems } = await visit({ width: 1440, height: 900 });
  await step("the first view", firstView(page));
  await page.screenshot({ path: `${folder}/desktop.png` });
  await step("a slider", slider(page));
  await step("the address", address(page));
  await step("a choice of controllers", chips(page));
  await step("causes", causes(page));
  await step("another network", network(page));
  await step("mistakes", mistake(page));
  await step("width", fits(page, 1440));
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: `${folder}/dark.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

async function phone() {
  const { page, problems } = await visit({ width: 390, height: 844 }, "#network=squeeze&controls=seaway,scream,nada");
  await step("width on a phone", fits(page, 390));
  await page.screenshot({ path: `${folder}/phone.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

function drawn(page) {
  return page.evaluate(() => document.querySelector("#plots canvas").toDataURL());
}

function table(page) {
  return page.textContent("#table");
}

async function names(page) {
  return (await page.locator("#table thead th").allTextContents()).slice(1);
}

async function firstView(page) {
  assert.deepEqual(await names(page), ["seaway", "gcc", "tfrc"]);
  assert.equal(await page.locator("#plots canvas").count(), 5);
  assert.equal(await page.inputValue("#scenario"), "lossy-wifi");
  assert.ok(await page.locator("#changes button").count() > 20);
}

// By the keyboard: the runs, the command and the address follow.
async function slider(page) {
  const [plot, numbers] = [await drawn(page), await table(page)];
  const loss = page.locator('.slider[data-key="loss"] input');
  await loss.focus();
  const took = await page.evaluate(() => new Promise((done) => {
    const input = document.querySelector('.slider[data-key="loss"] input');
    const began = performance.now();
    const plots = document.getElementById("plots");
    input.value = "0.6";
    input.dispatchEvent(new Event("input"));
    const look = () => (plots.getAttribute("aria-busy") === "false" ? done(performance.now() - began) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  }));
  console.log(`slider to plot, three runs of 60 s: ${took.toFixed(0)} ms`);
  const before = await drawn(page);
  assert.notEqual(before, plot);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector('.slider[data-key="loss"] input').value === "0.605");
  await settled(page);
  assert.notEqual(await table(page), numbers);
  assert.match(await page.textContent("#command"), /^seaway sim lossy-wifi --set link\.bottleneck\.loss\.mean=0\.0\d+ --set flow\.video\.control=seaway$/);
  assert.match(page.url(), /#network=lossy-wifi&controls=seaway,gcc,tfrc&loss=7\.\d$/);
}

// The address opens the same runs.
async function address(page) {
  const [numbers, text] = [await table(page), await page.textContent('.slider[data-key="loss"] output')];
  const other = await visit({ width: 1440, height: 900 }, new URL(page.url()).hash);
  assert.equal(await table(other.page), numbers);
  assert.equal(await other.page.textContent('.slider[data-key="loss"] output'), text);
  await other.page.close();
}

async function chips(page) {
  await page.click('.chip[data-control="nada"]');
  await page.waitForFunction(() => document.querySelectorAll("#table thead th").length === 5);
  await page.click('.chip[data-control="gcc"]');
  await page.waitForFunction(() => document.querySelectorAll("#table thead th").length === 4);
  assert.deepEqual(await names(page), ["seaway", "tfrc", "nada"]);
}

async function causes(page) {
  const canvas = page.locator("#plots canvas").first();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await page.waitForSelector("#tip:not([hidden])");
  assert.match(await page.textContent("#tip"), /→/);
  await page.mouse.move(5, 5);
  await page.locator("#changes button").first().click();
  assert.ok(Number(await page.inputValue("#time")) < 5);
}

async function network(page) {
  await page.selectOption("#scenario", "squeeze");
  await page.waitForFunction(() => document.getElementById("scenario-about").textContent.includes("4 Mbit/s"));
  await settled(page);
  assert.match(await page.inputValue("#text"), /name = "squeeze"/);
  assert.match(await page.textContent("#command"), /^seaway sim squeeze /);
}

// A mistake in the text is named as the binary names it.
async function mistake(page) {
  const text = (await page.inputValue("#text")).replace('delay = "20 ms"', "delay = 20");
  await page.fill("#text", text);
  await page.waitForSelector("#problem:not([hidden])");
  const place = mkdtempSync(join(tmpdir(), "seaway-"));
  writeFileSync(join(place, "scenario.toml"), text);
  const { stderr } = spawnSync(binary, ["sim", "scenario.toml"], { cwd: place, encoding: "utf8" });
  rmSync(place, { recursive: true });
  const shown = await page.textContent("#problem");
  assert.ok(stderr.includes(shown) && shown.startsWith("scenario.toml:"), `${shown}\n${stderr}`);
  await page.fill("#text", text.replace("delay = 20", 'delay = "30 ms"'));
  await page.waitForSelector("#problem[hidden]", { state: "attached" });
  await settled(page);
  assert.equal(await page.textContent('.slider[data-key="delay"] output'), "30 ms");
}

async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `the page is ${wide} wide in ${width}`);
}

async function step(name, work) {
  await work;
  console.log(`${name}: well`);
}
