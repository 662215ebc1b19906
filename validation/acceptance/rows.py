#!/usr/bin/env python3
"""The bars of `seaway scorecard --suite acceptance` as a table in Markdown, and those of recorded mobile networks, which are
not bundled: scenarios in a folder, each run under the controller and under SCReAM, whose rate and 5 % more it must reach at
1.05 of its delay."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

RECORDED = ("att-lte-2016", "verizon-lte", "tmobile-lte", "5g-irish", "norway-bus-1")


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{command}\n{done.stderr}")
    return json.loads(done.stdout)


def suite(arguments):
    """Row, case, what, bar, reached, held."""
    seeds = ("--seeds", arguments.seeds, "--seed", arguments.seed)
    card = output(arguments.seaway, "scorecard", "--suite", "acceptance", "--control", arguments.control, "--json", *seeds)
    for row in card["rows"]:
        for bar in row["bars"]:
            what = ", ".join(filter(None, (bar["quantity"], bar["unit"])))
            bounds = [bar.get("least"), bar.get("most")]
            reached = bar["reached"][0]
            yield row["name"], bar["case"], what, bounds, reached, bar["held"][0]


def measured(arguments, text, control):
    """Received in Mbit/s and the 95 % quantile of queueing in ms, means over the seeds."""
    text = re.sub(r'control = "[^"]*"', f'control = "{control}"', text)
    numbers = []
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            summary = output(arguments.seaway, "sim", file.name, "--json", "--no-timing", "--seed", seed)
        flow = summary["flows"][0]
        numbers.append((flow["received_bps"] / 1e6, flow["queue_delay_ms"]["p95"]))
    return [sum(column) / len(numbers) for column in zip(*numbers)]


def recorded(arguments):
    for name in RECORDED:
        file = arguments.rows / f"{name}.toml"
        text = file.read_text(encoding="utf-8").replace('"../', f'"{file.parent.parent.resolve()}/')
        (rate, delay), (peer_rate, peer_delay) = (measured(arguments, text, one) for one in (arguments.control, "scream"))
        yield "8", name, "received, Mbit/s", [1.05 * peer_rate, None], rate, rate >= 1.05 * peer_rate
        yield "8", name, "queueing, 95 %, ms", [None, 1.05 * peer_delay], delay, delay <= 1.05 * peer_delay


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seaway", default="target/release/seaway")
    parser.add_argument("--rows", type=pathlib.Path, help="the folder with the recorded networks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("control", nargs="?", default="seaway")
    arguments = parser.parse_args()
    bars = list(suite(arguments))
    if arguments.rows:
        bars += recorded(arguments)
    else:
        print("SKIPPED: no folder of recorded networks", file=sys.stderr)
    bars.sort(key=lambda bar: int(bar[0]))
    print("| row | case | what | bar | reached | |\n| --- | --- | --- | --- | --- | --- |")
    for row, case, what, (least, most), reached, held in bars:
        bounds = [f"≥ {least:.4g}" if least is not None else "", f"≤ {most:.4g}" if most is not None else ""]
        number = "none" if reached is None else f"{reached:.2f}"
        print(f"| {row} | {case} | {what} | {' '.join(filter(None, bounds))} | {number} | {'' if held else 'missed'} |")
    missed = {int(bar[0]) for bar in bars if not bar[5]}
    whole = sorted({int(bar[0]) for bar in bars} - missed)
    print(f"\nWhole: {', '.join(map(str, whole))}. Missed: {', '.join(map(str, sorted(missed))) or 'none'}.")


if __name__ == "__main__":
    main()
