#!/usr/bin/env python3
"""What the Python package costs, and ten thousand runs on Ray with three workers killed: docs/results/python.md.

    python3 -m venv VENV && VENV/bin/python -m pip install './python[env,ray]' duckdb
    VENV/bin/python validation/python/bars.py target/release/seaway

Times are the least of several rounds in which the candidates take turns. A table goes to standard output; the exit code is 1 where a
bar is missed.
"""

import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import duckdb
import gymnasium
import numpy as np

import seaway
import seaway.env  # registers the environments

ROUNDS = 7
LAW_MOST = 15.0
STEPS_LEAST = 10_000
THREADS_LEAST = 1.8
OVERHEAD_MOST = 1.05
KILLS = 3
PLAN = """\
schema = 1
scenario = "random-loss-short.toml"
control = ["gcc", "nada", "scream", "seaway"]
flow = "video"
seeds = 10

[parameters]
"link.bottleneck.loss.rate" = [{losses}]
"link.bottleneck.rate" = [{rates}]
"""
SCENARIO = """\
schema = 1
name = "random-loss-short"
duration = "10 s"
warmup = "2 s"

[[link]]
name = "bottleneck"
from = "server"
to = "client"
both = true
rate = "4 Mbit/s"
delay = "20 ms"
queue = { kind = "drop-tail", time = "200 ms" }
loss = { kind = "independent", rate = 0.01 }

[[flow]]
name = "video"
kind = "media"
control = "gcc"
from = "server"
to = "client"
rate = { min = "150 kbit/s", start = "1 Mbit/s", max = "12 Mbit/s" }
source = { kind = "saturated" }
"""


def least(*candidates):
    """The least wall time of each of the candidates, which take turns."""
    times = [[] for _ in candidates]
    for _ in range(ROUNDS):
        for candidate, of in zip(candidates, times):
            start = time.perf_counter()
            candidate()
            of.append(time.perf_counter() - start)
    return [min(of) for of in times]


def threads():
    """How many times as fast two threads are."""
    run = lambda count: lambda: seaway.sweep("rfc8867-5.4", "gcc", seeds=8, threads=count)
    one, two = least(run(1), run(2))
    return one / two


def gil():
    """The same for two threads of Python, each with runs of its own."""

    def make(seeds):
        for seed in seeds:
            seaway.sim("rfc8867-5.4", control="gcc", seed=seed)

    def side_by_side():
        workers = [threading.Thread(target=make, args=(seeds,)) for seeds in ((1, 2, 3, 4), (5, 6, 7, 8))]
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]

    one, two = least(lambda: make(range(1, 9)), side_by_side)
    return one / two


def law():
    """Microseconds that a call of a law in Python takes, by runs with fifty calls a second and with one."""

    def made(interval):
        class Counted(seaway.Controller):
            calls = 0
            feedback_interval = interval

            def on_feedback(self, now, feedback):
                type(self).calls += 1
                return feedback.rate if feedback.lost else None

        return Counted

    def run(law):
        return lambda: seaway.sim("clean", {"duration": "60 s"}, control="law", controllers={"law": law})

    often, seldom = made(0.02), made(1.0)
    run(often)(), run(seldom)()
    calls = often.calls - seldom.calls
    called, spared = least(run(often), run(seldom))
    return (called - spared) / calls * 1e6


def steps(count):
    """Steps a second of an environment, or of `count` at once."""
    name, actions = "seaway/RateControl-v0", {"scenario": "clean", "step": 0.1}
    if count == 1:
        env = gymnasium.make(name, **actions)
    else:
        env = gymnasium.make_vec(name, num_envs=count, vectorization_mode="vector_entry_point", **actions)
    env.reset(seed=1)
    action = np.zeros(env.action_space.shape, np.float32)

    def go(number=500):
        for _ in range(number):
            over = env.step(action)[2:4]
            if count == 1 and any(over):
                env.reset()

    (took,) = least(go)
    return 500 * count / took


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def kill_workers(folder, kills):
    """Kills workers of Ray that make runs, as these come to be, until `kills` are dead."""
    runs = pathlib.Path(folder) / "runs"
    for made in (2000, 4000, 6000):
        while sum(1 for _ in runs.glob("*/*.json")) < made:
            time.sleep(0.2)
        listed = subprocess.run(["pgrep", "-f", "ray::_make"], capture_output=True, text=True).stdout.split()
        if listed:
            os.kill(int(listed[0]), signal.SIGKILL)
            kills.append(int(listed[0]))


def cluster(binary):
    """Seconds of the binary and of Ray over the same ten thousand runs; workers killed; whether the bytes agree; loss curves."""
    import ray

    import seaway.ray

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "random-loss-short.toml").write_text(SCENARIO)
        losses = ", ".join(f"{index * 0.004:.3f}" for index in range(25))
        rates = ", ".join(f'"{1 + index} Mbit/s"' for index in range(10))
        plan = folder / "plan.toml"
        plan.write_text(PLAN.format(losses=losses, rates=rates))
        alone, whole, undisturbed = folder / "alone", folder / "ray", folder / "undisturbed"
        start = time.perf_counter()
        subprocess.run([binary, "sweep", plan, "-o", alone, "--threads", "2"], check=True, stdout=subprocess.DEVNULL)
        bare = time.perf_counter() - start
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        start = time.perf_counter()
        seaway.ray.sweep(plan, undisturbed)
        quiet = time.perf_counter() - start
        kills = []
        killer = threading.Thread(target=kill_workers, args=(whole, kills))
        killer.start()
        seaway.ray.sweep(plan, whole)
        killer.join()
        ray.shutdown()
        tables = [digest(at / "runs.parquet") for at in (alone, undisturbed, whole)]
        curve = duckdb.sql(
            f"""select controller, "link.bottleneck.loss.rate" as loss, round(avg(received_bps) / 1e6, 3) as received
                from '{whole}/runs.parquet' group by all having loss in (0, 0.02, 0.04, 0.08) order by all"""
        ).fetchall()
        runs = duckdb.sql(f"select count(distinct run) from '{whole}/runs.parquet'").fetchall()[0][0]
        return bare, quiet, len(kills), len(set(tables)) == 1, runs, curve


def main():
    binary = sys.argv[1]
    missed = []

    def row(what, value, bar, held):
        print(f"| {what} | {value} | {bar} | {'held' if held else 'MISSED'} |", flush=True)
        missed.extend([what] * (not held))

    print("| what | measured | bar | |\n| --- | --- | --- | --- |")
    factor = threads()
    row("eight runs of `rfc8867-5.4`, two threads beside one", f"{factor:.2f} times", "at least 1.8", factor >= THREADS_LEAST)
    factor = gil()
    row("the same from two threads of Python", f"{factor:.2f} times", "at least 1.8", factor >= THREADS_LEAST)
    micros = law()
    row("a call of a law in Python", f"{micros:.1f} µs", "at most 15", micros <= LAW_MOST)
    rate = steps(1)
    row("steps of an environment, 0.1 s each", f"{rate:.0f} a second", "at least 10 000", rate >= STEPS_LEAST)
    rate = steps(16)
    row("the same, 16 at once", f"{rate:.0f} a second", "at least 10 000", rate >= STEPS_LEAST)
    bare, quiet, kills, same, runs, curve = cluster(binary)
    row(f"{runs} runs on two workers of Ray beside the binary", f"{quiet:.1f} s beside {bare:.1f} s", "at most 5 % more", quiet <= OVERHEAD_MOST * bare)
    row(f"the same, {kills} workers killed", "the same bytes" if same else "other bytes", "the same bytes", same and kills == KILLS and runs == 10_000)
    print("\n| controller | loss | received, Mbit/s |\n| --- | ---: | ---: |")
    for controller, loss, received in curve:
        print(f"| `{controller}` | {loss:.1%} | {received:.2f} |")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
