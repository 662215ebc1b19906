#!/usr/bin/env python3
"""Share of a link of 10 Mbit/s and 50 ms that each controller uses under independent random loss, in per cent with the
95 % interval over the seeds; with --jitter and --drop the other two lines of the peers. Needs `seaway`."""

import argparse
import json
import pathlib
import subprocess
import tempfile

SCENARIO = pathlib.Path(__file__).with_name("random-loss.toml").read_text(encoding="utf-8")
LOSSES = [0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15]
CONTROLLERS = ["gcc", "scream", "nada", "tfrc", "multfrc(max=8)", "ctfrc"]


def run(seaway, scenario, control, seeds):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario.replace('control = "gcc"', f'control = "{control}"'))
        file.flush()
        command = [seaway, "sim", file.name, "--json", "--no-timing", "--seeds", str(seeds)]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def cell(summary, key):
    mean, ci = (summary[part]["flows"][0] for part in ("mean", "ci95"))
    if key == "received_bps":
        return f"{mean[key] / 1e5:.0f} ± {ci[key] / 1e5:.0f}"
    return f"{mean[key]['p95']:.0f} ± {ci[key]['p95']:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seaway", default="target/release/seaway")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("controllers", nargs="*", default=CONTROLLERS)
    arguments = parser.parse_args()
    print("| | " + " | ".join(f"{loss:.1%}" for loss in LOSSES) + " | 15 ms of jitter | 10 to 2 Mbit/s: queue, p95 ms |")
    print("| --- " * (len(LOSSES) + 3) + "|")
    line = 'queue = { kind = "drop-tail", time = "200 ms" }'
    cases = [(f"{line}\nloss = {{ kind = \"independent\", rate = {loss} }}", "received_bps") for loss in LOSSES]
    cases.append((line + '\njitter = { kind = "rfc8868", std = "15 ms", mean = "0 ms" }', "received_bps"))
    cases.append((line + '\nsteps = [["60 s", "2 Mbit/s"]]', "queue_delay_ms"))
    for control in arguments.controllers:
        cells = []
        for text, key in cases:
            scenario = SCENARIO.replace(line, text)
            if key == "queue_delay_ms":
                scenario = scenario.replace('warmup = "20 s"', 'warmup = "60 s"')
            cells.append(cell(run(arguments.seaway, scenario, control, arguments.seeds), key))
        print(f"| `{control}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
