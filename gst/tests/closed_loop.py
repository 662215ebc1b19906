#!/usr/bin/python3
"""x264enc in a closed loop: `seawaybwe` before an rtpbin, over a network of `seaway emulate` whose rate falls and rises again.

usage: tests/closed_loop.py SEAWAY [CONTROLLER]     (GST_PLUGIN_PATH has libgstseaway.so)

The pipelines are those of README.md. Prints a JSON document: rates of the thirds of the run, loss, pictures. Exit code 1 where the
encoder did not follow the network.
"""
import json, os, pathlib, re, socket, subprocess, sys, tempfile
import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

# Seconds until the rate falls, rises, and the end.
FALLS, RISES, ENDS = 15, 30, 50
HIGH, LOW = 3_000_000, 800_000
LANE = """
schema = 1
name = "lane"
duration = "10 min"

[[link]]
name = "lane"
from = "server"
to = "client"
both = true
rate = "3 Mbit/s"
steps = [["{falls} s", "0.8 Mbit/s"], ["{rises} s", "3 Mbit/s"]]
delay = "20 ms"
queue = {{ kind = "drop-tail", time = "300 ms" }}

[[attach]]
node = "server"
udp = "127.0.0.1:{near}"

[[attach]]
node = "client"
udp = "127.0.0.1:0"
peer = "127.0.0.1:{far}"
"""


def pipelines():
    """The sender's and the receiver's of README.md: the words behind gst-launch-1.0."""
    text = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
    found = {}
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        words = block.replace("\\\n", " ").strip()
        if words.startswith("gst-launch-1.0"):
            found["receiver" if "udpsink host=127.0.0.1 port=5007" in words else "sender"] = words.split(" ", 1)[1]
    return found["sender"], found["receiver"]


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    seaway, controller = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "seaway"
    Gst.init(None)
    sender, receiver = pipelines()
    # Each port of the README becomes a free one.
    ports = {port: free_port() for port in ("5004", "5006", "5007")}
    place = lambda text: re.sub(r"port=(\d+)", lambda it: f"port={ports[it[1]]}", text.replace("'", "").replace('"', ""))
    folder = tempfile.TemporaryDirectory()
    lane = os.path.join(folder.name, "lane.toml")
    with open(lane, "w") as file:
        # The network begins a little before the pipelines.
        file.write(LANE.format(falls=FALLS, rises=RISES, near=ports["5004"], far=ports["5006"]))
    network = subprocess.Popen([seaway, "emulate", lane, "--json", "--bound", "60 s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "client is at udp" not in network.stderr.readline():
        if network.poll() is not None:
            sys.exit("the network ended at once")
    receive, send = Gst.parse_launch(place(receiver)), Gst.parse_launch(place(sender))
    estimator, encoder = send.get_by_name("estimator"), send.get_by_name("encoder")
    estimator.set_property("controller", controller)
    loop, rates, began, failed = GLib.MainLoop(), [], GLib.get_monotonic_time(), []

    def follow(*_):
        # The rate counts headers; a twentieth is left for them. x264enc takes kbit/s.
        rate = estimator.get_property("estimated-bitrate")
        encoder.set_property("bitrate", max(50, int(rate * 0.95 / 1000)))
        rates.append(((GLib.get_monotonic_time() - began) / 1e6, rate))

    def on_message(_, message):
        if message.type == Gst.MessageType.ERROR:
            failed.append(message.parse_error()[0].message)
            loop.quit()

    estimator.connect("notify::estimated-bitrate", follow)
    shown = [0]
    screen = receive.get_by_name("screen")
    screen.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, lambda *_: (shown.__setitem__(0, shown[0] + 1), Gst.PadProbeReturn.OK)[1])
    for pipeline in (receive, send):
        bus = pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", on_message)
        pipeline.set_state(Gst.State.PLAYING)
    GLib.timeout_add_seconds(ENDS, loop.quit)
    loop.run()
    for pipeline in (send, receive):
        pipeline.set_state(Gst.State.NULL)
    network.terminate()
    link = json.loads(network.communicate()[0])["links"][0]
    if failed:
        sys.exit(failed[0])

    def mean(since, until):
        """Over time; each rate holds until the next."""
        points = [(max(since, at), rate) for at, rate in rates if at < until]
        points.append((until, 0))
        spans = [(later - at, rate) for (at, rate), (later, _) in zip(points, points[1:]) if later > since]
        return sum(span * rate for span, rate in spans) / max(1e-9, sum(span for span, _ in spans))

    report = {
        "controller": controller,
        "changes": len(rates),
        "before_bps": round(mean(8, FALLS)),
        "squeezed_bps": round(mean(FALLS + 5, RISES)),
        "after_bps": round(mean(ENDS - 8, ENDS)),
        "lost_in_queue": link["drops"]["queue"],
        "pictures_shown": shown[0],
    }
    print(json.dumps(report))
    wrong = [
        f"{name} is {report[name]}, expected {least} to {most}"
        for name, least, most in (
            ("before_bps", 0.4 * HIGH, 1.25 * HIGH),
            ("squeezed_bps", 0.4 * LOW, 1.25 * LOW),
            ("after_bps", 0.4 * HIGH, 1.25 * HIGH),
            ("pictures_shown", 20 * ENDS * 0.8, 26 * ENDS),
        )
        if not least <= report[name] <= most
    ]
    sys.exit("\n".join(wrong) if wrong else 0)


main()
