#!/usr/bin/env python3
"""Rate and distortion of `seaway shape` beside re-encoding and beside M2VRequantiser, on the shared streams.

Needs ffmpeg, mpeg2enc (mjpegtools) and, for its curve, M2VRequantiser (Debian package m2vrequantiser). Takes the first
PICTURES pictures of each stream, writes docs/results/shaping-peers.md and docs/images/shaping-*.svg: luma PSNR
against the decoded input, and against the clip that the input was coded from. Each recoder aims at the same sizes; what
counts is the size it came to.
"""

import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))
MEDIA = pathlib.Path(os.environ.get("SEAWAY_MEDIA", ROOT.parent / "shared/media"))
# One more than a multiple of three: no B picture loses its references at the end.
PICTURES = int(os.environ.get("PICTURES", "73"))
RATIOS = [0.9, 0.8, 0.7, 0.6, 0.5]

# Stream; the master it was coded from, and by which filter; frame rate; the encoder that re-encodes it.
STREAMS = [
    ("mobile_cif.mpeg2.ibbp.4000k.m2v", "mobile_cif.mp4", "null", "30000/1001", "-c:v mpeg2video -g 12 -bf 2"),
    ("paris_cif.mpeg2.ipp.1500k.m2v", "paris_cif.mp4", "null", "30000/1001", "-c:v mpeg2video -g 12 -bf 0"),
    ("mobile_cif.mpeg1.ibbp.1150k.m1v", "mobile_cif.mp4", "null", "30000/1001", "-c:v mpeg1video -g 15 -bf 2"),
    ("galleon_720x480i.mpeg2.mpeg2enc.dvd.6000k.bff.m2v", "galleon_422_ntsc.mp4", "crop=720:480:0:4",
     "30000/1001", "-c:v mpeg2video -g 15 -bf 2 -flags +ildct+ilme -top 0"),
]
RD = "-mbd rd -trellis 1 -cmp 2 -subcmp 2"
SHAPERS = [("auto", []), ("window", []), ("memoryless", []), ("memoryless, C(44)", ["--cluster", "44"]),
           ("rate-based", []), ("requantize", [])]
COLOURS = {"auto": "#c00", "window": "#e80", "memoryless": "#08a", "memoryless, C(44)": "#7bd", "rate-based": "#888",
           "requantize": "#a6a", "FFmpeg, fast": "#070", "FFmpeg, RD": "#4b4", "mpeg2enc": "#963",
           "M2VRequantiser": "#00c"}


def run(*words, **keys):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, **keys)


def ffmpeg(text, *more):
    return run("ffmpeg", "-nostdin", "-hide_banner", "-y", "-threads", "1", *text.split(), *more)


def psnr(stream, reference, kind):
    """Luma PSNR in dB, from the mean squared error of all frames."""
    graph = "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N,format=yuv420p[b];[a][b]psnr"
    output = ffmpeg(f"-f {kind} -i {stream} -i {reference} -lavfi {graph} -fps_mode passthrough -f null -").stderr
    return float(re.search(rb"PSNR y:([\d.]+|inf)", output)[1])


def recode(name, folder, stream, decoded, size, seconds, encoder):
    """Writes `out` by a peer that aims at `size` octets; None where it cannot."""
    out, rate = folder / "out", int(size * 8 / seconds)
    kind = "mpeg1video" if "mpeg1video" in encoder else "mpeg2video"
    if name.startswith("FFmpeg"):
        extra = RD if name.endswith("RD") else ""
        limits = f"-b:v {rate} -maxrate {rate} -bufsize 1835008"
        ffmpeg(f"-i {decoded} {encoder} {extra} {limits} -f {kind} {out}")
    elif name == "mpeg2enc":
        form = "0" if kind == "mpeg1video" else "3"
        interlaced = "1" if "ildct" in encoder else "0"
        with open(decoded, "rb") as pictures:
            run("mpeg2enc", "-v", "0", "-f", form, "-I", interlaced, "-b", max(1, rate // 1000), "-o", out, stdin=pictures)
    elif name == "M2VRequantiser":
        if kind == "mpeg1video" or not shutil.which("M2VRequantiser"):
            return None
        whole = stream.stat().st_size
        with open(stream, "rb") as before, open(out, "wb") as after:
            subprocess.run(["M2VRequantiser", f"{whole / size:.4f}", str(whole)], stdin=before, stdout=after,
                           stderr=subprocess.DEVNULL, check=True)
    return out


def points(folder, name, master, crop, fps, encoder):
    """Of each method: (ratio reached, PSNR against the input, PSNR against the original)."""
    kind = "mpegvideo"
    stream, decoded, original = folder / "in", folder / "in.y4m", folder / "original.y4m"
    raw = "mpeg1video" if "mpeg1video" in encoder else "mpeg2video"
    ffmpeg(f"-f {kind} -i {MEDIA}/es/{name} -frames:v {PICTURES} -c copy -f {raw} {stream}")
    ffmpeg(f"-f {kind} -r {fps} -i {stream} -fps_mode passthrough {decoded}")
    ffmpeg(f"-i {MEDIA}/masters/{master} -vf {crop} -frames:v {PICTURES} -fps_mode passthrough -pix_fmt yuv420p {original}")
    whole = stream.stat().st_size
    n, d = map(int, fps.split("/"))
    seconds = PICTURES * d / n
    found = {"input": [(1.0, None, psnr(stream, original, kind))]}
    # A recoder may come out larger than it aims at.
    for ratio in [*RATIOS, 0.4]:
        for label, options in SHAPERS if ratio in RATIOS else []:
            out = folder / "out"
            method = label.split(",")[0]
            done = subprocess.run([SEAWAY, "shape", stream, out, "--ratio", str(ratio), "--method", method, *options],
                                  capture_output=True, check=False)
            # 3: the floor, which is what it could reach.
            if done.returncode not in (0, 3):
                raise RuntimeError(done.stderr)
            found.setdefault(label, []).append(
                (out.stat().st_size / whole, psnr(out, decoded, kind), psnr(out, original, kind)))
        for label in ("FFmpeg, fast", "FFmpeg, RD", "mpeg2enc", "M2VRequantiser"):
            out = recode(label, folder, stream, decoded, ratio * whole, seconds, encoder)
            point = out and (out.stat().st_size / whole, psnr(out, decoded, kind), psnr(out, original, kind))
            # A peer that does not touch the stream has no point.
            if point and math.isfinite(point[1]):
                found.setdefault(label, []).append(point)
        print(name, ratio, {label: tuple(round(n, 3) for n in ps[-1]) for label, ps in found.items() if label != "input"},
              file=sys.stderr)
    return found


def svg(path, title, clips, which):
    """A panel a clip: PSNR over the share of the input's size."""
    width, height, left = 420, 300, 50
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * width}" height="{(len(clips) + 1) // 2 * height + 60}" '
             'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>',
             f'<text x="10" y="18" font-size="14">{title}</text>']
    for i, (label, colour) in enumerate(COLOURS.items()):
        x, y = 10 + i % 5 * 160, 34 + i // 5 * 14
        parts.append(f'<path d="M{x} {y}h18" stroke="{colour}" stroke-width="2"/><text x="{x + 22}" y="{y + 4}">{label}</text>')
    for number, (name, found) in enumerate(clips.items()):
        x0, y0 = number % 2 * width + left, number // 2 * height + 80
        curves = {label: [(p[0], p[which]) for p in ps if p[0] <= 1.02] for label, ps in found.items() if label != "input"}
        values = [y for curve in curves.values() for _, y in curve]
        low, high = int(min(values)), int(max(values)) + 1
        at = lambda x, y: (x0 + (x - 0.4) / 0.65 * (width - left - 20), y0 + (high - y) / (high - low) * (height - 70))
        parts.append(f'<text x="{x0}" y="{y0 - 6}" font-weight="bold">{name}</text>')
        step = max(1, (high - low) // 6)
        for y in range(low, high + 1, step):
            a, b = at(0.4, y), at(1.05, y)
            parts.append(f'<path d="M{a[0]:.0f} {a[1]:.1f}H{b[0]:.0f}" stroke="#ddd"/><text x="{x0 - 6}" y="{a[1] + 4:.1f}" text-anchor="end">{y}</text>')
        for x in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
            a = at(x, low)
            parts.append(f'<text x="{a[0]:.0f}" y="{a[1] + 14:.1f}" text-anchor="middle">{x}</text>')
        for label, curve in curves.items():
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in (at(*point) for point in sorted(curve)))
            parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[label]}" stroke-width="1.6"/>')
    path.write_text("\n".join(parts + ["</svg>\n"]))


def interpolated(curve, share, which):
    """PSNR at exactly that share of the input, between the points on both sides; None outside of them."""
    ordered = sorted((p[0], p[which]) for p in curve)
    for (a, x), (b, y) in zip(ordered, ordered[1:]):
        if a - 0.002 <= share <= b + 0.002:
            return x + (y - x) * (share - a) / max(b - a, 1e-9)
    return None


def table(clips, which):
    lines = []
    for name, found in clips.items():
        lines += [f"\n### {name}\n", "| | " + " | ".join(map(str, RATIOS)) + " |", "| --- |" + " ---: |" * len(RATIOS)]
        for label in COLOURS:
            if label in found:
                cells = [interpolated(found[label], ratio, which) for ratio in RATIOS]
                lines.append(f"| {label} | " + " | ".join("–" if cell is None else f"{cell:.2f}" for cell in cells) + " |")
    return "\n".join(lines)


def main():
    clips = {}
    for stream in STREAMS:
        with tempfile.TemporaryDirectory() as folder:
            clips[stream[0]] = points(pathlib.Path(folder), *stream)
    images = ROOT / "docs/images"
    svg(images / "shaping-input.svg", "Luma PSNR in dB against the decoded input, by share of its size", clips, 1)
    svg(images / "shaping-original.svg", "Luma PSNR in dB against the original, by share of the input's size", clips, 2)
    version = run(SEAWAY, "--version", text=True).stdout.splitlines()[0]
    inputs = "\n".join(f"| {name} | {found['input'][0][2]:.2f} |" for name, found in clips.items())
    (ROOT / "docs/results/shaping-peers.md").write_text(f"""# Rate shaping beside re-encoding

Made by `PICTURES={PICTURES} make plots` (`validation/shaping/plots.py`) with {version}, the first {PICTURES} pictures of each stream. Luma PSNR in
dB over all pictures, at shares of the input's size; between two measured sizes in proportion, – outside of them.
`FFmpeg, fast` is its MPEG encoder as it comes, `FFmpeg, RD` with `{RD}`, both at a constant rate.

## Against the decoded input
{table(clips, 1)}

## Against the original

| the input itself | dB |
| --- | ---: |
{inputs}
{table(clips, 2)}
""")


if __name__ == "__main__":
    main()
