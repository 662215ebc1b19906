// Drives Chromium over the page of a running `seaway demo`: what a viewer sees and does.
//
// node check.mjs URL FOLDER: exits with 0 where all is well; screenshots go into FOLDER.
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { blank, launch } from "./chromium.mjs";

const [url, folder] = process.argv.slice(2);
// Less than the silence that the test allows, so that a step that fails says so itself.
const TIMEOUT_MS = 50_000;
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
  await step("pictures", bothAdvance(page, ["sent", "received", "beside"]));
  await step("settings", settingsAreInForce(page));
  await step("plots", plotsMove(page, received));
  await step("tools", toolsWork(page));
  await step("tunnel", driveIntoTheTunnel(page, received));
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
  const order = await page.$$eval("video", (videos) => videos.map((video) => [video.getBoundingClientRect().top, video.id]).sort((a, b) => a[0] - b[0])[0][1]);
  assert.equal(order, "received", "what is received stands first");
  await step("width on a phone", fits(page, 390));
  await page.screenshot({ path: `${folder}/phone.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

async function bothAdvance(page, ids = ["sent", "received"]) {
  for (const id of ids) {
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
  assert.equal(await page.textContent("#beside-name"), "fixed(rate=4 Mbit/s)");
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
  assert.equal(await page.locator("#plots canvas:visible").count(), 3);
  await page.click("#more summary");
  // They are drawn once the browser has opened the list.
  await page.waitForFunction(() => Array.from(document.querySelectorAll("#more-plots canvas")).filter(({ offsetParent }) => offsetParent).length === 3);
  await page.click("#more summary");
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

// The slider changes the emulated link; form, values and plots have what is in force, also for who comes later.
async function driveIntoTheTunnel(page, received) {
  const set = (value) => page.$eval("#tunnel", (slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }, value);
  await set(50);
  await until(() => received.event.some(({ kind, what }) => kind === "setting" && what.includes("link(rate=1.3 Mbit/s, loss=4 %, delay=35 ms, jitter=10 ms)")), "the link");
  await page.waitForFunction(() => document.getElementById("network").value.startsWith("link(rate=1.3 Mbit/s"));
  await page.waitForFunction(() => document.getElementById("plots").textContent.includes("1.3 Mbit/s"));
  await bothAdvance(page);
  const { page: other } = await visit({ width: 1280, height: 900 });
  await other.waitForFunction(() => document.getElementById("network").value.startsWith("link(rate=1.3 Mbit/s"));
  assert.deepEqual([await other.inputValue("#tunnel"), await other.inputValue("#link-loss")], ["51", "4"]);
  await other.close();
  await page.getByRole("button", { name: "open road" }).click();
  await until(() => received.event.some(({ what }) => what.includes("link(rate=6 Mbit/s")), "the open road");
  // What is no network of the list, and no link, is refused: the page reads no file.
  await page.evaluate(() => send({ type: "set", settings: { network: "/etc/hostname" } }));
  await page.waitForFunction(() => document.querySelector("#reply.bad")?.textContent.includes("there is no network"));
  await page.evaluate(() => send({ type: "set", settings: { network: "link(rate=1 Mbit/s, loss=99 %, delay=0 ms, jitter=0 ms)" } }));
  await page.waitForFunction(() => document.querySelector("#reply.bad")?.textContent.includes("at most 50 %"));
}

// Fullscreen and the page's own recording, by mouse and keyboard; the picture says how it is.
async function toolsWork(page) {
  await page.waitForFunction(() => document.querySelector("#received-figure #health.well b")?.textContent === "live");
  await page.waitForFunction(() => /\d ms · .*bit\/s/.test(document.querySelector("#health").textContent));
  await page.getByRole("button", { name: "Record" }).click();
  await page.waitForTimeout(1500);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Stop" }).click()]);
  assert.match(download.suggestedFilename(), /^seaway\.(mp4|webm)$/);
  assert.ok((await stat(await download.path())).size > 10_000, "the recording is empty");
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.fullscreenElement?.querySelector("#health"));
  await page.keyboard.press("f");
  await page.waitForFunction(() => !document.fullscreenElement);
}

async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `the page is ${wide} wide in ${width}`);
}

async function step(name, work) {
  console.log(`${name} …`);
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
