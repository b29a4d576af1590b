"""How times, ratios, shares and their intervals are written. Pure."""

from __future__ import annotations

from collections.abc import Callable

from sphinx_jaxdevice.timeouts import format_duration

from .result import Estimate

NOTHING = "-"
TEN_MINUTES = 600


def seconds(value: float | None) -> str:
    """Return a time with three digits and the unit that suits it."""
    if value is None:
        return NOTHING
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def factor(value: float) -> str:
    """Return a ratio of times."""
    return f"{value:.3g}x"


def percent(value: float) -> str:
    """Return a share."""
    return f"{value:.0%}"


def interval(low: float, high: float, shown: Callable[[float], str] = seconds) -> str:
    """Return an interval in words."""
    return f"{shown(low)} to {shown(high)}"


def estimated(found: Estimate, shown: Callable[[float], str]) -> str:
    """Return a figure with its interval."""
    return f"{shown(found.value)} ({interval(found.low, found.high, shown)})"


def about(run: Estimate) -> str:
    """Return a predicted time with its interval, in words."""
    low, middle, high = (format_duration(_rounded(value)) for value in (run.low, run.value, run.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def _rounded(value: float) -> float:
    """Return seconds with as many digits as a prediction deserves."""
    return round(value) if value < TEN_MINUTES else round(value / 60) * 60
