"""What the protection of a keyed session costs: CPU, and the round trip of its handshake."""

import os
import pathlib
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from live import Live, port, receive, send

# Sessions of either kind that run beside each other, how often they start anew, for how many comparisons of how many seconds each time.
PAIRS = 4
STARTS, SLICES, SLICE = 6, 4, 3
# Sessions of either kind one behind the other, and seconds of each.
TURNS, TURN = 40, 2.5
# Rates of coded pictures that are sent as they are, Mbit/s, and their sizes.
CODED = {2: "640x360", 8: "1280x720", 20: "1280x720"}
# How long a keyed session is sampled, and what is in the names of functions of its protection.
SAMPLED_SECONDS = 30
PROTECTION = ("seaway_protect", "rtc_crypto", "] ring::", "ring_core", "aes", "gcm", "ghash", "curve25519", "sha2::", "snow::")


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
        yield from in_turn(f"one session at a time, in turn, {rate} Mbit/s", binary, copied)


def in_turn(what, binary, start):
    """The CPU of a whole sender for a picture, plain and keyed one behind the other: nothing else takes its caches. Sender and receiver
    share one core: on two, what a start costs depends on which core wakes which, by more than a key does."""
    costs = {False: [], True: []}
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    for turn in range(TURNS):
        for keyed in (False, True) if turn % 2 == 0 else (True, False):
            at = port()
            receiver, sender = receive(binary, at, keyed=keyed), start(at, keyed)
            receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 25)
            cpu, pictures = sender.cpu(None), sender.latest("frames_captured")
            time.sleep(TURN)
            costs[keyed].append((sender.cpu(None) - cpu) / (sender.latest("frames_captured") - pictures))
            sender.end()
            receiver.end()
    os.sched_setaffinity(0, cores)
    plain, keyed = (statistics.mean(costs[kind]) for kind in (False, True))
    extra = keyed / plain - 1
    # A ratio of means of pairs, 95 %: the mean of ratios is too large where starts differ.
    rest = [keyed - (1 + extra) * plain for plain, keyed in zip(costs[False], costs[True])]
    interval = 1.96 * statistics.stdev(rest) / len(rest) ** 0.5 / plain
    yield f"{what}, whole process", "plain, mean", f"{plain * 1e6:.0f} µs a picture", "printed", True
    seen = f"{keyed * 1e6:.0f} µs a picture; {TURNS} pairs {extra:+.1%} ± {interval:.1%}"
    yield "", "keyed, mean", seen, "at most 5 % more", extra <= 0.05


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
