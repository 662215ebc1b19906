#!/usr/bin/python3
"""`seawaysink` and `seawaysrc` in the pipelines of README.md, against `seaway recv`, `seaway send` and each other, and over a link
whose rate falls.

usage: tests/sessions.py SEAWAY [CASE…]     (GST_PLUGIN_PATH has libgstseaway.so)

Prints a line of JSON for each case. Exit code 1 where one fails.
"""
import json, os, pathlib, re, shlex, signal, socket, subprocess, sys, tempfile
import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

# The test's pictures: 10 s.
PICTURES = 250
# The bar: pictures before the receiver is there may be missing.
LEAST = 0.95 * PICTURES
KEY = "fSZ0X1mNq7Yd3kTgPvC8rWbEoUaHiJ5sLxQ2nRtMyKA"
OTHER_KEY = "gSZ0X1mNq7Yd3kTgPvC8rWbEoUaHiJ5sLxQ2nRtMyKA"
# Seconds until the rate falls, rises, and the end.
FALLS, RISES, ENDS = 12, 24, 36
HIGH, LOW = 3_000_000, 600_000
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
steps = [["{falls} s", "0.6 Mbit/s"], ["{rises} s", "3 Mbit/s"]]
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


def pipeline(element):
    """The README's pipeline with this element: the words behind gst-launch-1.0."""
    text = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        words = block.replace("\\\n", " ").strip()
        if words.startswith("gst-launch-1.0") and element in words:
            return words.split(" ", 1)[1]
    sys.exit(f"README.md has no pipeline with {element}")


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def uri(port, key=KEY):
    return f"rtp://127.0.0.1:{port}?key={key}"


def sender(port, key=KEY, pictures=PICTURES):
    """The README's sender, with a number of pictures."""
    text = re.sub(r"uri='[^']*'", f"uri='{uri(port, key)}'", pipeline("seawaysink"))
    return text.replace("videotestsrc ", f"videotestsrc num-buffers={pictures} ")


def receiver(port):
    """The README's receiver, without a screen."""
    text = re.sub(r"uri='[^']*'", f"uri='{uri(port)}'", pipeline("seawaysrc"))
    return text.replace("autovideosink", "fakesink name=screen sync=true")


def launch(text, **options):
    return subprocess.Popen(["gst-launch-1.0", "-q", *shlex.split(text)], text=True, **options)


def run(text, seconds, ready=lambda: None, live=()):
    """Plays a pipeline until its end; gives the pictures at `screen`: their number, and how late each was on the clock."""
    playing, loop, late, failed = Gst.parse_launch(text.replace("'", "")), GLib.MainLoop(), [], []
    screen, queried = playing.get_by_name("screen"), {}

    def on_picture(pad, info):
        base, clock = playing.get_base_time(), playing.get_clock()
        late.append((clock.get_time() - base - info.get_buffer().pts) / Gst.MSECOND)
        return Gst.PadProbeReturn.OK

    def on_message(_, message):
        if message.type == Gst.MessageType.ERROR:
            failed.append(message.parse_error()[0].message)
        if message.type in (Gst.MessageType.ERROR, Gst.MessageType.EOS):
            loop.quit()

    screen.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, on_picture)
    bus = playing.get_bus()
    bus.add_signal_watch()
    bus.connect("message", on_message)
    playing.set_state(Gst.State.PLAYING)
    GLib.timeout_add(200, lambda: ready() and False)

    def query_latency():
        query = Gst.Query.new_latency()
        if playing.query(query):
            queried["latency"] = query.parse_latency()[1] / Gst.MSECOND
        return False

    GLib.timeout_add(3000, query_latency)
    GLib.timeout_add_seconds(seconds, lambda: (failed.append("no end"), loop.quit()))
    loop.run()
    playing.set_state(Gst.State.NULL)
    return late, queried.get("latency"), failed


def recv(seaway, port, key=KEY, seconds=60):
    words = [seaway, "recv", uri(port, key), "--json", "--duration", f"{seconds} s"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # It is there when it has printed where to send to.
    while "send to" not in (line := process.stderr.readline()):
        if not line:
            sys.exit("recv ended at once")
    return process


def shown(there):
    """Ends `seaway recv`; gives its report."""
    there.send_signal(signal.SIGTERM)
    return json.loads(there.communicate(timeout=30)[0])["flows"][0]["frames"]


def to_recv(seaway):
    """The sink to `seaway recv`."""
    port = free_port()
    there = recv(seaway, port)
    status = launch(sender(port)).wait(60)
    report = {"status": status, "displayed": shown(there)["displayed"]}
    return report, status == 0 and report["displayed"] >= LEAST


def from_send(seaway):
    """`seaway send` to the source."""
    port, processes = free_port(), []
    words = [seaway, "send", "test:640x360@25", uri(port), "--duration", "10 s"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    late, latency, failed = run(receiver(port), 40, lambda: processes.append(subprocess.Popen(words, **quiet)))
    status = processes[0].wait(20)
    report = {"status": status, "displayed": len(late), "latency_ms": latency, "failed": failed}
    return report, status == 0 and not failed and len(late) >= LEAST and latency >= 200


def to_each_other(seaway):
    """The sink to the source."""
    port, processes = free_port(), []
    late, latency, failed = run(receiver(port), 40, lambda: processes.append(launch(sender(port))))
    status = processes[0].wait(20)
    report = {"status": status, "displayed": len(late), "latency_ms": latency, "failed": failed}
    report["median_ms_after_timestamp"] = round(sorted(late)[len(late) // 2]) if late else None
    return report, status == 0 and not failed and len(late) >= LEAST


def other_encoder(seaway):
    """Another encoder follows, too: its property counts in bit/s."""
    port = free_port()
    there = recv(seaway, port)
    text = re.sub(r"x264enc [^!]*!", "openh264enc name=encoder ! h264parse config-interval=-1 !", sender(port))
    playing = Gst.parse_launch(text.replace("'", ""))
    encoder, rates = playing.get_by_name("encoder"), []
    encoder.connect("notify::bitrate", lambda *_: rates.append(encoder.get_property("bitrate")))
    playing.set_state(Gst.State.PLAYING)
    end = playing.get_bus().timed_pop_filtered(40 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    playing.set_state(Gst.State.NULL)
    report = {"displayed": shown(there)["displayed"], "least_bps": min(rates, default=0), "most_bps": max(rates, default=0)}
    report["ended"] = end is not None and end.type == Gst.MessageType.EOS
    return report, report["ended"] and report["displayed"] >= 0.8 * PICTURES and report["least_bps"] >= 30_000 and report["most_bps"] > 1_000_000


def wrong_key(seaway):
    """The receiver has another key: the sink fails, with the reason."""
    port = free_port()
    there = recv(seaway, port, OTHER_KEY)
    process = launch(sender(port), stderr=subprocess.PIPE)
    error = process.communicate(timeout=40)[1]
    there.send_signal(signal.SIGTERM)
    there.communicate(timeout=20)
    report = {"status": process.returncode, "reason": "another key" in error}
    return report, process.returncode != 0 and "another key" in error


def no_receiver(seaway):
    """Nothing is at the address: the sink fails at the end, with the reason."""
    process = launch(sender(free_port(), pictures=50), stderr=subprocess.PIPE)
    error = process.communicate(timeout=40)[1]
    return {"status": process.returncode}, process.returncode != 0 and "no receiver answered" in error


def falling_link(seaway):
    """The encoder follows a link that falls to a fifth and rises again."""
    near, far = free_port(), free_port()
    folder = tempfile.TemporaryDirectory()
    lane = os.path.join(folder.name, "lane.toml")
    pathlib.Path(lane).write_text(LANE.format(falls=FALLS, rises=RISES, near=near, far=far))
    there = recv(seaway, far)
    network = subprocess.Popen([seaway, "emulate", lane, "--json", "--bound", "60 s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "client is at udp" not in (line := network.stderr.readline()):
        if not line:
            sys.exit("the network ended at once")
    text = sender(near, pictures=25 * ENDS).replace("seawaysink", "seawaysink name=session").replace("x264enc", "x264enc name=encoder")
    playing, loop, failed = Gst.parse_launch(text.replace("'", "")), GLib.MainLoop(), []
    session, encoder = playing.get_by_name("session"), playing.get_by_name("encoder")
    began, targets, rates, coded = GLib.get_monotonic_time(), [], [], []
    now = lambda: (GLib.get_monotonic_time() - began) / 1e6
    session.connect("notify::target-bitrate", lambda *_: targets.append((now(), session.get_property("target-bitrate"))))
    encoder.connect("notify::bitrate", lambda *_: rates.append((now(), 1000 * encoder.get_property("bitrate"))))
    probe = lambda _, info: (coded.append((now(), 8 * info.get_buffer().get_size())), Gst.PadProbeReturn.OK)[1]
    encoder.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, probe)

    def on_message(_, message):
        if message.type == Gst.MessageType.ERROR:
            failed.append(message.parse_error()[0].message)
        if message.type in (Gst.MessageType.ERROR, Gst.MessageType.EOS):
            loop.quit()

    bus = playing.get_bus()
    bus.add_signal_watch()
    bus.connect("message", on_message)
    playing.set_state(Gst.State.PLAYING)
    GLib.timeout_add_seconds(ENDS + 20, lambda: (failed.append("no end"), loop.quit()))
    loop.run()
    stats = session.get_property("stats").to_string()
    playing.set_state(Gst.State.NULL)
    network.terminate()
    link = json.loads(network.communicate()[0])["links"][0]
    received = shown(there)
    rate = lambda since, until: round(sum(bits for at, bits in coded if since <= at < until) / (until - since))
    report = {
        "failed": failed,
        "changes_of_target": len(targets),
        "changes_of_encoder": len(rates),
        "before_bps": rate(6, FALLS),
        "squeezed_bps": rate(FALLS + 4, RISES),
        "after_bps": rate(ENDS - 6, ENDS),
        "lost_in_queue": link["drops"]["queue"],
        "pictures": 25 * ENDS,
        "displayed": received["displayed"],
        "stats": stats,
    }
    holds = (
        0.4 * HIGH <= report["before_bps"] <= 1.05 * HIGH
        and 0.3 * LOW <= report["squeezed_bps"] <= 1.05 * LOW
        and 0.4 * HIGH <= report["after_bps"] <= 1.05 * HIGH
        and report["displayed"] >= 0.8 * report["pictures"]
    )
    return report, not failed and holds


def main():
    Gst.init(None)
    cases = {case.__name__: case for case in (to_recv, from_send, to_each_other, other_encoder, wrong_key, no_receiver, falling_link)}
    wrong = []
    for name in sys.argv[2:] or cases:
        report, holds = cases[name](sys.argv[1])
        print(json.dumps({"case": name, "holds": holds, **report}), flush=True)
        wrong += [] if holds else [name]
    sys.exit("failed: " + ", ".join(wrong) if wrong else 0)


main()
