#!/usr/bin/env python3
"""TFRC beside ns-2's: alone, under random loss, many together, and against TCP.

Runs `ns` and `seaway` (or $SEAWAY) and writes docs/results/tfrc-ns2.md. Ends with 1 where a row leaves its bound.
"""

import concurrent.futures
import os
import statistics
import sys

import path
from path import Path

SEEDS = 5
ALONE = [
    Path(tfrcs=1, begin=100, end=300),
    Path(tfrcs=1, rate=1, limit=50, begin=100, end=300),
    Path(tfrcs=1, rate=5, delay=0.008, limit=50, begin=100, end=300),
    Path(tfrcs=1, rate=10, delay=0.098, packet=500, limit=250, begin=100, end=300),
    Path(tfrcs=1, rate=2, packet=1400, limit=30, begin=100, end=300),
    Path(tfrcs=1, rate=30, delay=0.023, limit=150, begin=100, end=300),
    Path(tfrcs=1, rate=3, delay=0.028, queue="RED", limit=250, begin=100, end=300),
]
SATURATED = [Path(tfrcs=count, rate=rate, loss=loss, limit=60, begin=60, end=360)
             for count, rate, loss in [(4, 1, 0.01), (8, 2, 0.03), (16, 2, 0.05), (24, 2, 0.1)]]
LOSSY = [Path(tfrcs=count, rate=20, loss=loss, begin=50, end=350)
         for loss in (0.003, 0.01, 0.02, 0.03) for count in (1, 2, 4, 8)]
BEST = [(rate, loss) for rate in (1, 2) for loss in (0.01, 0.02, 0.03, 0.04)]
MIXED = [Path(tfrcs=8, tcps=8, begin=50, end=200), Path(tfrcs=16, tcps=16, begin=50, end=200),
         Path(tfrcs=8, tcps=8, rate=8, delay=0.028, limit=70, begin=50, end=200),
         Path(tfrcs=16, tcps=16, rate=30, delay=0.018, limit=150, begin=50, end=200),
         Path(tfrcs=8, tcps=8, queue="RED", limit=250, begin=50, end=200)]


def both(case, seeds=SEEDS):
    return [path.ns2(case, seed) for seed in range(1, seeds + 1)], path.seaway(case, seeds)


def mean(outcomes, value):
    return statistics.mean(value(outcome) for outcome in outcomes)


def describe(case):
    parts = [f"{case.rate:g} Mbit/s", f"{2e3 * (case.delay + 0.002):g} ms", f"{case.packet} B", f"{case.queue} {case.limit}"]
    return ", ".join(parts)


def line(*cells):
    print(" | ".join(map(str, cells)), file=sys.stderr, flush=True)
    return "| " + " | ".join(map(str, cells)) + " |"


def verdict(holds):
    return "held" if holds else "**missed**"


def percent(ours, theirs):
    return f"{(ours / theirs - 1) * 100:+.1f} %"


def alone(case):
    theirs, ours = both(case)
    rates = [mean(side, lambda outcome: sum(outcome.tfrc)) for side in (theirs, ours)]
    rtts = [mean(side, lambda outcome: outcome.rtt * 1e3) for side in (theirs, ours)]
    holds = abs(rates[1] / rates[0] - 1) <= 0.01 and abs(rtts[1] / rtts[0] - 1) <= 0.1
    cells = [f"{rate:.3f}" for rate in rates] + [percent(rates[1], rates[0])]
    cells += [f"{rtt:.1f}" for rtt in rtts] + [percent(rtts[1], rtts[0])]
    return holds, line(describe(case), *cells, verdict(holds))


def saturated(case):
    theirs, ours = both(case)
    full = case.rate * (1 - case.loss)
    rates = [mean(side, lambda outcome: sum(outcome.tfrc)) for side in (theirs, ours)]
    holds = abs(rates[1] / full - 1) <= 0.005
    cells = [f"{rate:.4f} ({percent(rate, full)})" for rate in rates]
    return holds, line(case.tfrcs, f"{case.rate:g}", case.loss, f"{full:.4f}", *cells, verdict(holds))


def lossy(case):
    theirs, ours = both(case)
    rates = [mean(side, lambda outcome: sum(outcome.tfrc)) for side in (theirs, ours)]
    holds = abs(rates[1] / rates[0] - 1) <= 0.1
    return holds, line(case.loss, case.tfrcs, *(f"{rate:.3f}" for rate in rates), percent(rates[1], rates[0]), verdict(holds))


def best(rate_and_loss):
    """The fewest connections that carry 95 % of what the channel lets through."""
    rate, loss = rate_and_loss
    found = []
    for side in range(2):
        for count in range(1, 17):
            outcomes = both(Path(tfrcs=count, rate=rate, loss=loss, limit=60, begin=50, end=250), 2)[side]
            if mean(outcomes, lambda outcome: sum(outcome.tfrc)) >= 0.95 * rate * (1 - loss):
                break
        found.append(count)
    holds = abs(found[0] - found[1]) <= 1
    return holds, line(f"{rate:g}", loss, *found, verdict(holds))


def mixed(case):
    theirs, ours = both(case)
    cells, holds = [], True
    for name in ("tfrc", "tcp"):
        values = [statistics.mean(getattr(outcome, name)) * 1e3 for outcome in theirs]
        found = mean(ours, lambda outcome: statistics.mean(getattr(outcome, name)) * 1e3)
        centre, deviation = statistics.mean(values), statistics.stdev(values)
        holds &= abs(found - centre) <= 3 * deviation
        cells += [f"{centre:.0f} ± {3 * deviation:.0f}", f"{found:.0f}"]
    return holds, line(f"{case.tfrcs} and {case.tcps}", describe(case), *cells, verdict(holds))


TABLES = [
    ("Alone", "Mean of all octets that arrive, and of the round trip of a packet: propagation, serialisation and waiting. "
     "Bounds: 1 % and 10 %.",
     "path | ns-2, Mbit/s | Seaway | difference | ns-2, ms | Seaway | difference | bound", ALONE, alone),
    ("A saturated link behind which packets are lost", "What is delivered of B(1 - p). Bound: 0.5 %.",
     "connections | B, Mbit/s | p | B(1 - p) | ns-2 | Seaway | bound", SATURATED, saturated),
    ("Random loss", "All connections together, 20 Mbit/s and 100 ms, packets of 1000 B. Bound: 10 %.",
     "p | connections | ns-2, Mbit/s | Seaway | difference | bound", LOSSY, lossy),
    ("The best number of connections", "The fewest that carry 95 % of B(1 - p), 100 ms, packets of 1000 B. Bound: 1.",
     "B, Mbit/s | p | ns-2 | Seaway | bound", BEST, best),
    ("Against TCP", "Mean rate of a connection, ns-2 with three standard deviations over its seeds. TCP is SACK. "
     "Bound: inside.",
     "TFRC and TCP | path | TFRC ns-2, kbit/s | Seaway | TCP ns-2, kbit/s | Seaway | bound", MIXED, mixed),
]


def main():
    sections, all_hold = [], True
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        for title, about, head, cases, run in TABLES:
            rows = list(pool.map(run, cases))
            all_hold &= all(holds for holds, _ in rows)
            rule = " | ".join("---" for _ in head.split(" | "))
            table = [f"| {head} |", f"| {rule} |", *(text for _, text in rows)]
            sections.append(f"## {title}\n\n{about}\n\n" + "\n".join(table) + "\n")
    text = f"""# TFRC beside ns-2

`control = "tfrc(profile=ns2)"`, saturated, beside ns-2's `Agent/TFRC`: packets cross an access link of 1 Gbit/s and
1 ms on each side of the bottleneck, as drawn in `path.tcl` and `path.toml`. Connections begin within the first 5 s;
{SEEDS} seeds each.

Versions: {path.versions()}.
Command: `python3 validation/ns2/tfrc.py`.

"""
    path.write("tfrc-ns2.md", text + "\n".join(sections))
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
