#!/usr/bin/python3
"""webrtcbin to Chromium under a squeeze: x264enc follows `seawaybwe` over a link of `seaway emulate` between two network namespaces.

usage: tests/webrtc.py SEAWAY [CONTROLLER]     (as root; GST_PLUGIN_PATH has libgstseaway.so)

Chromium is driven over its debugging pipe, and its getStats says what a viewer had. Prints a JSON document. Exit code 1 where the rate did
not follow the link or no picture came.
"""
import ctypes, json, os, pathlib, shutil, subprocess, sys, tempfile, threading, time

# Seconds until the rate falls, rises, and the end.
FALLS, RISES, ENDS = 20, 40, 60
HIGH, LOW = 3_000_000, 800_000
LANE = """
schema = 1
name = "lane"
duration = "10 min"

[[link]]
name = "lane"
from = "sender"
to = "viewer"
both = true
rate = "3 Mbit/s"
steps = [["@FALLS@ s", "0.8 Mbit/s"], ["@RISES@ s", "3 Mbit/s"]]
delay = "20 ms"
queue = { kind = "drop-tail", time = "300 ms" }

[[attach]]
node = "sender"
tun = "seaway0"

[[attach]]
node = "viewer"
tun = "seaway1"
"""
TWCC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
SENDER = f"""
webrtcbin name=peer bundle-policy=max-bundle
videotestsrc is-live=true pattern=zone-plate kx2=20 ky2=20 kt=2 ! video/x-raw,width=640,height=360,framerate=25/1
! x264enc name=encoder tune=zerolatency speed-preset=ultrafast bitrate=1000 key-int-max=100 vbv-buf-capacity=200
! video/x-h264,profile=constrained-baseline ! h264parse
! rtph264pay pt=96 config-interval=-1 aggregate-mode=zero-latency
! application/x-rtp,media=video,encoding-name=H264,payload=96,rtcp-fb-transport-cc=(boolean)true,rtcp-fb-nack-pli=(boolean)true,extmap-1=(string){TWCC}
! peer.
"""
# Answers the offer when all candidates are known.
ANSWER = """(async () => {
    const video = document.body.appendChild(document.createElement("video"));
    [video.muted, video.autoplay] = [true, true];
    const peer = window.peer = new RTCPeerConnection();
    peer.ontrack = (event) => { video.srcObject = event.streams[0] ?? new MediaStream([event.track]); };
    await peer.setRemoteDescription({ type: "offer", sdp: %s });
    await peer.setLocalDescription(await peer.createAnswer());
    while (peer.iceGatheringState !== "complete") await new Promise((done) => setTimeout(done, 50));
    return peer.localDescription.sdp;
})()"""
STATISTICS = """(async () => {
    const all = [...(await window.peer.getStats()).values()];
    const video = all.find((entry) => entry.type === "inbound-rtp" && entry.kind === "video") ?? {};
    const pair = all.find((entry) => entry.type === "candidate-pair" && entry.nominated) ?? {};
    return JSON.stringify({ ...video, rtt: pair.currentRoundTripTime, state: window.peer.connectionState });
})()"""


def ip(words):
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


class Lane:
    """The emulator and its two namespaces."""

    def __init__(self, seaway, folder):
        self.hosts = [f"seaway-webrtc-{os.getpid()}-{side}" for side in range(2)]
        lane = folder / "lane.toml"
        # The network begins before the peers.
        lane.write_text(LANE.replace("@FALLS@", str(FALLS + 8)).replace("@RISES@", str(RISES + 8)))
        self.began = time.monotonic()
        words = [seaway, "emulate", lane, "--json", "--bound", "120 s"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for side, host in enumerate(self.hosts):
            ip(f"netns add {host}")
            for _ in range(100):
                if subprocess.run(["ip", "link", "set", f"seaway{side}", "netns", host], capture_output=True).returncode == 0:
                    break
                time.sleep(0.05)
            ip(f"-n {host} addr add 10.77.0.{side + 1}/24 dev seaway{side}")
            ip(f"-n {host} link set seaway{side} up")

    def report(self):
        self.process.terminate()
        return json.loads(self.process.communicate()[0])

    def close(self):
        self.process.terminate()
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], capture_output=True)


class Chromium:
    """A page, driven over the debugging pipe: messages end with a zero octet."""

    def __init__(self, host, folder):
        read, there = os.pipe()
        back, write = os.pipe()

        def pipes():
            # Chromium reads commands from 3 and answers on 4.
            commands, answers = os.dup(read), os.dup(write)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        options += ["--disable-features=WebRtcHideLocalIpsWithMdns", "--autoplay-policy=no-user-gesture-required", "about:blank"]
        words = ["ip", "netns", "exec", host, "chromium", *options]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(words, preexec_fn=pipes, close_fds=False, stdout=quiet, stderr=quiet)
        self.there, self.back, self.rest, self.number = there, back, b"", 0
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self.there, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise RuntimeError("Chromium ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", self.session, expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"]["value"]


def stream(controller, chromium, ends):
    """Sends until `ends`; gives the rates and the viewer's statistics of each second. Runs in the sender's namespace."""
    import gi

    for name in ("Gst", "GstWebRTC", "GstSdp"):
        gi.require_version(name, "1.0")
    from gi.repository import GLib, Gst, GstSdp, GstWebRTC

    Gst.init(None)
    pipeline = Gst.parse_launch(SENDER)
    peer, encoder = pipeline.get_by_name("peer"), pipeline.get_by_name("encoder")
    loop, rates, viewer, failed, began = GLib.MainLoop(), [], [], [], time.monotonic()

    def on_request(*_):
        estimator = Gst.ElementFactory.make("seawaybwe")
        for name, value in (("controller", controller), ("max-bitrate", 4_000_000), ("estimated-bitrate", 1_000_000)):
            estimator.set_property(name, value)
        estimator.connect("notify::estimated-bitrate", follow)
        return estimator

    def follow(estimator, _):
        rate = estimator.get_property("estimated-bitrate")
        encoder.set_property("bitrate", max(50, int(rate * 0.95 / 1000)))
        rates.append((time.monotonic(), rate))

    def on_offer(promise):
        promise.wait()
        reply = promise.get_reply()
        peer.emit("set-local-description", reply.get_value("offer"), None)

    def on_gathering(*_):
        if peer.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
            threading.Thread(target=watch, daemon=True).start()

    def watch():
        try:
            answer = chromium.evaluate(ANSWER % json.dumps(peer.get_property("local-description").sdp.as_text()))
            _, message = GstSdp.SDPMessage.new_from_text(answer)
            described = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message)
            peer.emit("set-remote-description", described, None)
            while time.monotonic() < ends:
                viewer.append((time.monotonic(), json.loads(chromium.evaluate(STATISTICS))))
                time.sleep(0.5)
        except Exception as error:
            failed.append(str(error))
        GLib.idle_add(loop.quit)

    def on_message(_, message):
        if message.type == Gst.MessageType.ERROR:
            failed.append(str(message.parse_error()))
            loop.quit()

    peer.connect("request-aux-sender", on_request)
    peer.connect("on-negotiation-needed", lambda _: peer.emit("create-offer", None, Gst.Promise.new_with_change_func(on_offer)))
    peer.connect("notify::ice-gathering-state", on_gathering)
    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message", on_message)
    pipeline.set_state(Gst.State.PLAYING)
    GLib.timeout_add(int((ends - began + 5) * 1000), loop.quit)
    loop.run()
    pipeline.set_state(Gst.State.NULL)
    if failed:
        sys.exit(failed[0])
    return rates, viewer


def main():
    seaway, controller = shutil.which(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "seaway"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        lane = Lane(seaway, folder)
        chromium = None
        try:
            chromium = Chromium(lane.hosts[1], folder / "profile")
            enter(lane.hosts[0])
            origin = lane.began + 8
            rates, viewer = stream(controller, chromium, origin + ENDS)
            link = lane.report()
        finally:
            if chromium:
                chromium.process.terminate()
                chromium.process.wait()
            lane.close()
    if not viewer:
        sys.exit("the peers did not find each other")
    report = summary(controller, origin, rates, viewer, link["links"][0])
    print(json.dumps(report))
    sys.exit("\n".join(misses(report)) or 0)


def summary(controller, origin, rates, viewer, link):
    """What was estimated, what came and what a viewer had."""
    rates = [(at - origin, rate) for at, rate in rates]
    viewer = [(at - origin, entry) for at, entry in viewer if "bytesReceived" in entry]

    def estimated(since, until):
        """The mean over time; each rate holds until the next."""
        points = [(max(since, at), rate) for at, rate in rates if at < until] + [(until, 0)]
        spans = [(later - at, rate) for (at, rate), (later, _) in zip(points, points[1:]) if later > since]
        return round(sum(span * rate for span, rate in spans) / max(1e-9, sum(span for span, _ in spans)))

    def difference(since, until, *keys):
        """Of the viewer's counters, between the first and the last sample of a span, and the seconds between them."""
        within = [(at, entry) for at, entry in viewer if since <= at <= until]
        (first, before), (last, after) = within[0], within[-1]
        return [after.get(key, 0) - before.get(key, 0) for key in keys] + [last - first]

    def phase(since, until):
        octets, waited, shown, seconds = difference(since, until, "bytesReceived", "jitterBufferDelay", "jitterBufferEmittedCount")
        trips = sorted({entry["rtt"] for at, entry in viewer if since <= at <= until and entry.get("rtt")})
        return {
            "estimated_bps": estimated(since, until),
            "received_bps": round(8 * octets / seconds),
            "jitter_buffer_ms": round(1000 * waited / max(1, shown)),
            "rtt_ms": round(1000 * trips[len(trips) // 2]) if trips else None,
        }

    frozen, freezes, decoded, _ = difference(0, ENDS, "totalFreezesDuration", "freezeCount", "framesDecoded")
    return {
        "controller": controller,
        "before": phase(8, FALLS),
        "squeezed": phase(FALLS + 5, RISES),
        "after": phase(ENDS - 8, ENDS),
        "freezes": freezes,
        "frozen_s": round(frozen, 1),
        "frames_decoded": decoded,
        "dropped_by_queue": link["drops"]["queue"],
    }


def misses(report):
    """Where the rate did not follow the link, or pictures did not come."""
    bounds = (("before", 0.4 * HIGH, 1.1 * HIGH), ("squeezed", 0.4 * LOW, 1.1 * LOW), ("after", 0.4 * HIGH, 1.1 * HIGH))
    wrong = [
        f"{phase}: {report[phase]['received_bps']} bit/s came, expected {least:.0f} to {most:.0f}"
        for phase, least, most in bounds
        if not least <= report[phase]["received_bps"] <= most
    ]
    if report["frames_decoded"] < 0.8 * 25 * ENDS:
        wrong.append(f"{report['frames_decoded']} pictures were decoded")
    return wrong


def enter(host):
    """This process continues in the namespace."""
    library = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{host}") as namespace:
        # CLONE_NEWNET
        if library.setns(namespace.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")


main()
