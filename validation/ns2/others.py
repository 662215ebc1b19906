#!/usr/bin/env python3
"""Connections, losses and algorithms that neither tfrc.py nor tcp.py has, by the same means.

Runs `ns` and `seaway` (or $SEAWAY) and writes docs/results/others-ns2.md. Ends with 1 where a row leaves its bound.
"""

import sys

import path
import tcp
import tfrc
from path import Path

LOSSY = [Path(tfrcs=count, rate=20, loss=loss, begin=50, end=250)
         for loss in (0.005, 0.01, 0.02, 0.03, 0.05) for count in (1, 3, 5, 6, 7, 8)]
TCP_LOSSES = (0.002, 0.005, 0.02, 0.05, 0.08)


def page(lossy, tcps, versions):
    return f"""# Other cases beside ns-2

What [tfrc-ns2.md](tfrc-ns2.md) and [tcp-ns2.md](tcp-ns2.md) do not have, by the same means: other numbers of connections,
other losses. Bounds: 10 %; 25 % for TCP above a loss of 3 %.

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
"""


def main():
    lossy = [tfrc.lossy(case) for case in LOSSY]
    tcps = [tcp.row(*algorithm, loss, "drop-tail") for loss in TCP_LOSSES for algorithm in tcp.ALGORITHMS]
    lines = ["\n".join(line for _, line in rows) for rows in (lossy, tcps)]
    path.write("others-ns2.md", page(*lines, path.versions()))
    return 0 if all(holds for holds, _ in lossy + tcps) else 1


if __name__ == "__main__":
    sys.exit(main())
