"""An attacker on the path of a keyed session."""

import socket
import threading
import time

from live import INPUT, port, report_of, reporting


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
