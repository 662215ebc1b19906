#!/usr/bin/env python3
"""NADA on RFC 8867's wired cases, as ns3-rmcat sets them up, beside what ns3-rmcat has there.

The numbers of ns3-rmcat stand in ns3-rmcat.csv; docs/results/nada-ns3.md says how they were made.
Usage: cases.py SEAWAY [CONTROL...]
"""

import csv
import json
import pathlib
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# ns3-rmcat counts in powers of two.
M, K = 1 << 20, 1 << 10
WARMUP = 10


def quoted(value):
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def table(heading, /, **keys):
    return f"[[{heading}]]\n" + "".join(f"{key} = {quoted(value)}\n" for key, value in keys.items()) + "\n"


def case(name, seconds, capacity, flows, delay=50, forth=(), back=(), extra=""):
    """A dumbbell: 5 % of the delay before the bottleneck, 90 % on it, 5 % behind; UDP takes what is not to be had.

    flows: (name, from the left?, start, stop, one-way delay, more keys)
    """
    text = f'schema = 1\nname = "{name}"\nduration = "{seconds} s"\nwarmup = "{WARMUP} s"\n\n'
    queue = f'queue = {{ kind = "drop-tail", bytes = "{capacity * 300 // 8000} B" }}\n'
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
            text += 'queue = { kind = "drop-tail", packets = 10000 }\n\n'
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
        rest += 'source = { kind = "frames", model = "periodic", key_ratio = 1.0, fps = 30 }\n' + more + "\n"
    for way, steps in (("forth", forth), ("back", back)):
        ends = ("left", "right") if way == "forth" else ("right", "left")
        for index, (start, left) in enumerate(steps):
            stop = steps[index + 1][0] if index + 1 < len(steps) else seconds
            if capacity > left:
                rest += table("flow", **{"name": f"{way}{index}", "kind": "udp", "from": host(ends[0], near),
                                         "to": host(ends[1], near), "start": f"{start} s", "stop": f"{stop} s",
                                         "rate": f"{capacity - int(left)} bit/s", "packet": "1028 B"})
    tcp = {"kind": "tcp", "from": host("left", near), "to": host("right", near), "packet": "1052 B"}
    for name, keys in extra or ():
        rest += table("flow", **{"name": name, **tcp, **keys})
    return text + rest


def media(count, stop, starts=None, is_forth=True, delays=None, more=None):
    return [(f"{'forth' if is_forth else 'back'}-{i}", is_forth, (starts or [0] * count)[i], stop,
             (delays or [50] * count)[i], (more or [""] * count)[i]) for i in range(count)]


STEPS = [(0, M), (40, 2.5 * M), (60, 0.6 * M), (80, M)]
CASES = {
    "5.1-fixfps": case("5.1-fixfps", 100, 4 * M, media(1, 99), forth=STEPS),
    "5.1-fixfps-pdel_100ms": case("5.1-fixfps-pdel_100ms", 100, 4 * M, media(1, 99, delays=[100]), delay=100, forth=STEPS),
    "5.2-fixfps": case("5.2-fixfps", 125, 4 * M, media(2, 124),
                       forth=[(0, 4 * M), (25, 2 * M), (50, 3.5 * M), (75, M), (100, 2 * M)]),
    "5.3-fixfps": case("5.3-fixfps", 100, 4 * M, media(1, 99) + media(1, 99, is_forth=False),
                       forth=[(0, 2 * M), (20, M), (40, 0.5 * M), (60, 2 * M)], back=[(0, 2 * M), (35, 0.8 * M), (70, 2 * M)]),
    "5.4-fixfps": case("5.4-fixfps", 120, int(3.5 * M), media(3, 119, starts=[0, 20, 40])),
    "5.5-fixfps": case("5.5-fixfps", 300, 4 * M, media(5, 299, starts=[0, 10, 20, 30, 40], delays=[10, 25, 50, 100, 150]), delay=10),
    "5.6-fixfps": case("5.6-fixfps", 120, 2 * M, media(1, 119, starts=[5]),
                       extra=[("tcp", {"start": "40 s", "stop": "80 s"})]),
    "5.7-fixfps": case("5.7-fixfps", 300, 2 * M, media(2, 299, starts=[5, 5]),
                       extra=[(f"short{i}", {"start": "10 s", "stop": "290 s", "idle": "10 s", "starts_idle": i >= 2})
                              for i in range(10)]),
    "5.8-fixfps": case("5.8-fixfps", 120, int(3.5 * M), media(3, 119, more=["", 'pause = [["40 s", "60 s"]]\n', ""])),
}
CASES["5.7-fixfps"] = CASES["5.7-fixfps"].replace(
    "\nidle = ", f'\nsize = {{ uniform = ["{30 * K} B", "{50 * K} B"] }}\nidle = ')


def run(seaway, name, control):
    """Rate and queueing delay of each media flow, and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    sets = [word for flow in CASES[name].split("[[flow]]")[1:] if 'kind = "media"' in flow
            for word in ("--set", f"flow.{flow.split(chr(34))[1]}.control={control}")]
    done = subprocess.run([seaway, "sim", "-", "--json", *sets], input=CASES[name], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    flows = [flow for flow in json.loads(done.stdout)["flows"] if flow["kind"] == "media"]
    return [(flow["received_bps"] / 1e3, flow["queue_delay_ms"]["mean"], flow["loss_ratio"]) for flow in flows], spent


def main():
    seaway, controls = sys.argv[1], sys.argv[2:] or ["nada", "nada(variant=draft)"]
    theirs = {}
    for row in csv.DictReader((HERE / "ns3-rmcat.csv").open()):
        theirs.setdefault(row["case"], []).append(row)
    for control in controls:
        print(f"\n`{control}`\n\n| case | flow | ns3-rmcat kbit/s | ours | ratio | ns3-rmcat queueing ms | ours | difference "
              "| lost there | lost here | simulated s / CPU s there | here |\n|" + " --- |" * 12)
        for name, rows in theirs.items():
            ours, spent = run(seaway, name, control)
            seconds = float(rows[0]["seconds"])
            for index, (row, (rate, delay, lost)) in enumerate(zip(rows, ours)):
                there, waited = float(row["kbps"]), float(row["queue_ms"])
                speed = (f"{seconds / float(row['cpu_s']):.0f} | {seconds / spent:.0f}" if index == 0 else " | ")
                print(f"| {name} | {index} | {there:.0f} | {rate:.0f} | {rate / there:.3f} | {waited:.1f} | {delay:.1f} "
                      f"| {delay - waited:+.1f} | {float(row['lost']):.2%} | {lost or 0:.2%} | {speed} |")


if __name__ == "__main__":
    main()
