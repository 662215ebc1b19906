// Drives Chromium over the page of `seaway qlog`, from its file: what a viewer sees and does.
//
// node qlog.mjs PAGE EMPTY LOG FOLDER: PAGE draws a log, EMPTY none, LOG is dropped on the empty one. Exits with 0 where all
// is well; screenshots go into FOLDER.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, offline } from "./chromium.mjs";

const [made, empty, log, folder] = process.argv.slice(2);
const browser = await launch();
try {
  await drawsItsLog({ width: 1280, height: 900 }, "qlog.png");
  await drawsItsLog({ width: 390, height: 844 }, "qlog-phone.png");
  await drawsWhatIsDropped();
} finally {
  await browser.close();
}

async function visit(file, viewport) {
  const { page, problems } = await offline(browser, viewport);
  await page.goto(pathToFileURL(file).href);
  return { page, problems };
}

function titles(page) { return page.locator("#plots h3").evaluateAll((headings) => headings.map((heading) => heading.firstChild.textContent.trim())); }
function rows(page) { return page.locator("#events tbody tr").count(); }

async function drawsItsLog(viewport, picture) {
  const { page, problems } = await visit(made, viewport);
  const plots = await titles(page);
  for (const title of ["Rate", "Delay", "Queue", "Lost"]) assert.ok(plots.includes(title), `${title} is among ${plots}`);
  assert.ok(await rows(page) > 5, "decisions are listed");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= viewport.width, `the page is ${wide} wide in ${viewport.width}`);
  const canvas = page.locator("#plots canvas").first();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60);
  assert.match(await page.textContent("#tip"), / s.*→/);
  await page.screenshot({ path: `${folder}/${picture}`, fullPage: true });
  // A part that is dragged over is shown alone, and the whole comes back.
  const [all, drawn] = [await rows(page), await canvas.evaluate((canvas) => canvas.toDataURL())];
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 60, { steps: 4 });
  await page.mouse.up();
  assert.ok(await rows(page) < all, "events of the part alone");
  await page.click("#whole");
  await page.mouse.move(5, 5);
  assert.equal(await rows(page), all);
  assert.notEqual(drawn, "");
  assert.deepEqual(problems, []);
  await page.close();
}

async function drawsWhatIsDropped() {
  const { page, problems } = await visit(empty, { width: 1280, height: 900 });
  assert.deepEqual(await titles(page), []);
  const drop = (text, name) => page.evaluate(([text, name]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    document.dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
  }, [text, name]);
  await drop("{}", "other.json");
  await page.waitForFunction(() => document.getElementById("reply").textContent.startsWith("other.json: no qlog"));
  const text = readFileSync(log, "utf8");
  // Cut off within its last record, with a text that must not become markup.
  const foreign = '\u001e{"time":1,"name":"seaway:event","data":{"kind":"peer","what":"<img src=x onerror=alert(1)>"}}\n';
  await drop(text + foreign + text.slice(-60, -20), basename(log));
  await page.waitForFunction(() => document.querySelectorAll("#plots canvas").length > 2);
  assert.match(await page.textContent("#facts"), /1 damaged or cut off/);
  assert.equal(await page.locator("#events img").count(), 0);
  assert.equal(await page.textContent("#reply"), "");
  assert.deepEqual(problems, []);
  await page.close();
}
