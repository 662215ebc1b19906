// What a page's WebRTC connections receive.
import assert from "node:assert/strict";

// The incoming streams, once they are so.
export async function until(page, what, isSo) {
  const end = Date.now() + 60_000;
  for (;;) {
    const streams = await page.evaluate(() => window.inbound());
    if (isSo(streams)) return streams;
    assert.ok(Date.now() < end, `no ${what}: ${JSON.stringify(streams)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

// Runs in the page: `inbound` gives what a browser knows of its incoming streams, and the kind of its own candidate that they come to.
export function keepConnections() {
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
    const pair = reports.findLast((report) => report.type === "candidate-pair" && report.nominated && report.state === "succeeded");
    const own = reports.find((report) => report.id === pair?.localCandidateId);
    return { audio: of("audio"), video: of("video"), candidate: own?.candidateType };
  };
}
