"""The keys of front matter, declared once: name, meaning, accepted values, how a value is read; and which other keys look like them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, TypeVar

from . import device, timeouts
from .device import Device
from .wording import LONGEST_WORD

T = TypeVar("T")


class Unset(Enum):
    """The type of `UNSET`, which says that nobody set a value; None is a value (no limit)."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """A key that authors write in front matter, in an entry of `jaxdevice_lectures` or in a cell's metadata."""

    name: str
    about: str
    """What the key does, in a sentence for the manual."""
    accepted: str
    """The accepted values, for the manual."""
    parse: Callable[[object], T]
    """Return the value; raises ValueError with a sentence where it is not accepted."""
    in_cells: bool = False
    """Whether a code cell may carry it."""


DEVICE: Final[Key[Device]] = Key(
    "jax-device", "Device on which the lecture's kernel runs JAX.", device.ACCEPTED, device.parse_device
)
CELL_LIMIT: Final[Key[float | None]] = Key(
    "jax-timeout", "Limit for each code cell.", timeouts.ACCEPTED, timeouts.parse_duration, in_cells=True
)
LECTURE_LIMIT: Final[Key[float | None]] = Key(
    "jax-lecture-timeout",
    "Limit for the whole lecture, kernel start included.",
    timeouts.ACCEPTED,
    timeouts.parse_duration,
)

KEYS: Final[Mapping[str, Key[Device] | Key[float | None]]] = {key.name: key for key in (DEVICE, CELL_LIMIT, LECTURE_LIMIT)}
"""All keys by name."""

_SIMILAR = 0.85
"""Similarity from which a name counts as a slip of one of ours. `timeout` (0.78) and `device` (0.75) are other people's keys."""


def looks_like(name: object) -> str | None:
    """Return the key of ours that a name was probably meant to be, or None where it is ours or unrelated."""
    if not isinstance(name, str) or name in KEYS:
        return None
    plain = re.sub(r"[\s_.-]+", "-", name[:LONGEST_WORD].strip().lower())
    ours = plain.startswith(("jax-", "jaxdevice"))
    close = difflib.get_close_matches(plain, KEYS, n=1, cutoff=0.0 if ours else _SIMILAR)
    return close[0] if close else None
