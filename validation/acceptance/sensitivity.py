#!/usr/bin/env python3
"""How the rows depend on each constant of `seaway`, and what each of its loops is for.

    validation/acceptance/sensitivity.py                  # two tables in Markdown
    validation/acceptance/sensitivity.py --list           # what can be changed
    validation/acceptance/sensitivity.py QUEUE_TIME start # these alone

The product has no option for its constants, so a copy of the sources is changed: each constant becomes a call that asks
the environment, and each loop gets a switch. One build of the copy then runs them all. A text that is no longer in
the sources is an error here.

Each row is run with the constant at half and at one and a half of its value, and with the loop switched off. A row is
named where its rate moves by 3 % or its delay by 3 ms and a fifth, and by more than twice what five seeds differ by.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAW = pathlib.Path("crates/control/src/seaway")
LINK, TCP = "acceptance-link", "acceptance-tcp"

# name: scenario, settings, flows of the same kind. Rows of docs/results/seaway.md, at least one for each loop.
ROWS = {
    "no loss": (LINK, [], 1),
    "loss 10": (LINK, ["link.bottleneck.loss={ kind = 'independent', rate = 0.1 }"], 1),
    "frames 10": (LINK, ["link.bottleneck.loss={ kind = 'independent', rate = 0.1 }", "flow.video.source={ kind = 'frames' }"], 1),
    "bursts 20": (LINK, ["link.bottleneck.loss={ kind = 'gilbert-elliott', mean = 0.08, burst = 20 }"], 1),
    "jitter 15": (LINK, ["link.bottleneck.jitter={ kind = 'rfc8868', std = '15 ms' }"], 1),
    "jitter 30": (LINK, ["link.bottleneck.jitter={ kind = 'rfc8868', std = '30 ms' }"], 1),
    "reordering": (LINK, ["link.bottleneck.jitter={ kind = 'reordering', std = '15 ms', mean = '20 ms' }"], 1),
    "10 to 2": (LINK, ["duration=40 s", "link.bottleneck.steps=[['20 s', '2 Mbit/s']]"], 1),
    "2.5 to 0.5": (LINK, ["duration=40 s", "link.bottleneck.rate=2.5 Mbit/s", "link.bottleneck.steps=[['20 s', '0.5 Mbit/s']]"], 1),
    "2 to 10": (LINK, ["duration=30 s", "link.bottleneck.rate=2 Mbit/s", "link.bottleneck.steps=[['20 s', '10 Mbit/s']]"], 1),
    "start": (LINK, ["duration=4 s", "warmup=0 s"], 1),
    "300 ms": (LINK, ["link.bottleneck.delay=150 ms"], 1),
    "three packets": (
        LINK,
        ["link.bottleneck.queue={ kind = 'drop-tail', packets = 3 }", "link.bottleneck.loss={ kind = 'independent', rate = 0.03 }"],
        1,
    ),
    "three flows": (LINK, ["link.bottleneck.rate=20 Mbit/s", "link.bottleneck.queue={ kind = 'drop-tail', packets = 15 }", "duration=50 s"], 3),
    "Reno": (TCP, ["flow.tcp.algorithm=newreno"], 1),
    "CUBIC, 50 ms": (TCP, ["link.bottleneck.queue={ kind = 'drop-tail', time = '50 ms' }"], 1),
    "CUBIC left": (TCP, ["warmup=53 s", "flow.video.start=0 s", "flow.tcp.start=10 s", "flow.tcp.stop=50 s"], 1),
    "L4S": (LINK, ["link.bottleneck.queue={ kind = 'dualpi2' }", "flow.video.ecn=ect1"], 1),
    "cell": ("acceptance-cell", [], 1),
    "802.11": ("acceptance-wlan-3", ["duration=40 s"], 1),
}

# Constants that are shares near 1: what they leave is scaled.
REST = {"TEST_RATE", "FALLEN", "FALL", "competing.DECREASE", "competing.DRAIN", "jitter.QUANTILE"}
# Grain, capacity of tables and guards: no law.
NO_LAW = {"LEAST_RATE", "UPDATE", "TIE", "LEAST", "LOG_RANGE", "WIDTH", "UNKNOWN", "NOISE", "RECENT"}

# Constants without a name of their own: name, file, the text around them, the number in it.
UNNAMED = [
    ("fast fall, 4 ms", "loops.rs", "2.0 * self.target_queue() + 0.004;", "0.004"),
    ("fast fall, 2 q*", "loops.rs", "let threshold = 2.0 * self.target_queue()", "2.0"),
    ("fast fall, 8 ms of rise", "delay.rs", "self.rising.1 > 0.008 + 5.0", "0.008"),
    ("surprise, 15 J", "loops.rs", "SURPRISE + 15.0 *", "15.0"),
    ("capacity over arrivals, 1.5", "loops.rs", "1.5 * self.arrived.rate(t, 0.5) / (1.0 - proven)", "1.5"),
    ("window, 30 ms", "pace.rs", "0.030 * (1.0 - cell)", "0.030"),
    ("window, 2.5 f", "pace.rs", "(2.5 - 1.5 * cell)", "2.5"),
    ("start, 4 ms", "loops.rs", "let threshold = 0.004 + 4.0", "0.004"),
    ("base, 5 s", "loops.rs", "t - self.last_empty > 5.0", "5.0"),
    ("loss test, 2 points", "loss.rs", "deviation && usual - less > 0.02", "0.02"),
    ("loss over 6 s", "loops.rs", "self.fates.between(t - 6.0, t - 0.4)", "6.0"),
    ("overflow, half of the longest", "mod.rs", "self.bound_queue(0.5)", "0.5"),
    ("jitter, pairs within 6 ms", "jitter.rs", "pair.gap >= 0.006", "0.006"),
    ("jitter, a third", "jitter.rs", "self.percentile() / 3.0", "3.0"),
    ("volatility, 0.055", "jitter.rs", "(sum / count - 0.055) / 0.02", "0.055"),
    ("interleaving, 3.5 standard errors", "others.rs", "self.auc - 0.5 > 3.5 * self.deviation", "3.5"),
    ("drain test, 0.6", "competing.rs", "fall > 0.6 * (1.0 - Self::DRAIN)", "0.6"),
]

# Loops: name, file, text, and the text with the loop off; where that has OFF, it is the whole new text.
LOOPS = [
    ("2 target falls with the rate", "mod.rs", "(TARGET_AT_1_MBPS * relative).max(LEAST_TARGET)", "0.0056"),
    ("2 room for jitter", "pace.rs", "jitter * (1.0 - self.volatility.degree()) * (1.0 - 0.7 * self.reordering())", "0.0"),
    ("3 Smith predictor", "pace.rs", "self.target_queue() - self.expected_wait(t)", "self.target_queue() - self.delay.queue"),
    ("4 observer", "loops.rs", "libm::exp((growth * passed).clamp(-0.3, 0.3))", "1.0"),
    ("4 growth of an idle path", "loops.rs", "(-gain * error / loop_delay).max(self.idle_growth(t))", "-gain * error / loop_delay"),
    ("5 fast fall", "loops.rs", "self.delay.queue <= threshold && !self.delay.rises_sharply(raw)", "true"),
    ("5 drain of a fall", "pace.rs", "self.drain.is_on(t)", "false"),
    ("6 window", "pace.rs", "window.max(10.0 * self.config.packet.min(3000.0))", "1e12"),
    ("6 late reports", "pace.rs", "if self.outage.is_on {", "if self.outage.is_on && !OFF {"),
    ("7 trains at the start", "loops.rs", "start.has_reached(self.capacity, packet)", "false"),
    ("8 does loss follow the rate?", "loops.rs", "self.loss_test.update(t, self.round_trip.smoothed, self.loss, &self.fates)", "None"),
    ("9 overflow", "mod.rs", "self.overflow.on_loss(t, wait)", "false"),
    ("10 jitter", "loops.rs", "self.jitter.update(t);", "if !OFF { self.jitter.update(t); }"),
    ("11 volatility", "jitter.rs", "((sum / count - 0.055) / 0.02).clamp(0.0, 1.0)", "0.0"),
    ("12 base kept true", "loops.rs", "t - self.last_empty > 5.0", "false"),
    ("13 others in the queue", "loops.rs", "self.competing.others.are_found(&seen, self.config.packet)", "false"),
    ("13 drain tests", "competing.rs", "self.drained >= 2", "false"),
    ("14 L4S", "loops.rs", "self.marked == 0.0 || self.config", "OFF || self.marked == 0.0 || self.config"),
    ("15 another route", "loops.rs", "self.route.update(&seen)", "None"),
]

TUNED = "crate::seaway::tuned"
MODULE = """//! Constants and loops that the environment changes.

use std::sync::LazyLock;

static WHAT: LazyLock<String> = LazyLock::new(|| std::env::var("TUNE").unwrap_or_default());
static FACTOR: LazyLock<f64> =
    LazyLock::new(|| std::env::var("FACTOR").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1.0));

pub(super) fn by(name: &str, value: f64) -> f64 {
    if *WHAT == name { value * *FACTOR } else { value }
}

pub(super) fn is(name: &str) -> bool {
    *WHAT == name
}
"""
CONSTANT = re.compile(r"\bconst ([A-Z][A-Z0-9_]*): f64 = ([^;]+);")
NO_CODE = re.compile(r"(^ *(?://[^\n]*|(?:pub(?:\(super\))? )?use [^;]*;|(?:pub\(super\) )?const [A-Z][^;]*;)$)", re.M)
USE = re.compile(r"\b((?:[A-Za-z]+::)*)([A-Z][A-Z0-9_]+)\b")


def scaled(name, value):
    """The expression of a constant that the environment scales."""
    short = name.split(".")[-1]
    if short in REST:
        return f'(1.0 - tuned::by("{name}", 1.0 - {value}))'
    return f'tuned::by("{name}", {value})'


def replaced(text, file, old, new):
    if text.count(old) != 1:
        sys.exit(f"{LAW / file} has {text.count(old)} times {old!r}, 1 is needed")
    return text.replace(old, new)


def owner(name, path, file, texts, owners):
    """The file of the constant that an expression names."""
    if path == "Self::":
        return file if name in owners[file] else None
    if path in ("", "config::"):
        return "config.rs" if name in owners["config.rs"] else None
    return next((other for other, text in texts.items() if f"impl {path[:-2]} {{" in text and name in owners[other]), None)


def key_of(file, name):
    return name if file == "config.rs" else f"{file.removesuffix('.rs')}.{name}"


def with_switches(text, file):
    for loop, where, old, off in LOOPS:
        if where == file:
            new = off if "OFF" in off else f"(if OFF {{ {off} }} else {{ {old} }})"
            text = replaced(text, file, old, new.replace("OFF", f'{TUNED}::is("{loop}")'))
    for name, where, around, number in UNNAMED:
        if where == file:
            text = replaced(text, file, around, around.replace(number, f'{TUNED}::by("{name}", {number})', 1))
    return text


def with_calls(text, file, texts, owners):
    def call(match):
        path, name = match.groups()
        of = owner(name, path, file, texts, owners)
        if of is None:
            return match[0]
        key, value = key_of(of, name), match[0]
        return f'(1.0 - {TUNED}::by("{key}", 1.0 - {value}))' if key in REST else f'{TUNED}::by("{key}", {value})'

    parts = NO_CODE.split(text)
    parts[::2] = [USE.sub(call, part) for part in parts[::2]]
    return re.sub(r"\bconst fn\b", "fn", "".join(parts))


def tune(folder):
    """Changes the sources in a copy. Gives the constants with their values."""
    texts = {path.name: path.read_text(encoding="utf-8").partition("\n#[cfg(test)]")[0] for path in folder.glob("*.rs")}
    owners = {file: {name for name, _ in CONSTANT.findall(text)} - NO_LAW for file, text in texts.items()}
    values = {
        key_of(file, name): value
        for file, text in texts.items()
        for name, value in CONSTANT.findall(text)
    }
    constants = {}
    for file, text in texts.items():
        text = with_calls(with_switches(text, file), file, texts, owners)
        for name in re.findall(r'tuned::by\("([^"]+)"', text):
            constants[name] = values.get(name) or next(number for one, *_, number in UNNAMED if one == name)
        if file == "mod.rs":
            text = replaced(text, file, "mod start;", "mod start;\nmod tuned;")
            text = replaced(text, file, "\nmod competing;", "\n#![allow(unused_parens)]\n\nmod competing;")
        (folder / file).write_text(text, encoding="utf-8")
    (folder / "tuned.rs").write_text(MODULE, encoding="utf-8")
    return constants


def built(arguments, folder):
    """The program of a copy of the workspace with the changed sources."""
    copy = folder / "seaway"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("target", ".git", "__pycache__"), symlinks=True)
    tune(copy / LAW)
    command = ["cargo", "build", "--quiet", "-j", arguments.jobs, "-p", "seaway-cli", "--target-dir", arguments.target]
    subprocess.run([str(word) for word in command], cwd=copy, check=True)
    return shutil.copy(arguments.target / "debug/seaway", arguments.keep or folder / "program")


def scenario(name, flows):
    """A bundled scenario; its flow so many times, each 5 s after the one before."""
    text = (ROOT / f"scenarios/acceptance/{name}.toml").read_text(encoding="utf-8")
    flow = text[text.index("[[flow]]") :]
    for number in range(1, flows):
        start = f'["{5 * number} s", "{5 * number + 1} s"]'
        text += flow.replace('"video"', f'"video{number}"').replace('["0 s", "1 s"]', start)
    return text


class Rows:
    """Runs rows under a change, each over the seeds."""

    def __init__(self, program, folder, arguments):
        self.program, self.folder, self.arguments = program, folder, arguments

    def one(self, row, seed, environment):
        name, settings, flows = ROWS[row]
        file = self.folder / f"{name}-{flows}.toml"
        if not file.exists():
            file.write_text(scenario(name, flows), encoding="utf-8")
        changes = [word for setting in settings for word in ("--set", setting)]
        command = [self.program, "sim", file, "--json", "--no-timing", "--seed", seed, *changes]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=os.environ | environment)
        if done.returncode:
            sys.exit(f"{row}: {done.stderr}")
        ours = [flow for flow in json.loads(done.stdout)["flows"] if flow.get("kind", "media") == "media"]
        rate = sum(flow.get("received_bps") or 0.0 for flow in ours) / 1e6
        delays = [flow["queue_delay_ms"]["p95"] for flow in ours if flow.get("queue_delay_ms")]
        return rate, max(delays, default=0.0)

    def run(self, seeds, what="", factor=1.0):
        """Of each row the rate in Mbit/s and the 95 % quantile of queueing in ms, seed by seed."""
        environment = {"TUNE": what, "FACTOR": str(factor)}
        seeds = range(1, seeds + 1)
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            runs = {row: [pool.submit(self.one, row, seed, environment) for seed in seeds] for row in ROWS}
        return {row: list(zip(*(run.result() for run in of_row))) for row, of_row in runs.items()}


def differences(usual, changed):
    """The rows that moved, as words, those that moved most first."""
    found = []
    mean = lambda all_seeds, some: statistics.mean(all_seeds[: len(some)])
    for row, (rates, delays) in usual.items():
        words, size = [], 0.0
        before, after = mean(rates, changed[row][0]), statistics.mean(changed[row][0])
        if abs(after - before) > max(0.03 * before, 2 * statistics.pstdev(rates)):
            words.append(f"{100 * (after / before - 1):+.0f} %")
            size = abs(after / before - 1)
        before, after = mean(delays, changed[row][1]), statistics.mean(changed[row][1])
        if abs(after - before) > max(3.0, 0.2 * before, 2 * statistics.pstdev(delays)):
            words.append(f"{after - before:+.0f} ms")
            size += abs(after - before) / 50
        if words:
            found.append((size, f"{row} {', '.join(words)}"))
    return "; ".join(words for _, words in sorted(found, reverse=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--target", type=pathlib.Path, default=ROOT / "target/sensitivity", help="where the copy is built")
    parser.add_argument("--program", type=pathlib.Path, help="a build of the copy, kept by --keep")
    parser.add_argument("--keep", type=pathlib.Path, help="where to keep the build")
    parser.add_argument("--list", action="store_true", help="name constants and loops")
    parser.add_argument("names", nargs="*", help="of constants or loops; all by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(ROOT / LAW, folder / "law")
        constants = tune(folder / "law")
        if arguments.list:
            print(*(f"{name} = {value}" for name, value in constants.items()), *(name for name, *_ in LOOPS), sep="\n")
            return
        rows = Rows(arguments.program or built(arguments, folder), folder, arguments)
        usual = rows.run(max(5, arguments.seeds))
        print("| row | rate, Mbit/s | queueing, 95 %, ms |\n| --- | --- | --- |")
        for row, (rates, delays) in usual.items():
            print(f"| {row} | {statistics.mean(rates):.2f} | {statistics.mean(delays):.1f} |")
        chosen = lambda names: [name for name in arguments.names or names if name in names]
        print("\n| loop | without it |\n| --- | --- |")
        for name in chosen([loop for loop, *_ in LOOPS]):
            print(f"| {name} | {differences(usual, rows.run(arguments.seeds, name))} |", flush=True)
        print("\n| constant | value | at half | at one and a half |\n| --- | --- | --- | --- |")
        for name in chosen(constants):
            half, more = (differences(usual, rows.run(arguments.seeds, name, factor)) for factor in (0.5, 1.5))
            print(f"| {name} | {constants[name]} | {half} | {more} |", flush=True)


if __name__ == "__main__":
    main()
