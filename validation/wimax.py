#!/usr/bin/env python3
"""The uplink of `[[wimax]]` beside the arithmetic of its slots: ns-3's module is another standard (OFDM-256).

Runs `seaway` (or $SEAWAY) and writes docs/results/wimax.md. Ends with 1 where a cell leaves its bound.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))
# Octets a slot: 48 subcarriers.
MODULATIONS = {"qpsk-1/2": 6, "qpsk-3/4": 9, "16-qam-1/2": 12, "16-qam-3/4": 18,
               "64-qam-1/2": 18, "64-qam-2/3": 24, "64-qam-3/4": 27, "64-qam-5/6": 30}
# Symbols down and up; the first are those of 1:3.
SYMBOLS = [(11, 36), (14, 33), (17, 30), (20, 27), (26, 21)]
SIZES = [1028, 300]
SUBCHANNELS, CONTROL, FRAME, HEADERS = 35, 6, 0.005, 8
BOUND = 0.002


def capacity(up, octets, size):
    """IP Mbit/s of one saturated station: a grant holds (g - h) / (S + h) packets, the last of them cut."""
    grant = (SUBCHANNELS * up // 3 - CONTROL) * octets
    return (grant - HEADERS) / (size + HEADERS) / FRAME * size * 8 / 1e6


def measured(symbols, modulation, size, offered):
    text = f"""schema = 1
name = "uplink"
duration = "22 s"
warmup = "2 s"

[[wimax]]
name = "cell"
base = {{ name = "bs" }}
symbols = [{symbols[0]}, {symbols[1]}]
modulation = "{modulation}"
station = [{{ name = "ss" }}]

[[flow]]
name = "full"
kind = "udp"
from = "ss"
to = "bs"
rate = "{offered:.6f} Mbit/s"
packet = "{size} B"
service = "rtps"
"""
    done = subprocess.run([SEAWAY, "sim", "-", "--json"], input=text, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["flows"][0]["received_bps"] / 1e6


def main():
    rows, held = [], True
    for symbols in SYMBOLS:
        for modulation, octets in MODULATIONS.items():
            for size in SIZES:
                want = capacity(symbols[1], octets, size)
                got = measured(symbols, modulation, size, 1.3 * want)
                held &= abs(got / want - 1) <= BOUND
                rows.append(f"| {symbols[0]} : {symbols[1]} | {modulation} | {size} B | {want:.4f} | {got:.4f} | {100 * (got / want - 1):+.2f} % |")
    version = subprocess.run([SEAWAY, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    text = f"""# The WiMAX uplink beside the arithmetic of its slots

One saturated station, frames of 5 ms, a static grant of the whole uplink: 35 subchannels of three symbols, six slots for
control, 8 B of headers a packet or fragment. IP Mbit/s; bound {100 * BOUND:g} %: {"held" if held else "**missed**"}.
ns-3's WiMAX module is OFDM-256 and no model of this channel.

Version: {version}. Command: `python3 validation/wimax.py`.

| symbols down : up | modulation | packet | slots carry | measured | difference |
| --- | --- | --- | --- | --- | --- |
""" + "\n".join(rows) + "\n"
    result = ROOT / "docs/results/wimax.md"
    beside = result.with_suffix(".new")
    beside.write_text(text)
    beside.replace(result)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
