#!/usr/bin/env python3
"""Quality at low rates beside re-encoding: fast, by rate and distortion, and that in two passes.

usage: quality.py MASTERS WORK [--set judged] [--streams a,b] [--ratios 0.9,0.5] [--methods auto] [--peers fast,rd,two-pass]

Streams of eight sets are made from the clips in MASTERS: `tuned` were looked at while the shaper was developed, `judged` were not at first, and
`new` were made once the closed loop chose the motion of P pictures, to judge that; `later` once it was closed at more than 0.65 with one B picture, and nothing was chosen by them. `families` are
of kinds that the others lack, and its streams were looked at while the closed loop learned to choose scales; `apart` are others, by which nothing was chosen. `low` and `fine` have few bits and
fine scales; by some of them it was chosen where the loop is closed.
Each is shaped to a share of its size and decoded and encoded again by FFmpeg at the same size (within 0.5 %). Printed is luma
PSNR in dB over all frames against the clip. What the peers came to is kept in WORK/peers.json, what all did in
WORK/quality.json. Needs ffmpeg and mpeg2enc; build the example first: cargo build --release -p seaway-mpeg --example shape_file
"""
import argparse, json, os, re, subprocess, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SHAPE = os.environ.get("SHAPE", os.path.join(ROOT, "target/release/examples/shape_file"))
RD = "-mbd rd -trellis 2 -cmp 2 -subcmp 2"
PEERS = {"fast": ("", 1), "rd": (RD, 1), "two-pass": (RD, 2)}
INTERLACED = "-flags +ildct+ilme"
FLAT = ",".join(["16"] * 64)
# Lines of text that scroll over the picture: the first ones of the README, so the stream changes with it.
TEXT = f"drawtext=textfile={ROOT}/README.md:fontsize=14:fontcolor=white:box=1:boxcolor=black:x=0:y=144-2*n"
# Name: clip, filter, pixel format, encoder of the stream, pictures, how FFmpeg encodes it again.
SETS = {
    "tuned": {
        "crew": ("crew_4cif.mp4", "crop=704:480", "yuv420p", "-c:v mpeg2video -b:v 4M -maxrate 4M -bufsize 1835k -g 15 -bf 2", 150, "-g 15 -bf 2"),
        "city": ("city_4cif.mp4", "crop=704:480", "yuv420p", "-c:v mpeg2video -b:v 4M -maxrate 4M -bufsize 1835k -g 15 -bf 2", 150, "-g 15 -bf 2"),
        "foreman": ("foreman_cif.mp4", "null", "yuv420p", "-c:v mpeg1video -b:v 1150k -maxrate 1150k -bufsize 327680 -g 15 -bf 2", 150, "-g 15 -bf 2"),
        "bus": ("bus_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 2M -g 12 -bf 2", 150, "-g 12 -bf 2"),
        "mobile": ("mobile_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 3M -g 12 -bf 2", 150, "-g 12 -bf 2"),
    },
    "judged": {
        "bunny-576p": ("bigbuckbunny_720p.mp4", "scale=720:576", "yuv420p", "-c:v mpeg2video -b:v 4M -maxrate 5M -bufsize 1835k -g 12 -bf 2", 150, "-g 12 -bf 2"),
        "city-1080i": ("city_4cif.mp4", "scale=1440:1080,tinterlace=interleave_top,setfield=tff", "yuv420p",
                       f"-c:v mpeg2video -b:v 14M -maxrate 15M -bufsize 7M {INTERLACED} -g 12 -bf 2", 75, f"{INTERLACED} -g 12 -bf 2"),
        "galleon-422": ("galleon_422_ntsc.mp4", "crop=720:480:0:4", "yuv422p", f"-c:v mpeg2video -b:v 12M {INTERLACED} -g 12 -bf 2", 90, f"{INTERLACED} -g 12 -bf 2"),
        "galleon-dvd": ("galleon_422_ntsc.mp4", "crop=720:480:0:4", "yuv420p", "mpeg2enc -f 8 -b 6000 -I 1 -R 2", 90, f"{INTERLACED} -g 15 -bf 2"),
        "crew-interlaced": ("crew_4cif.mp4", "scale=704:576,tinterlace=interleave_top,setfield=tff", "yuv420p", "mpeg2enc -f 3 -b 5000 -I 1 -R 2 -g 9 -G 15", 120,
                       f"{INTERLACED} -g 15 -bf 2"),
        "foreman-pulldown": ("foreman_cif.mp4", "scale=720:480", "yuv420p", "mpeg2enc -f 3 -b 4000 -F 1 -p -R 2", 120, "-g 15 -bf 2"),
        "football": ("football_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 2500k -g 18 -bf 2", 150, "-g 18 -bf 2"),
        "news": ("news_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 1M -g 15 -bf 2", 150, "-g 15 -bf 2"),
        "stefan-no-b": ("stefan_sif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 2M -g 15 -bf 0", 90, "-g 15 -bf 0"),
        "carphone": ("carphone_qcif.mp4", "null", "yuv420p", "-c:v mpeg2video -q:v 4 -g 12 -bf 2", 150, "-g 12 -bf 2"),
        "paris-mpeg1": ("paris_cif.mp4", "null", "yuv420p", "-c:v mpeg1video -b:v 1150k -maxrate 1150k -bufsize 327680 -g 15 -bf 2", 150, "-g 15 -bf 2"),
    },
    "new": {
        "city-interlaced": ("city_4cif.mp4", "scale=704:576,tinterlace=interleave_top,setfield=tff", "yuv420p", "mpeg2enc -f 3 -b 5000 -I 1 -R 2 -g 9 -G 15", 120,
                            f"{INTERLACED} -g 15 -bf 2"),
        "bus-no-b": ("bus_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 2M -g 15 -bf 0", 150, "-g 15 -bf 0"),
        "paris-interlaced": ("paris_cif.mp4", "scale=720:576,tinterlace=interleave_top,setfield=tff", "yuv420p", f"-c:v mpeg2video -b:v 3M {INTERLACED} -g 12 -bf 2", 75,
                             f"{INTERLACED} -g 12 -bf 2"),
        "crew-mpeg1-no-b": ("crew_cif_from4cif_90f.lossless.mkv", "null", "yuv420p", "-c:v mpeg1video -b:v 1500k -g 18 -bf 0", 90, "-g 18 -bf 0"),
        "football-interlaced": ("football_cif.mp4", "scale=704:576,tinterlace=interleave_top,setfield=tff", "yuv420p", "mpeg2enc -f 3 -b 6000 -I 1 -R 1 -g 12 -G 12", 60,
                                f"{INTERLACED} -g 12 -bf 1"),
    },
    "later": {
        "akiyo-no-b": ("akiyo_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 600k -g 15 -bf 0", 90, "-g 15 -bf 0"),
        "paris-one-b": ("paris_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 1500k -maxrate 1500k -bufsize 1M -g 16 -bf 1", 90, "-g 16 -bf 1"),
        "mobile-mpeg1-no-b": ("mobile_cif.mp4", "null", "yuv420p", "-c:v mpeg1video -b:v 2M -g 12 -bf 0", 90, "-g 12 -bf 0"),
        "foreman-interlaced": ("foreman_cif.mp4", "scale=704:576,tinterlace=interleave_top,setfield=tff", "yuv420p", "mpeg2enc -f 3 -b 5000 -I 1 -R 1 -g 12 -G 12", 60,
                               f"{INTERLACED} -g 12 -bf 1"),
        "city-cif-no-b": ("city_4cif.mp4", "scale=352:288", "yuv420p", "-c:v mpeg2video -b:v 1500k -g 25 -bf 0", 90, "-g 25 -bf 0"),
        "bunny-mpeg1": ("bigbuckbunny_720p.mp4", "scale=352:288", "yuv420p", "-c:v mpeg1video -b:v 1150k -maxrate 1150k -bufsize 327680 -g 15 -bf 2", 90, "-g 15 -bf 2"),
        "stefan-mpeg2enc": ("stefan_sif.mp4", "null", "yuv420p", "mpeg2enc -f 3 -b 2500 -I 0 -R 2 -g 15 -G 15", 90, "-g 15 -bf 2"),
        "carphone-intra": ("carphone_qcif.mp4", "null", "yuv420p", "-c:v mpeg2video -q:v 4 -g 1", 90, "-g 1"),
    },
    "families": {
        "crew-9m": ("crew_4cif.mp4", "scale=704:576", "yuv420p", "-c:v mpeg2video -b:v 9M -maxrate 9M -bufsize 1835k -g 12 -bf 2", 60, "-g 12 -bf 2"),
        "mobile-long": ("mobile_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 1500k -g 60 -bf 1", 120, "-g 60 -bf 1"),
        "bus-3b": ("bus_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -q:v 4 -g 16 -bf 3 -b_strategy 1", 120, "-g 16 -bf 3 -b_strategy 1"),
        "football-altscan": ("football_cif.mp4", "scale=704:576,tinterlace=interleave_top,setfield=tff", "yuv420p",
                             f"-c:v mpeg2video -b:v 6M {INTERLACED} -alternate_scan 1 -non_linear_quant 1 -qmax 28 -dc 10 -g 15 -bf 2", 100, f"{INTERLACED} -alternate_scan 1 -non_linear_quant 1 -qmax 28 -dc 10 -g 15 -bf 2"),
        "crew-grain": ("crew_cif_from4cif_90f.lossless.mkv", "noise=alls=8:allf=t:all_seed=1", "yuv420p", "-c:v mpeg2video -b:v 2500k -g 15 -bf 2", 90, "-g 15 -bf 2"),
        "city-q6-no-b": ("city_4cif.mp4", "scale=352:288", "yuv420p", "-c:v mpeg2video -q:v 6 -g 60 -bf 0", 120, "-g 60 -bf 0"),
        "mobile-interlaced": ("mobile_cif.mp4", "scale=704:576,tinterlace=interleave_top,setfield=tff", "yuv420p", "mpeg2enc -f 3 -b 9000 -q 6 -I 1 -R 0 -g 12 -G 12", 60,
                              f"{INTERLACED} -g 12 -bf 0"),
    },
    "apart": {
        "city-1.5m": ("city_4cif.mp4", "scale=704:576", "yuv420p", "-c:v mpeg2video -b:v 1500k -g 15 -bf 2", 60, "-g 15 -bf 2"),
        "foreman-flat": ("foreman_cif.mp4", "null", "yuv420p", f"-c:v mpeg2video -b:v 1500k -intra_matrix {FLAT} -inter_matrix {FLAT} -g 12 -bf 2", 100, f"-intra_matrix {FLAT} -inter_matrix {FLAT} -g 12 -bf 2"),
        "paris-text": ("paris_cif.mp4", TEXT, "yuv420p", "-c:v mpeg2video -b:v 2M -g 15 -bf 2", 90, "-g 15 -bf 2"),
        "stefan-vcd": ("stefan_sif.mp4", "null", "yuv420p", "mpeg2enc -f 1", 90, "-g 15 -bf 2"),
        "bus-q8-no-b": ("bus_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -q:v 8 -g 60 -bf 0", 120, "-g 60 -bf 0"),
        "mobile-intra": ("mobile_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 8M -intra_vlc 1 -g 1", 60, "-intra_vlc 1 -g 1"),
    },
    "low": {
        "akiyo-200k": ("akiyo_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 200k -g 50 -bf 2", 120, "-g 50 -bf 2"),
        "news-dvd": ("news_cif.mp4", "scale=720:576", "yuv420p", "mpeg2enc -f 8 -b 4000 -I 0 -R 2", 60, "-g 15 -bf 2"),
        "carphone-150k": ("carphone_qcif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 150k -g 15 -bf 2", 150, "-g 15 -bf 2"),
        "bus-rd": ("bus_cif.mp4", "null", "yuv420p", f"-c:v mpeg2video -b:v 1500k {RD} -g 15 -bf 2", 120, "-g 15 -bf 2"),
        "bunny-rd-one-b": ("bigbuckbunny_720p.mp4", "scale=720:576", "yuv420p", f"-c:v mpeg2video -b:v 3M {RD} -g 12 -bf 1", 60, "-g 12 -bf 1"),
        "paris-long": ("paris_cif.mp4", "null", "yuv420p", "-c:v mpeg2video -b:v 1M -g 300 -bf 0", 120, "-g 300 -bf 0"),
        "stefan-kvcd": ("stefan_sif.mp4", "null", "yuv420p", "mpeg2enc -f 3 -b 2000 -I 0 -R 2 -K kvcd -g 18 -G 18", 90, "-g 18 -bf 2"),
        "city-720p": ("city_4cif.mp4", "scale=1280:720", "yuv420p", "-c:v mpeg2video -b:v 8M -g 30 -bf 2", 45, "-g 30 -bf 2"),
    },
    # Scales of 4 and 6: there the peers encode almost the clip itself.
    "fine": {
        f"{clip}-q{scale}": (f"{clip}_{size}.mp4", "null", "yuv420p", f"-c:v mpeg2video -q:v {scale} -g 15 -bf 2", 60, "-g 15 -bf 2")
        for clip, size, scale in [
            ("bus", "cif", 2), ("crew", "4cif", 2), ("football", "cif", 2), ("football", "cif", 3), ("foreman", "cif", 2), ("mobile", "cif", 2),
            ("news", "cif", 2), ("paris", "cif", 2), ("stefan", "sif", 2), ("stefan", "sif", 3),
        ]
    },
}


def run(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}\n{done.stderr}")
    return done.stderr


FFMPEG = "ffmpeg -nostdin -hide_banner -nostats -y"


def luma(path, reference):
    log = run(f"{FFMPEG} -i {path} -i {reference} -fps_mode passthrough -lavfi "
              "'[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]psnr' -f null -")
    return float(re.search(r"PSNR y:([\d.]+|inf)", log)[1])


def make(masters, base, clip, picture, pixels, encoder, pictures):
    """The clip, the stream, and the stream decoded."""
    original, source, decoded = base + ".y4m", base + ".m2v", base + ".decoded.y4m"
    if not os.path.exists(decoded):
        # Where frames are paired into interlaced ones, twice as many are read.
        run(f"{FFMPEG} -i {masters}/{clip} -vf {picture},setpts=N/25/TB -r 25 -frames:v {pictures} -pix_fmt {pixels} -f yuv4mpegpipe {original}")
        if encoder.startswith("mpeg2enc"):
            run(f"mpeg2enc -v 0 {encoder[9:]} -o {source} < {original}")
        else:
            run(f"{FFMPEG} -i {original} -threads 1 {encoder} -f {kind_of(encoder)} {source}")
        run(f"{FFMPEG} -i {source} -fps_mode passthrough -vf setpts=N/25/TB -r 25 -f yuv4mpegpipe {decoded}")
    return original, source, decoded


def kind_of(encoder):
    return "mpeg1video" if "mpeg1video" in encoder else "mpeg2video"


def recode(base, peer, decoded, size, kind, pixels, groups, pictures):
    """FFmpeg at the same size: the rate asked for is corrected until the file is within 0.5 %. At most six times."""
    extra, passes = PEERS[peer]
    out, rate = f"{base}.{peer}.m2v", size * 8 * 25 / pictures
    command = f"{FFMPEG} -i {decoded} -threads 1 -c:v {kind} -pix_fmt {pixels} {groups} {extra}"
    for _ in range(6):
        for number in range(1, passes + 1):
            two = f"-pass {number} -passlogfile {base}.pass" if passes == 2 else ""
            run(f"{command} -b:v {int(rate)} {two} -f {kind} {'/dev/null' if number < passes else out}")
        got = os.path.getsize(out)
        if abs(got / size - 1) < 0.005:
            break
        rate *= size / got
    return out


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("masters"), parser.add_argument("work")
    parser.add_argument("--set", default="judged", choices=SETS)
    parser.add_argument("--streams")
    parser.add_argument("--ratios", default="0.9,0.8,0.7,0.6,0.5")
    parser.add_argument("--methods", default="auto")
    parser.add_argument("--peers", default=",".join(PEERS))
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    kept = os.path.join(options.work, "peers.json")
    known = json.load(open(kept)) if os.path.exists(kept) else {}
    rows = []
    for name in options.streams.split(",") if options.streams else SETS[options.set]:
        clip, picture, pixels, encoder, pictures, groups = SETS[options.set][name]
        base = os.path.join(options.work, name)
        original, source, decoded = make(options.masters, base, clip, picture, pixels, encoder, pictures)
        size = os.path.getsize(source)
        pictures = len(re.findall(b"FRAME", open(decoded, "rb").read()))
        print(f"{name}: {pictures} frames, {size} octets, {luma(source, original):.2f} dB", flush=True)
        for ratio in options.ratios.split(","):
            for label in [*options.methods.split(","), *filter(None, options.peers.split(","))]:
                key = f"{name} {ratio} {label}"
                row = known.get(key)
                if label not in PEERS:
                    out = f"{base}.shaped.m2v"
                    run(f"{SHAPE} {source} {out} {label} {ratio}")
                elif row is None:
                    out = recode(base, label, decoded, size * float(ratio), kind_of(encoder), pixels, groups, pictures)
                if label not in PEERS or row is None:
                    row = dict(stream=name, ratio=float(ratio), coder=label, share=os.path.getsize(out) / size, psnr=luma(out, original))
                if label in PEERS:
                    known[key] = row
                    json.dump(known, open(kept, "w"), indent=1)
                rows.append(row)
            here = rows[-len(options.methods.split(",")) - len(list(filter(None, options.peers.split(",")))):]
            print(f"  {ratio} " + "  ".join(f"{row['coder']} {row['psnr']:.2f} ({row['share']:.3f})" for row in here), flush=True)
    json.dump(rows, open(os.path.join(options.work, "quality.json"), "w"), indent=1)
    labels = list(dict.fromkeys(row["coder"] for row in rows))
    print("\n| ratio | " + " | ".join(labels) + " |\n| --- |" + " ---: |" * len(labels))
    for ratio in sorted({row["ratio"] for row in rows}, reverse=True):
        means = [[row["psnr"] for row in rows if row["ratio"] == ratio and row["coder"] == label] for label in labels]
        print(f"| {ratio} | " + " | ".join(f"{sum(values) / len(values):.2f}" for values in means) + " |")


main()
