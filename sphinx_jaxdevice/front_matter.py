"""Page keys and book options -> the policy of one lecture. Pure: no I/O, and nothing is raised.

The tightest scope wins: cell, page, book. A value that is not accepted costs one warning, and the next wider scope applies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from .config import PREFIX, BookOptions
from .device import Device
from .diagnostics import Diagnostic, Warn, WarningKind
from .keys import CELL_LIMIT, DEVICE, LECTURE_LIMIT, UNSET, Key, Unset
from .lecture_rules import LectureRule
from .page_keys import PageKeys
from .policy import Policy, Setting
from .stray_keys import warn_of_stray_keys
from .timeouts import LONGEST, host_limit
from .wording import quote, refusal

T = TypeVar("T")

_DEFAULT = "the default"
_WIDER = "This value is ignored and the next wider scope applies."
_NOT_DECIMAL = re.compile(r"[-+]?0[0-9_xbo]+.*|.*:.*", re.IGNORECASE)
"""Numbers whose YAML value is not what they look like: octal 010 is 8, and 1:30 is 90."""


def resolve(page: PageKeys, options: BookOptions, warn: Warn) -> Policy:
    """Return what a lecture asks for, each part with where it was set.

    Device: front matter, `jaxdevice_lectures`, `jaxdevice_default_device`. Limit of each cell: its own metadata, front matter,
    `execution: timeout`, `mystnb: execution_timeout`, `jaxdevice_lectures`, `jaxdevice_timeout`, `nb_execution_timeout`. Limit of
    the lecture: front matter, `jaxdevice_lectures`, `jaxdevice_lecture_timeout`. `none` at one scope means no limit.
    """
    warn_of_stray_keys(page, warn)
    rules = [rule for rule in options.lectures if rule.matches(page.document, page.source_name)]
    execution = _execution_block(page, warn)
    return Policy(
        device=_on_page(DEVICE, page, warn) or _in_rules(DEVICE, rules) or _default_device(options),
        cell_limit=_on_page(CELL_LIMIT, page, warn)
        or _execution_timeout(execution, page, warn)
        or _host_limit(page.host_page_limit, page.place("mystnb", "execution_timeout"))
        or _in_rules(CELL_LIMIT, rules)
        or _in_book("timeout", options.timeout)
        or _host_limit(page.host_book_limit, "nb_execution_timeout (execute: timeout in _config.yml)")
        or Setting(None, _DEFAULT),
        lecture_limit=_on_page(LECTURE_LIMIT, page, warn)
        or _in_rules(LECTURE_LIMIT, rules)
        or _in_book("lecture_timeout", options.lecture_timeout)
        or Setting(None, _DEFAULT),
        own_cell_limits=_own_cell_limits(page, warn),
        allow_errors=_allow_errors(execution, page, warn),
    )


def _on_page(key: Key[T], page: PageKeys, warn: Warn) -> Setting[T] | None:
    if key.name not in page.metadata:
        return None
    value = page.metadata[key.name]
    written = page.texts.get(key.name, "")
    if isinstance(value, int | float) and not isinstance(value, bool) and _NOT_DECIMAL.fullmatch(written):
        told = f"found {written[:20]}, which YAML reads as {quote(value)}, accepted: {key.accepted}."
        _refuse(warn, f"{key.name}: {told} {_WIDER}", page.line(key.name))
        return None
    try:
        return Setting(key.parse(value), page.place(key.name))
    except ValueError as error:
        _refuse(warn, f"{key.name}: {error} {_WIDER}", page.line(key.name))
        return None


def _in_rules(key: Key[T], rules: list[LectureRule]) -> Setting[T] | None:
    for rule in reversed(rules):
        if key.name in rule.values:
            value: T = rule.values[key.name]  # type: ignore[assignment]  # read by this key's own parse
            return Setting(value, rule.origin)
    return None


def _default_device(options: BookOptions) -> Setting[Device]:
    if options.default_device is Device.AUTO:
        return Setting(Device.AUTO, _DEFAULT)
    return Setting(options.default_device, f"{PREFIX}default_device in the book's configuration")


def _in_book(field_name: str, limit: float | Unset | None) -> Setting[float | None] | None:
    return None if limit is UNSET else Setting(limit, f"{PREFIX}{field_name} in the book's configuration")


def _host_limit(limit: float | Unset | None, origin: str) -> Setting[float | None] | None:
    return None if limit is UNSET else Setting(host_limit(limit), origin)


def _own_cell_limits(page: PageKeys, warn: Warn) -> dict[int, Setting[float | None]]:
    limits: dict[int, Setting[float | None]] = {}
    for index, cell in enumerate(page.cells):
        if cell is None or CELL_LIMIT.name not in cell:
            continue
        try:
            limits[index] = Setting(CELL_LIMIT.parse(cell[CELL_LIMIT.name]), page.cell_place(CELL_LIMIT.name, index))
        except ValueError as error:
            _refuse(warn, f"{CELL_LIMIT.name} of {page.cell_name(index)}: {error} {_WIDER}", page.cell_lines.get(index))
    return limits


def _execution_block(page: PageKeys, warn: Warn) -> Mapping[object, object]:
    """Return MyST-NB's `execution:` block; anything but a mapping would end the whole build there, so it counts as empty."""
    block = page.metadata.get("execution", {})
    if isinstance(block, Mapping):
        return block
    accepted = "a mapping such as {timeout: 60}"
    _refuse(warn, f"execution: {refusal(block, accepted)} The block is ignored.", page.line("execution"))
    return {}


def _execution_timeout(block: Mapping[object, object], page: PageKeys, warn: Warn) -> Setting[float | None] | None:
    """Return the limit of `execution: timeout`. Only whole seconds and nothing: on all else MyST-NB alone ends the build."""
    if "timeout" not in block:
        return None
    value = block["timeout"]
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value <= LONGEST):
        return Setting(host_limit(value), page.place("execution", "timeout"))
    accepted = f"a whole number of seconds (for other notations use {CELL_LIMIT.name})"
    told = f"execution: timeout: {refusal(value, accepted)} {_WIDER}"
    _refuse(warn, told, page.line("execution", "timeout"))
    return None


def _allow_errors(block: Mapping[object, object], page: PageKeys, warn: Warn) -> bool:
    value = block.get("allow_errors", page.allow_errors)
    if isinstance(value, bool):
        return value
    told = f"execution: allow_errors: {refusal(value, 'true and false')} {_WIDER}"
    _refuse(warn, told, page.line("execution", "allow_errors"))
    return page.allow_errors


def _refuse(warn: Warn, told: str, line: int | None) -> None:
    warn(Diagnostic(WarningKind.VALUE, told, line))
