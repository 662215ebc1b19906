#!/usr/bin/env python3
"""The log of ns-2's TFRC that crates/control/tests/replay replays, on stdout: lines of µs (and bit/s) of two kinds,
`p,DEPARTURE,TRANSIT` (no TRANSIT: lost), in order of departure, then `x,TIME,RATE`. Needs Debian's ns2."""

import pathlib
import subprocess
import tempfile

SCRIPT = pathlib.Path(__file__).with_name("tfrc-log.tcl")


def main():
    with tempfile.NamedTemporaryFile() as trace:
        rates = subprocess.run(["ns", SCRIPT, trace.name], check=True, capture_output=True, text=True).stdout
        departures, arrivals = {}, {}
        for line in open(trace.name, encoding="ascii"):
            event, at, _, _, kind, *_, sequence, _ = line.split()
            if kind == "tcpFriend" and event in "+r":
                (departures if event == "+" else arrivals)[int(sequence)] = float(at)
    for sequence, at in sorted(departures.items()):
        arrived = arrivals.get(sequence)
        transit = "" if arrived is None else f"{(arrived - at) * 1e6:.0f}"
        print(f"p,{at * 1e6:.0f},{transit}")
    for line in rates.splitlines():
        at, rate = map(float, line.split())
        print(f"x,{at * 1e6:.0f},{rate * 8:.0f}")


if __name__ == "__main__":
    main()
