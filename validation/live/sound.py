#!/usr/bin/env python3
"""How far sound and pictures are apart after half an hour, through a network that loses packets.

    sound.py [SECONDS]

FFmpeg plays a clip with a flash and a beep every two seconds into `seaway send - …`, in a network namespace; `seaway recv` in another
one records it. The network between them is `seaway emulate`. FFmpeg decodes the recording, and each flash is compared with the nearest
beep. Needs root, FFmpeg, iproute2 and seaway (or $SEAWAY).
"""

import array
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SEAWAY = os.environ.get("SEAWAY", "seaway")
LANE = """schema = 1
name = "lane"
duration = "180 min"

[[link]]
name = "lane"
from = "near"
to = "far"
both = true
rate = "2 Mbit/s"
delay = "25 ms"
loss = { kind = "gilbert-elliott", mean = 0.02, burst = 3 }
queue = { kind = "drop-tail", packets = 100 }

[[attach]]
node = "near"
tun = "swa0"

[[attach]]
node = "far"
tun = "swa1"
"""
HOSTS = [f"swa{os.getpid()}{end}" for end in "nf"]
PERIOD = 2  # seconds from flash to flash
RATE = 48_000


def sh(command, **options):
    return subprocess.run(command.split(), check=True, **options)


def clip(path, seconds):
    pictures = f"color=black:size=320x180:rate=25,drawbox=color=white:t=fill:enable='lt(mod(t,{PERIOD}),0.08)'"
    sound = f"aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(t,{PERIOD}),0.1)':s=48000"
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", pictures, "-f", "lavfi", "-i", sound, "-t", str(seconds)]
    subprocess.run([*command, "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac", path], check=True)


def within(host, *command, **options):
    return subprocess.Popen(["ip", "netns", "exec", host, *command], **options)


def end(process, seconds=20):
    process.send_signal(signal.SIGINT)
    return process.wait(seconds)


def session(folder, seconds):
    """Records the clip; gives the last lines of both ends."""
    with open(f"{folder}/lane.toml", "w") as file:
        file.write(LANE)
    emulator = subprocess.Popen(
        [SEAWAY, "emulate", f"{folder}/lane.toml", "--bound", "60 s"], stderr=open(f"{folder}/emulate.log", "w")
    )
    time.sleep(1)
    try:
        for index, host in enumerate(HOSTS):
            sh(f"ip netns add {host}")
            sh(f"ip -n {host} link set lo up")
            sh(f"ip link set swa{index} netns {host}")
            sh(f"ip -n {host} addr add 10.96.0.{index + 1}/24 dev swa{index}")
            sh(f"ip -n {host} link set swa{index} up")
        log = open(f"{folder}/recv.log", "w+")
        receiver = within(
            HOSTS[1], SEAWAY, "recv", "rtp://0.0.0.0:5004", "--insecure", "-o", f"{folder}/got.mp4", stderr=log, stdout=log
        )
        time.sleep(1)
        source = within(
            HOSTS[0], "ffmpeg", "-v", "error", "-re", "-i", f"{folder}/clip.mp4", "-c", "copy", "-f", "mpegts", "-", stdout=subprocess.PIPE
        )
        sent = open(f"{folder}/send.log", "w+")
        sender = within(
            HOSTS[0], SEAWAY, "send", "-", "rtp://10.96.0.2:5004", "--insecure", stdin=source.stdout, stderr=sent, stdout=sent
        )
        sender.wait(seconds + 120)
        end(receiver)
        return open(sent.name).read(), open(log.name).read()
    finally:
        end(emulator)
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", host])


def beeps(path):
    command = ["ffmpeg", "-v", "error", "-copyts", "-i", path, "-map", "0:a"]
    command += ["-af", f"aresample={RATE}:async=1:min_hard_comp=0.001:first_pts=0", "-ac", "1", "-f", "s16le", "-"]
    samples = array.array("h", subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    found, last = [], -RATE
    for index, sample in enumerate(samples):
        if sample > 3000 or sample < -3000:
            if index - last > RATE // 2:
                found.append(index / RATE)
            last = index
    return found


def flashes(path):
    command = ["ffmpeg", "-v", "info", "-nostdin", "-copyts", "-i", path, "-map", "0:v", "-vf", "scale=16:16:flags=area,format=gray,showinfo"]
    text = subprocess.run([*command, "-f", "null", "-"], stderr=subprocess.PIPE, check=True, text=True).stderr
    found, was_white = [], True
    for at, mean in re.findall(r"pts_time:\s*([\d.]+).*?mean:\[(\d+)", text):
        is_white = int(mean) > 128
        if is_white and not was_white:
            found.append(float(at))
        was_white = is_white
    return found


def report(folder):
    sound, light = beeps(f"{folder}/got.mp4"), flashes(f"{folder}/got.mp4")
    apart = [(flash, min((beep - flash for beep in sound), key=abs)) for flash in light]
    print(f"{len(light)} flashes, {len(sound)} beeps, the last flash at {light[-1]:.1f} s")
    print("minutes        flashes  earliest   median   latest (sound after picture, ms)")
    edges = range(0, int(light[-1]) + 1, 300)
    for begin in edges:
        part = [1000 * offset for at, offset in apart if begin <= at < begin + 300]
        if part:
            print(f"{begin // 60:3}-{begin // 60 + 5:<3} {len(part):14} {min(part):9.1f} {statistics.median(part):8.1f} {max(part):8.1f}")
    beyond = [(at, offset) for at, offset in apart if abs(offset) > 0.040]
    print(f"beyond 40 ms: {len(beyond)} of {len(apart)}")
    for at, offset in beyond:
        print(f"  at {at:.2f} s: {1000 * offset:.1f} ms")
    return len(beyond)


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 1830
    with tempfile.TemporaryDirectory() as folder:
        clip(f"{folder}/clip.mp4", seconds)
        sent, received = session(folder, seconds)
        print(sent[-1500:], received[-1500:], sep="\n")
        return 3 if report(folder) else 0


if __name__ == "__main__":
    sys.exit(main())
