"""The commands of the binary as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Union

from . import _native
from ._law import laws
from ._native import InputError, Table
from ._progress import Progress, bar

Scenario = Union[str, os.PathLike, Mapping[str, Any]]
"""A name of the library, a file, the text of one (more than one line), or a dict in the form of one."""
Overrides = Union[Mapping[str, Any], Iterable[str], None]
"""Changes as of ``--set``: ``{"link.bottleneck.rate": "2 Mbit/s"}`` or ``["link.bottleneck.rate=2 Mbit/s"]``."""
Controllers = Union[Mapping[str, Callable[..., Any]], None]
"""Controllers written in Python, by the names that scenarios call them."""


def _source(scenario: Scenario) -> Any:
    if isinstance(scenario, Mapping):
        return (str(scenario.get("name", "scenario")), _native.toml_of_json(json.dumps(scenario)), ".")
    text = os.fspath(scenario)
    return ("scenario", text, ".") if "\n" in text else text


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, Mapping)):
        return _native.toml_value_of_json(json.dumps(value))
    return repr(value)


def _changes(overrides: Overrides) -> list[str]:
    if overrides is None:
        return []
    if isinstance(overrides, str):
        return [overrides]
    if isinstance(overrides, Mapping):
        return [f"{key}={_value(value)}" for key, value in overrides.items()]
    return list(overrides)


def _specs(control: str | Iterable[str] | None) -> list[str]:
    return [] if control is None else [control] if isinstance(control, str) else list(control)


def _seeds(seeds: int | Iterable[int], first: int = 1) -> list[int]:
    return list(range(first, first + seeds)) if isinstance(seeds, int) else list(seeds)


def scenarios() -> list[str]:
    """The names of the scenarios of the library."""
    return _native.scenarios()


def controllers() -> dict[str, dict[str, Any]]:
    """The built-in controllers: the document that each follows, and its options."""
    keys = ("default", "range", "about")
    return {
        name: {"source": source, "options": {option: dict(zip(keys, rest)) for option, *rest in options}}
        for name, source, options in _native.controllers()
    }


def experiments() -> dict[str, str]:
    """The tables and figures of the papers: their names and titles."""
    return dict(_native.experiments())


def check(scenario: Scenario, overrides: Overrides = None, *, controllers: Controllers = None) -> list[str]:
    """Reads a scenario, or raises what is wrong with it. Returns the names of its flows."""
    return _native.check(_source(scenario), _changes(overrides), laws(controllers))[1]


class _Outcome:
    """What a command prints with ``--json``."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def json(self) -> str:
        """The document, as the command prints it: ``seaway compare --json``, ``seaway sim --json --no-timing``."""
        return self._native.json

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The same as a dict."""
        return json.loads(self.json)


class Run(_Outcome):
    """The outcome of a run."""

    def flow(self, name: str | None = None) -> dict[str, Any]:
        """The summary of a flow; of the first without a name."""
        flows = self.summary["flows"]
        for flow in flows:
            if name in (None, flow["name"]):
                return flow
        raise InputError(f"no flow {name}; there are: {', '.join(flow['name'] for flow in flows)}")

    @property
    def holds(self) -> bool:
        """Whether every ``[[expect]]`` of the scenario was met."""
        return self._native.holds

    def flows(self) -> Table:
        """A row a flow, with the numbers of its summary as columns."""
        return self._native.flows()

    def series(self) -> Table:
        """The time series: time (s), flow, name, value, unit. Empty without ``series=True``."""
        return self._native.series()

    def decisions(self) -> Table:
        """Why rates changed. Empty without ``series=True``."""
        return self._native.decisions()

    def shown(self) -> dict[str, list[float]]:
        """Capture times (s) of the displayed frames, by flow. Empty without ``series=True``."""
        return dict(self._native.shown())

    def plot(self, **options: Any) -> Any:
        """Rates, delays and decisions over time: :func:`seaway.plot.run`."""
        from . import plot

        return plot.run(self, **options)

    def __repr__(self) -> str:
        summary = self.summary
        return f"<seaway.Run of {summary['scenario']}, seed {summary['seed']}, {summary['simulated_s']:g} s>"


def sim(
    scenario: Scenario,
    overrides: Overrides = None,
    *,
    control: str | None = None,
    seed: int | None = None,
    controllers: Controllers = None,
    series: bool = False,
    progress: Progress = None,
) -> Run:
    """Runs a scenario in the simulator.

    ``control`` is for every media flow. ``series`` keeps the time series and the causes of rate changes. Python's lock
    is not held meanwhile, so several threads run several scenarios at once.
    """
    source, changes, made = _source(scenario), _changes(overrides), laws(controllers)
    with bar(progress, lambda: _native.check(source, changes, made)[0], "sim") as report:
        return Run(_native.sim(source, changes, control, seed, made, series, report))


class Sweep:
    """A sweep that is set up: scenarios, controllers, parameters and seeds."""

    def __init__(self, native: _native.NativeSweep) -> None:
        self._native = native

    @classmethod
    def read(cls, plan: str | os.PathLike) -> Sweep:
        """The sweep of a plan's file, as of ``seaway sweep PLAN``."""
        return cls(_native.NativeSweep.read(os.fspath(plan)))

    def __len__(self) -> int:
        """The number of runs."""
        return len(self._native)

    def run(self, *, threads: int | None = None, progress: Progress = None) -> Table:
        """Makes all runs on so many threads, by default a core each. The table has a row a run and flow."""
        with bar(progress, self._native.seconds, "sweep") as report:
            return self._native.run(threads, report)

    def run_into(
        self,
        folder: str | os.PathLike,
        *,
        shard: tuple[int, int] = (1, 1),
        threads: int | None = None,
        progress: Progress = None,
    ) -> int:
        """Makes those runs of shard (i, n) that ``folder`` has not yet, and ``runs.parquet`` when all are there.

        Returns the number of runs that other shards have still to make.
        """
        with bar(progress, self._native.seconds, "sweep") as report:
            return self._native.run_into(os.fspath(folder), shard, threads, report)


def sweep(
    scenario: Scenario | Sequence[Scenario],
    control: str | Iterable[str] | None = None,
    *,
    parameters: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | Iterable[int] = 1,
    flow: str | None = None,
    controllers: Controllers = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Table:
    """Runs every combination of scenarios, controllers, parameters and seeds on all cores.

    ``parameters`` has the values of each key of ``--set``. A number of ``seeds`` counts from 1. With ``flow`` that flow
    alone has the controllers, else all media flows. The table has a row a run and flow; its columns are the parameters
    and the numbers of the summary.
    """
    return setup_sweep(
        scenario, control, parameters=parameters, seeds=seeds, flow=flow, controllers=controllers
    ).run(threads=threads, progress=progress)


def setup_sweep(
    scenario: Scenario | Sequence[Scenario],
    control: str | Iterable[str] | None = None,
    *,
    parameters: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | Iterable[int] = 1,
    flow: str | None = None,
    controllers: Controllers = None,
    series: bool = False,
) -> Sweep:
    """The same, to be run later or in parts."""
    one = isinstance(scenario, (str, os.PathLike, Mapping))
    sources = [_source(each) for each in ([scenario] if one else scenario)]  # type: ignore[union-attr]
    values = [(key, [_scalar(value) for value in values]) for key, values in (parameters or {}).items()]
    return Sweep(
        _native.NativeSweep(sources, _specs(control), flow, values, _seeds(seeds), laws(controllers), series)
    )


def _scalar(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else _value(value)


class Comparison(_Outcome):
    """The outcome of :func:`compare`."""

    def page(self) -> str:
        """A self-contained page (HTML) with the synchronised videos and plots."""
        return self._native.page()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the page."""
        Path(path).write_text(self.page(), encoding="utf-8")

    def __repr__(self) -> str:
        return self._native.text

    def _repr_html_(self) -> str:
        text = self._native.text.replace("&", "&amp;").replace("<", "&lt;")
        return f"<pre>{text}</pre>"


def compare(
    scenario: Scenario,
    control: str | Iterable[str],
    overrides: Overrides = None,
    *,
    flow: str | None = None,
    clip: str | None = None,
    seed: int | None = None,
    seeds: int = 1,
    controllers: Controllers = None,
    progress: Progress = None,
) -> Comparison:
    """Runs the same network and the same video under one to eight controllers."""
    specs, changes, source, made = _specs(control), _changes(overrides), _source(scenario), laws(controllers)
    total = lambda: _native.check(source, changes, made)[0] * len(specs) * seeds  # noqa: E731
    with bar(progress, total, "compare") as report:
        return Comparison(_native.compare(source, specs, flow, clip, seed, seeds, changes, made, report))


class Score:
    """The quality of what a viewer saw."""

    def __init__(self, text: str, pictures: Table) -> None:
        self.json = text
        """The report, as ``seaway score --json`` prints it."""
        self._pictures = pictures

    @cached_property
    def report(self) -> dict[str, Any]:
        """The same as a dict."""
        return json.loads(self.json)

    def pictures(self) -> Table:
        """The scores of each picture as time series."""
        return self._pictures


def score(
    reference: str | os.PathLike,
    received: str | os.PathLike,
    *,
    mode: str = "viewer",
    align: str = "auto",
    metrics: Iterable[str] | None = None,
    scale: bool = False,
) -> Score:
    """Compares a received clip with the one that was sent: PSNR, SSIM, freezes and delay."""
    named = None if metrics is None else list(metrics)
    return Score(*_native.score(os.fspath(reference), os.fspath(received), mode, align, named, scale))


class Shaped:
    """A shaped stream and its report."""

    def __init__(self, stream: bytes, text: str) -> None:
        self.stream = stream
        """The shaped stream, in the format of the input."""
        self.report: dict[str, Any] = json.loads(text)
        """Totals, buffer, container and pictures, in the form of ``seaway shape --json``."""


def shape(
    stream: bytes | str | os.PathLike,
    *,
    rate: str | None = None,
    ratio: float | None = None,
    method: str = "auto",
    threads: int = 1,
) -> Shaped:
    """Lowers the rate of coded MPEG-1 and MPEG-2 video: a stream or a file of it.

    Give the ``rate`` of the video, such as ``"3.2 Mbit/s"``, or its ``ratio`` to that of the input.
    """
    octets = stream if isinstance(stream, (bytes, bytearray)) else Path(stream).read_bytes()
    return Shaped(*_native.shape(bytes(octets), rate, ratio, method, threads))


def reproduce(
    ids: str | Iterable[str] = (),
    *,
    paper: str | Iterable[str] = (),
    seeds: int = 5,
    seed: int = 1,
    progress: Callable[[float], object] | None = None,
) -> dict[str, Any]:
    """Makes tables and figures of the papers again: rows such as ``"S000-T1"``, or all rows of a paper.

    Returns the report of ``seaway reproduce --json``; its key ``holds`` says whether all numbers are in tolerance.
    """
    text, holds = _native.reproduce(_specs(ids), _specs(paper), seeds, seed, progress)
    return {**json.loads(text), "holds": holds}
