#!/usr/bin/env python3
"""The size of whole files beside what was asked for: every method, ratios from 0.99 to 0.5.

usage: sizes.py STREAM...

Prints every miss of more than 0.1 %, and how many pictures were at their floor; ends with 1 where a miss has no floor to
answer for it, and where `auto` has one: it needs none at these ratios. Build the example first: cargo build --release -p seaway-mpeg --example shape_file
"""
import itertools, os, re, subprocess, sys, tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SHAPE = os.environ.get("SHAPE", os.path.join(ROOT, "target/release/examples/shape_file"))
METHODS = ["auto", "window", "memoryless", "memoryless:block", "memoryless:44", "rate-based", "causal", "requantize"]
RATIOS = ["0.99", "0.95", "0.9", "0.8", "0.7", "0.6", "0.5"]


def main():
    streams, missed = sys.argv[1:], 0
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        for stream, method, ratio in itertools.product(streams, METHODS, RATIOS):
            kind, _, cluster = method.partition(":")
            command = [SHAPE, stream, out, kind, ratio, "1", *([cluster] if cluster else [])]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
            floor = re.search(r"(\d+) at their floor", said)[1]
            miss = os.path.getsize(out) / os.path.getsize(stream) / float(ratio) - 1
            if abs(miss) > 0.001 or (method == "auto" and floor != "0"):
                missed += floor == "0" or method == "auto"
                print(f"{os.path.basename(stream)}: {method} {ratio}: {miss:+.2%}, {floor} at their floor", flush=True)
    print(f"{len(streams) * len(METHODS) * len(RATIOS)} runs, {missed} missed without a floor, or by auto")
    sys.exit(missed > 0)


main()
