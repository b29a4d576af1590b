"""Durations as authors write them, and the deadline of a lecture. Pure: the clock is passed in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .wording import LONGEST_WORD, refusal

LONGEST = 366 * 86400.0
"""Longest duration that is accepted, seconds. A larger number is a slip, and a timer can't be set to it."""

ACCEPTED = "seconds above 0 (90), 90s, 10m, 1h30m, 1.5h, at most 366 days, or none for no limit"

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_SECONDS = re.compile(_NUMBER)
_PARTS = re.compile(rf"(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?")
_WORDY = re.compile(rf"\s*({_NUMBER})\s*([a-z]+)\s*(?:,|and\b)?")
_UNITS = {
    "h": ("hour", "hr", "h"),
    "m": ("minute", "min", "m"),
    "s": ("second", "sec", "s"),
}
_MEANS_NONE = frozenset({"off", "no", "never", "null", "nil", "false", "unlimited", "infinite", "infinity", "inf", "0", "-1"})


class DurationError(ValueError):
    """A value is not a duration; the text says what was found and what is accepted."""


def parse_duration(value: object) -> float | None:
    """Return a duration in seconds, or None for `none`, which means no limit.

    Accepted are numbers of seconds and strings such as `90`, `90s`, `10m`, `1h30m`, `1.5h` and `none`, in any case and with
    spaces around.

    Raises `DurationError` for everything else, also for truth values, nothing, NaN, zero and more than 366 days.
    """
    if isinstance(value, str):
        text = value.strip().casefold()
        if text == "none":
            return None
        seconds = _seconds(text)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        # The comparison comes first: a whole number may be too large to become a float.
        seconds = float(value) if 0 < value <= LONGEST else None
    else:
        seconds = None
    if seconds is None or not 0 < seconds <= LONGEST:
        raise DurationError(refusal(value, ACCEPTED, _meant(value)))
    return seconds


def _seconds(text: str) -> float | None:
    """Return the seconds that a text in the duration notation stands for, or None where it is none."""
    if not text or len(text) > LONGEST_WORD:
        return None
    if _SECONDS.fullmatch(text):
        return float(text)
    parts = _PARTS.fullmatch(text)
    if parts is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return hours * 3600 + minutes * 60 + seconds


def _meant(value: object) -> str | None:
    """Return the notation for what was probably meant: `10m` for `10 minutes`, `none` for `off`."""
    if value is False:
        return "none"
    if not isinstance(value, str) or len(value) > LONGEST_WORD:
        return None
    text = value.strip().casefold()
    if text in _MEANS_NONE:
        return "none"
    written = ""
    position = 0
    while position < len(text):
        part = _WORDY.match(text, position)
        unit = part and _unit(part[2])
        if not part or not unit:
            return None
        written += part[1] + unit
        position = part.end()
    return written if 0 < (_seconds(written) or 0) <= LONGEST else None


def _unit(word: str) -> str | None:
    """Return the letter of a unit written out, in singular or plural."""
    singular = word.removesuffix("s") or "s"
    return next((letter for letter, words in _UNITS.items() if singular in words), None)


def host_limit(value: object) -> float | None:
    """Return a limit of MyST-NB in seconds; there zero, a negative number and nothing mean no limit, which is None here.

    A number that no timer can be set to counts as no limit too.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= LONGEST else None


def format_duration(seconds: float) -> str:
    """Return a duration, given in seconds, for people: `0.25 s`, `20 s`, `10 min`, `1 h 30 min`."""
    if not math.isfinite(seconds) or abs(seconds) < 59.95:  # noqa: PLR2004 - 59.95 is where three digits round to a minute
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{number} {unit}" for number, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if number]
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a lecture must be over, counted from the moment this object is made.

    `limit` is in seconds, None for no limit; `clock` returns seconds that never go back, such as `time.monotonic`.
    """

    limit: float | None
    clock: Callable[[], float]
    started: float = field(init=False)

    def __post_init__(self) -> None:
        """Read the clock once."""
        object.__setattr__(self, "started", self.clock())

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self.started

    def left(self) -> float | None:
        """Return the seconds left, 0 when the deadline has passed, None for no limit."""
        return None if self.limit is None else max(0.0, self.limit - self.elapsed())

    def passed(self) -> bool:
        """Return whether the deadline has passed."""
        return self.left() == 0
