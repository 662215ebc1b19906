#!/usr/bin/env python3
"""Compares two builds of seaway: whatever they compute must be the same to the last bit.

usage: same.py OLD NEW [--only PART,...] [--jobs N] [--seeds N] [--stream FILE] [--prose]

OLD and NEW are two binaries. The parts:
  sim         the summary of every bundled scenario
  controllers the scenario `phases` under every controller
  seeds       means and intervals over two seeds, of a few scenarios
  series      time series and decisions (`-o`), of a few scenarios
  reproduce   every row of the papers
  shape       the octets of a shaped stream, by every method

Names that were changed on purpose stand in RENAMED, keys whose text is for readers in PROSE. Prints what differs and ends
with 1 where anything does.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["sim", "controllers", "seeds", "series", "reproduce", "shape"]
# Old name: new name. Whole words, wherever they stand in the output of OLD.
RENAMED = {"srtp": "lda-srtp"}
# Texts for readers, which may be worded anew; compared with --prose.
PROSE = {"about", "caption", "claim", "literal", "method", "note", "notes", "reason", "remarks", "reported", "source", "subject",
         "taken", "title", "what"}
# The version, and how long a run took.
IGNORED = {"seaway", "took_s", "wall_s"}
FEW = ["phases", "rfc8867-5.4", "rfc8867-5.6-300ms", "lossy-wifi", "s003", "rfc8869-3.3-tcp", "s004-random-plan"]
METHODS = ["memoryless", "causal", "rate-based", "requantize", "window", "auto"]


def renamed(text):
    for old, new in RENAMED.items():
        text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text)
    return text


def run(binary, *arguments, **options):
    """What it prints. Exit code 3 says that an expectation was missed, which is a result."""
    done = subprocess.run([binary, *arguments], capture_output=True, **options)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{binary} {' '.join(map(str, arguments))}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def names(binary, kind):
    return [entry["name"] for entry in json.loads(run(binary, "list", kind, "--json"))]


def leaves(value, path=""):
    """The numbers and texts of a JSON document by their path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in IGNORED and (PROSE_COUNTS or key not in PROSE):
                yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


def documents_differ(old, new):
    """Lines that say where two JSON documents differ. Numbers are compared as they are printed."""
    def read(text):
        return dict(leaves(json.loads(text, parse_float=str, parse_int=str)))

    old, new = read(renamed(old.decode())), read(new.decode())
    for path in list(old) + [path for path in new if path not in old]:
        if path not in new:
            yield f"{path}: gone, was {old[path]!r}"
        elif path not in old:
            yield f"{path}: new, {new[path]!r}"
        elif old[path] != new[path]:
            yield f"{path}: {old[path]!r} is now {new[path]!r}"


def summaries(*arguments):
    """Compares the JSON document of a command; for NEW under its new names."""
    def compare(old, new):
        after = [renamed(argument) for argument in arguments]
        yield from documents_differ(run(old, *arguments, "--json"), run(new, *after, "--json"))
    return " ".join(arguments), compare


def series(scenario):
    def compare(old, new):
        with tempfile.TemporaryDirectory() as folder:
            folders = [Path(folder) / "old", Path(folder) / "new"]
            for binary, output in zip([old, new], folders):
                run(binary, "sim", scenario, "--no-timing", "-o", output)
            files = [{path.name for path in output.iterdir()} for output in folders]
            for name in sorted(files[0] ^ files[1]):
                yield f"{name}: only in one of the folders"
            for name in sorted(files[0] & files[1]):
                texts = [(output / name).read_bytes() for output in folders]
                if name.endswith(".csv") and renamed(texts[0].decode()).encode() != texts[1]:
                    lines = zip(renamed(texts[0].decode()).splitlines(), texts[1].decode().splitlines())
                    yield next((f"{name}: {a!r} is now {b!r}" for a, b in lines if a != b), f"{name}: another length")
    return f"sim {scenario} -o", compare


def shaped(stream, *arguments):
    def compare(old, new):
        streams = [run(binary, "shape", stream, "-", *arguments) for binary in [old, new]]
        if streams[0] != streams[1]:
            yield f"{len(streams[0])} octets are now {len(streams[1])} others"
    return f"shape {stream.name} {' '.join(arguments)}", compare


def comparisons(old, options):
    scenarios = names(old, "scenarios")
    few = [name for name in FEW if name in scenarios]
    everything = {
        "reproduce": lambda: [summaries("reproduce", "--all", "--seeds", str(options.seeds))],
        "sim": lambda: [summaries("sim", name, "--no-timing") for name in scenarios],
        "controllers": lambda: [
            summaries("sim", "phases", "--no-timing", "--set", f"flow.video.control={name}")
            for name in [entry["name"] for entry in json.loads(run(old, "list", "controls", "--json")) if entry["kind"] == "rate"]
        ],
        "seeds": lambda: [summaries("sim", name, "--no-timing", "--seeds", "2") for name in few],
        "series": lambda: [series(name) for name in few],
        "shape": lambda: [
            shaped(options.stream, "--method", method, *rate)
            for method in METHODS
            for rate in [("--ratio", "0.7"), ("--rate", "200 kbit/s")]
        ],
    }
    return [comparison for part, make in everything.items() if part in options.only for comparison in make()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=PARTS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, default=5, help="of `reproduce`")
    parser.add_argument("--stream", type=Path, default=ROOT / "assets/bigbuckbunny_320x180.m2v")
    parser.add_argument("--prose", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}")
    global PROSE_COUNTS
    PROSE_COUNTS = options.prose
    old, new = options.old.resolve(), options.new.resolve()
    for name in set(RENAMED) & set(names(new, "controls")):
        del RENAMED[name]
    missing = {renamed(name) for name in names(old, "scenarios")} - set(names(new, "scenarios"))
    differing = 0
    for name in sorted(missing):
        print(f"scenario {name}: gone")

    def check(comparison):
        what, compare = comparison
        try:
            return what, list(compare(old, new))
        except (RuntimeError, ValueError) as error:
            return what, [str(error)]

    work = comparisons(old, options)
    with ThreadPoolExecutor(options.jobs) as pool:
        for what, problems in pool.map(check, work):
            differing += bool(problems)
            for problem in problems[:10]:
                print(f"{what}: {problem}")
            if problems[10:]:
                print(f"{what}: and {len(problems) - 10} more")
    print(f"{len(work) - differing} of {len(work)} comparisons are the same")
    return 1 if differing or missing or not work else 0


PROSE_COUNTS = False

if __name__ == "__main__":
    sys.exit(main())
