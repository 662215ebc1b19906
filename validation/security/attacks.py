#!/usr/bin/env python3
"""Attacks a keyed session on loopback, and measures what its protection costs. Writes the table of docs/results/security.md.

Arguments: the binary, else target/release/seaway, and how many seconds a flood lasts, else 120. Then parts (handshake, cost, pauses, hellos,
tab, path, replies, floods): only these run, and nothing is written. Ends with 1 where a bar was missed.
The tab that floods needs Chromium and what the page's test installs. Python's standard library only.
"""
import json
import os
import pathlib
import platform
import queue
import random
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BROWSER = ROOT / "crates" / "cli" / "tests" / "live" / "browser"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
INPUT = "test:320x180@25"
PAGE = os.sysconf("SC_PAGE_SIZE")
FLOOD_RATE = 10_000
# Sessions of either kind that run beside each other, how often they start anew, for how many comparisons of how many seconds each time.
PAIRS = 4
STARTS, SLICES, SLICE = 6, 4, 3
# Rates of coded pictures that are sent as they are, Mbit/s, and their sizes.
CODED = {2: "640x360", 8: "1280x720", 20: "1280x720"}
# How long a keyed session is sampled, and what is in the names of functions of its protection.
SAMPLED_SECONDS = 30
PROTECTION = ("seaway_protect", "rtc_crypto", "] ring::", "ring_core", "aes", "gcm", "ghash", "curve25519", "sha2::", "snow::")


class Live:
    """The binary while it runs, its JSON lines in a queue."""

    def __init__(self, binary, *arguments, keyed=True):
        environment = {**os.environ, **({"SEAWAY_KEY": KEY} if keyed else {})}
        self.began = time.monotonic()
        self.child = subprocess.Popen([binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.lines, self.notes = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: self.notes.extend(self.child.stderr), daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            if line.startswith("{"):
                self.lines.put((time.monotonic(), json.loads(line)))

    def wait_for(self, wanted, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            at, line = self.lines.get(timeout=seconds)
            if wanted(line):
                return at, line
        sys.exit(f"waited in vain: {''.join(self.notes)}")

    def note(self, text, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [line for line in list(self.notes) if text in line]
            if found:
                return found[0]
            time.sleep(0.02)
        sys.exit(f"there is no line with {text}: {self.notes}")

    def latest(self, name):
        """The newest value of a counter, after those that wait."""
        while not self.lines.empty():
            self.lines.get()
        return self.wait_for(lambda line: line.get(name) is not None)[1][name]

    def shown(self):
        return self.latest("frames_displayed")

    def rss(self):
        return int(pathlib.Path(f"/proc/{self.child.pid}/statm").read_text().split()[1]) * PAGE

    def cpu(self, thread=None):
        """Seconds of CPU so far, of all threads or of those with a name."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.child.pid}/task").iterdir():
            if thread in (None, (task / "comm").read_text().strip()):
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def end(self):
        self.child.send_signal(signal.SIGINT)
        self.child.wait(30)


def port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def receive(binary, at, *more, **how):
    receiver = Live(binary, "recv", f"rtp://127.0.0.1:{at}", "--stats", "json", *more, **how)
    receiver.wait_for(lambda line: line["type"] == "sample")
    return receiver


def send(binary, to, *more, **how):
    return Live(binary, "send", INPUT, f"rtp://127.0.0.1:{to}", "--stats", "json", *more, **how)


def flood(to, seconds, datagrams):
    """Sends the datagrams in turn, in steps of a hundredth of a second. Returns how many left."""
    attacker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    attacker.connect(("127.0.0.1", to))
    begin, sent = time.monotonic(), 0
    while (elapsed := time.monotonic() - begin) < seconds:
        while sent < elapsed * FLOOD_RATE:
            try:
                attacker.send(datagrams[sent % len(datagrams)])
            except OSError:
                pass
            sent += 1
        time.sleep(0.01)
    return sent


def recorded(binary, folder):
    """The datagrams to the receiver in an earlier session with the same key."""
    at, file = port(), folder / "tap.pcap"
    receiver, sender = receive(binary, at, "--pcap", str(file)), send(binary, at)
    receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 50)
    sender.end()
    receiver.end()
    octets, offset, datagrams = file.read_bytes(), 24, []
    while offset + 16 <= len(octets):
        length = struct.unpack_from(">I", octets, offset + 8)[0]
        packet = octets[offset + 16 : offset + 16 + length]
        if int.from_bytes(packet[22:24]) == at:
            datagrams.append(packet[28:])
        offset += 16 + length
    return datagrams


def malformed():
    """What looks like the beginning of a handshake, RTP or RTCP, and is none."""
    chance, made = random.Random(7), []
    for index in range(4096):
        octets = bytearray(chance.randbytes(chance.choice([20, 56, 72, 200, 1200])))
        head = [b"SW\x01" + bytes([1 + index % 5]), b"\x90\x60", b"\x80\xc9", b"\x81\xce"][index % 4]
        octets[: len(head)] = head
        made.append(bytes(octets))
    return made


def floods(binary, seconds, folder):
    chance = random.Random(1)
    kinds = {
        "octets at random": [chance.randbytes(chance.randrange(1, 1400)) for _ in range(4096)],
        "malformed handshakes, RTP and RTCP": malformed(),
        "a recorded session, again and again": recorded(binary, folder),
    }
    for kind, datagrams in kinds.items():
        at = port()
        receiver, sender = receive(binary, at), send(binary, at)
        receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 250)
        captured, shown, before = sender.latest("frames_captured"), receiver.shown(), receiver.rss()
        sent = flood(at, seconds, datagrams)
        grown = receiver.rss() - before
        share = (receiver.shown() - shown) / (sender.latest("frames_captured") - captured)
        sender.end()
        receiver.end()
        yield f"{kind}, {sent} datagrams in {seconds} s", "memory of the receiver", f"{grown / 2**20:+.1f} MiB", "at most 4 MiB", grown <= 4 * 2**20
        yield "", "pictures displayed", f"{share:.1%}", "at least 99 %", share >= 0.99


def cost(binary, folder):
    """The sender's CPU without protection and with it. Sessions of both kinds run at one time, so that both have the same machine, and each
    slice of that time is one comparison. They start anew several times: which of them wakes behind which other, and finds the caches as
    that one left them, stays the same while they run."""
    pattern = lambda to, keyed: send(binary, to, "--control", "fixed(rate=2 Mbit/s)", keyed=keyed)
    yield from compared("a test pattern at 2 Mbit/s, no encoder in the thread", binary, pattern, ("media",))
    yield from sampled(binary, pattern)
    if not shutil.which("ffmpeg"):
        print("no ffmpeg: the cost of coded pictures is left out", file=sys.stderr)
        return
    for rate, size in CODED.items():
        clip = folder / f"clip{rate}.mp4"
        source = ["-f", "lavfi", "-i", f"testsrc2=s={size}:r=25", "-vf", "noise=alls=20:allf=t", "-t", str(max(SLICES * SLICE, SAMPLED_SECONDS) + 40)]
        coder = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-b:v", f"{rate}M", "-maxrate", f"{rate}M", "-bufsize", f"{rate * 125}k", "-g", "50"]
        subprocess.run(["ffmpeg", "-v", "error", *source, *coder, str(clip)], check=True)
        copied = lambda to, keyed: Live(
            binary, "send", str(clip), f"rtp://127.0.0.1:{to}", "--copy", "--stats", "json",
            "--rate", f"0.15..{rate * 4}Mbit/s", "--control", f"fixed(rate={rate * 4} Mbit/s)", keyed=keyed,
        )  # fmt: skip
        yield from compared(f"coded pictures sent as they are, {rate} Mbit/s", binary, copied, ("media", None), rate * 0.8e6)
        yield from sampled(binary, copied)


def compared(what, binary, start, threads, least=0):
    """`PAIRS` sessions of either kind beside each other, `STARTS` times. `None` among the threads is the whole process. A sender that
    leaves pictures out measures nothing: it sends `least` bit/s."""
    slices, pictures, rate = {thread: [] for thread in threads}, 0, 0
    for _ in range(STARTS):
        more, more_pictures, rate = beside(binary, start, threads)
        pictures += more_pictures
        for thread in threads:
            slices[thread] += more[thread]
        if rate < least:
            sys.exit(f"{what}: a sender sends {rate / 1e6:.1f} Mbit/s")
    for thread in threads:
        low, middle, high = (part - 1 for part in statistics.quantiles([keyed / plain for plain, keyed in slices[thread]], n=4))
        plain, keyed = (sum(side) for side in zip(*slices[thread]))
        extra = keyed / plain - 1
        seen = f"{keyed / pictures * 1e6:.0f} µs a picture ({extra:+.1%}); median of {len(slices[thread])} slices {middle:+.1%}, quartiles {low:+.1%} and {high:+.1%}"
        whose = "media thread" if thread else "whole process"
        yield f"{what} ({rate / 1e6:.1f} Mbit/s of packets), {whose}", "plain", f"{plain / pictures * 1e6:.0f} µs a picture", "printed", True
        yield "", "keyed", seen, "at most 5 % more", extra <= 0.05


def beside(binary, start, threads):
    """Seconds of CPU of plain and of keyed senders in each slice, the pictures of either kind, and the rate of one sender."""
    live = []
    for pair in range(PAIRS):
        for keyed in (False, True) if pair % 2 == 0 else (True, False):
            at = port()
            live.append((keyed, receive(binary, at, keyed=keyed), start(at, keyed)))
            time.sleep(random.uniform(0, 0.04))
    for _, receiver, _ in live:
        receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 25)

    def used(thread):
        """Seconds of CPU so far of all plain senders, and of all keyed ones."""
        return [sum(sender.cpu(thread) for is_keyed, _, sender in live if is_keyed == keyed) for keyed in (False, True)]

    def captured():
        return sum(sender.latest("frames_captured") for _, _, sender in live) / 2

    pictures = captured()
    marks = [{thread: used(thread) for thread in threads}]
    for _ in range(SLICES):
        time.sleep(SLICE)
        marks.append({thread: used(thread) for thread in threads})
    pictures = captured() - pictures
    rate = statistics.mean(sender.latest("sent_bps") for _, _, sender in live)
    for _, receiver, sender in live:
        sender.end()
        receiver.end()
    parts = {thread: [[end - begin for begin, end in zip(one[thread], other[thread])] for one, other in zip(marks, marks[1:])] for thread in threads}
    return parts, pictures, rate


def sampled(binary, start):
    """Where the keyed media thread spends its CPU, by the samples of `perf`: a part of one run, which a busy machine disturbs less than
    the difference of two."""
    if not shutil.which("perf"):
        print("no perf: the samples are left out", file=sys.stderr)
        return
    at = port()
    receiver, sender = receive(binary, at), start(at, True)
    receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 25)
    tasks = pathlib.Path(f"/proc/{sender.child.pid}/task").iterdir()
    thread = next(task.name for task in tasks if (task / "comm").read_text().strip() == "media")
    with tempfile.NamedTemporaryFile() as file:
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "15000", "-t", thread, "-o", file.name]
        subprocess.run([*record, "--", "sleep", str(SAMPLED_SECONDS)], check=True, stderr=subprocess.DEVNULL)
        report = ["perf", "report", "-i", file.name, "-F", "sample,sym", "--stdio"]
        lines = subprocess.run(report, check=True, capture_output=True, text=True).stdout.splitlines()
    sender.end()
    receiver.end()
    samples = [(int(count), name) for count, name in (line.split(None, 1) for line in lines if line.strip() and not line.startswith("#"))]
    total = sum(count for count, _ in samples)
    ours = sum(count for count, name in samples if any(part in name for part in PROTECTION))
    extra = ours / (total - ours)
    yield "", f"samples of keyed in handshake, SRTP and cipher, {total} in all", f"{extra:+.1%} of the rest", "at most 5 % more", extra <= 0.05


LANE = """
schema = 1
name = "lane"
duration = "600 s"
[[link]]
name = "lane"
from = "near"
to = "far"
both = true
rate = "20 Mbit/s"
delay = "100 ms"
queue = {{ kind = "drop-tail", packets = 200 }}
[[attach]]
node = "near"
udp = "127.0.0.1:{near}"
[[attach]]
node = "far"
udp = "127.0.0.1:0"
peer = "127.0.0.1:{far}"
"""


def handshake(binary, folder):
    """From the sender's first datagram to its first media at the receiver, over a round trip of 200 ms."""
    waits = {False: [], True: []}
    for turn in range(6):
        keyed, near, far = turn % 2 == 1, port(), port()
        scenario = folder / "lane.toml"
        scenario.write_text(LANE.format(near=near, far=far))
        lane = Live(binary, "emulate", str(scenario), "--bound", "60 s")
        lane.note("far is at udp")
        file = folder / f"first{turn}.pcap"
        receiver, sender = receive(binary, far, keyed=keyed), send(binary, near, "--pcap", str(file), keyed=keyed)
        receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 10)
        sender.end()
        receiver.end()
        lane.child.send_signal(signal.SIGINT)
        lane.child.wait(30)
        waits[keyed].append(first_media(file.read_bytes(), near))
    plain, keyed = (statistics.mean(waits[kind]) for kind in (False, True))
    extra = keyed - plain
    yield "the handshake, over a round trip of 200 ms", "from the first datagram to the first media", f"{keyed * 1e3:.0f} ms, plain {plain * 1e3:.0f} ms", "one round trip more", 0.19 <= extra <= 0.25


def first_media(octets, to):
    """Seconds in a capture of the sender until the first RTP packet."""
    offset, first = 24, None
    while offset + 16 <= len(octets):
        seconds, parts, length = struct.unpack_from(">III", octets, offset)
        nanos = struct.unpack_from(">I", octets)[0] == 0xA1B23C4D
        at = seconds + parts / (1e9 if nanos else 1e6)
        packet = octets[offset + 16 : offset + 16 + length]
        offset += 16 + length
        if int.from_bytes(packet[22:24]) != to:
            continue
        first = at if first is None else first
        if packet[28] >> 6 == 2 and not 192 <= packet[29] <= 223:
            return at - first
    sys.exit("no media in the capture")


class Path:
    """An attacker on the path: both ways pass here, and what `alter` gives for a datagram goes on to the receiver in its place."""

    def __init__(self, receiver, alter):
        self.near, self.far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.near.bind(("127.0.0.1", 0))
        self.far.connect(("127.0.0.1", receiver))
        self.port, self.alter, self.sender, self.ends, self.altered = self.near.getsockname()[1], alter, None, False, 0
        for way in (self.forward, self.backward):
            threading.Thread(target=way, daemon=True).start()

    def forward(self):
        count, seen = 0, []
        while not self.ends:
            datagram, self.sender = self.near.recvfrom(2048)
            count += 1
            seen = [*seen[-400:], datagram]
            out = self.alter(count, seen) if self.alter else [datagram]
            # What is not the datagram itself, or is it again.
            self.altered += sum(one != datagram for one in out) + max(0, out.count(datagram) - 1)
            for one in out:
                self.send(self.far, one)

    def backward(self):
        while not self.ends:
            try:
                datagram = self.far.recv(2048)
            except OSError:
                continue
            if self.sender:
                self.near.sendto(datagram, self.sender)

    @staticmethod
    def send(socket, datagram):
        try:
            socket.send(datagram)
        except OSError:
            pass


def flipped(count, seen):
    octets = bytearray(seen[-1])
    if count % 10 == 0:
        octets[count * 7 % len(octets)] ^= 1 << count % 8
    return [bytes(octets)]


def reordered(count, seen):
    """Each tenth comes behind the five after it."""
    out = [] if count % 10 == 0 else [seen[-1]]
    return out + ([seen[-6]] if count % 10 == 5 and count > 10 else [])


ON_PATH = {
    "nothing": None,
    "each tenth datagram has a bit flipped": flipped,
    "each datagram comes again, at once and behind 300 others": lambda count, seen: [seen[-1]] * 2 + seen[-301:-300],
    "each tenth datagram is cut to half": lambda count, seen: [seen[-1][: len(seen[-1]) // 2] if count % 10 == 0 else seen[-1]],
    "each tenth datagram comes behind the five after it": reordered,
}


def reporting(binary, *arguments):
    """A process that prints its report at its end."""
    environment = {**os.environ, "SEAWAY_KEY": KEY}
    return subprocess.Popen([binary, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)


def report_of(process):
    process.send_signal(signal.SIGINT)
    return json.loads(process.communicate(timeout=30)[0])


def path(binary):
    """Who stands on the path alters what goes to the receiver for half a minute: what of it is counted, and the pictures beside those of an
    undisturbed run."""
    undisturbed = None
    for attack, alter in ON_PATH.items():
        at = port()
        receiver = reporting(binary, "recv", f"rtp://127.0.0.1:{at}")
        time.sleep(1)
        between = Path(at, alter)
        sender = reporting(binary, "send", INPUT, f"rtp://127.0.0.1:{between.port}")
        time.sleep(30)
        captured = report_of(sender)["flows"][0]["frames"]["captured"]
        time.sleep(1)
        report = report_of(receiver)
        between.ends = True
        share = report["flows"][0]["frames"]["displayed"] / captured
        counted = sum(report["refused"].values())
        undisturbed = share if undisturbed is None else undisturbed
        bar = "printed" if alter is None else "undisturbed within 1 %"
        yield f"on the path: {attack}", "pictures displayed", f"{share:.1%}", bar, abs(share - undisturbed) <= 0.01
        if alter not in (None, reordered):
            yield "", f"{between.altered} datagrams altered or repeated", f"{counted} refused and counted", "each, but for the two or so of the handshake", 0 <= between.altered - counted <= 4


def replies(binary):
    """What a receiver answers to who has no key: octets back against octets there, of 30 s of each kind from one socket."""
    at = port()
    receiver = receive(binary, at)
    chance = random.Random(3)
    hello = b"SW\x01\x01"
    kinds = {
        "octets at random": [chance.randbytes(chance.randrange(1, 1400)) for _ in range(512)],
        "malformed handshakes, RTP and RTCP": malformed(),
        "hellos of all lengths": [hello + chance.randbytes(length) for length in range(1400)],
    }
    for kind, datagrams in kinds.items():
        caller = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        caller.connect(("127.0.0.1", at))
        caller.setblocking(False)
        there = back = 0
        end = time.monotonic() + 10
        for count in range(10**9):
            if time.monotonic() > end:
                break
            try:
                there += caller.send(datagrams[count % len(datagrams)])
            except OSError:
                pass
            try:
                while True:
                    back += len(caller.recv(4096))
            except OSError:
                pass
            time.sleep(0.0005)
        yield f"answers to who has no key: {kind}", "octets back for each octet there", f"{back / there:.3f} of {there}", "at most 1", back <= there
    receiver.end()


def pauses(binary):
    """A sender that stands still while an attacker tries to take its place."""
    for pause in (2, 60):
        at = port()
        receiver, sender = receive(binary, at), send(binary, at)
        receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 50)
        sender.child.send_signal(signal.SIGSTOP)
        time.sleep(1)
        shown, attacker = receiver.shown(), send(binary, at, keyed=False)
        time.sleep(pause - 1)
        stolen = receiver.shown() - shown
        sender.child.send_signal(signal.SIGCONT)
        back = time.monotonic()
        at_first, _ = receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > shown)
        time.sleep(2)
        captured, before = sender.latest("frames_captured"), receiver.shown()
        time.sleep(20)
        share = (receiver.shown() - before) / (sender.latest("frames_captured") - captured)
        attacker.child.kill()
        sender.end()
        receiver.end()
        yield f"a sender that stands still for {pause} s, an attacker meanwhile", "pictures of the attacker", str(stolen), "none", stolen == 0
        yield "", "first picture after it", f"{at_first - back:.1f} s", "at most 2 s", at_first - back <= 2
        yield "", "pictures displayed afterwards", f"{share:.1%}", "at least 99 %", share >= 0.99


def hellos(binary, folder):
    """A sender that starts while an earlier hello with its key comes again and again."""
    hello = next(datagram for datagram in recorded(binary, folder) if datagram[:4] == b"SW\x01\x01")
    at = port()
    receiver = receive(binary, at)
    attack = threading.Thread(target=flood, args=(at, 20, [hello]), daemon=True)
    attack.start()
    time.sleep(5)
    sender = send(binary, at)
    try:
        shown, _ = receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 0, seconds=10)
        waited = shown - sender.began
    except queue.Empty:
        waited = float("inf")
    attack.join()
    sender.end()
    receiver.end()
    yield "a sender that starts while a recorded hello comes 10000 times a second", "first picture", f"{waited:.1f} s", "at most 2 s", waited <= 2


def tab(binary):
    """600 000 settings in five seconds from a tab of the page."""
    if not (shutil.which("node") and (BROWSER / "node_modules").exists() and pathlib.Path("/usr/bin/chromium").exists()):
        print("no Chromium: the flood from a tab is left out", file=sys.stderr)
        return
    demo = Live(binary, "demo", INPUT, "--web", "127.0.0.1:0", "--stats", "json")
    url = demo.note("page is at").split()[-1]
    demo.wait_for(lambda line: (line.get("frames_displayed") or 0) > 100)
    node = subprocess.Popen(["node", "flood.mjs", url], cwd=BROWSER, stdout=subprocess.PIPE, text=True)
    said = json.loads(node.stdout.readline())
    first = [demo.latest(name) for name in ("frames_captured", "frames_displayed")]
    time.sleep(20)
    last = [demo.latest(name) for name in ("frames_captured", "frames_displayed")]
    share = (last[1] - first[1]) / (last[0] - first[0])
    node.kill()
    demo.end()
    yield f"{said['sent']} settings in {said['seconds']:.1f} s from a tab, read from then on", "pictures displayed", f"{share:.1%}", "at least 99 %", share >= 0.99


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "seaway")
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        parts = {
            "handshake": lambda: handshake(binary, folder),
            "cost": lambda: cost(binary, folder),
            "pauses": lambda: pauses(binary),
            "hellos": lambda: hellos(binary, folder),
            "tab": lambda: tab(binary),
            "path": lambda: path(binary),
            "replies": lambda: replies(binary),
            "floods": lambda: floods(binary, seconds, folder),
        }
        for part in sys.argv[3:] or parts:
            for row in parts[part]():
                rows.append(row)
                print(" | ".join(map(str, row)), flush=True)
    if not sys.argv[3:]:
        write(binary, rows)
    sys.exit(0 if all(row[-1] for row in rows) else 1)


def write(binary, rows):
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    build = "release" if "release" in binary else "development (optimised, with overflow checks)"
    table = "\n".join(f"| {what} | {name} | {seen} | {bar} | {'held' if held else 'MISSED'} |" for what, name, seen, bar, held in rows)
    page = ROOT / "docs" / "results" / "security.md"
    _, section, by_hand = page.read_text().partition("\n## ")
    page.write_text(
        f"""# A keyed session under attack, and what its protection costs

Sender and receiver on loopback, `{INPUT}`, `--stats json`. Floods come with {FLOOD_RATE} datagrams a second from another process.
docs/security.md says what is protected.

Versions: {version}, {build} build; {platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores, load average
{os.getloadavg()[2]:.0f} over the last quarter of an hour.
Command: `python3 validation/security/attacks.py`.

| what | measured | seen | bar | |
| --- | --- | --- | --- | --- |
{table}
{section}{by_hand}"""
    )


if __name__ == "__main__":
    main()
