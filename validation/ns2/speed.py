#!/usr/bin/env python3
"""Simulated seconds per second of processor time: ns-2 and Seaway on the same networks, turn by turn in one run.

Runs `ns` and `seaway` (or $SEAWAY) and writes docs/results/speed-ns2.md.
"""

import os
import pathlib
import resource
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))
ROUNDS = 5
SECONDS = 320
CASES = [("1 TFRC", 1, 0), ("16 TFRC, 16 TCP", 16, 16)]


def processor_time(command, text):
    """User and system seconds of a command that reads `text`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(part) for part in command], check=True, input=text, stdout=subprocess.DEVNULL, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def scenario(tfrcs, tcps):
    text = (HERE / "share.toml").read_text() + f"count = {tfrcs}\n\n"
    return text + (HERE / "share-tcp.toml").read_text() if tcps else text


def speeds(tfrcs, tcps):
    """Simulated seconds per second, ns-2 and ours: medians over rounds in turn."""
    reference = ["ns", HERE / "share.tcl", tfrcs, tcps, 125, 1, 20, SECONDS]
    ours = [SEAWAY, "sim", "-", "--json"]
    rounds = [(processor_time(reference, ""), processor_time(ours, scenario(tfrcs, tcps))) for _ in range(ROUNDS)]
    return [SECONDS / statistics.median(times) for times in zip(*rounds)]


def version(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main():
    rows = []
    for name, tfrcs, tcps in CASES:
        reference, ours = speeds(tfrcs, tcps)
        rows.append(f"| {name} | {reference:.0f} | {ours:.0f} | {ours / reference:.2f} |")
    package = version(["dpkg-query", "-W", "-f", "${Package} ${Version}", "ns2"])
    text = f"""# Speed beside ns-2

Simulated seconds per second of processor time (user and system), {SECONDS} s of packets of 1000 B over 15 Mbit/s,
100 ms, a drop-tail queue of 125 packets; medians of {ROUNDS} rounds, the two taking turns. Ours counts delay and waiting
of every packet and computes the whole summary, percentiles included; ns-2 counts octets. The goal is 4; the ratio is also
the guard against becoming slower, since both sides are measured in one run.

Versions: Debian {package}; {version([SEAWAY, "--version"])}, release build.
Command: `python3 validation/ns2/speed.py` (runs `share.tcl` and `share.toml` beside it).

| flows | ns-2 | Seaway | ratio |
| --- | --- | --- | --- |
""" + "\n".join(rows) + "\n"
    result = ROOT / "docs/results/speed-ns2.md"
    result.parent.mkdir(parents=True, exist_ok=True)
    beside = result.with_suffix(".new")
    beside.write_text(text)
    beside.replace(result)


if __name__ == "__main__":
    main()
