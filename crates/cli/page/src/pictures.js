// Both pictures by WebRTC: one connection, a track each, no trickle.

const RETRY_MS = 1000;
const GATHER_WITHIN_MS = 3000;
const CONNECT_WITHIN_MS = 12000;

export async function watch(elements, onState) {
  for (;;) {
    try {
      await once(elements, onState);
    } catch (error) {
      onState(`no pictures: ${error.message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

// Resolves when the connection has ended.
async function once(elements, onState) {
  const peer = new RTCPeerConnection();
  const videos = new Map();
  for (const video of elements) {
    const transceiver = peer.addTransceiver("video", { direction: "recvonly" });
    videos.set(transceiver, video);
  }
  peer.addEventListener("track", ({ transceiver, track }) => {
    // The least delay the browser's own buffer can have: what we measure is ours.
    if ("jitterBufferTarget" in transceiver.receiver) transceiver.receiver.jitterBufferTarget = 0;
    videos.get(transceiver).srcObject = new MediaStream([track]);
  });
  try {
    await peer.setLocalDescription(await peer.createOffer());
    await gathered(peer);
    const reply = await fetch("api/watch", { method: "POST", headers: { "content-type": "application/sdp" }, body: peer.localDescription.sdp });
    if (!reply.ok) throw new Error(await reply.text());
    await peer.setRemoteDescription({ type: "answer", sdp: await reply.text() });
    await ended(peer, onState);
  } finally {
    peer.close();
  }
}

// What has been gathered by then is enough: the server is near.
function gathered(peer) {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    peer.addEventListener("icegatheringstatechange", () => peer.iceGatheringState === "complete" && resolve());
    setTimeout(resolve, GATHER_WITHIN_MS);
  });
}

// Also over where it never began: the server forgets who does not connect in time.
function ended(peer, onState) {
  return new Promise((resolve) => {
    peer.addEventListener("connectionstatechange", () => {
      onState(peer.connectionState === "connected" ? "" : `pictures: ${peer.connectionState}`);
      if (["failed", "closed", "disconnected"].includes(peer.connectionState)) resolve();
    });
    setTimeout(() => peer.connectionState !== "connected" && resolve(), CONNECT_WITHIN_MS);
  });
}
