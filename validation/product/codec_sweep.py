#!/usr/bin/env python3
"""What the settings of OpenH264 cost at equal PSNR, beside x264's presets, over clips: the tables of docs/results/codec.md.

    cargo build --release -p seaway-media --example codec_sweep
    python3 validation/product/codec_sweep.py target/release/examples/codec_sweep CLIP...

Each clip is coded at four constant quantisers by each setting, on one core. CPU time and bit rate are interpolated at the
PSNR that the first setting has at the quantiser 32, and given as ratios to it. Needs ffmpeg with libx264.
"""

import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

PICTURES = 120
QUANTISERS = [22, 27, 32, 37]
SETTINGS = {
    "what we use": [],
    "complexity medium": ["complexity=medium"],
    "complexity high": ["complexity=high"],
    "adaptive quantiser": ["adaptive=on"],
    "background detection": ["background=on"],
    "medium and both": ["complexity=medium", "adaptive=on", "background=on"],
    "screen content": ["usage=screen"],
    "two threads": ["threads=2"],
}
PRESETS = ["ultrafast", "superfast", "veryfast"]
# What a live stream needs: no B pictures, no look-ahead, one thread, key frames on request.
X264 = ["-tune", "zerolatency", "-threads", "1", "-g", "100000", "-sc_threshold", "0"]


def ours(program, clip, settings):
    """Rows of rate, PSNR and CPU ms a picture, by quantiser."""
    command = [program, clip, str(PICTURES), ",".join(map(str, QUANTISERS)), *settings]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [(row["kbps"], row["psnr"], row["cpu_ms"]) for row in map(json.loads, lines)]


def cpu(command):
    """CPU seconds that FFmpeg says it used."""
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    user, system = re.search(r"utime=([\d.]+)s stime=([\d.]+)s", said).groups()
    return float(user) + float(system)


def x264(clip, preset):
    """The same of x264 in FFmpeg, less what FFmpeg takes to read the pictures."""
    rows = []
    base = ["ffmpeg", "-hide_banner", "-benchmark", "-threads", "1", "-i", clip]
    reading = min(cpu([*base, "-f", "null", "-"]) for _ in range(3))
    for quantiser in QUANTISERS:
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/out.mp4"
            used = cpu([*base, "-c:v", "libx264", "-preset", preset, *X264, "-qp", str(quantiser), "-y", file]) - reading
            probe = ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=size,duration_time", "-of", "json", file]
            packets = json.loads(subprocess.run(probe, check=True, capture_output=True, text=True).stdout)["packets"]
            seconds = sum(float(packet["duration_time"]) for packet in packets)
            kbps = sum(int(packet["size"]) for packet in packets) * 8 / seconds / 1e3
            compare = ["ffmpeg", "-hide_banner", "-i", file, "-i", clip, "-lavfi", "psnr=stats_file=-", "-f", "null", "-"]
            said = subprocess.run(compare, check=True, capture_output=True, text=True).stdout
            planes = [float(value) for value in re.findall(r"psnr_y:([\d.]+|inf)", said)]
            rows.append((kbps, statistics.fmean(value for value in planes if math.isfinite(value)), used * 1e3 / len(packets)))
    return rows


def at(rows, psnr, column):
    """The logarithm of a column interpolated at a PSNR; extrapolated beyond the ends."""
    rows = sorted(rows, key=lambda row: row[1])
    upper = next((index for index, row in enumerate(rows) if row[1] >= psnr), len(rows) - 1)
    low, high = rows[max(upper, 1) - 1], rows[max(upper, 1)]
    part = (psnr - low[1]) / (high[1] - low[1])
    return math.log(low[column]) + part * (math.log(high[column]) - math.log(low[column]))


def prepared(clip, folder):
    """The first pictures of a clip as Y4M."""
    file = f"{folder}/{pathlib.Path(clip).stem}.y4m"
    subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-frames:v", str(PICTURES), "-pix_fmt", "yuv420p", "-y", file], check=True)
    return file


def main():
    program, *clips = sys.argv[1:]
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for clip in clips:
            file = prepared(clip, folder)
            encoders = {name: ours(program, file, settings) for name, settings in SETTINGS.items()}
            encoders |= {f"x264 {preset}": x264(file, preset) for preset in PRESETS}
            reference = next(iter(encoders.values()))
            psnr = reference[QUANTISERS.index(32)][1]
            for name, rows in encoders.items():
                rate, time = (math.exp(at(rows, psnr, column) - at(reference, psnr, column)) for column in (0, 2))
                ratios.setdefault(name, []).append((rate, time))
                print(f"{pathlib.Path(clip).stem}: {name}: rate {rate:.2f}, CPU {time:.2f} at {psnr:.1f} dB", file=sys.stderr)
    print("| encoder | rate at equal PSNR | CPU at equal PSNR | CPU, least to most |")
    print("| --- | ---: | ---: | ---: |")
    for name, values in ratios.items():
        rate, time = (statistics.geometric_mean(value[column] for value in values) for column in (0, 1))
        print(f"| {name} | {rate:.2f} | {time:.2f} | {min(v[1] for v in values):.2f} to {max(v[1] for v in values):.2f} |")


if __name__ == "__main__":
    main()
