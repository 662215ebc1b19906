#!/usr/bin/env python3
"""Flows of one controller that share a link, about one Mbit/s each: who has how much, how late frames are, and who takes others for TCPs.

One flow begins each 5 s; the last 40 s count, when all are there. A link of 25 ms each way with 200 ms of queue.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

# Flows, Mbit/s, source, loss.
NETWORKS = {
    "two encoders, 2 Mbit/s": (2, 2, "frames", 0.0),
    "three encoders, 3 Mbit/s": (3, 3, "frames", 0.0),
    "three encoders, 3 Mbit/s, 1 % lost": (3, 3, "frames", 0.01),
    "three that always send, 3 Mbit/s": (3, 3, "saturated", 0.0),
    "three encoders, 12 Mbit/s": (3, 12, "frames", 0.0),
    "ten encoders, 20 Mbit/s": (10, 20, "frames", 0.0),
    "ten that always send, 20 Mbit/s": (10, 20, "saturated", 0.0),
}
COMPETING = "foreign packets between ours"


def scenario(control, flows, rate, source, loss):
    begun = 5 * (flows - 1)
    text = f'schema = 1\nname = "own-kind"\nduration = "{begun + 65} s"\nwarmup = "{begun + 25} s"\n'
    text += f'[[link]]\nname = "bottleneck"\nfrom = "a"\nto = "b"\nboth = true\nrate = "{rate} Mbit/s"\ndelay = "25 ms"\n'
    text += 'queue = { kind = "drop-tail", time = "200 ms" }\n'
    if loss:
        text += f'loss = {{ kind = "independent", rate = {loss} }}\n'
    for flow in range(flows):
        text += f'[[flow]]\nname = "video{flow}"\nkind = "media"\ncontrol = "{control}"\nfrom = "a"\nto = "b"\n'
        text += f'start = {{ uniform = ["{5 * flow} s", "{5 * flow + 1} s"] }}\nsource = {{ kind = "{source}" }}\n'
        text += f'rate = {{ min = "150 kbit/s", start = "300 kbit/s", max = "{2 * rate} Mbit/s" }}\n'
    return text


def run(seaway, text, seed):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.qlog"
        command = [seaway, "sim", "-", "--seed", str(seed), "--json", "--qlog", str(log)]
        done = subprocess.run(command, input=text, check=True, capture_output=True, text=True)
        taken_for_tcp = COMPETING in log.read_text(encoding="utf-8")
    flows = json.loads(done.stdout)["flows"]
    rates = [flow["received_bps"] for flow in flows]
    delays = [(flow.get("delay_ms") or {}).get("p95", 0) for flow in flows]
    return max(rates) / min(rates), max(delays), sum(rates) / 1e6, taken_for_tcp


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seaway", default="target/release/seaway")
    parser.add_argument("--control", default="seaway")
    parser.add_argument("--seeds", type=int, default=40)
    arguments = parser.parse_args()
    print("| flows | most over least, mean (worst) | frames, 95 %, ms | received, Mbit/s | runs in which one took others for TCPs |")
    print("| --- | --- | --- | --- | --- |")
    for name, (flows, rate, source, loss) in NETWORKS.items():
        text = scenario(arguments.control, flows, rate, source, loss)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(lambda seed: run(arguments.seaway, text, seed), range(1, arguments.seeds + 1)))
        ratios, delays, rates, taken = zip(*runs)
        mean = statistics.mean
        delay = f"{mean(delays):.0f}" if source == "frames" else ""
        print(f"| {name} | {mean(ratios):.2f} ({max(ratios):.1f}) | {delay} | {mean(rates):.2f} | {sum(taken)} of {len(runs)} |", flush=True)


if __name__ == "__main__":
    main()
