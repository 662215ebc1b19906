#!/usr/bin/env python3
"""Runs `seaway demo --headless` over sockets on the named networks and holds it against its bars.

Writes docs/results/live.md. A run that the machine itself held up (lateness p99 above 1 ms) is void: it says so, and
neither holds nor misses a bar. Ends with 1 where a bar was missed. Python's standard library only.
"""
import json
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEAWAY = ROOT / "target" / "release" / "seaway"
SECONDS = 30
CONTROL = "seaway"


def share_displayed(flow):
    frames = flow["frames"]
    return frames["displayed"] / frames["captured"]


BARS = {
    "clean": [
        ("displayed", share_displayed, lambda value: value >= 0.99, "{:.1%}", "at least 99 %"),
        ("capture to display p95", lambda flow: flow["delay_ms"]["p95"], lambda value: value <= 150, "{:.0f} ms", "at most 150 ms"),
        ("encoder within 10 % of its target", lambda flow: flow["encoder"]["within_tenth"], lambda value: value == 1, "{:.0%} of the seconds", "all seconds"),
        ("seconds left out, quantiser at a bound", lambda flow: flow["encoder"]["left_out"], lambda value: value < 0.2, "{:.0%}", "printed"),
        ("PSNR", lambda flow: flow["psnr_db"]["value"], lambda value: value > 34, "{:.1f} dB", "above 34 dB"),
        ("freezes", lambda flow: flow["freezes"]["count"], lambda value: value == 0, "{}", "none"),
    ],
    "squeeze": [
        ("time frozen in all", lambda flow: flow["freezes"]["total_s"], lambda value: value <= 0.5, "{:.2f} s", "no freeze above 0.5 s"),
        ("displayed", share_displayed, lambda value: value > 0.8, "{:.1%}", "printed"),
    ],
    "lossy-wifi": [
        ("displayed", share_displayed, lambda value: value >= 0.97, "{:.1%}", "at least 97 %"),
        ("PSNR", lambda flow: flow["psnr_db"]["value"], lambda value: value > 34, "{:.1f} dB", "printed"),
    ],
}


def run(network, prefix=()):
    command = [*prefix, str(SEAWAY), "demo", "--headless", "--duration", f"{SECONDS}s", "--control", CONTROL, "--network", network, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 60, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def rows(title, network, report):
    late = report["lateness_ms"]["p99"]
    if report["void"]:
        yield title, "lateness p99", f"{late:.2f} ms", "at most 1 ms", "machine too busy"
        return
    yield title, "lateness p99", f"{late:.2f} ms", "at most 1 ms", "held"
    flow = report["flows"][0]
    for name, of, holds, form, bar in BARS[network]:
        value = of(flow)
        yield title, name, form.format(value), bar, "held" if holds(value) else "MISSED"


def main():
    table = []
    for network in BARS:
        table += rows(network, network, run(network))
    if shutil.which("taskset"):
        table += rows("clean, on one core", "clean", run("clean", ("taskset", "-c", "0")))
    version = subprocess.run([str(SEAWAY), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    lines = [
        "# The main job over sockets",
        "",
        f"`seaway demo --headless --duration {SECONDS}s --control {CONTROL} --network NAME --json`, the bundled clip at 1280x720,",
        "sender, link and receiver on loopback; the last block with `taskset -c 0` before it.",
        "",
        f"Versions: {version}; {platform.system()} {platform.release().split('-')[0]}, {platform.machine()}.",
        "Command: `python3 validation/live/bars.py`.",
        "",
        "| network | what | seen | bar | |",
        "| --- | --- | --- | --- | --- |",
        *("| " + " | ".join(row) + " |" for row in table),
    ]
    (ROOT / "docs" / "results" / "live.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return any(row[-1] == "MISSED" for row in table)


sys.exit(main())
