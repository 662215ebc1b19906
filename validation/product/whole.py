#!/usr/bin/env python3
"""The whole product beside FFmpeg with x264, in turn: CPU time of `seaway send` and `seaway recv` from a Y4M file to decoded
pictures over the loopback address, beside `ffmpeg -re` to MPEG-TS over UDP and FFmpeg's decoding receiver. Prints the tables of
docs/results/product.md.

    cargo build --release --bin seaway
    python3 validation/product/whole.py target/release/seaway CLIP...

Each clip is scaled to 1280x720 at 25 and to 1920x1080 at 30 pictures a second, and sent at a fixed rate, and at a
part of it that has about the PSNR of ultrafast. CPU time is that of a
process and of those that it started. PSNR (luma, mean of the pictures) is that of a recording of what was sent. Needs ffmpeg
with libx264. RUNS and PICTURES change the number of runs and of pictures; SIZES and PRESETS choose among sizes and presets of x264.
"""

import json
import math
import os
import pathlib
import re
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = int(os.environ.get("RUNS", 5))
PICTURES = int(os.environ.get("PICTURES", 150))
SIZES = os.environ.get("SIZES", "720p25 1080p30").split()
# Width, height, pictures a second, Mbit/s.
FORMATS = {"720p25": (1280, 720, 25, 2.5), "1080p30": (1920, 1080, 30, 5.0)}
PRESETS = os.environ.get("PRESETS", "ultrafast superfast").split()
# At this share of the rate ours has about the PSNR of ultrafast at the whole rate, or more.
SHARE = 0.6
QUIET = ["ffmpeg", "-hide_banner", "-nostdin", "-v", "error"]
# What a live stream needs: no B pictures, no look-ahead, one thread, key frames on request, half a second of burst.
X264 = ["-tune", "zerolatency", "-threads", "1", "-g", "100000", "-sc_threshold", "0"]
# Its receiver has one thread too, as ours has one decoder.
DECODE = ["-threads", "1", "-analyzeduration", "200000", "-probesize", "500000"]


# Exit code of `send`: more than one in twenty of the pictures that were due did not come.
TOO_LATE = 3


def free_port():
    """An even port that is free beside the next one."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port % 2 == 0:
            return port


def spent(process, may_fail=False):
    """CPU seconds of a process and of those that it started and waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and not may_fail:
        sys.exit(f"{' '.join(map(str, process.args))} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def start(command, **how):
    return subprocess.Popen(list(map(str, command)), **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **how})


def prepared(clip, size, folder):
    """The first pictures of a clip as Y4M, and once read, so that they are in memory."""
    width, height, rate, _ = FORMATS[size]
    file = pathlib.Path(folder) / f"{pathlib.Path(clip).stem}-{size}.y4m"
    scale = f"scale={width}:{height}:flags=lanczos,setpts=N/{rate}/TB"
    command = [*QUIET, "-stream_loop", "-1", "-i", clip, "-vf", scale, "-r", str(rate), "-frames:v", str(PICTURES)]
    subprocess.run([*command, "-pix_fmt", "yuv420p", "-y", str(file)], check=True)
    return file


def seaway(program, clip, size, keyed, recording=None, share=1.0, attempts=6):
    """`send` to `recv` at a share of the rate: CPU seconds of both. A busy machine may be too late for some pictures."""
    rate = f"{FORMATS[size][3] * share} Mbit/s"
    url = f"rtp://127.0.0.1:{free_port()}" + (f"?key={KEY}" if keyed else "")
    receive = [program, "recv", url, *([] if keyed else ["--insecure"]), *(["-o", recording] if recording else [])]
    receiver = start(receive, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    send = [program, "send", clip, url, "--control", f"fixed(rate={rate})", "--rate", f"{rate}..{rate}", "--sizes", "fixed"]
    sender = start([*send, *([] if keyed else ["--insecure"])], stderr=subprocess.DEVNULL)
    sending = spent(sender, may_fail=True)
    time.sleep(0.7)
    receiver.terminate()
    receiving = spent(receiver)
    if sender.returncode == TOO_LATE and attempts > 1:
        if recording:
            recording.unlink(missing_ok=True)
        return seaway(program, clip, size, keyed, recording, share, attempts - 1)
    if sender.returncode:
        sys.exit(f"send ended with {sender.returncode}")
    return sending, receiving


def to_ffmpeg(program, clip, size, folder):
    """`send` as plain RTP to FFmpeg, which writes pictures: CPU seconds of its receiver."""
    rate = f"{FORMATS[size][3]} Mbit/s"
    port, description = free_port(), pathlib.Path(folder) / "stream.sdp"
    send = [program, "send", clip, f"rtp://127.0.0.1:{port}", "--sdp", description, "--control", f"fixed(rate={rate})"]
    # The description is there before the first packet, and the key frame comes again for a receiver that was late.
    description.write_text(f"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {port} RTP/AVP 96\n"
                           "a=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=1\n")
    read = [*QUIET, "-protocol_whitelist", "file,udp,rtp", *DECODE, "-i", description, "-progress", "-"]
    read += ["-fps_mode", "passthrough", "-f", "yuv4mpegpipe", "-y", pathlib.Path(folder) / "theirs.y4m"]
    receiver = start(read, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    spent(start([*send, "--rate", f"{rate}..{rate}", "--sizes", "fixed", "--key-every", "1000 s"], stderr=subprocess.DEVNULL))
    time.sleep(0.7)
    return ended(receiver)


def ended(receiver):
    """CPU seconds of a decoding FFmpeg for all pictures, once it has a signal to end, which it does without the last ones."""
    # The first signal ends it at the next packet, the second one ends the wait for it.
    for _ in range(2):
        os.kill(receiver.pid, signal.SIGTERM)
        time.sleep(0.2)
    said = receiver.stdout.read()
    used = spent(receiver, may_fail=True)
    pictures = [int(number) for number in re.findall(r"^frame=\s*(\d+)", said, re.MULTILINE)]
    if not pictures or pictures[-1] < PICTURES * 0.7:
        sys.exit(f"FFmpeg's receiver decoded {pictures[-1:]} of {PICTURES} pictures")
    return used * PICTURES / pictures[-1]


def x264(clip, size, preset):
    """FFmpeg to FFmpeg: CPU seconds of both."""
    port = free_port()
    url = f"udp://127.0.0.1:{port}"
    read = [*QUIET, *DECODE, "-i", f"{url}?fifo_size=100000&buffer_size=4000000", "-progress", "-", "-f", "null", "-"]
    receiver = start(read, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    command = [*QUIET, "-re", "-i", clip, *coding(size, preset), "-f", "mpegts", f"{url}?pkt_size=1316"]
    sending = spent(start(command, stderr=subprocess.DEVNULL))
    time.sleep(0.7)
    return sending, ended(receiver)


def coding(size, preset):
    rate = FORMATS[size][3] * 1e6
    return ["-c:v", "libx264", "-preset", preset, *X264, "-b:v", rate, "-maxrate", rate, "-bufsize", rate / 2]


def quality(file, clip, size):
    """Luma PSNR in dB, mean over the pictures of the clip, Mbit/s of coded octets, and pictures."""
    rate = FORMATS[size][2]
    probe = ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of", "json", str(file)]
    packets = json.loads(subprocess.run(probe, check=True, capture_output=True, text=True).stdout)["packets"]
    # Picture by picture: where some were left out, and the last column says so, those behind are compared with others.
    even = f"[0:v]setpts=N/{rate}/TB[a];[1:v]setpts=N/{rate}/TB[b];[a][b]psnr=stats_file=-"
    compare = ["ffmpeg", "-hide_banner", "-nostdin", "-i", str(file), "-i", str(clip), "-lavfi", even, "-f", "null", "-"]
    said = subprocess.run(compare, check=True, capture_output=True, text=True).stdout
    planes = [float(value) for value in re.findall(r"psnr_y:([\d.]+|inf)", said)]
    mbps = sum(int(packet["size"]) for packet in packets) * 8 / (PICTURES / rate) / 1e6
    return statistics.fmean(value for value in planes if math.isfinite(value)), mbps, len(packets)


def measured(program, clip, size, folder):
    """One clip in one size: a row for each encoder."""
    rows = {}
    pictures = pathlib.Path(folder) / "ours.y4m"
    runs = {REDUCED: lambda: seaway(program, clip, size, True, share=SHARE)}
    runs |= {f"x264 {preset}": lambda preset=preset: x264(clip, size, preset) for preset in PRESETS}
    runs |= {OURS: lambda: seaway(program, clip, size, False, pictures)}
    runs |= {THEIRS: lambda: (math.nan, to_ffmpeg(program, clip, size, folder))}
    for _ in range(RUNS):
        for name, run in runs.items():
            pictures.unlink(missing_ok=True)
            rows.setdefault(name, []).append(run())
    used = {name: tuple(statistics.median(row[end] for row in values) * 1e3 / PICTURES for end in (0, 1)) for name, values in rows.items()}
    recording, seen = pathlib.Path(folder) / "sent.h264", {}
    for name, share in ((REDUCED, SHARE), (OURS, 1.0)):
        recording.unlink(missing_ok=True)
        seaway(program, clip, size, True, recording, share)
        seen[name] = quality(recording, clip, size)
    for preset in PRESETS:
        coded = pathlib.Path(folder) / "coded.mp4"
        subprocess.run(list(map(str, [*QUIET, "-i", clip, *coding(size, preset), "-y", coded])), check=True)
        seen[f"x264 {preset}"] = quality(coded, clip, size)
    return used, seen


# Of the same stream, without a key, to a Y4M file.
OURS, THEIRS = "seaway, --insecure, to Y4M", "seaway --sdp, FFmpeg to Y4M"
# The usual session: with a key, and without a decoder.
REDUCED = f"seaway, keyed, {SHARE} of the rate"
KEY = secrets.token_urlsafe(32)


def main():
    program, *clips = sys.argv[1:]
    ratios = {}
    print("| clip | size | sender | send, ms a picture | recv, ms a picture | PSNR, dB | Mbit/s | pictures |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for size in SIZES:
        for clip in clips:
            with tempfile.TemporaryDirectory() as folder:
                file = prepared(clip, size, folder)
                used, seen = measured(os.path.abspath(program), file, size, folder)
            for name, (sending, receiving) in used.items():
                psnr, mbps, pictures = seen.get(name, (math.nan, math.nan, "–"))
                cells = [f"{value:.2f}" if math.isfinite(value) else "–" for value in (sending, receiving, psnr, mbps)]
                print(f"| {pathlib.Path(clip).stem} | {size} | {name} | {' | '.join(cells)} | {pictures} |", flush=True)
            for preset in PRESETS:
                theirs = f"x264 {preset}"
                for ours, what in ((OURS, "send at the same rate beside"), (REDUCED, f"send at {SHARE} of the rate beside")):
                    ratio, gain = used[ours][0] / used[theirs][0], seen[ours][0] - seen[theirs][0]
                    ratios.setdefault((size, f"{what} {preset}"), []).append((ratio, gain))
            ratios.setdefault((size, "recv beside FFmpeg, both to Y4M"), []).append((used[OURS][1] / used[THEIRS][1], math.nan))
            ratios.setdefault((size, f"recv without pictures, at {SHARE} of the rate, beside it"), []).append((used[REDUCED][1] / used[THEIRS][1], math.nan))
    print("\n| size | | CPU, geometric mean | least to most | PSNR above theirs, dB, least to most |")
    print("| --- | --- | ---: | ---: | ---: |")
    for (size, what), values in ratios.items():
        times, gains = [value[0] for value in values], [value[1] for value in values]
        above = f"{min(gains):.1f} to {max(gains):.1f}" if math.isfinite(gains[0]) else "–"
        print(f"| {size} | {what} | {statistics.geometric_mean(times):.2f} | {min(times):.2f} to {max(times):.2f} | {above} |")


if __name__ == "__main__":
    main()
