#!/usr/bin/env python3
"""What a controller reaches on the rows that `seaway` is accepted by: utilisation, queueing delay, shares, loss and what
the viewer sees, each beside its bar. Writes a table in Markdown. Needs `seaway` and a folder of rows; rows that are
not there are named at the end."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
DROP_TAIL = 'queue = { kind = "drop-tail", time = "200 ms" }'
STARTS = ("5", "5.7", "6.3", "7.1")
# Beside SCReAM in the same run: its rate and 5 % of it more, at 1.05 of its delay.
CELLS = ("att-lte-2016", "verizon-lte", "tmobile-lte", "5g-irish", "norway-bus-1", "cellular-1")


class Rows:
    """The texts of the rows, read or derived from others."""

    def __init__(self, folder):
        self.folder, self.missing = folder, []

    def text(self, name):
        file = self.folder / f"{name}.toml"
        if not file.exists():
            self.missing.append(name)
            return None
        return file.read_text(encoding="utf-8").replace('"../traces', f'"{self.folder.parent.resolve()}/traces')

    def derived(self, name, *changes):
        text = self.text(name)
        for old, new in changes if text else ():
            if old not in text:
                sys.exit(f"{name}: there is no {old!r} to replace")
            text = text.replace(old, new)
        return text


def bottleneck(summary):
    return next(link for link in summary["links"] if "bottleneck" in link["name"])


def rates(summary):
    return [flow["received_bps"] for flow in summary["flows"]]


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def queue(summary, flow=0):
    return summary["flows"][flow]["queue_delay_ms"]["p95"]


VALUES = {
    "utilisation, %": lambda s: 100 * bottleneck(s)["utilisation"],
    "queueing p95, ms": queue,
    "largest queueing, ms": lambda s: s["flows"][0]["queue_delay_ms"]["max"],
    "worst queueing p95, ms": lambda s: max(queue(s, i) for i in range(len(s["flows"]))),
    "Mbit/s": lambda s: rates(s)[0] / 1e6,
    "our share": lambda s: len(rates(s)) * rates(s)[0] / sum(rates(s)),
    "their share": lambda s: len(rates(s)) * sum(rates(s)[1:]) / (len(rates(s)) - 1) / sum(rates(s)),
    "Jain": lambda s: jain(rates(s)),
    "most/least": lambda s: max(rates(s)) / min(rates(s)),
    "ours/theirs": lambda s: rates(s)[0] / rates(s)[1],
    "lost, %": lambda s: 100 * max(flow["loss_ratio"] for flow in s["flows"]),
    "PSNR, dB": lambda s: s["flows"][0]["psnr_db"]["value"],
    "frozen, %": lambda s: 100 * s["flows"][0]["freezes"]["total_s"] / s["flows"][0]["measured_s"],
}
U, Q = "utilisation, %", "queueing p95, ms"


def bars(rows):
    """Row number, name, text, and the bars: (value, least, most)."""
    loss = {"0": (97, 12), "0.5": (97, 12), "1": (97, 12), "2": (97, 12), "5": (97, 12), "10": (95, 15), "15": (93, 20)}
    for kind, last in (("loss", 90), ("burst", 88)):
        for p, (least, most) in {**loss, "20": (last, 20)}.items():
            if (kind, p) != ("burst", "0"):
                yield 1, f"{kind}-{p}", rows.text(f"{kind}-{p}"), [(U, least, None), (Q, None, most)]
    for p, least in (("0", 95), ("0.5", 95), ("1", 95), ("2", 95), ("5", 90), ("10", 85), ("15", 85), ("20", 85)):
        yield 2, f"loss-{p}-frames", rows.text(f"loss-{p}-frames"), [(U, least, None), (Q, None, 20)]
    for name, least, most in (("jitter-5", 96, 10), ("jitter-15", 92, 15), ("jitter-30", 88, 30), ("reorder-15", 90, 40)):
        yield 3, name, rows.text(name), [(U, least, None), (Q, None, most)]
    for name, most in (("drop-10-2", 25), ("drop-10-2-loss2", 25), ("drop-2.5-0.5", 45)):
        yield 4, name, rows.text(name), [(Q, None, most)]
    yield 4, "start", rows.text("start"), [("largest queueing, ms", None, 40)]
    yield 4, "rise-2-10", rows.text("rise-2-10"), [(U, 95, None)]
    for name, most in (("bloat-1s", 20), ("shallow-10p", 20), ("rtt-10", 20), ("rtt-100", 20), ("rtt-300", 50),
                       ("small-0.5M", 38), ("big-100M", 20)):
        yield 5, name, rows.text(name), [(U, 97, None), (Q, None, most)]
    yield from beside_tcp(rows)
    for name in ("self-2", "self-5", "self-10", "self-2-loss5"):
        yield 7, name, rows.text(name), [("Jain", 0.98, None), ("most/least", None, 1.3), ("worst queueing p95, ms", None, 20)]
    yield 7, "rttfair-20-200", rows.text("rttfair-20-200"), [("most/least", None, 2)]
    burst20 = ("mean = 0.1, burst = 4", "mean = 0.08, burst = 20")
    yield 8, "bursts of 20", rows.derived("burst-10", burst20), [(U, 95, None), (Q, None, 15)]
    yield 9, "wlan-1near", rows.text("wlan-1near"), [("Mbit/s", 38, None), (Q, None, 15)]
    yield 9, "wimax-up", rows.text("wimax-up"), [("Mbit/s", 1.95, None), (Q, None, 20)]
    yield 9, "wlan-3", rows.text("wlan-3"), [("worst queueing p95, ms", None, 60)]
    yield 10, "l4s-alone", rows.text("l4s-alone"), [(U, 93, None), (Q, None, 3)]
    yield 10, "l4s-vs-prague", rows.text("l4s-vs-prague"), [("ours/theirs", 0.5, 2)]
    three = ("rate = 0.02", "rate = 0.03"), (DROP_TAIL, 'queue = { kind = "drop-tail", packets = 3 }')
    yield 11, "three packets, 3 % loss", rows.derived("loss-2", *three), [("lost, %", None, 5)]
    yield 11, "three flows, 15 packets", three_flows(rows), [("Jain", 0.9, None), ("lost, %", None, 1)]
    yield from viewer()


def beside_tcp(rows):
    shares = [("our share", 0.6, 1.7), ("their share", 0.4, 1.6)]
    for tcp in ("newreno", "cubic"):
        for name in ("dt", "dt50", "red", "codel"):
            for start in STARTS:
                text = rows.derived(f"vs1{tcp}-{name}", ('start = "5 s"', f'start = "{start} s"'))
                yield 6, f"one {tcp}, {name}, {start} s", text, shares
        yield 6, f"four {tcp}, dt", rows.text(f"vs4{tcp}-dt"), shares
    yield 6, "vs-cubic-leaves", rows.text("vs-cubic-leaves"), [(U, 98, None), (Q, None, 20)]
    yield 6, "vs-udp5M", rows.text("vs-udp5M"), [("Mbit/s", 4.8, None), (Q, None, 20)]


def three_flows(rows):
    text = rows.derived("self-5", (DROP_TAIL, 'queue = { kind = "drop-tail", packets = 15 }'))
    if text is None:
        return None
    head, *flows = text.split("[[flow]]")
    return "[[flow]]".join([head, *flows[:3]])


def viewer():
    base = (HERE / "viewer.toml").read_text(encoding="utf-8")
    line = "loss = { kind = \"independent\", rate = 0.1 }\n"
    independent = lambda p: line.replace("0.1", str(p))
    bursts = 'loss = { kind = "gilbert-elliott", mean = 0.1, burst = 4 }\n'
    for name, loss, delay, psnr, frozen in (
        ("viewer, no loss", "", "25 ms", 41.8, 0), ("viewer, 10 %", line, "25 ms", 40, 1),
        ("viewer, 20 %", independent(0.2), "25 ms", 38.5, 3),
        ("viewer, 5 %, RTT 200 ms", independent(0.05), "100 ms", 39, 2), ("viewer, 10 % in bursts", bursts, "25 ms", 39.5, 2),
    ):
        text = base.replace(line, loss).replace('delay = "25 ms"', f'delay = "{delay}"')
        yield 12, name, text, [("PSNR, dB", psnr, None), ("frozen, %", None, frozen)]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def cells(rows, runs):
    """The rows of recorded and simulated cells, with bars of what SCReAM reaches."""
    for name in CELLS:
        text = rows.text(name)
        if text is not None:
            peer = runs(text, "scream")
            rate, delay = (mean(VALUES[what](summary) for summary in peer) for what in ("Mbit/s", Q))
            yield 8, name, text, [("Mbit/s", 1.05 * rate, None), (Q, None, 1.05 * delay)]


def run(seaway, text, control, seed):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text.replace('control = "nada"', f'control = "{control}"'))
        file.flush()
        command = [seaway, "sim", file.name, "--json", "--no-timing", "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seaway", default="target/release/seaway")
    parser.add_argument("--rows", type=pathlib.Path, default=pathlib.Path("../shared/rows"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("control", nargs="?", default="seaway")
    arguments = parser.parse_args()
    if not arguments.rows.is_dir():
        sys.exit(f"SKIPPED: no folder {arguments.rows}")
    rows = Rows(arguments.rows)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    print("| row | case | what | bar | reached | |\n| --- | --- | --- | --- | --- | --- |")
    missed, seen = set(), set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def runs(text, control):
            return list(pool.map(lambda seed: run(arguments.seaway, text, control, seed), seeds))

        cases = [case for case in bars(rows) if case[2] is not None] + list(cells(rows, runs))
        for number, name, text, checks in sorted(cases, key=lambda case: case[0]):
            summaries = runs(text, arguments.control)
            seen.add(number)
            for what, least, most in checks:
                value = mean(VALUES[what](summary) for summary in summaries)
                held = (least is None or value >= least) and (most is None or value <= most)
                bar = " to ".join(f"{bound:.4g}" for bound in (least, most) if bound is not None)
                bar = bar if least is not None and most is not None else f"{'≥' if most is None else '≤'} {bar}"
                missed |= set() if held else {number}
                print(f"| {number} | {name} | {what} | {bar} | {value:.2f} | {'' if held else 'missed'} |", flush=True)
    whole = sorted(seen - missed)
    print(f"\nWhole: {', '.join(map(str, whole))}. Missed: {', '.join(map(str, sorted(missed))) or 'none'}.")
    if rows.missing:
        print(f"Not there: {', '.join(sorted(set(rows.missing)))}.")


if __name__ == "__main__":
    main()
