// Chromium as a viewer of one track: prints its offer as a line of JSON, reads the answer likewise, then prints how many
// pictures it has shown, until standard input ends.
import { createInterface } from "node:readline";
import { blank, launch } from "./chromium.mjs";

const say = (message) => console.log(JSON.stringify(message));

const browser = await launch("--autoplay-policy=no-user-gesture-required");
const { page } = await blank(browser);
say({ offer: await page.evaluate(offer) });
let watching = null;
for await (const line of createInterface({ input: process.stdin })) {
  await page.evaluate(watch, JSON.parse(line).answer);
  watching ??= setInterval(async () => say({ shown: await page.evaluate(shown) }), 250);
}
clearInterval(watching);
await browser.close();

async function offer() {
  const peer = (window.peer = new RTCPeerConnection());
  const video = (window.video = document.createElement("video"));
  Object.assign(video, { muted: true, autoplay: true });
  document.body.append(video);
  peer.addTransceiver("video", { direction: "recvonly" });
  peer.addEventListener("track", ({ track }) => (video.srcObject = new MediaStream([track])));
  await peer.setLocalDescription(await peer.createOffer());
  while (peer.iceGatheringState !== "complete") await new Promise((resolve) => setTimeout(resolve, 20));
  return peer.localDescription.sdp;
}

function watch(sdp) {
  return window.peer.setRemoteDescription({ type: "answer", sdp });
}

function shown() {
  return window.video.getVideoPlaybackQuality().totalVideoFrames;
}
