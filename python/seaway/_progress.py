"""A bar in notebooks and terminals, where tqdm is installed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Union

Progress = Union[bool, Callable[[float], object], None]


@contextmanager
def bar(progress: Progress, seconds: Callable[[], float], what: str) -> Iterator[Callable[[float], object] | None]:
    """What the native half calls with the virtual seconds that passed, or ``None``."""
    if not progress:
        yield None
        return
    if callable(progress):
        yield progress
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as missing:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from missing
    lock = threading.Lock()
    with tqdm(total=round(seconds(), 3), unit="s", desc=what, leave=False) as shown:

        def advance(passed: float) -> None:
            with lock:
                shown.update(passed)

        yield advance
