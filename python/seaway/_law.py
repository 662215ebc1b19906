"""Controllers written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ._native import Decision, Feedback, InputError


class Controller:
    """A rate controller. Subclass it, or pass any function that makes a law.

    Keyword parameters of ``__init__`` that have a number, text or bool as their default are the controller's options, as in
    ``control = "sawtooth(gain=1.05)"`` of a scenario.

    Each flow makes its own object when it begins. Before that it makes one more, which gets the limits but no feedback. Rates
    are in bit/s, times in seconds. A returned rate is clamped to the limits of the flow; ``None`` leaves the rate as it is.
    """

    feedback_interval: float = 0.1
    """Seconds from one report of the receiver to the next, 0.005 to 1."""

    timer: float | None = None
    """Seconds between two calls of ``on_timer``; ``None``: no timer."""

    def on_limits(self, least: float, start: float, most: float) -> float | Decision | None:
        """The range of the rate, and where to begin. Called once before anything else, and when the range changes."""
        return None

    def on_feedback(self, now: float, feedback: Feedback) -> float | Decision | None:
        """A report came back."""
        raise NotImplementedError

    def on_timer(self, now: float) -> float | Decision | None:
        """The timer ran out."""
        return None


_READERS: dict[type, Callable[[str], Any]] = {
    bool: lambda text: {"on": True, "off": False, "True": True, "False": False}[text],
    int: int,
    float: float,
    str: str,
}


def _options(factory: Callable[..., Any]) -> dict[str, Any]:
    """The keyword parameters of ``factory`` and their defaults."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in parameters if type(p.default) in _READERS}


class Law(NamedTuple):
    """The form in which the native half takes a law."""

    name: str
    arguments: Callable[[Mapping[str, str]], dict[str, Any]]
    make: Callable[..., Any]
    feedback_interval: float
    options: list[tuple[str, str, str]]


def law(name: str, factory: Callable[..., Any]) -> Law:
    """The law that ``factory`` makes."""
    if not callable(factory):
        raise InputError(f"{name}: expected a class or a function that makes a law")
    options = _options(factory)

    def arguments(texts: Mapping[str, str]) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for option, text in texts.items():
            kind = type(options[option])
            try:
                read[option] = _READERS[kind](text)
            except (KeyError, ValueError):
                raise InputError(f"{option}={text}: expected a value of type {kind.__name__}") from None
        return read

    interval = float(getattr(factory, "feedback_interval", Controller.feedback_interval))
    described = [(option, str(default), type(default).__name__) for option, default in options.items()]
    return Law(name, arguments, factory, interval, described)


def laws(controllers: Mapping[str, Callable[..., Any]] | None) -> list[Law]:
    """All of them."""
    return [law(name, factory) for name, factory in (controllers or {}).items()]
