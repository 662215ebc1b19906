// Drives Chromium over the page of a session where UDP passes by a TURN server alone.
//
// node relay.mjs URL: exits with 0 where pictures come by it.
import { blank, launch } from "./chromium.mjs";
import { keepConnections, until } from "./connections.mjs";

const browser = await launch();
try {
  const { page } = await blank(browser, { width: 1280, height: 900 }, 60_000);
  await page.addInitScript(keepConnections);
  await page.goto(process.argv[2]);
  await until(page, "pictures by a relay", ({ video, candidate }) => video?.framesDecoded > 50 && candidate === "relay");
} finally {
  await browser.close();
}
