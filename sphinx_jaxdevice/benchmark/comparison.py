"""Two results side by side: the ratio of each configuration's times, with its interval."""

from __future__ import annotations

from .estimate import ratio
from .notation import NOTHING, estimated, factor, seconds
from .result import Result, Row
from .tables import Table, timed


def compared(old: Result, new: Result) -> Table:
    """Return both times of every configuration of either result, and new over old; below 1 is faster now."""
    names = dict.fromkeys(row.name for result in (old, new) for row in result.configurations)
    return Table(
        f"{_title(old)} against {_title(new)}",
        ("Configuration", "Old", "New", "New / old", "Change"),
        tuple(_line(name, old.find(name), new.find(name)) for name in names),
    )


def _title(result: Result) -> str:
    jax = result.versions.get("jax", "?")
    return f"{result.machine.gpu or result.machine.cpu}, jax {jax}, {result.started_at[:10]}"


def _line(name: str, old: Row | None, new: Row | None) -> tuple[str, ...]:
    times = tuple(NOTHING if row is None else timed(row) for row in (old, new))
    if old is None or new is None or not (old.counts and new.counts and old.samples_s and new.samples_s):
        return (name, *times, NOTHING, "can't be compared")
    if old.leapfrogs != new.leapfrogs:
        # A transition of another depth is other work: compare a step.
        times = tuple(f"{seconds(row.seconds_a_leapfrog)} a step" for row in (old, new))
    scale = (old.leapfrogs or 1) / (new.leapfrogs or 1)
    found = ratio([[value * scale for value in values] for values in new.rounds], old.rounds)
    change = "slower" if found.low > 1 else "faster" if found.high < 1 else "no clear change"
    return (name, *times, estimated(found, factor), change)
