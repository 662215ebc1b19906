// Drives Chromium over the page of a session with sound: a viewer listens.
//
// node sound.mjs URL FOLDER PICTURE: exits with 0 where all is well; a screenshot goes into FOLDER.
import assert from "node:assert/strict";
import { blank, launch } from "./chromium.mjs";
import { keepConnections, until } from "./connections.mjs";

const [url, folder, picture] = process.argv.slice(2);
const browser = await launch();
try {
  await listen();
} finally {
  await browser.close();
}

async function listen() {
  const { page, problems } = await blank(browser, { width: 1280, height: 900 }, 60_000);
  await page.addInitScript(keepConnections);
  await page.goto(url);
  const muted = () => page.evaluate((id) => document.getElementById(id).muted, picture);
  assert.ok(await muted(), "silent before a gesture");
  await page.getByRole("button", { name: "Listen" }).click();
  assert.ok(!await muted());
  // The beep comes once a second.
  await until(page, "sound", ({ audio }) => audio?.totalAudioEnergy > 1e-4);
  // The browser has a sender report of both, by which it synchronises them.
  const apart = ({ audio, video }) => audio?.estimatedPlayoutTimestamp - video?.estimatedPlayoutTimestamp;
  const known = await until(page, "sender reports", (streams) => Number.isFinite(apart(streams)));
  // A receiver has no settings, and shows what it has values of.
  const isReceiver = picture === "received";
  assert.equal(await page.isVisible("#controls"), !isReceiver);
  assert.equal(await page.getByRole("img", { name: "PSNR over time" }).isVisible(), false);
  assert.ok(await page.getByRole("img", { name: "Delay over time" }).isVisible());
  assert.equal(await page.isVisible("#link"), false, "there is no emulated link");
  assert.ok(await page.getByRole("img", { name: "Sound over time" }).isVisible());
  console.log(`sound and picture are ${apart(known)} ms apart`);
  await page.screenshot({ path: `${folder}/sound.png`, fullPage: true });
  await page.getByRole("button", { name: "Mute" }).click();
  assert.ok(await muted());
  assert.deepEqual(problems, []);
  await page.close();
}
