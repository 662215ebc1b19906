"""A tab and connections that flood the page."""

import itertools
import json
import pathlib
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

from live import INPUT, ROOT, Live

BROWSER = ROOT / "crates" / "cli" / "tests" / "live" / "browser"


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


# Connections that send settings, and how many of them in how many seconds.
TABS, SETTINGS, FLOOD_SECONDS, STEPS = 100, 600_000, 5, 100


def demo(binary):
    """A demonstration with its page: the process, the page's host and port, and its token."""
    live = Live(binary, "demo", INPUT, "--web", "127.0.0.1:0", "--stats", "json")
    url = urllib.parse.urlsplit(live.note("page is at").split()[-1])
    live.wait_for(lambda line: (line.get("frames_displayed") or 0) > 100)
    return live, (url.hostname, url.port), url.query


def text_frame(text):
    """RFC 6455 section 5.2, masked with zeros."""
    return struct.pack("!BBL", 0x81, 0x80 | len(text), 0) + text.encode()


def settings(binary):
    """As many settings over sockets of our own, as a browser needs longer: as many connections as the page takes, a part of them each."""
    live, host, query = demo(binary)
    head = f"GET /api/live?{query} HTTP/1.1\r\nHost: {host[0]}:{host[1]}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    tabs = [socket.create_connection(host) for _ in range(TABS)]
    for one in tabs:
        one.sendall(head.encode())
        assert one.recv(12) == b"HTTP/1.1 101"
    each = SETTINGS // TABS // STEPS
    frames = b"".join(text_frame(f'{{"type":"set","settings":{{"max":"{3000 + number} kbit/s"}}}}') for number in range(each))
    first, began = pictures(live), time.monotonic()
    for step in range(STEPS):
        for one in tabs:
            one.sendall(frames)
        time.sleep(max(0, (step + 1) * FLOOD_SECONDS / STEPS - (time.monotonic() - began)))
    took = time.monotonic() - began
    yield f"{SETTINGS} settings over {TABS} connections", "sent in", f"{took:.1f} s", "5 s, and 1 s of grace", took < 6
    yield "", *share_of(first, pictures(live))
    answered = answer_seconds(host, query, 10)
    time.sleep(20)
    yield "they are read from then on, 25 s", *share_of(first, pictures(live))
    yield "", "the page answers meanwhile, the slowest of 10", f"{max(answered) * 1e3:.0f} ms", "printed", True
    for one in tabs:
        one.close()
    live.end()


def pictures(live):
    """Those captured and displayed by the next line that has both."""
    while not live.lines.empty():
        live.lines.get()
    line = live.wait_for(lambda line: line.get("frames_displayed") is not None)[1]
    return line["frames_captured"], line["frames_displayed"]


def answer_seconds(host, query, count):
    """How long the page takes to answer a new connection, each time."""
    waits = []
    for _ in range(count):
        began = time.monotonic()
        with socket.create_connection(host, 30) as one:
            one.sendall(f"GET /?{query} HTTP/1.1\r\nHost: {host[0]}:{host[1]}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: one.recv(65536), b""))
        if not answer.startswith(b"HTTP/1.1 200"):
            sys.exit(f"the page answers {answer[:200]}")
        waits.append(time.monotonic() - began)
    return waits


def half_open(binary):
    """A thousand connections that end no request, by half of which nothing comes; then they are opened again as fast as they are closed."""
    live, host, query = demo(binary)
    first, quiet = pictures(live), answer_seconds(host, query, 50)

    def opened(index):
        one = socket.create_connection(host)
        if index % 2 == 0:
            one.send(f"GET /?{query} HTTP/1.1\r\nHost: {host[0]}:{host[1]}\r\n".encode())
        return one

    kept = [opened(index) for index in range(1000)]
    waits, ends = answer_seconds(host, query, 50), threading.Event()

    def again():
        for index in itertools.count():
            if ends.is_set():
                return
            kept[index % 1000].close()
            try:
                kept[index % 1000] = opened(index)
            except OSError:
                pass
            time.sleep(0.001)

    thread = threading.Thread(target=again)
    thread.start()
    flooded = answer_seconds(host, query, 200)
    last = pictures(live)
    ends.set()
    thread.join()
    said = lambda waits: f"median {statistics.median(waits) * 1e3:.1f} ms, at most {max(waits) * 1e3:.0f} ms of {len(waits)}"
    yield "the page", "answers a new connection after", said(quiet), "printed", True
    yield "the page with 1000 half-open connections", "answers a new connection after", said(waits), "answered within 5 s", max(waits) < 5
    yield "and while they are opened again, 1000 a second at most", "answers a new connection after", said(flooded), "answered within 5 s", max(flooded) < 5
    yield "", *share_of(first, last)
    for one in kept:
        one.close()
    live.end()


def share_of(first, last):
    """Pictures displayed of those captured between two lines, as a part of a row."""
    share = (last[1] - first[1]) / (last[0] - first[0])
    return "pictures displayed", f"{last[1] - first[1]} of {last[0] - first[0]}, {share:.1%}", "at least 99 %", share >= 0.99
