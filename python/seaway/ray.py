"""Sweeps on a Ray cluster.

>>> import seaway.ray
>>> seaway.ray.sweep("plan.toml", "/shared/out")          # doctest: +SKIP

The folder must be seen by all workers, as on a shared file system. A task makes a part of the runs; one whose worker is
lost is made again by Ray, and makes only those runs that are not there yet. The table has the same bytes as that of
``seaway sweep``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._api import Sweep
from ._native import RunError


def _make(plan: str, folder: str, part: int, parts: int, threads: int) -> int:
    """Makes a part of the runs, in a worker. Returns the number of runs that are still missing."""
    return Sweep.read(plan).run_into(folder, shard=(part, parts), threads=threads)


def sweep(
    plan: str | os.PathLike,
    folder: str | os.PathLike,
    *,
    parts: int | None = None,
    cpus: int = 1,
    retries: int = 8,
    **options: Any,
) -> Path:
    """Runs a plan on the cluster that Ray is connected to, else on this machine. Returns the path of ``runs.parquet``.

    ``parts`` is the number of tasks, by default four a core and at least a hundred runs each; ``cpus`` are the threads of
    each. A task is tried again ``retries`` times after its worker died. ``options`` are those of ``ray.remote``.
    """
    import ray

    here, there = str(Path(plan).resolve()), str(Path(folder).resolve())
    runs = len(Sweep.read(here))
    if not ray.is_initialized():
        ray.init()
    cores = int(ray.cluster_resources().get("CPU", 1))
    count = parts or max(1, min(4 * cores // cpus, -(-runs // 100)))
    make = ray.remote(num_cpus=cpus, max_retries=retries, **options)(_make)
    ray.get([make.remote(here, there, part, count, cpus) for part in range(1, count + 1)])
    # The last task writes the table, unless two were last at once.
    missing = Sweep.read(here).run_into(there)
    if missing:
        raise RunError(f"{there}: {missing} runs are missing")
    return Path(there) / "runs.parquet"
