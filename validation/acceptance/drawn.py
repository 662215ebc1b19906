#!/usr/bin/env python3
"""Controllers on networks drawn at random: one flow alone on links of 0.5 to 50 Mbit/s, round trips of 8 to
316 ms, drop-tail queues of 30 ms to 1 s or CoDel, loss of 0 to 18 % independent or in bursts of four, jitter of RFC 8868
of 0 to 20 ms. A third of the sources are frames of RFC 8593; these have no loss, since each picture that is lost makes
their model send a small key frame.

Utilisation is what arrives of what the channel lets through, from 20 s to 60 s; queueing is the mean of the 95 % quantiles. With `--changes`
the rate becomes 0.3 to 4 times what it was at 25 s, and the delay up to 150 ms longer each way; the 30 s from then on are measured.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

SCENARIO = """schema = 1
name = "drawn"
duration = "{until} s"
warmup = "{since} s"

[[link]]
name = "bottleneck"
from = "a"
to = "b"
both = true
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = {queue}
{impairments}
reverse = {{ rate = "100 Mbit/s", queue = {{ kind = "drop-tail", packets = 1000 }} }}

[[flow]]
name = "video"
kind = "media"
control = "{control}"
from = "a"
to = "b"
rate = {{ min = "150 kbit/s", start = "300 kbit/s", max = "{most} Mbit/s" }}
source = {{ kind = "{source}" }}
"""


def draw(number):
    """The network of a number: the same for every controller and seed."""
    draws = random.Random(number)
    rate = round(10 ** draws.uniform(-0.3, 1.7), 2)
    delay = round(10 ** draws.uniform(0.9, 2.5)) / 2
    milliseconds = draws.choice([30, 50, 100, 200, 400, 1000])
    loss = draws.choice([0, 0, 0, 0.003, 0.01, 0.03, 0.07, 0.12, 0.18])
    jitter = draws.choice([0, 0, 0, 3, 8, 20])
    source = draws.choice(["saturated", "saturated", "frames"])
    is_codel = draws.random() < 0.2
    bursts = draws.random() < 0.4
    loss = 0 if source == "frames" else loss
    queue = '{ kind = "codel" }' if is_codel else f'{{ kind = "drop-tail", time = "{milliseconds} ms" }}'
    model = f'kind = "gilbert-elliott", mean = {loss}, burst = 4' if bursts else f'kind = "independent", rate = {loss}'
    impairments = [f"loss = {{ {model} }}"] * (loss > 0) + [f'jitter = {{ kind = "rfc8868", std = "{jitter} ms" }}'] * (jitter > 0)
    return {
        "rate": rate, "delay": delay, "queue": queue, "impairments": "\n".join(impairments), "loss": loss,
        "jitter": jitter, "source": source, "most": max(20, round(1.5 * rate, 2)), "measured": rate, "since": 20, "until": 60,
    }  # fmt: skip


def change(number, network):
    """The network that becomes another one while it is used."""
    draws = random.Random(-1 - number)
    factor, longer = draws.choice([0.3, 0.6, 1, 1, 2, 4]), draws.choice([0, 8, 15, 30, 60, 150])
    rate, delay = round(network["rate"] * factor, 3), network["delay"] + longer
    changes = f"steps = [['25 s', '{rate} Mbit/s']]\ndelay_steps = [['25 s', '{delay} ms']]\n"
    return network | {
        "impairments": changes + network["impairments"], "most": max(20, round(1.5 * max(rate, network["rate"]), 2)),
        "measured": rate, "since": 25, "until": 55,
    }  # fmt: skip


def run(seaway, network, control, seed):
    """Utilisation in percent, and the 95 % quantile of queueing in ms."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "drawn.toml"
        file.write_text(SCENARIO.format(control=control, **network), encoding="utf-8")
        command = [seaway, "sim", str(file), "--json", "--no-timing", "--seed", str(seed)]
        flow = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)["flows"][0]
    share = flow["received_bps"] / 1e6 / network["measured"] / (1 - network["loss"])
    return 100 * share, flow["queue_delay_ms"]["p95"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seaway", default="target/release/seaway")
    parser.add_argument("--control", default="seaway,gcc,scream,nada")
    parser.add_argument("--networks", type=int, default=240)
    parser.add_argument("--first", type=int, default=0, help="number of the first network")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--changes", action="store_true", help="the networks change")
    arguments = parser.parse_args()
    controls = arguments.control.split(",")
    numbers = range(arguments.first, arguments.first + arguments.networks)
    networks = [change(number, draw(number)) if arguments.changes else draw(number) for number in numbers]
    cells = {}
    for network in networks:
        for control in controls:
            for seed in range(1, arguments.seeds + 1):
                result = run(arguments.seaway, network, control, seed)
                cells.setdefault((network["jitter"], network["source"], control), []).append(result)
    print("| jitter, ms | source | networks |" + "".join(f" {control} |" for control in controls))
    print("| --- | --- | --- |" + " --- |" * len(controls))
    rows = sorted({key[:2] for key in cells}) + [("all", "")]
    for jitter, source in rows:
        row = []
        for control in controls:
            results = [
                result for key, found in cells.items() for result in found
                if key[2] == control and (jitter == "all" or key[:2] == (jitter, source))
            ]  # fmt: skip
            shares, waits = zip(*results)
            tenth = sorted(shares)[len(shares) // 10]
            row.append(f"{statistics.mean(shares):.0f} ({tenth:.0f}) / {statistics.mean(waits):.0f}")
        print(f"| {jitter} | {source} | {len(results) // arguments.seeds} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
