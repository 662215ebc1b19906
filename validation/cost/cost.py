#!/usr/bin/env python3
"""Writes docs/results/control-cost.md: what a report of ten packets costs each controller, as time (divan's median) and as
instructions (callgrind, the same each time), and the state of both halves. Needs valgrind."""

import json
import pathlib
import platform
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "docs/results/control-cost.md"
ROUNDS = 1000


def said(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def bench(name):
    """The path of a bench's executable."""
    lines = said("cargo", "bench", "-p", "seaway-control", "--bench", name, "--no-run", "--message-format=json")
    built = (json.loads(line) for line in lines.splitlines())
    return next(item["executable"] for item in built if item.get("target", {}).get("name") == name and item.get("executable"))


def instructions(executable, spec):
    with tempfile.NamedTemporaryFile() as file:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=*feedback_to_decision*", f"--callgrind-out-file={file.name}"]
        subprocess.run([*command, executable, spec], check=True, capture_output=True)
        total = re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(file.name).read_text(encoding="utf-8"), re.M)
    return int(total[1]) / ROUNDS


def medians(executable):
    """Median ns of a report, by controller."""
    table = said(executable, "--bench", "feedback_to_decision")
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in re.split("│", line.replace("╰─", "").replace("├─", ""))]
        row = re.match(r"[│ ]*(.+?)\s+[\d.]+ .?s$", cells[0])
        if row and len(cells) > 3:
            value, unit = cells[2].split()
            found[row[1].strip()] = float(value) * {"ns": 1, "µs": 1e3, "ms": 1e6}[unit]
    return found


def states():
    """Octets of the sending and the receiving half, by controller."""
    output = said("cargo", "test", "--release", "-q", "-p", "seaway-control", "--test", "allocation", "state", "--", "--nocapture")
    return {row[0]: row[1:] for row in re.findall(r"^state (.+): (\d+) \+ (\d+) B$", output, re.M)}


def main():
    times, state = medians(bench("feedback")), states()
    counter = bench("instructions")
    rows = [f"| `{spec}` | {instructions(counter, spec):.0f} | {times[spec]:.0f} | {int(own) / 1024:.1f} | {int(peers) / 1024:.1f} |" for spec, (own, peers) in state.items()]
    versions = f"{said('rustc', '--version').strip()}, {said('valgrind', '--version').strip()}, {platform.machine()}"
    OUTPUT.write_text(f"""# What a controller costs

A report of ten packets at 100 Mbit/s, from the feedback to the decision, for every entry of the registry and its variants in
the steady state: instructions (callgrind, mean of {ROUNDS} reports; the same each time) and nanoseconds (divan's median; of the machine
it ran on). The state of the two halves in KiB, at 100 Mbit/s, as a clone allocates and holds it. None of them allocates in the steady
state (`crates/control/tests/allocation.rs`).

| controller | instructions | ns | sending half, KiB | receiving half, KiB |
| --- | --- | --- | --- | --- |
{chr(10).join(rows)}

`make cost`; {versions}.
""", encoding="utf-8")


if __name__ == "__main__":
    main()
