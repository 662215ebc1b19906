#!/usr/bin/env python3
"""Rate-distortion of the shaper beside re-encoding, fast and by rate and distortion.

usage: compare.py MASTERS WORK [--ratios 0.9,0.8,0.7,0.5] [--methods auto,window:block,memoryless] [--rd] [--streams a,b]
                  [--x264 ultrafast,veryfast]

Makes nine streams of up to 300 pictures from the clips in MASTERS (704x480 MPEG-2 at 4 Mbit/s, CIF MPEG-1 at
1.15 Mbit/s), shapes each with the example `shape_file`, re-encodes each with FFmpeg at the same size, and prints
luma PSNR over all frames, against the clip and against the decoded stream. Needs ffmpeg; build the example
first: cargo build --release -p seaway-mpeg --example shape_file
"""
import argparse, json, os, re, resource, subprocess, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SHAPE = os.environ.get("SHAPE", os.path.join(ROOT, "target/release/examples/shape_file"))
CIF = dict(codec="mpeg1video", rate=1_150_000, extra=["-maxrate", "1150k", "-bufsize", "327680"])
SD = dict(codec="mpeg2video", rate=4_000_000, extra=["-maxrate", "4000k", "-bufsize", "1835008"])
CLIPS = {
    "crew": ("crew_4cif.mp4", "crop=704:480", SD), "city": ("city_4cif.mp4", "crop=704:480", SD),
    "foreman": ("foreman_cif.mp4", "null", CIF), "mobile": ("mobile_cif.mp4", "null", CIF),
    "paris": ("paris_cif.mp4", "null", CIF), "bus": ("bus_cif.mp4", "null", CIF),
    "football": ("football_cif.mp4", "null", CIF), "stefan": ("stefan_sif.mp4", "null", CIF),
    "news": ("news_cif.mp4", "null", CIF),
}
GOP = ["-g", "15", "-bf", "2", "-threads", "1", "-flags:v", "+bitexact"]
RD = ["-mbd", "rd", "-trellis", "1", "-cmp", "2", "-subcmp", "2"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stderr


def ffmpeg(*arguments):
    return run("ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-y", *arguments)


def luma(path, reference):
    log = ffmpeg("-i", path, "-i", reference, "-lavfi", "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]psnr", "-f", "null", "-")
    return float(re.search(r"PSNR y:([\d.]+|inf)", log).group(1))


def complaints(path):
    log = subprocess.run(["ffmpeg", "-nostdin", "-v", "warning", *(() if path.endswith("264") else ("-f", "mpegvideo")), "-i", path, "-f", "null", "-"], capture_output=True, text=True)
    return [line for line in log.stderr.splitlines() if "duration" not in line]


def used():
    """Seconds of the CPU in user space that commands have taken so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def reencode(source, target_bytes, codec, seconds, out, extra, form=None):
    """FFmpeg at the same size: the rate asked for is corrected until the file is within 0.5 %. The time of the last run is
    left in `reencode.user`."""
    rate = target_bytes * 8 / seconds
    for _ in range(6):
        before = used()
        ffmpeg("-threads", "1", "-i", source, "-c:v", codec, "-b:v", str(int(rate)), *GOP, *extra, "-f", form or codec, out)
        reencode.user = used() - before
        got = os.path.getsize(out)
        if abs(got / target_bytes - 1) < 0.005:
            break
        rate *= target_bytes / got
    return got


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("masters"), parser.add_argument("work")
    parser.add_argument("--ratios", default="0.9,0.8,0.7,0.6,0.5")
    parser.add_argument("--methods", default="auto,window:block,memoryless:block,memoryless,rate-based,memoryless:44")
    parser.add_argument("--streams", default=",".join(CLIPS))
    parser.add_argument("--rd", action="store_true")
    parser.add_argument("--no-reencode", action="store_true")
    parser.add_argument("--x264", default="", help="presets")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    rows = []
    for name in options.streams.split(","):
        clip, crop, kind = CLIPS[name]
        base = os.path.join(options.work, name)
        original, source = base + ".y4m", base + ".m2v"
        if not os.path.exists(source):
            ffmpeg("-i", os.path.join(options.masters, clip), "-vf", f"{crop},setpts=N/25/TB", "-r", "25", "-frames:v", "300",
                   "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", original)
            ffmpeg("-i", original, "-c:v", kind["codec"], "-b:v", str(kind["rate"]), *kind["extra"], *GOP, "-f", kind["codec"], source)
        size = os.path.getsize(source)
        pictures = open(source, "rb").read().count(b"\0\0\1\0")
        print(f"{name}: {pictures} pictures, {size} bytes, input against clip {luma(source, original):.2f} dB", flush=True)
        for ratio in options.ratios.split(","):
            def show(label, path, user, note=""):
                row = dict(stream=name, ratio=float(ratio), coder=label, share=os.path.getsize(path) / size, user=round(user, 3),
                           clip=luma(path, original), input=luma(path, source), complaints=complaints(path))
                rows.append(row)
                print(f"  {ratio} {label:18} {row['share']:.4f} clip {row['clip']:.2f} input {row['input']:.2f} user {user:.2f} s {note} {' '.join(row['complaints'][:1])}", flush=True)
            for method in options.methods.split(","):
                kind_of, _, cluster = method.partition(":")
                out = f"{base}.shaped.m2v"
                before = used()
                note = run(SHAPE, source, out, kind_of, ratio, "1", *([cluster] if cluster else []))
                show(method, out, used() - before, note.split(",")[1] if " 0 at" not in note else "")
            if not options.no_reencode:
                target = int(size * float(ratio))
                for label, extra in [("ffmpeg-fast", [])] + ([("ffmpeg-rd", RD)] if options.rd else []):
                    out = f"{base}.{label}.m2v"
                    reencode(source, target, kind["codec"], pictures / 25, out, extra)
                    show(label, out, reencode.user)
                for preset in filter(None, options.x264.split(",")):
                    out = f"{base}.{preset}.264"
                    reencode(source, target, "libx264", pictures / 25, out, ["-preset", preset], "h264")
                    show(f"x264 {preset}", out, reencode.user)
    with open(os.path.join(options.work, "compare.json"), "w") as file:
        json.dump(rows, file, indent=1)


main()
