// Drives Chromium over a page of `seaway compare`, from its file: what a viewer sees and does.
//
// node compare.mjs FILE FOLDER: exits with 0 where all is well; screenshots go into FOLDER.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { launch, offline } from "./chromium.mjs";

const [file, folder] = process.argv.slice(2);
const browser = await launch();
try {
  await desktop();
  await phone();
} finally {
  await browser.close();
}

async function visit(viewport) {
  const { page, problems } = await offline(browser, viewport);
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => [...document.querySelectorAll("video")].every((video) => video.readyState >= 2));
  return { page, problems };
}

async function desktop() {
  const { page, problems } = await visit({ width: 1280, height: 900 });
  await step("scrubbing moves all", scrub(page));
  await step("in sync", inSync(page));
  await step("every controller selectable", select(page));
  await step("causes", causes(page));
  await step("width", fits(page, 1280));
  await page.screenshot({ path: `${folder}/compare.png`, fullPage: true });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${folder}/compare-dark.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

async function phone() {
  const { page, problems } = await visit({ width: 390, height: 844 });
  await step("scrubbing on a phone", scrub(page));
  await step("width on a phone", fits(page, 390));
  await page.screenshot({ path: `${folder}/compare-phone.png`, fullPage: true });
  assert.deepEqual(problems, []);
  await page.close();
}

function times(page) {
  return page.evaluate(() => [...document.querySelectorAll("video")].map((video) => video.currentTime));
}

function drawn(page) {
  return page.evaluate(() => [...document.querySelectorAll("#plots canvas")].map((canvas) => canvas.toDataURL()));
}

// The shared scrubber sets every video to its time, moves the line in every plot and changes what is read off.
async function scrub(page) {
  const length = Number(await page.getAttribute("#scrub", "max"));
  const [plots, why] = [await drawn(page), await page.textContent("#why-time")];
  assert.equal(plots.length, 5);
  const target = Math.round(length * 0.6 * 50) / 50;
  await page.evaluate((target) => {
    const scrub = document.getElementById("scrub");
    scrub.value = String(target);
    scrub.dispatchEvent(new Event("input"));
  }, target);
  await page.waitForFunction((target) => [...document.querySelectorAll("video")].every((video) => !video.seeking && Math.abs(video.currentTime - target) < 0.05), target);
  const moved = await drawn(page);
  moved.forEach((plot, index) => assert.notEqual(plot, plots[index], `plot ${index} moved`));
  assert.notEqual(await page.textContent("#why-time"), why);
  assert.match(await page.textContent("#clock"), new RegExp(`^${target.toFixed(1)} /`));
}

// They play together and stay within two pictures of each other and of the clock.
async function inSync(page) {
  await page.evaluate(() => { const scrub = document.getElementById("scrub"); scrub.value = "0"; scrub.dispatchEvent(new Event("input")); });
  await page.click("#play");
  await page.waitForFunction(() => [...document.querySelectorAll("video")].every((video) => video.currentTime > 0.8));
  const [low, high] = await page.evaluate(() => {
    const times = [...document.querySelectorAll("video")].map((video) => video.currentTime).concat(Number(document.getElementById("scrub").value));
    return [Math.min(...times), Math.max(...times)];
  });
  assert.ok(high - low < 0.12, `videos are ${high - low} s apart`);
  const pictures = await page.evaluate(() => [...document.querySelectorAll("video")].map((video) => video.getVideoPlaybackQuality().totalVideoFrames));
  assert.ok(pictures.every((count) => count > 5), `pictures shown: ${pictures}`);
  await page.click("#play");
  const stopped = await times(page);
  await page.waitForTimeout(300);
  assert.deepEqual(await times(page), stopped, "paused");
}

async function select(page) {
  const count = await page.locator(".chip:not(.all)").count();
  assert.ok(count >= 2);
  assert.equal(await page.locator("#videos figure:visible").count(), count + 1);
  for (let index = 0; index < count; index += 1) {
    const plots = await drawn(page);
    await page.locator(".chip:not(.all)").nth(index).click();
    assert.equal(await page.locator("#videos figure:visible").count(), count);
    assert.equal(await page.locator("#table thead th").count(), count);
    assert.notEqual((await drawn(page))[0], plots[0], "its line is gone");
    await page.locator(".chip:not(.all)").nth(index).click();
    assert.equal((await drawn(page))[0], plots[0], "its line is back");
  }
}

async function causes(page) {
  const canvas = page.locator("#plots canvas").first();
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await page.waitForSelector("#tip:not([hidden])");
  const text = await page.textContent("#tip");
  assert.match(text, /→/, text);
  await page.screenshot({ path: `${folder}/compare-tip.png` });
  await page.mouse.move(5, 5);
}

async function fits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `the page is ${wide} wide in ${width}`);
}

async function step(name, work) {
  await work;
  console.log(`${name}: well`);
}
