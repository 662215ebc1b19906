// Both pictures and the sound by WHEP: one connection, a track each, no trickle.

const GATHER_WITHIN_MS = 3000;
const CONNECT_WITHIN_MS = 6000;

async function watch(elements, onState) {
  for (;;) {
    try {
      await once(elements, onState);
    } catch (error) {
      onState(`no pictures: ${error.message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

// Resolves when the connection has ended.
async function once(elements, onState) {
  const peer = new RTCPeerConnection({ iceServers: await iceServers() });
  const videos = new Map();
  for (const video of elements) {
    video.srcObject = new MediaStream();
    videos.set(peer.addTransceiver("video", { direction: "recvonly" }), video);
  }
  // It belongs to the last picture, and is played with it.
  videos.set(peer.addTransceiver("audio", { direction: "recvonly" }), elements.at(-1));
  peer.addEventListener("track", ({ transceiver, track }) => {
    // The browser's own buffer adds as little delay as possible, since the delays shown are measured at ours.
    if ("jitterBufferTarget" in transceiver.receiver) transceiver.receiver.jitterBufferTarget = 0;
    videos.get(transceiver).srcObject.addTrack(track);
  });
  let session = null;
  const leave = () => session && fetch(session, { method: "DELETE", keepalive: true }).catch(() => {});
  addEventListener("pagehide", leave);
  try {
    await peer.setLocalDescription(await peer.createOffer());
    await gathered(peer);
    const reply = await fetch(`whep${location.search}`, { method: "POST", headers: { "content-type": "application/sdp" }, body: peer.localDescription.sdp });
    if (!reply.ok) throw new Error(await reply.text());
    session = reply.headers.get("location");
    await peer.setRemoteDescription({ type: "answer", sdp: await reply.text() });
    await ended(peer, onState);
  } finally {
    removeEventListener("pagehide", leave);
    peer.close();
    leave();
  }
}

// The servers that the page names in its Link headers (RFC 9725 section 4.6).
async function iceServers() {
  const reply = await fetch(`whep${location.search}`, { method: "OPTIONS" });
  const links = (reply.headers.get("link") ?? "").matchAll(/<([^>]*)>((?:\s*;\s*[\w-]+="(?:[^"\\]|\\.)*")*)/g);
  return Array.from(links, ([, urls, parameters]) => {
    const pairs = parameters.matchAll(/([\w-]+)="((?:[^"\\]|\\.)*)"/g);
    const { username, credential } = Object.fromEntries(Array.from(pairs, ([, name, text]) => [name, text.replace(/\\(.)/g, "$1")]));
    return username ? { urls, username, credential } : { urls };
  });
}

// The candidates gathered by then suffice, since the server is near.
function gathered(peer) {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    peer.addEventListener("icegatheringstatechange", () => peer.iceGatheringState === "complete" && resolve());
    setTimeout(resolve, GATHER_WITHIN_MS);
  });
}

// Also resolves where it never connects, since the server drops offers that do not connect in time.
function ended(peer, onState) {
  return new Promise((resolve) => {
    peer.addEventListener("connectionstatechange", () => {
      onState(peer.connectionState === "connected" ? "" : `pictures: ${peer.connectionState}`);
      if (["failed", "closed", "disconnected"].includes(peer.connectionState)) resolve();
    });
    setTimeout(() => peer.connectionState !== "connected" && resolve(), CONNECT_WITHIN_MS);
  });
}
