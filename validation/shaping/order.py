#!/usr/bin/env python3
"""The order of the algorithms at 0.8 of the input's bits (docs/models/rate-shaping.md, section "Order of the algorithms"), on streams made here.

usage: order.py MASTERS WORK

Luma PSNR against the decoded input, over all frames. Needs ffmpeg and mpeg2enc; build the example first:
cargo build --release -p seaway-mpeg --example shape_file
"""
import os, re, subprocess, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SHAPE = os.environ.get("SHAPE", os.path.join(ROOT, "target/release/examples/shape_file"))
METHODS = ["memoryless:44", "rate-based", "memoryless", "memoryless:block", "window", "causal", "auto"]
# Name, clip, filter, encoder and its settings; groups, sizes, rates and formats other than those of the shared streams.
STREAMS = [
    ("football, mpeg2enc, groups of 6 to 18", "football_cif.mp4", "null", "mpeg2enc", "-f 3 -b 2500 -g 6 -G 18 -R 2"),
    ("foreman, mpeg2enc, MPEG-1, 2 Mbit/s", "foreman_cif.mp4", "null", "mpeg2enc", "-f 0 -b 2000 -g 12 -G 12 -R 2 -q 4"),
    ("crew 4CIF, mpeg2enc, DVD, interlaced coding", "crew_4cif.mp4", "crop=704:576", "mpeg2enc", "-f 8 -b 5000 -I 1 -R 2 -g 9 -G 15"),
    ("galleon 4:2:2, interlaced, 12 Mbit/s", "galleon_422_ntsc.mp4", "crop=720:480:0:4", "mpeg2video",
     "-pix_fmt yuv422p -b:v 12M -g 12 -bf 2 -flags +ildct+ilme"),
    ("bus, 1 Mbit/s, groups of 30, one B", "bus_cif.mp4", "null", "mpeg2video", "-b:v 1M -g 30 -bf 1"),
    ("carphone QCIF, constant scale", "carphone_qcif.mp4", "null", "mpeg2video", "-q:v 2 -g 12 -bf 2"),
    ("city 720p, 8 Mbit/s, three B", "city_4cif.mp4", "scale=1280:720", "mpeg2video", "-b:v 8M -g 16 -bf 3"),
    ("stefan, MPEG-1, 1.5 Mbit/s", "stefan_sif.mp4", "null", "mpeg1video", "-b:v 1500k -g 18 -bf 2"),
]


def run(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}\n{done.stderr}")
    return done.stderr


def luma(path, reference):
    log = run(f"ffmpeg -nostdin -hide_banner -nostats -i '{path}' -i '{reference}' -lavfi "
              "'[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]psnr' -f null -")
    return float(re.search(r"PSNR y:([\d.]+|inf)", log)[1])


def make(clip, picture, encoder, settings, out, masters):
    source = f"ffmpeg -nostdin -v error -y -i {masters}/{clip} -frames:v 120 -vf {picture}"
    if encoder == "mpeg2enc":
        run(f"{source},fps=25 -pix_fmt yuv420p -f yuv4mpegpipe - | mpeg2enc -v 0 {settings} -o {out}")
    else:
        run(f"{source} -c:v {encoder} {settings} -threads 1 -f {encoder} {out}")


def main():
    masters, work = sys.argv[1:3]
    os.makedirs(work, exist_ok=True)
    print("| stream | " + " | ".join(METHODS) + " |\n|" + " --- |" * (len(METHODS) + 1))
    rows = []
    for number, (name, clip, picture, encoder, settings) in enumerate(STREAMS):
        stream, out = f"{work}/order{number}.mpv", f"{work}/order.out"
        if not os.path.exists(stream):
            make(clip, picture, encoder, settings, stream, masters)
        row = []
        for method in METHODS:
            kind, _, cluster = method.partition(":")
            run(f"{SHAPE} {stream} {out} {kind} 0.8 1 {cluster}")
            row.append(luma(out, stream))
        rows.append(row)
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |", flush=True)
    means = [sum(column) / len(column) for column in zip(*rows)]
    print("| mean | " + " | ".join(f"{value:.2f}" for value in means) + " |")
    memoryless, causal = METHODS.index("memoryless"), METHODS.index("causal")
    print("\ncausal less memoryless:", " ".join(f"{row[causal] - row[memoryless]:+.2f}" for row in rows))


main()
