"""A lab for the rate control of live video.

>>> import seaway
>>> run = seaway.sim("lossy-wifi")
>>> run.summary["flows"][0]["received_bps"] > 1e6
True

Numbers are those of the binary ``seaway``, bit for bit. Tables follow the Arrow PyCapsule interface: pandas, polars,
DuckDB and pyarrow read them in place, for example ``polars.DataFrame(run.series())``.
"""

from ._api import (
    Comparison,
    Run,
    Score,
    Shaped,
    Sweep,
    check,
    compare,
    controllers,
    experiments,
    reproduce,
    scenarios,
    score,
    shape,
    sim,
    sweep,
)
from ._law import Controller
from ._native import Decision, Error, Feedback, InputError, RunError, Table, __version__

__all__ = [
    "Comparison",
    "Controller",
    "Decision",
    "Error",
    "Feedback",
    "InputError",
    "Run",
    "RunError",
    "Score",
    "Shaped",
    "Sweep",
    "Table",
    "__version__",
    "check",
    "compare",
    "controllers",
    "experiments",
    "reproduce",
    "scenarios",
    "score",
    "shape",
    "sim",
    "sweep",
]
