// Drives Chromium over the page of a session with sound: a viewer listens.
//
// node sound.mjs URL FOLDER PICTURE: exits with 0 where all is well; a screenshot goes into FOLDER.
import assert from "node:assert/strict";
import { blank, launch } from "./chromium.mjs";

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
  await page.waitForFunction(async () => (await window.inbound()).audio?.totalAudioEnergy > 1e-4);
  // Both have had a sender report, by which the browser synchronises them; what it plays is of one instant, within 40 ms.
  await page.waitForFunction(async () => {
    const { audio, video } = await window.inbound();
    const apart = audio.estimatedPlayoutTimestamp - video.estimatedPlayoutTimestamp;
    window.apart = apart;
    return Math.abs(apart) <= 40;
  }, null, { polling: 200 }).catch(async (error) => {
    throw new Error(`${await page.evaluate(() => window.apart)} ms apart: ${error.message}`);
  });
  console.log(`sound and picture are ${await page.evaluate(() => window.apart)} ms apart`);
  await page.screenshot({ path: `${folder}/sound.png`, fullPage: true });
  await page.getByRole("button", { name: "Mute" }).click();
  assert.ok(await muted());
  assert.deepEqual(problems, []);
  await page.close();
}

// Runs in the page: `inbound` gives what a browser knows of its incoming streams.
function keepConnections() {
  const Connection = window.RTCPeerConnection;
  let last = null;
  window.RTCPeerConnection = class extends Connection {
    constructor(...all) {
      super(...all);
      last = this;
    }
  };
  window.inbound = async () => {
    const reports = last ? [...(await last.getStats()).values()] : [];
    const of = (kind) => reports.findLast((report) => report.type === "inbound-rtp" && report.kind === kind);
    return { audio: of("audio"), video: of("video") };
  };
}
