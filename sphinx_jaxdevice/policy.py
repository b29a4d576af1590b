"""What a lecture asks for, after book options and front matter are merged. Plain data, picklable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .device import Device

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A value and where it was set, in words that end a sentence: `jax-timeout, line 4 of intro.md`."""

    value: T
    origin: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The device and the limits of one lecture."""

    device: Setting[Device] = Setting(Device.AUTO, "the default")
    cell_limit: Setting[float | None] = Setting(None, "the default")
    """Limit for each cell in seconds, None for no limit."""
    lecture_limit: Setting[float | None] = Setting(None, "the default")
    """Limit for the whole lecture in seconds, kernel start included; None for no limit."""
    own_cell_limits: Mapping[int, Setting[float | None]] = field(default_factory=dict)
    """Limits of the cells that carry their own, by index in the notebook's list of cells."""
    allow_errors: bool = False
    """Whether errors raised by cells leave the lecture succeeded (MyST-NB's own option)."""

    def limit_of(self, cell_index: int) -> Setting[float | None]:
        """Return the cell limit in force for a cell, in seconds: its own where it has one, else the lecture's."""
        return self.own_cell_limits.get(cell_index, self.cell_limit)
