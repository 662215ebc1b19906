#!/usr/bin/env python3
"""NADA on RFC 8867's wired cases, as ns3-rmcat sets them up, beside what ns3-rmcat has there.

ns3-rmcat.csv has the numbers of ns3-rmcat, eight runs of each case with different random numbers;
docs/results/nada-ns3.md says how they were made. Runs ours as often and writes the tables of that page; with the names
of controllers it prints their tables.
Usage: cases.py [CONTROL...], `seaway` or $SEAWAY
"""

import csv
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))
RESULT = ROOT / "docs/results/nada-ns3.md"
BEGIN, END = "## Side by side\n", "## Findings\n"
# ns3-rmcat counts in powers of two.
M, K = 1 << 20, 1 << 10
WARMUP = 10
SEEDS = range(1, 9)
# Asked: mean rate within a tenth, mean queueing within 10 ms.
RATE, QUEUEING = 0.1, 10


def quoted(value):
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def table(heading, /, **keys):
    return f"[[{heading}]]\n" + "".join(f"{key} = {quoted(value)}\n" for key, value in keys.items()) + "\n"


def case(name, seconds, capacity, flows, delay=50, forth=(), back=(), extra=""):
    """A dumbbell: 5 % of the delay before the bottleneck, 90 % on it, 5 % behind; UDP takes what is not to be had.

    flows: (name, from the left?, start, stop, one-way delay, more keys)
    """
    text = f'schema = 1\nname = "{name}"\nduration = "{seconds} s"\nwarmup = "{WARMUP} s"\n\n'
    # A device of ns-3 takes nothing while another 1500 B would not fit.
    queue = f'queue = {{ kind = "drop-tail", bytes = "{capacity * 300 // 8000} B", room = "1500 B" }}\n'
    text += table("link", **{"name": "bottleneck", "from": "left", "to": "right", "both": True,
                             "rate": f"{capacity} bit/s", "delay": f"{delay * 900} us"})[:-1] + queue + "\n"
    hosts = {}

    def host(side, milliseconds):
        key = (side, milliseconds)
        if key not in hosts:
            hosts[key] = f"host{len(hosts)}"
            nonlocal text
            text += table("link", **{"name": hosts[key], "from": hosts[key], "to": side, "both": True,
                                     "rate": "1 Gbit/s", "delay": f"{milliseconds * 1000:.0f} us"})[:-1]
            text += 'queue = { kind = "drop-tail", packets = 10000 }\n'
            # Its senders sleep up to 1 % longer than they should, 40 us in the mean; its feedback comes on the microsecond.
            text += 'jitter = { kind = "rfc8868", std = "50 us" }\n\n' if side == "left" else "\n"
        return hosts[key]

    rest = ""
    near = delay * 0.05
    for name, is_forth, start, stop, own, more in flows:
        ends = ("left", "right") if is_forth else ("right", "left")
        keys = {"name": name, "kind": "media", "control": "nada", "from": host(ends[0], near + own - delay),
                "to": host(ends[1], near), "start": f"{start} s", "stop": f"{stop} s", "packet": "1040 B"}
        rest += table("flow", **keys)[:-1]
        # It counts payload, we count IP datagrams: 1040 B for each 1000 B.
        least, most = 150 * K * 104 // 100, 1500 * K * 104 // 100
        rest += f'rate = {{ min = "{least} bit/s", start = "{least} bit/s", max = "{most} bit/s" }}\n'
        # Frames of one size at intervals that spread as RFC 8593's; what waits at the sender is not made up for (BETA is 0).
        rest += 'source = { kind = "frames", model = "periodic", key_ratio = 1.0, fps = 30, spread = 0.15 }\n'
        rest += 'policy = "direct(drain=off)"\n' + more + "\n"
    for way, steps in (("forth", forth), ("back", back)):
        ends = ("left", "right") if way == "forth" else ("right", "left")
        for index, (start, left) in enumerate(steps):
            stop = steps[index + 1][0] if index + 1 < len(steps) else seconds
            if capacity > left:
                rest += table("flow", **{"name": f"{way}{index}", "kind": "udp", "from": host(ends[0], near),
                                         "to": host(ends[1], near), "start": f"{start} s", "stop": f"{stop} s",
                                         "rate": f"{capacity - int(left)} bit/s", "packet": "1028 B"})
    # ns-3's "TcpNewReno" has SACK on; the case turns delayed acknowledgements off.
    tcp = {"kind": "tcp", "algorithm": "sack", "from": host("left", near), "to": host("right", near), "packet": "1052 B"}
    for name, keys in extra or ():
        rest += table("flow", **{"name": name, **tcp, **keys})
    return text + rest


def media(count, stop, starts=None, is_forth=True, delays=None, more=None):
    return [(f"{'forth' if is_forth else 'back'}-{i}", is_forth, (starts or [0] * count)[i], stop,
             (delays or [50] * count)[i], (more or [""] * count)[i]) for i in range(count)]


def short(seed):
    """Its ten sources of short transfers: it counts the time to the next from the start of the last, not from its end, and
    begins with seven at once and three later, where the RFC has two and eight."""
    draw = random.Random(seed)
    flows = []
    for source in range(10):
        at = 10 + (0 if source > 2 else draw.expovariate(1 / 10))
        while at < 290:
            size = f"{draw.randint(30 * K, 50 * K)} B"
            flows.append((f"short{len(flows)}", {"start": f"{at:.6f} s", "stop": "299 s", "size": size}))
            at += draw.expovariate(1 / 10)
    return flows


STEPS = [(0, M), (40, 2.5 * M), (60, 0.6 * M), (80, M)]
def cases(seed):
    return {
        "5.1-fixfps": case("5.1-fixfps", 100, 4 * M, media(1, 99), forth=STEPS),
        "5.1-fixfps-pdel_100ms": case("5.1-fixfps-pdel_100ms", 100, 4 * M, media(1, 99, delays=[100]), delay=100, forth=STEPS),
        "5.2-fixfps": case("5.2-fixfps", 125, 4 * M, media(2, 124),
                           forth=[(0, 4 * M), (25, 2 * M), (50, 3.5 * M), (75, M), (100, 2 * M)]),
        "5.3-fixfps": case("5.3-fixfps", 100, 4 * M, media(1, 99) + media(1, 99, is_forth=False),
                           forth=[(0, 2 * M), (20, M), (40, 0.5 * M), (60, 2 * M)],
                           back=[(0, 2 * M), (35, 0.8 * M), (70, 2 * M)]),
        "5.4-fixfps": case("5.4-fixfps", 120, int(3.5 * M), media(3, 119, starts=[0, 20, 40])),
        "5.5-fixfps": case("5.5-fixfps", 300, 4 * M,
                           media(5, 299, starts=[0, 10, 20, 30, 40], delays=[10, 25, 50, 100, 150]), delay=10),
        "5.6-fixfps": case("5.6-fixfps", 120, 2 * M, media(1, 119, starts=[5]),
                           extra=[("tcp", {"start": "40 s", "stop": "80 s"})]),
        "5.7-fixfps": case("5.7-fixfps", 300, 2 * M, media(2, 299, starts=[5, 5]), extra=short(seed)),
        "5.8-fixfps": case("5.8-fixfps", 120, int(3.5 * M), media(3, 119, more=["", 'pause = [["40 s", "60 s"]]\n', ""])),
    }


def run(text, control, seed):
    """Rate, queueing delay and loss of each media flow, and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    sets = [word for flow in text.split("[[flow]]")[1:] if 'kind = "media"' in flow
            for word in ("--set", f"flow.{flow.split(chr(34))[1]}.control={control}")]
    command = [SEAWAY, "sim", "-", "--json", "--seed", str(seed), *sets]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    flows = [flow for flow in json.loads(done.stdout)["flows"] if flow["kind"] == "media"]
    return [(flow["received_bps"] / 1e3, flow["queue_delay_ms"]["mean"], flow["loss_ratio"] or 0) for flow in flows], spent


def spread(values, digits):
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def table_of(control, theirs):
    lines = [f"\n`{control}`\n\n| case | flow | ns3-rmcat kbit/s | ours | ratio | ns3-rmcat queueing ms | ours | difference "
          "| lost there | lost here | simulated s / CPU s there | here | bound |\n|" + " --- |" * 13]
    for name, rows in theirs.items():
        runs = [run(cases(seed)[name], control, seed) for seed in SEEDS]
        seconds, flows = float(rows[0]["seconds"]), len(runs[0][0])
        speed = [seconds / statistics.mean(float(row["cpu_s"]) for row in rows),
                 seconds / statistics.mean(spent for _, spent in runs)]
        for flow in range(flows):
            of_flow = [row for row in rows if int(row["flow"]) == flow]
            there = [[float(row[key]) for row in of_flow] for key in ("kbps", "queue_ms", "lost")]
            here = list(zip(*(measured[flow] for measured, _ in runs)))
            (rate, wait, lost), (our_rate, our_wait, our_lost) = (map(statistics.mean, side) for side in (there, here))
            held = abs(our_rate / rate - 1) <= RATE and abs(our_wait - wait) <= QUEUEING
            fast = f"{speed[0]:.0f} | {speed[1]:.0f}" if flow == 0 else " | "
            lines.append(f"| {name} | {flow} | {spread(there[0], 0)} | {spread(here[0], 0)} | {our_rate / rate:.3f} "
                  f"| {spread(there[1], 1)} | {spread(here[1], 1)} | {our_wait - wait:+.1f} | {lost:.2%} | {our_lost:.2%} "
                  f"| {fast} | {'held' if held else '**missed**'} |")
    return "\n".join(lines) + "\n"


def main():
    theirs = {}
    for row in csv.DictReader((HERE / "ns3-rmcat.csv").open()):
        theirs.setdefault(row["case"], []).append(row)
    if sys.argv[1:]:
        return print("".join(table_of(control, theirs) for control in sys.argv[1:]))
    tables = "".join(table_of(control, theirs) for control in ("nada(variant=draft)", "nada"))
    text = RESULT.read_text()
    beside = RESULT.with_suffix(".new")
    beside.write_text(text[: text.index(BEGIN)] + BEGIN + tables + "\n" + text[text.index(END):])
    beside.replace(RESULT)


if __name__ == "__main__":
    main()
