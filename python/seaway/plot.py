"""Plots in print quality, with matplotlib.

Lines are drawn from every reading; where there are more readings than a page can show, matplotlib simplifies the path and
keeps its extremes. Nothing is averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._api import Run
from ._native import InputError

WIDTH = 6.3
"""Inches: the text of an A4 page."""
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    "savefig.dpi": 300,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
SCALES = {"bit/s": (1e-6, "Mbit/s"), "B": (1e-3, "kB")}
RATES = ("capacity", "sent_rate", "received_rate", "target_rate")
DELAYS = ("rtt", "queue_delay")


def columns(table: Any) -> dict[str, np.ndarray]:
    """The columns of an Arrow table as arrays."""
    import pyarrow

    read = pyarrow.table(table)
    return {name: read[name].to_numpy(zero_copy_only=False) for name in read.column_names}


def lines(run: Run, names: Iterable[str]) -> list[tuple[str, str, str, np.ndarray, np.ndarray]]:
    """The series of these names: (flow or link, name, unit, times, values)."""
    rows = columns(run.series())
    if not len(rows["time"]):
        raise InputError("the run has no time series: run it with series=True")
    found = []
    for name in names:
        of_name = rows["name"] == name
        for flow in dict.fromkeys(rows["flow"][of_name]):
            here = of_name & (rows["flow"] == flow)
            found.append((str(flow), name, str(rows["unit"][here][0]), rows["time"][here], rows["value"][here]))
    return found


def _draw(axes: Any, run: Run, names: Iterable[str], flow: str | None) -> None:
    units = []
    for of, name, unit, times, values in lines(run, names):
        if of.endswith("/back") or (flow is not None and name != "capacity" and of != flow):
            continue
        scale, label = SCALES.get(unit, (1.0, unit))
        units.append(label)
        style = {"color": "0.6", "linestyle": "--"} if name == "capacity" else {}
        axes.step(times, values * scale, where="pre", label=f"{of}: {name.replace('_', ' ')}", **style)
    axes.set_ylabel(", ".join(dict.fromkeys(units)))
    if units:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)


def run(outcome: Run, *, flow: str | None = None, decisions: bool = True, title: str | None = None) -> Any:
    """Rates, delays and lost packets over time, with a mark at each decision that halves the rate or worse."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, (rates, delays, losses) = plt.subplots(
            3, 1, sharex=True, figsize=(WIDTH, 4.6), height_ratios=(2, 1, 1), layout="constrained"
        )
        _draw(rates, outcome, RATES, flow)
        _draw(delays, outcome, DELAYS, flow)
        _draw(losses, outcome, ("lost",), flow)
        if decisions:
            made = columns(outcome.decisions())
            cut = made["after_bps"] < made["before_bps"] / 2
            for time in made["time"][cut]:
                rates.axvline(time, color="tab:red", alpha=0.4, linewidth=0.8)
        losses.set_xlabel("time, s")
        losses.set_ylim(bottom=0)
        rates.set_ylim(bottom=0)
        rates.set_title(title or f"{outcome.summary['scenario']}, seed {outcome.summary['seed']}", loc="left")
    return figure


def compare(runs: Mapping[str, Run], series: str = "received_rate", *, flow: str | None = None) -> Any:
    """One series of several runs above each other, by their names."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, every = plt.subplots(
            len(runs), 1, sharex=True, sharey=True, squeeze=False, figsize=(WIDTH, 1.4 * len(runs)), layout="constrained"
        )
        for axes, (name, outcome) in zip(every[:, 0], runs.items()):
            _draw(axes, outcome, ("capacity", series) if series.endswith("rate") else (series,), flow)
            axes.set_title(name, loc="left", fontsize=8)
        every[-1, 0].set_xlabel("time, s")
    return figure


def curve(table: Any, x: str, y: str, *, by: str = "control", scale: float = 1.0) -> Any:
    """A number of a sweep over a parameter: the mean of the seeds, and their range, for each ``by``."""
    import matplotlib.pyplot as plt

    rows = columns(table)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
        for name in dict.fromkeys(rows[by]):
            here = rows[by] == name
            places = np.unique(rows[x][here])
            groups = [rows[y][here & (rows[x] == place)].astype(float) * scale for place in places]
            mean = [group.mean() for group in groups]
            (line,) = axes.plot(places, mean, marker="o", markersize=3, label=str(name))
            low, high = [group.min() for group in groups], [group.max() for group in groups]
            axes.fill_between(places.astype(float), low, high, color=line.get_color(), alpha=0.15)
        axes.set_xlabel(x)
        axes.set_ylabel(y if scale == 1.0 else f"{y} x {scale:g}")
        axes.legend()
    return figure
