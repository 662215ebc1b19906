// Drives Chromium over the page of a running `seaway demo`: what a viewer sees and does.
//
// node check.mjs URL FOLDER: exits with 0 where all is well; screenshots go into FOLDER.
import assert from "node:assert/strict";
import { blank, launch } from "./chromium.mjs";

const [url, folder] = process.argv.slice(2);
const TIMEOUT_MS = 60_000;
const browser = await launch();
try {
  await desktop();
  await phone();
} finally {
  await browser.close();
}

async function visit(viewport) {
  const { page, problems } = await blank(browser, viewport, TIMEOUT_MS);
  // The messages that the page receives.
  const received = { sample: 0, event: [] };
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => {
    const message = JSON.parse(payload);
    if (message.type === "sample") received.sample += 1;
    if (message.type === "event") received.event.push(message);
  }));
  await page.goto(url);
  return { page, problems, received };
}

async function desktop() {
  const { page, problems, received } = await visit({ width: 1280, height: 900 });
  await step("pictures", bothAdvance(page));
  await step("settings", settingsAreInForce(page));
  await step("plots", plotsMove(page, received));
  await step("switch", switchController(page, received));
  await step("latency", changeLatency(page, received));
  await step("width", fits(page, 1280));
  await page.screenshot({ path: `${folder}/desktop.png`, fullPage: true });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: `${folder}/dark.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

async function phone() {
  const { page, problems } = await visit({ width: 390, height: 844 });
  await step("pictures on a phone", bothAdvance(page));
  await step("width on a phone", fits(page, 390));
  await page.screenshot({ path: `${folder}/phone.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

async function bothAdvance(page) {
  for (const id of ["sent", "received"]) {
    const shown = () => page.evaluate((id) => document.getElementById(id).getVideoPlaybackQuality().totalVideoFrames, id);
    const before = await shown();
    const goesOn = ([id, count]) => document.getElementById(id).getVideoPlaybackQuality().totalVideoFrames >= count;
    await page.waitForFunction(goesOn, [id, before + 25]);
    assert.ok(await page.evaluate((id) => document.getElementById(id).videoWidth > 0, id), `${id} has a picture`);
  }
}

// The form shows what the session was started with.
async function settingsAreInForce(page) {
  assert.equal(await page.inputValue("#network"), "lossy-wifi");
  assert.equal(await page.inputValue("#control"), "seaway");
  assert.equal(await page.inputValue("#latency"), "500 ms");
}

// The latency follows the form in the middle of the session, and both pictures go on.
async function changeLatency(page, received) {
  await page.fill("#latency", "0 s");
  await page.click("#controls button");
  await page.waitForFunction(() => document.querySelector("#reply.bad")?.textContent.includes("above 0 s"));
  await page.fill("#latency", "150 ms");
  await page.click("#controls button");
  await until(() => received.event.some(({ kind, what }) => kind === "setting" && what.includes("latency 150 ms")), "the latency");
  await page.waitForFunction(() => !document.querySelector("#reply.bad"));
  await bothAdvance(page);
}

// Samples come, and the lines on the canvases change with them.
async function plotsMove(page, received) {
  assert.equal(await page.locator("#plots canvas:visible").count(), 6);
  const drawn = () => page.evaluate(() => document.querySelector("#plots canvas").toDataURL());
  const [before, count] = [await drawn(), received.sample];
  await until(() => received.sample >= count + 20, "twenty more samples");
  assert.notEqual(await drawn(), before, "the plot has moved");
}

// By the form: the change is in force, listed, and marked in the plots.
async function switchController(page, received) {
  await page.evaluate(() => {
    window.drawnTexts = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.drawnTexts.push(text);
      return fillText.call(this, text, ...rest);
    };
  });
  await page.fill("#control", "fixed(rate=1 Mbit/s)");
  await page.focus("#controls button");
  await page.keyboard.press("Enter");
  await until(() => received.event.some(({ kind, what }) => kind === "setting" && what.includes("fixed")), "the event");
  await page.waitForFunction(() => [...document.querySelectorAll("#events td")].some((cell) => cell.textContent.includes("fixed")));
  await page.waitForFunction(() => window.drawnTexts.some((text) => text.includes("fixed")));
  await page.waitForFunction(() => document.getElementById("numbers").textContent.includes("fixed"));
}

async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `the page is ${wide} wide in ${width}`);
}

async function step(name, work) {
  await work;
  console.log(`${name}: well`);
}

async function until(condition, what) {
  const end = Date.now() + TIMEOUT_MS;
  while (!condition()) {
    assert.ok(Date.now() < end, `waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
