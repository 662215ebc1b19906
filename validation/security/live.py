"""The binary while it runs, and what attacks it over the loopback address."""

import json
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
INPUT = "test:320x180@25"
PAGE = os.sysconf("SC_PAGE_SIZE")
FLOOD_RATE = 10_000


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


def send(binary, to, *more, source=INPUT, **how):
    return Live(binary, "send", source, f"rtp://127.0.0.1:{to}", "--stats", "json", *more, **how)


def reporting(binary, *arguments):
    """A process that prints its report at its end."""
    environment = {**os.environ, "SEAWAY_KEY": KEY}
    return subprocess.Popen([binary, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)


def report_of(process):
    process.send_signal(signal.SIGINT)
    return json.loads(process.communicate(timeout=30)[0])


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
