#!/usr/bin/env python3
"""How time and memory grow with the number of flows: 10 to 10 000, half of them TFRC and half TCP, over one bottleneck.

Runs `seaway` (or $SEAWAY) and writes docs/results/scale.md and docs/images/scale.svg. Ends with 1 where time grows
faster than n log n between the ends, or 1000 flows take 100 MB.
"""

import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))
COUNTS = [10, 30, 100, 300, 1000, 3000, 10000]
SECONDS = 20
EACH = 0.5  # Mbit/s a flow


def scenario(count):
    rate, limit = count * EACH, max(30, int(count * EACH * 1e6 * 0.1 / 8000))
    link = """[[link]]
name = "{name}"
from = "{ends[0]}"
to = "{ends[1]}"
both = true
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = {{ kind = "drop-tail", packets = {limit} }}
"""
    links = [("near", ("source", "left"), 10 * rate, 1, 100000), ("bottleneck", ("left", "right"), rate, 48, limit),
             ("far", ("right", "sink"), 10 * rate, 1, 100000)]
    keys = ("name", "ends", "rate", "delay", "limit")
    text = f'schema = 1\nname = "scale"\nduration = "{SECONDS} s"\nwarmup = "5 s"\n\n'
    text += "\n".join(link.format(**dict(zip(keys, values))) for values in links)
    shared = f'packet = "1000 B"\nfrom = "source"\nto = "sink"\ncount = {count // 2}\nstart = {{ uniform = ["0 s", "5 s"] }}\n'
    tfrc = 'kind = "media"\ncontrol = "tfrc"\nsource = { kind = "saturated" }\n'
    return f'{text}\n[[flow]]\nname = "tfrc"\n{tfrc}{shared}\n[[flow]]\nname = "tcp"\nkind = "tcp"\n{shared}'


def measure(count):
    """Processor seconds and the most memory, in MB."""
    child = subprocess.Popen([SEAWAY, "sim", "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    child.stdin.write(scenario(count))
    child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{count} flows: seaway ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def plot(rows):
    """Time over flows on logarithmic axes, beside n log n through the first point."""
    def x(count):
        return 60 + 420 * (math.log10(count) - 1) / 3

    low, high = math.log10(min(time for _, time, _ in rows)) - 0.3, math.log10(max(time for _, time, _ in rows)) + 0.3

    def y(time):
        return 330 - 300 * (math.log10(time) - low) / (high - low)

    first = rows[0]
    law = [(count, first[1] * count * math.log(count) / (first[0] * math.log(first[0]))) for count, _, _ in rows]
    line = lambda points: " ".join(f"{x(count):.1f},{y(max(time, 10 ** low)):.1f}" for count, time in points)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 380" font-family="sans-serif" font-size="12">',
             '<rect width="520" height="380" fill="white"/>']
    for count in (10, 100, 1000, 10000):
        parts.append(f'<line x1="{x(count)}" x2="{x(count)}" y1="30" y2="330" stroke="#ddd"/>'
                     f'<text x="{x(count)}" y="348" text-anchor="middle">{count}</text>')
    for power in range(math.ceil(low), math.floor(high) + 1):
        parts.append(f'<line x1="60" x2="480" y1="{y(10 ** power):.1f}" y2="{y(10 ** power):.1f}" stroke="#ddd"/>'
                     f'<text x="54" y="{y(10 ** power) + 4:.1f}" text-anchor="end">{10.0 ** power:g} s</text>')
    parts.append(f'<polyline points="{line(law)}" fill="none" stroke="#999" stroke-dasharray="6 4"/>')
    parts.append(f'<polyline points="{line([row[:2] for row in rows])}" fill="none" stroke="#06c" stroke-width="2"/>')
    parts.extend(f'<circle cx="{x(count):.1f}" cy="{y(time):.1f}" r="4" fill="#06c"/>' for count, time, _ in rows)
    parts.append('<text x="70" y="48" fill="#06c">processor time</text><text x="70" y="64" fill="#777">n log n</text>'
                 '<text x="270" y="370" text-anchor="middle">flows</text></svg>')
    return "\n".join(parts) + "\n"


def write(place, text):
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_suffix(place.suffix + ".new")
    beside.write_text(text)
    beside.replace(place)


def main():
    rows = [(count, *measure(count)) for count in COUNTS]
    (few, fast, _), (many, slow, _) = rows[0], rows[-1]
    growth, law = slow / fast, many * math.log(many) / (few * math.log(few))
    memory = next(row[2] for row in rows if row[0] == 1000)
    holds = growth <= law and memory < 100
    version = subprocess.run([SEAWAY, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    table = "\n".join(f"| {count} | {time:.2f} | {time / (count * math.log(count)) * 1e6:.0f} | {memory:.0f} |"
                      for count, time, memory in rows)
    write(ROOT / "docs/images/scale.svg", plot(rows))
    write(ROOT / "docs/results/scale.md", f"""# Time and memory by the number of flows

Half of the flows TFRC (RFC 5348), half TCP, {EACH} Mbit/s of the bottleneck for each, 100 ms, {SECONDS} s simulated; user
and system time of the whole process.

![time over flows](../images/scale.svg)

| flows | s | µs / (n ln n) | MB at most |
| --- | --- | --- | --- |
{table}

From {few} to {many} flows time grows {growth:.0f} times, n log n {law:.0f} times; 1000 flows take {memory:.0f} MB.
Bounds (n log n, 100 MB): {"held" if holds else "**missed**"}.

Version: {version}, release build. Command: `python3 validation/scale.py`.
""")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
