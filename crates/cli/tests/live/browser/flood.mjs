// A tab of the page that sends 600 000 settings in five seconds, or as soon as it can, and then stays open: prints how many and
// in what time as a line of JSON.
// Arguments: the page's address with its token.
import { chromium } from "playwright-core";

const SETTINGS = 600_000;
const SECONDS = 5;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
page.setDefaultTimeout(60_000);
await page.goto(process.argv[2]);
console.log(JSON.stringify(await page.evaluate(flood, { settings: SETTINGS, seconds: SECONDS })));
// Until it is killed.
setInterval(() => {}, 1000);

async function flood({ settings, seconds }) {
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/api/live${location.search}`);
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1000;
  let sent = 0;
  while (sent < settings) {
    const due = Math.min(settings, (settings * elapsed()) / seconds);
    for (; sent < due; sent++) {
      socket.send(`{"type":"set","settings":{"max":"${3000 + (sent % 1000)} kbit/s"}}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { sent, seconds: elapsed(), waiting: socket.bufferedAmount, open: socket.readyState === WebSocket.OPEN };
}
