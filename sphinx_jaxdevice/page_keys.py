"""What is known about one page before its policy is resolved, and the words for places in it. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .keys import UNSET, Unset


@dataclass(frozen=True, slots=True)
class PageKeys:
    """The keys of one page and the limits that MyST-NB would apply to it. Lines count from 1."""

    document: str
    """Sphinx document name, `folder/name` without suffix."""
    source_name: str
    """Path of the source file relative to the book, with suffix; it is what messages show."""
    metadata: Mapping[Any, object] = field(default_factory=dict)
    """The page's top-level keys as YAML or JSON gave them."""
    cells: Sequence[Mapping[Any, object] | None] = ()
    """Metadata of every cell, in the notebook's order; None for a cell that is not code."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Lines of top-level keys, and of keys in a block as `execution.timeout`; from `read_source`."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Top-level values as written; from `read_source`."""
    cell_lines: Mapping[int, int] = field(default_factory=dict)
    """Lines of cells by their index; from `lines_of_cells`."""
    host_book_limit: float | Unset | None = UNSET
    """`nb_execution_timeout`, seconds. Zero, a negative number and None mean no limit."""
    host_page_limit: float | Unset | None = UNSET
    """`mystnb: execution_timeout`, seconds, where the page gives it. Zero, a negative number and None mean no limit."""
    allow_errors: bool = False
    """MyST-NB's own option as it holds for the page, before `execution: allow_errors`."""

    def line(self, *path: str) -> int | None:
        """Return the line of a key, given as the names of its block and itself; else that of its block, else None."""
        return self.lines.get(".".join(path), self.lines.get(path[0]))

    def place(self, *path: str) -> str:
        """Return a key and where it stands, in words that end a sentence: `jax-timeout, line 4 of intro.md`."""
        name, line = ": ".join(path), self.line(*path)
        return f"{name} in {self.source_name}" if line is None else f"{name}, line {line} of {self.source_name}"

    def cell_name(self, index: int) -> str:
        """Return what to call a code cell: its number among the code cells, counted from 1."""
        return f"code cell {sum(cell is not None for cell in self.cells[: index + 1])}"

    def cell_place(self, name: str, index: int) -> str:
        """Return a cell's key and where it stands, in words that end a sentence."""
        line = self.cell_lines.get(index)
        where = f" in {self.source_name}" if line is None else f", line {line} of {self.source_name}"
        return f"{name} of {self.cell_name(index)}{where}"


def lines_of_cells(metadata: Mapping[Any, object]) -> dict[int, int]:
    """Return the lines of a Markdown page's cells by index, from the map that MyST-NB's reader adds to the metadata.

    Empty where there is no such map, as in an `.ipynb`.
    """
    source_map = metadata.get("source_map")
    if not isinstance(source_map, list):
        return {}
    return {index: line for index, line in enumerate(source_map) if isinstance(line, int) and not isinstance(line, bool)}
