#!/usr/bin/env python3
"""Instructions of two `seaway` binaries on four simulations: `instructions.py BEFORE AFTER`.

The cases are one TFRC, 16 TFRC with 16 TCP, three NADA of RFC 8867 section 5.4, and five NADA in an 802.11ac cell. Counted
with `valgrind --tool=callgrind`, which repeats to the instruction. Prints millions and the ratio; ends with 1 where the second
binary needs over 5 % more.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE / "ns2"), str(HERE / "ns3")]
MOST = 1.05


def cases():
    """Name, arguments of `seaway sim` and its input."""
    import speed
    import wlan


    cell = wlan.Case(wlan.circle(5), 1.5, payload=972, direction="down", seconds=8, control="nada")
    shorter = ["--set", 'duration="30 s"']
    return [
        ("one TFRC", ["-", *shorter], speed.scenario(1, 0)),
        ("16 TFRC, 16 TCP", ["-", *shorter], speed.scenario(16, 16)),
        ("RFC 8867 5.4, NADA", ["rfc8867-5.4", *(part for flow in (1, 2, 3) for part in ("--set", f"flow.video-{flow}.control=nada"))], ""),
        ("802.11ac, five NADA", ["-"], cell.scenario()),
    ]


def instructions(binary, arguments, text):
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        command = [*tool, binary, "sim", *arguments, "--json", "--no-timing"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / 1e6


def main():
    before, after = sys.argv[1:]
    worst = 0.0
    print("| case | before, M | after, M | ratio |\n| --- | --- | --- | --- |")
    for name, arguments, text in cases():
        first, second = (instructions(binary, arguments, text) for binary in (before, after))
        worst = max(worst, second / first)
        print(f"| {name} | {first:.0f} | {second:.0f} | {second / first:.3f} |", flush=True)
    return worst > MOST


if __name__ == "__main__":
    sys.exit(main())
