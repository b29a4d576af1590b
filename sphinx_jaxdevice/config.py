"""The book options, declared once: default, meaning, how a value is read and what Sphinx reads again when it changes.

`option_specs` is what a Sphinx front registers, `read_options` turns what Sphinx hands back into `BookOptions`, and the manual
prints its table from the fields' metadata (`about`, `shown`, `default`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple

from .device import Device, parse_device
from .diagnostics import Diagnostic, Warn, WarningKind
from .keys import UNSET, Unset
from .lecture_rules import LectureRule, read_lectures
from .timeouts import parse_duration
from .wording import listed, nearest, refusal

PREFIX = "jaxdevice_"
"""What stands before a field's name in the name that Sphinx knows."""

RETRY_VARIABLE = "JAXDEVICE_RETRY_FAILED"
"""Environment variable that switches `jaxdevice_retry_failed` on."""

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})

_SWITCH_TYPES = (bool, int, float, str, list, dict, NoneType)
"""All that YAML gives. Sphinx passes `-D name=yes` on as a string only where a switch has other types than bool; and a value that
Sphinx itself refuses would be warned about twice."""


class MissingDevice(StrEnum):
    """What to do with a lecture that asks for an accelerator that is not there."""

    ERROR = "error"
    WARN = "warn"


class OnFailure(StrEnum):
    """How a failed lecture ends a build."""

    WARN = "warn"
    ERROR = "error"


def _parse_switch(value: object) -> bool:
    """Return a truth value, written as YAML, `0` or `1`, or a word as given with `-D`. Raises ValueError."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, int | str) else ""
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise ValueError(refusal(value, "1, true, yes, on, 0, false, no and off"))


def _parse_book_limit(value: object) -> float | Unset | None:
    """Return a limit in seconds; nothing at all leaves the limit to others, `none` is no limit. Raises DurationError."""
    return UNSET if value is None else parse_duration(value)


def _parse_word(words: type[StrEnum]) -> Callable[[object], StrEnum]:
    """Return a function that reads one of an enum's words and raises ValueError for all else."""

    def parse(value: object) -> StrEnum:
        if isinstance(value, str) and value in set(words):
            return words(value)
        raise ValueError(refusal(value, listed(words), nearest(value, words)))

    return parse


def _about(
    text: str, *, shown: str, default: object, parse: Callable[[object], object] | None = None, policy: bool = False
) -> Mapping[str, Any]:
    """Declare an option: its meaning, its type and its default as one writes them, and whether it changes a lecture's policy."""
    about = {"about": text, "shown": shown, "default": default, "parse": parse, "rebuild": "env" if policy else ""}
    return MappingProxyType(about)


_DURATION = "duration"
_SWITCH = "true or false"


@dataclass(frozen=True, slots=True)
class BookOptions:
    """The book options after reading. Durations are in seconds; None is no limit."""

    default_device: Device = field(
        default=Device.AUTO,
        metadata=_about(
            "Device of a lecture that names none.",
            shown=listed(Device),
            default="auto",
            parse=parse_device,
            policy=True,
        ),
    )
    lectures: tuple[LectureRule, ...] = field(
        default=(),
        metadata=_about(
            "Lecture patterns and the same keys as in front matter; of several that match, the later one counts, key by key. "
            "Front matter wins.",
            shown="mapping of patterns to keys",
            default={},
            policy=True,
        ),
    )
    timeout: float | Unset | None = field(
        default=UNSET,
        metadata=_about(
            "Limit for each code cell; left out, MyST-NB's own limit applies.",
            shown=_DURATION,
            default=None,
            parse=_parse_book_limit,
            policy=True,
        ),
    )
    lecture_timeout: float | Unset | None = field(
        default=UNSET,
        metadata=_about(
            "Limit for each lecture, kernel start included.",
            shown=_DURATION,
            default=None,
            parse=_parse_book_limit,
            policy=True,
        ),
    )
    missing_device: MissingDevice = field(
        default=MissingDevice.ERROR,
        metadata=_about(
            "A lecture asks for gpu or tpu and there is none: it fails (error), or it runs on what there is (warn).",
            shown=listed(MissingDevice),
            default="error",
            parse=_parse_word(MissingDevice),
            policy=True,
        ),
    )
    cache_failures: bool = field(
        default=True,
        metadata=_about(
            "Keep failed outcomes and reuse them, where MyST-NB's mode is cache.",
            shown=_SWITCH,
            default=True,
            parse=_parse_switch,
        ),
    )
    failure_ttl: float | None = field(
        default=86400.0,
        metadata=_about(
            "Age of the oldest failure that may be reused; none for any age.",
            shown=_DURATION,
            default="24h",
            parse=parse_duration,
        ),
    )
    on_failure: OnFailure = field(
        default=OnFailure.WARN,
        metadata=_about(
            "A failed lecture is a warning in every builder (warn), or every builder exits 1 after writing its pages (error).",
            shown=listed(OnFailure),
            default="warn",
            parse=_parse_word(OnFailure),
        ),
    )
    retry_failed: bool = field(
        default=False,
        metadata=_about(
            f"Run failed lectures again this time; {RETRY_VARIABLE}=1 in the environment does the same.",
            shown=_SWITCH,
            default=False,
            parse=_parse_switch,
        ),
    )


class OptionSpec(NamedTuple):
    """What a Sphinx front hands to `add_config_value`, in that order."""

    name: str
    default: object
    rebuild: str
    types: Any
    """A tuple of types, or `typing.Any`."""
    help: str


def option_specs() -> list[OptionSpec]:
    """Return what is to be registered with Sphinx, one entry for each option."""
    return [
        OptionSpec(
            name=PREFIX + entry.name,
            default=copy(entry.metadata["default"]),
            rebuild=entry.metadata["rebuild"],
            types=_SWITCH_TYPES if isinstance(entry.default, bool) else Any,
            help=entry.metadata["about"],
        )
        for entry in fields(BookOptions)
    ]


def read_options(raw: Mapping[str, object], warn: Warn, environ: Mapping[str, str]) -> BookOptions:
    """Return the book options from the values that Sphinx holds, by their full names (`jaxdevice_timeout`).

    Values may be strings, as with `-D`, or what YAML gives. A value that is not accepted costs one warning and counts as not
    given; of `jaxdevice_lectures` only the bad part is dropped. Never raises.
    """
    values: dict[str, Any] = {entry.name: _read(entry, raw, warn) for entry in fields(BookOptions)}
    values["retry_failed"] = _retry_asked(environ, warn) or values["retry_failed"]
    return BookOptions(**values)


def _read(entry: Field[Any], raw: Mapping[str, object], warn: Warn) -> object:
    name = PREFIX + entry.name
    if name not in raw:
        return entry.default
    parse = entry.metadata["parse"]
    if parse is None:
        return read_lectures(raw[name], warn)
    try:
        return parse(raw[name])
    except ValueError as error:
        default = entry.metadata["default"]
        warn(Diagnostic(WarningKind.VALUE, f"{name}: {error} The default applies{'' if default is None else f': {default}'}."))
        return entry.default


def _retry_asked(environ: Mapping[str, str], warn: Warn) -> bool:
    word = environ.get(RETRY_VARIABLE, "").strip()
    try:
        return bool(word) and _parse_switch(word)
    except ValueError as error:
        warn(Diagnostic(WarningKind.VALUE, f"{RETRY_VARIABLE} in the environment: {error} It is ignored."))
        return False
