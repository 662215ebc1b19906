"""Recordings that something ends: FFmpeg reads each of them, and finds the right duration."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from live import port, receive, send

RATE = 25
# RTP time goes on for so many pictures before it wraps, and in all.
BEFORE_WRAP, PICTURES = 250, 500


def probed(file):
    """The duration, the pictures that FFmpeg decodes, and the lines of its complaints."""
    probe = ["ffprobe", "-v", "warning", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames:format=duration", "-of", "json", str(file)]
    probe = subprocess.run(probe, capture_output=True, text=True)
    found = json.loads(probe.stdout or "{}")
    complaints = [line for line in probe.stderr.splitlines() if line.strip()]
    pictures = int(found["streams"][0]["nb_read_frames"]) if found.get("streams") else 0
    return float(found.get("format", {}).get("duration", 0)), pictures, complaints


def row(what, file, expected, tolerance):
    """`expected` seconds, of which the file may lack `tolerance`, and have 0.2 s more: the lines with counts come ten times a second."""
    duration, pictures, complaints = probed(file)
    for line in complaints:
        print(f"{what}: {line}", file=sys.stderr)
    held = expected - tolerance <= duration <= expected + 0.2 and not complaints
    seen = f"{duration:.2f} s, {pictures} pictures, {len(complaints)} complaints"
    return what, "ffprobe: duration, pictures that it decodes, complaints", seen, f"{expected:.2f} s, at most {tolerance:.2f} s less, none", held


def recordings(binary):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        yield from full_disk(binary, folder)
        yield from ended(binary, folder, "kill -9", signal.SIGKILL, 1.1)
        yield from ended(binary, folder, "SIGTERM", signal.SIGTERM, 0.1)
        yield from restarted(binary, folder)
        yield from wrapped(binary, folder)


def shown(line):
    return line.get("frames_displayed") or 0


def full_disk(binary, folder):
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True).returncode:
        print("no root: the small disk is left out", file=sys.stderr)
        return
    try:
        at, file = port(), disk / "full.mp4"
        receiver = receive(binary, at, "-o", str(file))
        sender = send(binary, at, "--control", "fixed(rate=2 Mbit/s)", source="test:640x360@25")
        receiver.wait_for(lambda line: "the recording has ended" in str(line.get("what")), 120)
        at_end = receiver.shown()
        receiver.wait_for(lambda line: shown(line) > at_end + 50)
        sender.end()
        receiver.end()
        room = file.stat().st_size / 2**20
        yield row(f"tmpfs of 2 MB, {room:.2f} MiB of it used; the picture goes on", file, at_end / RATE, 1.5)
        yield "", "exit code", str(receiver.child.returncode), "1", receiver.child.returncode == 1
    finally:
        subprocess.run(["umount", disk])


def ended(binary, folder, what, number, tolerance):
    at, file = port(), folder / f"{number}.mp4"
    receiver, sender = receive(binary, at, "-o", str(file)), send(binary, at)
    _, line = receiver.wait_for(lambda line: shown(line) > 400)
    receiver.child.send_signal(number)
    receiver.child.wait(30)
    while not receiver.lines.empty():
        line = max(line, receiver.lines.get()[1], key=shown)
    sender.end()
    yield row(what, file, shown(line) / RATE, tolerance)


def restarted(binary, folder):
    """A sender is killed, and another begins 3 s later: the time line has the pause."""
    at, file = port(), folder / "restart.mp4"
    receiver, sender = receive(binary, at, "-o", str(file)), send(binary, at)
    began, _ = receiver.wait_for(lambda line: shown(line) > 0)
    receiver.wait_for(lambda line: shown(line) > 150)
    sender.child.kill()
    before = receiver.shown()
    time.sleep(3)
    again = send(binary, at)
    receiver.wait_for(lambda line: shown(line) > before + 150)
    again.end()
    last = time.monotonic()
    receiver.end()
    # The lines come ten times a second.
    yield row("a sender killed, another 3 s later", file, last - began + 0.15, 0.4)


def wrapped(binary, folder):
    """Another's sender, so that its RTP time begins where one likes: GStreamer."""
    if not shutil.which("gst-launch-1.0"):
        print("no GStreamer: the wrap of RTP time is left out", file=sys.stderr)
        return
    at, file = port(), folder / "wrap.mp4"
    receiver = receive(binary, at, "-o", str(file), keyed=False)
    offset = 2**32 - BEFORE_WRAP * 90_000 // RATE
    pipeline = (
        f"videotestsrc is-live=true num-buffers={PICTURES} ! video/x-raw,format=I420,width=320,height=180,framerate={RATE}/1 ! x264enc tune=zerolatency key-int-max=50 "
        f"! rtph264pay timestamp-offset={offset} config-interval=1 mtu=1200 ! udpsink host=127.0.0.1 port={at}"
    )
    subprocess.run(["gst-launch-1.0", "-q", *pipeline.split()], check=True, capture_output=True, timeout=120)
    time.sleep(1)
    receiver.end()
    yield row(f"RTP time that wraps after {BEFORE_WRAP / RATE:.0f} s", file, PICTURES / RATE, 0.1)
