// Drives Chromium over a page of `seaway scorecard`, from its file: what a reader sees and does.
//
// node scorecard.mjs FILE FOLDER: exits with 0 where all is well; screenshots go into FOLDER.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { launch, offline } from "./chromium.mjs";

const [file, folder] = process.argv.slice(2);
const browser = await launch();
try {
  for (const [name, viewport] of [["scorecard", { width: 1280, height: 900 }], ["scorecard-phone", { width: 390, height: 844 }]]) {
    await look(name, viewport);
    console.log(`${name}: well`);
  }
} finally {
  await browser.close();
}

async function look(name, viewport) {
  const { page, problems } = await offline(browser, viewport);
  await page.goto(pathToFileURL(file).href);
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
  await select(page);
  await read(page);
  await other(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= viewport.width, `the page is ${wide} wide in ${viewport.width}`);
  assert.deepEqual(problems, []);
  await page.close();
}

// Every controller can be taken away from all tables and plots, and put back.
async function select(page) {
  const chips = page.locator(".chip:not(.all)");
  const count = await chips.count();
  assert.ok(count >= 2);
  const counts = async () => [
    await page.locator("#suites table").first().locator("tbody tr").count(),
    await page.locator(".plot").first().locator("g:visible polyline").count(),
    await page.locator("#cases thead th").count() - 1,
  ];
  for (let index = 0; index < count; index += 1) {
    assert.deepEqual(await counts(), [count, count, count]);
    await chips.nth(index).click();
    assert.deepEqual(await counts(), [count - 1, count - 1, count - 1]);
    await chips.nth(index).click();
  }
  await page.locator(".chip.all").click();
  assert.deepEqual(await counts(), [0, 0, 0]);
  await page.locator(".chip.all").click();
  assert.deepEqual(await counts(), [count, count, count]);
}

// The pointer reads a curve.
async function read(page) {
  assert.equal(await page.locator(".plot").count(), 16, "four curves of four numbers");
  const plot = page.locator(".plot svg").nth(0);
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
  await page.waitForSelector("#tip:not([hidden])");
  assert.match(await page.textContent("#tip"), /random loss: \d+ %.*PSNR.*dB/);
  await page.mouse.move(1, 1);
  await page.waitForSelector("#tip", { state: "hidden" });
}

// Another number in the table of cases.
async function other(page) {
  const before = await page.textContent("#cases tbody");
  await page.selectOption("#metric", "psnr");
  assert.notEqual(await page.textContent("#cases tbody"), before);
  assert.match(await page.textContent("#metric-about"), /modelled/);
}
