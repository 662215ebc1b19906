#!/usr/bin/env python3
"""The papers' systems between two hosts, beside the same scenario in the simulator.

Each system runs for a minute over a link that changes: its sender in one network namespace, its receiver in another, `seaway
emulate` between them; then the same in `seaway sim`. The rate is that of the IP datagrams that arrive; the delay is what a packet
waits in the queue: between the namespaces its way by the captures of both ends, less propagation and its own transmission.

Needs root, iproute2, FFmpeg and seaway (or $SEAWAY); writes docs/results/papers-live.md. Ends with 1 where a bound was missed. A run
whose emulator was late is void, and the page marks it. Names of systems as arguments run those alone, and write nothing.
"""

import json
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict, deque

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))
# The link changes while it runs; what is before WARMUP is left out.
SECONDS, WARMUP = 60, 10
RATE_BOUND, DELAY_BOUND = 0.05, 10
STARTS = 5
DECISIONS = 20
CLIP = ROOT / "assets/bigbuckbunny_720p.mp4"
STREAM = ROOT / "assets/bigbuckbunny_320x180.m2v"
PORT = 5004

LINK = """schema = 1
name = "papers-live"
duration = "{seconds} s"
warmup = "{warmup} s"

[[link]]
name = "lane"
from = "near"
to = "far"
both = true
rate = "{rate}"
steps = {steps}
delay = "{delay}"
queue = {{ kind = "drop-tail", packets = {packets} }}
"""
ATTACH = '\n[[attach]]\nnode = "{0}"\ntun = "{1}"\n'
MEDIA = """
[[flow]]
name = "video"
kind = "media"
from = "near"
to = "far"
control = "{control}"
repair = {{ retransmit = true, fec = true, deadline = "500 ms" }}
rate = {{ min = "{least}", start = "300 kbit/s", max = "{most}" }}
"""


class System:
    """What is run: the link, the options of `send` and `recv`, and the flow of a scenario."""

    def __init__(self, name, link, send, recv, flow, transport="rtp"):
        self.name, self.link, self.send, self.recv, self.flow, self.transport = name, link, send, recv, flow, transport
        self.recording = "got.m2v" if transport == "seaway+window" else "got.mp4"

    def scenario(self, flow=""):
        return LINK.format(seconds=SECONDS, warmup=WARMUP, **self.link) + flow


def link(rate, steps, delay="20 ms", packets=50):
    return {"rate": rate, "steps": json.dumps(steps), "delay": delay, "packets": packets}


def buffered(kind):
    """S000: the client's buffer sets the rate, and the link stays above what the player takes."""
    control = f"buffer-{kind}"
    flow = MEDIA.format(control=control, least="50 kbit/s", most="900 kbit/s")
    flow += 'source = { kind = "clip", file = "clip.y4m" }\nreceiver = { buffer = "64 kB", consume = "400 kbit/s", start_level = 0.2 }\n'
    return System(
        f"S000 {kind.replace('type', 'type ')}",
        link("2 Mbit/s", [["20 s", "1 Mbit/s"], ["40 s", "2 Mbit/s"]]),
        ["clip.y4m", "--repeat", "--control", control, "--rate", "0.05..0.9Mbit/s"],
        ["--buffer", "64 kB", "--consume", "400 kbit/s"],
        flow,
    )


SYSTEMS = {
    "type1": buffered("type1"),
    "type2": buffered("type2"),
    "window": System(
        "S002: window, PD, shaped MPEG",
        link("300 kbit/s", [["20 s", "200 kbit/s"], ["40 s", "300 kbit/s"]], packets=20),
        [str(STREAM), "--repeat"],
        ["--latency", "8 s"],
        f'\n[[flow]]\nname = "video"\nkind = "window"\nfrom = "near"\nto = "far"\nrate = "10 Mbit/s"\npolicy = "pd"\nbuffer = "8 s"\n'
        f'source = {{ kind = "shaper", file = "{STREAM}" }}\n',
        "seaway+window",
    ),
    "connections": System(
        "S003: 4 TFRC connections, groups of pictures",
        link("2 Mbit/s", [["20 s", "1 Mbit/s"], ["40 s", "2 Mbit/s"]], packets=20),
        ["clip.y4m", "--repeat", "--control", "tfrc(count=4)", "--stripe", "gop", "--sockets", "--key-every", "400 ms"],
        [],
        MEDIA.format(control="tfrc(count=4)", least="150 kbit/s", most="4 Mbit/s")
        + 'stripe = "gop"\nsource = { kind = "clip", file = "clip.y4m", encoder = { kind = "openh264", key_every = "400 ms" } }\n',
    ),
    "nada": System(
        "S004: NADA, pictures by bits per pixel",
        link("1.2 Mbit/s", [["20 s", "600 kbit/s"], ["40 s", "1.2 Mbit/s"]], packets=30),
        ["clip.y4m", "--repeat", "--control", "nada", "--sizes", "ns3-rmcat"],
        [],
        MEDIA.format(control="nada", least="150 kbit/s", most="4 Mbit/s")
        + 'source = { kind = "clip", file = "clip.y4m", encoder = { kind = "openh264", sizes = "ns3-rmcat" } }\n',
    ),
}


def sh(command, check=True):
    return subprocess.run(command, shell=True, check=check, capture_output=True, text=True).stdout


class Emulator:
    """`seaway emulate` between two namespaces while it runs."""

    def __init__(self, scenario, folder):
        self.hosts = [f"swp{os.getpid()}{end}" for end in "nf"]
        for host in self.hosts:
            sh(f"ip netns add {host}")
        near, far = self.hosts
        (folder / "lane.toml").write_text(scenario + ATTACH.format("near", near) + ATTACH.format("far", far))
        # Emulated time begins with the note: the link changes at the same times of the run as in the simulator.
        command = [SEAWAY, "emulate", "lane.toml", "--json", "--duration", f"{SECONDS + 30} s"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "far is at tun" in line:
                break
        self.began = time.time()
        for number, host in enumerate(self.hosts, 1):
            sh(f"ip link set {host} netns {host}")
            sh(f"ip -n {host} addr add 10.96.0.{number}/24 dev {host}")
            sh(f"ip -n {host} link set {host} up")

    def start(self, end, arguments, folder):
        """Runs seaway within the namespace of that end."""
        command = ["ip", "netns", "exec", self.hosts[end], SEAWAY, *arguments]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate()
        for host in self.hosts:
            sh(f"ip netns del {host}", check=False)
        return json.loads(output)


def bits(text):
    number, unit = text.split()
    return float(number) * {"Mbit/s": 1e6, "kbit/s": 1e3}[unit]


def packets(capture):
    """Times, lengths of IP datagrams and UDP payloads of what went to the receiver's port."""
    data = pathlib.Path(capture).read_bytes()
    magic, = struct.unpack("<I", data[:4])
    order = "<" if magic in (0xA1B2C3D4, 0xA1B23C4D) else ">"
    scale = 1e-9 if struct.unpack(order + "I", data[:4])[0] == 0xA1B23C4D else 1e-6
    at = 24
    while at < len(data):
        seconds, fraction, length, _ = struct.unpack(order + "IIII", data[at:at + 16])
        packet = data[at + 16:at + 16 + length]
        at += 16 + length
        if struct.unpack("!H", packet[22:24])[0] == PORT or struct.unpack("!H", packet[20:22])[0] != PORT:
            yield seconds + fraction * scale, length, packet[28:]


def measure(system, folder, began):
    """Rate in bit/s, and p95 of the waiting in ms, of what arrived after WARMUP and before the end."""
    rates = [(0.0, bits(system.link["rate"]))]
    rates += [(float(at.split()[0]), bits(rate)) for at, rate in json.loads(system.link["steps"])]
    propagation = float(system.link["delay"].split()[0]) / 1e3
    waiting = defaultdict(deque)
    for at, length, payload in packets(folder / "near.pcap"):
        waiting[length, payload].append(at)
    octets, delays = 0, []
    for at, length, payload in packets(folder / "far.pcap"):
        left = waiting.get((length, payload))
        # Of packets that are alike the latest that can have arrived.
        while left and len(left) > 1 and left[1] < at:
            left.popleft()
        if began + WARMUP <= at < began + SECONDS and left and left[0] < at:
            octets += length
            rate = next(rate for since, rate in reversed(rates) if at - began >= since)
            delays.append((at - left.popleft() - propagation - length * 8 / rate) * 1e3)
    delays.sort()
    return octets * 8 / (SECONDS - WARMUP), delays[int(0.95 * len(delays))]


def live(system, folder):
    """The reports of sender and receiver, that of the emulator, and the numbers of the captures."""
    emulator = Emulator(system.scenario(), folder)
    url = f"{system.transport}://10.96.0.2:{PORT}"
    common = ["--insecure", "--json", "--duration"]
    left = SECONDS - (time.time() - emulator.began)
    recv = emulator.start(1, ["recv", url, *system.recv, "-o", system.recording, "--pcap", "far.pcap", *common, f"{left + 8:.1f} s"], folder)
    while f":{PORT:04X} " not in sh(f"ip netns exec {emulator.hosts[1]} cat /proc/net/udp") and recv.poll() is None:
        time.sleep(0.01)
    left = SECONDS - (time.time() - emulator.began)
    send = emulator.start(0, ["send", *system.send[:1], url, *system.send[1:], "--pcap", "near.pcap", *common, f"{left:.1f} s"], folder)
    reports = []
    for process in (send, recv):
        output, notes = process.communicate()
        if process.returncode not in (0, 3):
            recv.kill()
            emulator.end()
            sys.exit(notes)
        reports.append(json.loads(output))
    emulated = emulator.end()
    return reports, emulated, measure(system, folder, emulator.began)


def simulated(system, folder):
    """Mean rate in bit/s and mean p95 of the waiting in ms, over starts of which the live one may be any."""
    start = 'start = { uniform = ["500 ms", "1.5 s"] }\n'
    (folder / "sim.toml").write_text(system.scenario(system.flow + start))
    done = subprocess.run([SEAWAY, "sim", "sim.toml", "--json", "--seeds", str(STARTS)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    flow = json.loads(done.stdout)["mean"]["flows"][0]
    return flow["received_bps"], flow["queue_delay_ms"]["p95"]


def plays(recording):
    """Pictures that FFmpeg decodes; `None` where it complains."""
    done = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames",
                           "-of", "csv=p=0", recording], capture_output=True, text=True, check=False)
    return None if done.stderr.strip() else int(done.stdout.split()[0].strip(","))


def run(system):
    """A row of the table, its verdict last."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if "clip.y4m" in system.send:
            sh(f"ffmpeg -v error -i {CLIP} -s 640x360 -t 5 {folder}/clip.y4m")
        reports, emulated, (rate, delay) = live(system, folder)
        sent, seen = (report["flows"][0] for report in reports)
        pictures, shown = plays(folder / system.recording), seen["frames"]["displayed"]
        modelled, waiting = simulated(system, folder)
    off = rate / modelled - 1
    held = (abs(off) <= RATE_BOUND and abs(delay - waiting) <= DELAY_BOUND and sent["decisions"] >= DECISIONS * SECONDS / 60
            and shown > 0 and pictures is not None and pictures >= 0.9 * shown)
    late = emulated["lateness"]
    verdict = ("held" if held else "MISSED") if late["held"] else "void"
    return [system.name, f"{rate / 1e3:.0f}", f"{modelled / 1e3:.0f}", f"{off:+.1%}", f"{delay:.1f}", f"{waiting:.1f}",
            f"{sent['decisions']}", f"{shown} of {sent['frames']['captured']}", "damaged" if pictures is None else f"{pictures}",
            f"{late['p99_ms']:.2f}", verdict]


HEAD = ["system", "rate, kbit/s", "in `sim`", "", "waiting p95, ms", "in `sim`", "decisions", "pictures shown", "of the recording",
        "emulator's lateness p99, ms", ""]


def main():
    if os.geteuid() or not all(shutil.which(tool) for tool in ("ip", "ffmpeg", "ffprobe")):
        sys.exit("needs root, iproute2 and FFmpeg")
    rows = []
    print(row(HEAD))
    for name in sys.argv[1:] or SYSTEMS:
        rows.append(run(SYSTEMS[name]))
        print(row(rows[-1]), flush=True)
    if not sys.argv[1:]:
        write(rows)
    sys.exit(1 if any(cells[-1] == "MISSED" for cells in rows) else 0)


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    return "\n".join([row(head), row(["---"] * len(head)), *map(row, rows)])


def write(rows):
    version = subprocess.run([SEAWAY, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    setups = []
    for system in SYSTEMS.values():
        steps = ", ".join(f"{rate} from {at}" for at, rate in json.loads(system.link["steps"]))
        send = " ".join(["send", system.send[0], f"{system.transport}://…", *system.send[1:]]).replace(f"{ROOT}/", "")
        recv = " ".join(["recv", f"{system.transport}://…", *system.recv])
        setups.append([system.name, f"{system.link['rate']}, {steps}", str(system.link["packets"]), f"`{send}`", f"`{recv}`"])
    text = f"""# The papers' systems on the network

`validation/live/papers.py`: {SECONDS} s each, sender and receiver in two network namespaces with `seaway emulate` between them, and
the same scenario in the simulator. The rate is that of the IP datagrams that arrive; the delay is what a packet waits in the queue. The
first {WARMUP} s are left out; the simulator's numbers are means over {STARTS} starts within a second, by which they differ. Bounds: the rate within {RATE_BOUND:.0%} and the delay within {DELAY_BOUND} ms of the simulator's, {DECISIONS}
decisions a minute, pictures shown, and a recording that FFmpeg decodes without a complaint.

Versions: {version}; {platform.system()} {platform.release()}, {platform.machine()}.

{table(HEAD, rows)}

`clip.y4m` is the bundled clip at 640x360. Each way takes 20 ms; the queue is drop-tail. NADA's waiting
depends on the instant of its start in the simulator alone: p95 was 130 to 162 ms over four starts 0.2 s apart.

{table(["system", "link", "queue, packets", "sender", "receiver"], setups)}
"""
    (ROOT / "docs/results/papers-live.md").write_text(text)


if __name__ == "__main__":
    main()
