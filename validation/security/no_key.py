"""Attackers who reach the port of a keyed session and have no key."""

import queue
import random
import signal
import socket
import struct
import threading
import time

from capture import packets
from live import INPUT, flood, port, receive, report_of, reporting, send
from on_path import Path

HELLO, PROOF = b"SW\x01\x01", b"SW\x01\x03"
CHANCE = random.Random(1)


def recorded(binary, folder):
    """The datagrams to the receiver in an earlier session with the same key."""
    at, file = port(), folder / "tap.pcap"
    receiver, sender = receive(binary, at, "--pcap", str(file)), send(binary, at)
    receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 50)
    sender.end()
    receiver.end()
    return packets(file.read_bytes(), at)


def malformed():
    """What looks like the beginning of a handshake, RTP or RTCP, and is none."""
    chance, made = random.Random(7), []
    for index in range(4096):
        octets = bytearray(chance.randbytes(chance.choice([20, 56, 72, 200, 1200])))
        head = [b"SW\x01" + bytes([1 + index % 5]), b"\x90\x60", b"\x80\xc9", b"\x81\xce"][index % 4]
        octets[: len(head)] = head
        made.append(bytes(octets))
    return made


def media_of(source, chance):
    """RTP as a sender makes it, of this source or another, without the key."""
    ssrc = source if chance.random() < 0.5 else chance.randrange(2**32)
    return struct.pack("!BBHLL", 0x90, 0x60 | 0x80 * chance.randrange(2), chance.randrange(2**16), chance.randrange(2**32), ssrc) + bytes.fromhex("bede0002") + chance.randbytes(chance.randrange(24, 1180))


def reports_of(source, chance):
    """SRTCP in its form (sender reports, goodbyes, NACK, key frame requests), of this source or another, without the key."""
    ssrc = source if chance.random() < 0.5 else chance.randrange(2**32)
    kind = chance.choice([200, 201, 203, 205, 206])
    return struct.pack("!BBHL", 0x81, kind, 6, ssrc) + chance.randbytes(20 + 16) + struct.pack("!L", 1 << 31 | chance.randrange(2**31))


# What a flood sends: the datagrams, of a folder for files and the source of the session under attack.
FLOODS = {
    "octets at random": lambda binary, folder, source: [CHANCE.randbytes(CHANCE.randrange(1, 1400)) for _ in range(4096)],
    "malformed handshakes, RTP and RTCP": lambda binary, folder, source: malformed(),
    "a recorded session, again and again": lambda binary, folder, source: recorded(binary, folder),
    "hellos, each another": lambda binary, folder, source: [HELLO + CHANCE.randbytes(52) for _ in range(4096)],
    "proofs, each another": lambda binary, folder, source: [PROOF + CHANCE.randbytes(68) for _ in range(4096)],
    "RTP without the key": lambda binary, folder, source: [media_of(source, CHANCE) for _ in range(4096)],
    "RTCP without the key": lambda binary, folder, source: [reports_of(source, CHANCE) for _ in range(4096)],
}


def floods(binary, seconds, folder, kinds=FLOODS):
    """A session that a flood comes beside, from a process that saw its source."""
    for kind in kinds:
        at, sources = port(), set()
        receiver = receive(binary, at)
        between = Path(at, lambda count, seen: (sources.add(source_of(seen[-1])), [seen[-1]])[1])
        sender = send(binary, between.port)
        receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 250)
        datagrams = FLOODS[kind](binary, folder, max(sources - {None}))
        captured, shown, before = sender.latest("frames_captured"), receiver.shown(), receiver.rss()
        highest = Highest(receiver)
        sent = flood(at, seconds, datagrams)
        grown = highest.end() - before
        share = (receiver.shown() - shown) / (sender.latest("frames_captured") - captured)
        sender.end()
        receiver.end()
        between.ends = True
        yield f"{kind}, {sent} datagrams in {seconds} s", "memory of the receiver, at most during it", f"{grown / 2**20:+.1f} MiB", "at most 4 MiB", grown <= 4 * 2**20
        yield "", "pictures displayed", f"{share:.1%}", "at least 99 %", share >= 0.99


def source_of(datagram):
    """The synchronisation source of RTP; `None` of what is none."""
    is_rtp = len(datagram) >= 12 and datagram[0] >> 6 == 2 and not 192 <= datagram[1] <= 223
    return int.from_bytes(datagram[8:12]) if is_rtp else None


class Highest:
    """The highest memory of a process from now on."""

    def __init__(self, live):
        self.live, self.most, self.ends = live, live.rss(), threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.ends.wait(0.2):
            self.most = max(self.most, self.live.rss())

    def end(self):
        self.ends.set()
        self.thread.join()
        return self.most


def replies(binary, folder):
    """What a receiver answers to who has no key: octets back against octets there, of 10 s of each kind from one socket."""
    at = port()
    receiver = receive(binary, at)
    chance = random.Random(3)
    kinds = {
        "octets at random": [chance.randbytes(chance.randrange(1, 1400)) for _ in range(512)],
        "malformed handshakes, RTP and RTCP": malformed(),
        "hellos of all lengths": [HELLO + chance.randbytes(length) for length in range(1400)],
        "hellos of the right length": [HELLO + chance.randbytes(52) for _ in range(512)],
        "a hello that was recorded": [next(datagram for datagram in recorded(binary, folder) if datagram[:4] == HELLO)],
        "a session that was recorded": recorded(binary, folder),
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


def beside(binary):
    """An attacker without the key from before the start to the end: it sends video, and octets, hellos, RTP and RTCP without the key."""
    at = port()
    receiver = reporting(binary, "recv", f"rtp://127.0.0.1:{at}")
    time.sleep(1)
    attacker = send(binary, at, keyed=False)
    kinds = [FLOODS[kind](binary, None, 1) for kind in FLOODS if "recorded" not in kind]
    datagrams = [one for kind in kinds for one in kind]
    CHANCE.shuffle(datagrams)
    attack = threading.Thread(target=flood, args=(at, 75, datagrams), daemon=True)
    attack.start()
    time.sleep(10)
    sender = reporting(binary, "send", INPUT, f"rtp://127.0.0.1:{at}")
    time.sleep(60)
    captured = report_of(sender)["flows"][0]["frames"]["captured"]
    time.sleep(1)
    shown = report_of(receiver)["flows"][0]["frames"]["displayed"]
    attacker.child.kill()
    attack.join()
    yield "an attacker without the key from 10 s before the start and beside: video, and 10000 datagrams a second", "pictures displayed", f"{shown} of {captured}", "all", shown >= captured


def paused(binary):
    """The same while the sender stands still: pictures of the whole session."""
    for pause in (2, 60):
        at = port()
        receiver = reporting(binary, "recv", f"rtp://127.0.0.1:{at}")
        time.sleep(1)
        sender = reporting(binary, "send", INPUT, f"rtp://127.0.0.1:{at}")
        time.sleep(5)
        sender.send_signal(signal.SIGSTOP)
        attacker = send(binary, at, keyed=False)
        time.sleep(pause)
        sender.send_signal(signal.SIGCONT)
        time.sleep(20)
        frames = report_of(sender)["flows"][0]["frames"]
        time.sleep(1)
        shown = report_of(receiver)["flows"][0]["frames"]["displayed"]
        attacker.child.kill()
        yield f"an attacker without the key from the beginning of a pause of {pause} s on", "pictures displayed", f"{shown} of {frames['captured']} ({frames['skipped']} skipped)", "all", shown >= frames["captured"]
