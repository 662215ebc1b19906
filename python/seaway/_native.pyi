"""The native half. Use the functions of ``seaway`` and ``seaway.env``."""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import Buffer

__version__: str

class Error(Exception):
    """What went wrong, in words."""

class InputError(Error):
    """Wrong usage or unusable input: the binary exits with 2."""

class RunError(Error):
    """It failed while running: the binary exits with 1."""

class Table:
    """A table that pandas, polars, DuckDB and pyarrow read in place."""

    @property
    def column_names(self) -> list[str]: ...
    @property
    def num_rows(self) -> int: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Feedback:
    """A report of the receiver. Times are in seconds, rates in bit/s, sizes in octets of IP datagrams."""

    @property
    def rtt(self) -> float | None:
        """A fresh sample of the round-trip time, s."""
    @property
    def rate(self) -> float:
        """The law's present rate, bit/s."""
    @property
    def received(self) -> int:
        """Packets that arrived."""
    @property
    def lost(self) -> int:
        """Packets taken for lost."""
    @property
    def late(self) -> int:
        """Packets that arrived after they were taken for lost."""
    @property
    def marked(self) -> int:
        """Packets that arrived marked CE."""
    @property
    def received_bytes(self) -> int:
        """Octets that arrived."""
    @property
    def loss_ratio(self) -> float:
        """Lost packets over those whose fate is known, 0 to 1."""
    @property
    def receive_rate(self) -> float | None:
        """The rate of arrival, bit/s."""
    @property
    def queue_delay(self) -> float | None:
        """Mean one-way delay above the least of the flow, s."""
    @property
    def delay_change(self) -> float | None:
        """One-way delay of the newest packet less that of the oldest, s."""
    def packets(self) -> list[tuple[int, int, float, float | None, str]]:
        """Each packet: number, size, sent, arrived or None, and "received", "lost" or "late"."""

class Decision:
    """A rate and its cause, which stands in the decisions of the run."""

    def __new__(
        cls,
        rate: float,
        cause: str,
        *,
        signal: str = "rate",
        value: float | None = None,
        unit: str = "",
        threshold: float | None = None,
        phase: str = "running",
    ) -> Decision: ...
    @property
    def rate(self) -> float: ...
    @property
    def cause(self) -> str: ...

class NativeRun:
    @property
    def json(self) -> str: ...
    @property
    def holds(self) -> bool: ...
    @property
    def interrupted(self) -> bool: ...
    def flows(self) -> Table: ...
    def series(self) -> Table: ...
    def decisions(self) -> Table: ...
    def shown(self) -> list[tuple[str, list[float]]]: ...

class NativeSweep:
    def __new__(
        cls,
        scenarios: Sequence[Any],
        controls: Sequence[str],
        flow: str | None,
        parameters: Sequence[tuple[str, Sequence[Any]]],
        seeds: Sequence[int],
        laws: Sequence[Any],
        series: bool,
    ) -> NativeSweep: ...
    @staticmethod
    def read(path: str) -> NativeSweep: ...
    def __len__(self) -> int: ...
    def seconds(self) -> float: ...
    def run(self, threads: int | None, progress: Callable[[float], object] | None) -> Table: ...
    def run_into(
        self,
        folder: str,
        shard: tuple[int, int],
        threads: int | None,
        progress: Callable[[float], object] | None,
    ) -> int: ...

class NativeComparison:
    @property
    def json(self) -> str: ...
    @property
    def text(self) -> str: ...
    def page(self) -> str: ...

class Environment:
    def __new__(
        cls,
        sources: Sequence[Any],
        changes: Sequence[str],
        flow: str | None,
        step: float | None,
        observations: Sequence[str],
        reward: str,
        series: bool,
    ) -> Environment: ...
    def reset(self, index: int, seed: int, into: Buffer) -> None: ...
    def step(self, rates: Buffer, observations: Buffer, rewards: Buffer, over: Buffer) -> None: ...
    def limits(self, index: int) -> tuple[float, float]: ...
    def state(self, index: int) -> tuple[float, float]: ...
    def finish(self, index: int) -> NativeRun: ...

def sim(
    source: Any,
    changes: Sequence[str],
    control: str | None,
    seed: int | None,
    laws: Sequence[Any],
    series: bool,
    progress: Callable[[float], object] | None,
) -> NativeRun: ...
def check(source: Any, changes: Sequence[str], laws: Sequence[Any]) -> tuple[float, list[str]]: ...
def scenarios() -> list[str]: ...
def controllers() -> list[tuple[str, str, list[tuple[str, str, str, str]]]]: ...
def experiments() -> list[tuple[str, str]]: ...
def observations() -> list[tuple[str, str]]: ...
def rewards() -> list[tuple[str, str]]: ...
def toml_of_json(json: str) -> str: ...
def toml_value_of_json(json: str) -> str: ...
def compare(
    source: Any,
    controls: Sequence[str],
    flow: str | None,
    clip: str | None,
    seed: int | None,
    seeds: int,
    changes: Sequence[str],
    laws: Sequence[Any],
    progress: Callable[[float], object] | None,
) -> NativeComparison: ...
def score(
    reference: str, received: str, mode: str, align: str, metrics: Sequence[str] | None, scale: bool
) -> tuple[str, Table]: ...
def shape(
    stream: bytes, rate: str | None, ratio: float | None, method: str, threads: int
) -> tuple[bytes, str]: ...
def reproduce(
    ids: Sequence[str],
    papers: Sequence[str],
    seeds: int,
    seed: int,
    progress: Callable[[float], object] | None,
) -> tuple[str, bool]: ...
