#!/usr/bin/env python3
"""Connections, losses and algorithms that neither tfrc.py nor tcp.py has, by the same means.

Runs `ns` and `seaway` (or $SEAWAY) and writes docs/results/others-ns2.md. Ends with 1 where a row leaves its bound.
"""

import statistics
import sys

import path
import tcp
import tfrc
from path import Path

LOSSY = [Path(tfrcs=count, rate=20, loss=loss, begin=50, end=250)
         for loss in (0.005, 0.01, 0.02, 0.03, 0.05) for count in (1, 3, 5, 6, 7, 8)]
TCP_LOSSES = (0.002, 0.005, 0.02, 0.05, 0.08)
# Thousands of packets a round trip: the rate is what slow start and the first loss leave.
LONG = [Path(tfrcs=1, rate=100, delay=0.1, limit=500, begin=40, end=140),
        Path(tfrcs=1, rate=100, delay=0.1, packet=500, limit=100, begin=40, end=140),
        Path(tfrcs=1, rate=60, delay=0.3, packet=500, limit=300, begin=40, end=140)]
NEAR = [Path(tcps=1, algorithm=algorithm, rate=10, delay=delay, loss=loss, begin=20, end=200)
        for delay in (0.003, 0.013) for loss in (0.01, 0.03) for algorithm in path.AGENTS]
BESIDE = [Path(tfrcs=8, tcps=8, algorithm=algorithm, rate=19.4, delay=0.00324, packet=576, limit=68, begin=60, end=200)
          for algorithm in path.AGENTS]


def near(case):
    theirs, ours = tfrc.both(case)
    rates = [[sum(outcome.tcp) * 1e3 for outcome in side] for side in (theirs, ours)]
    ratio = statistics.mean(rates[1]) / statistics.mean(rates[0])
    cells = [case.algorithm, f"{2e3 * (case.delay + 0.002):g} ms", f"{case.loss:g}"]
    cells += [f"{statistics.mean(values):.0f} ± {interval(values):.0f}" for values in rates]
    return abs(ratio - 1) <= 0.1, tfrc.line(*cells, f"{(ratio - 1) * 100:+.1f} %", tfrc.verdict(abs(ratio - 1) <= 0.1))


def interval(values):
    """Half of the 95 % interval of the mean (Student's t, five values)."""
    return 2.776 * statistics.stdev(values) / len(values) ** 0.5


def beside(case):
    holds, text = tfrc.mixed(case)
    return holds, f"| {case.algorithm} {text}"


def page(lossy, tcps, long, close, mixed, versions):
    return f"""# Other cases beside ns-2

What [tfrc-ns2.md](tfrc-ns2.md) and [tcp-ns2.md](tcp-ns2.md) do not have, by the same means: other numbers of connections,
other losses, shorter and longer paths. Bounds: 10 %; 25 % for TCP above a loss of 3 %.

Versions: {versions}. Command: `python3 validation/ns2/others.py`.

## TFRC under random loss

All connections together, 20 Mbit/s and 100 ms, packets of 1000 B, 50 to 250 s, {tfrc.SEEDS} seeds.

| p | connections | ns-2, Mbit/s | Seaway | difference | bound |
| --- | --- | --- | --- | --- | --- |
{lossy}

## TCP

One connection, 10 Mbit/s, 100 ms, goodput in kbit/s, {len(tcp.SEEDS)} seeds.

| algorithm | queue | loss | ns-2, kbit/s | Seaway, kbit/s | difference | bound |
| --- | --- | --- | --- | --- | --- | --- |
{tcps}

Near by, queue of 125 packets, 20 to 200 s, {tfrc.SEEDS} seeds.

| algorithm | round trip | loss | ns-2, kbit/s | Seaway, kbit/s | difference | bound |
| --- | --- | --- | --- | --- | --- | --- |
{close}

## TFRC alone on fast and long paths

No random loss, {tfrc.SEEDS} seeds, 40 to 140 s. Bounds: 1 % and 10 %. The first loss leaves a rate below the link's, for which ns-2
inverts the equation within 5 %.

| path | ns-2, Mbit/s | Seaway | difference | ns-2, ms | Seaway | difference | bound |
| --- | --- | --- | --- | --- | --- | --- | --- |
{long}

## TFRC beside each TCP

Mean rate of a connection, ns-2 with three standard deviations over its {tfrc.SEEDS} seeds. Bound: inside.

| algorithm | TFRC and TCP | path | TFRC ns-2, kbit/s | Seaway | TCP ns-2, kbit/s | Seaway | bound |
| --- | --- | --- | --- | --- | --- | --- | --- |
{mixed}
"""


def main():
    lossy = [tfrc.lossy(case) for case in LOSSY]
    tcps = [tcp.row(*algorithm, loss, "drop-tail") for loss in TCP_LOSSES for algorithm in tcp.ALGORITHMS]
    tables = [lossy, tcps, [tfrc.alone(case) for case in LONG], [near(case) for case in NEAR], [beside(case) for case in BESIDE]]
    lines = ["\n".join(line for _, line in rows) for rows in tables]
    path.write("others-ns2.md", page(*lines, path.versions()))
    return 0 if all(holds for rows in tables for holds, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
