"""Warnings about keys that look like ours and have no effect: misspelt, in the wrong block, or in a cell that can't carry them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .diagnostics import Diagnostic, Warn, WarningKind
from .keys import KEYS, looks_like
from .page_keys import PageKeys
from .wording import listed, quote

BLOCKS = ("mystnb", "execution", "jupytext", "kernelspec")
"""Blocks of front matter into which authors put our keys by mistake."""


def warn_of_stray_keys(page: PageKeys, warn: Warn) -> None:
    """Warn once for each key of the page or of its code cells that looks like ours and has no effect."""
    for name in page.metadata:
        meant = looks_like(name)
        if meant:
            _warn(
                warn,
                f"{quote(name)} is not a key of this extension and has no effect; did you mean '{meant}'?",
                page.line(name),
            )
    for block in BLOCKS:
        _warn_of_nested(block, page, warn)
    for index, cell in enumerate(page.cells):
        _warn_of_cell(cell or {}, index, page, warn)


def _warn_of_nested(block: str, page: PageKeys, warn: Warn) -> None:
    inner = page.metadata.get(block)
    for name in inner if isinstance(inner, Mapping) else ():
        if not isinstance(name, str):
            continue
        meant = name if name in KEYS else looks_like(name)
        if meant:
            dropped = ", and MyST-NB drops the whole block for it" if block == "mystnb" else ""
            told = f"{quote(name)} stands under '{block}:' and has no effect there{dropped}; write '{meant}' at the top level instead."
            _warn(warn, told, page.line(block, name))


def _warn_of_cell(cell: Mapping[Any, object], index: int, page: PageKeys, warn: Warn) -> None:
    line = page.cell_lines.get(index)
    where = page.cell_name(index)
    for name in cell:
        key = KEYS.get(name) if isinstance(name, str) else None
        meant = looks_like(name)
        if key is not None and not key.in_cells:
            cells = listed(known.name for known in KEYS.values() if known.in_cells)
            _warn(warn, f"'{key.name}' of {where} has no effect: it works for lectures only; a cell may carry {cells}.", line)
        elif meant:
            _warn(
                warn,
                f"{quote(name)} of {where} is not a key of this extension and has no effect; did you mean '{meant}'?",
                line,
            )


def _warn(warn: Warn, told: str, line: int | None) -> None:
    warn(Diagnostic(WarningKind.KEY, told, line))
