#!/usr/bin/env python3
"""Draws docs/images/shaping-quality.svg from the table "Quality and time beside x264" in docs/results/shaping.md: luma PSNR by
the share of the rate, and beside it the time of the CPU at 0.7. Usage: picture.py"""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLOURS = {"auto": "#c00", "FFmpeg fast": "#070", "FFmpeg RD": "#4b4", "x264 ultrafast": "#36c", "x264 veryfast": "#7ad"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 430, 300, 46, 46, 120
AT = "0.7"


def rows():
    """The columns' names, and PSNR and time by coder and column."""
    text = (ROOT / "docs/results/shaping.md").read_text()
    section = text.split("## Quality and time beside x264\n")[1].split("\n## ")[0]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    found = {}
    for name, *cells in table[2:]:
        pairs = [cell.split(" / ") for cell in cells]
        found[name.strip("`")] = [(float(quality), float(time)) for quality, time in pairs]
    return table[0][1:], found


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{words}</text>'


def curves(shares, found):
    every = [quality for points in found.values() for quality, _ in points]
    low, high = int(min(every)), int(max(every)) + 1
    x = lambda share: LEFT + (float(share) - 0.48) / 0.44 * WIDTH
    y = lambda quality: TOP + (high - quality) / (high - low) * HEIGHT
    parts = [f'<path d="M{LEFT} {y(v):.1f}h{WIDTH}" stroke="#ddd"/>' + text(LEFT - 6, y(v) + 4, v, 'text-anchor="end"')
             for v in range(low, high + 1)]
    parts += [text(x(share), TOP + HEIGHT + 16, share, 'text-anchor="middle"') for share in shares]
    for name, points in found.items():
        line = " ".join(f"{x(share):.1f},{y(quality):.1f}" for share, (quality, _) in zip(shares, points))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
    return parts


def bars(shares, found):
    times = {name: points[shares.index(AT)][1] for name, points in found.items()}
    start, scale = LEFT + WIDTH + GAP, 170 / max(times.values())
    parts = [text(start, TOP - 8, f"seconds of the CPU, 600 pictures, at {AT}")]
    for i, (name, time) in enumerate(times.items()):
        top = TOP + 10 + 34 * i
        parts += [f'<rect x="{start}" y="{top}" width="{time * scale:.1f}" height="18" fill="{COLOURS[name]}"/>',
                  text(start - 6, top + 13, name, 'text-anchor="end"'), text(start + time * scale + 6, top + 13, f"{time:.2f}")]
    return parts


def main():
    shares, found = rows()
    width, height = LEFT + WIDTH + GAP + 240, TOP + HEIGHT + 30
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
            '<rect width="100%" height="100%" fill="#fff"/>')
    title = text(10, 20, "Luma PSNR in dB against the clip, by share of the rate of the input", 'font-size="14"')
    path = ROOT / "docs/images/shaping-quality.svg"
    path.write_text("\n".join([head, title, *curves(shares, found), *bars(shares, found), "</svg>\n"]))


if __name__ == "__main__":
    main()
