"""The option `jaxdevice_lectures`: patterns of lectures and the front-matter keys that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .device import Device
from .diagnostics import Diagnostic, Warn, WarningKind
from .keys import KEYS, looks_like
from .wording import listed, quote, refusal

OPTION = "jaxdevice_lectures"
"""Name of the option as Sphinx knows it."""

_SUFFIXES = (".md", ".ipynb")
_ENTRY = "a mapping such as {jax-device: cpu, jax-timeout: 10m}"


@dataclass(frozen=True, slots=True)
class LectureRule:
    """One entry of `jaxdevice_lectures`: a pattern and the values of the keys that it sets."""

    pattern: str
    values: Mapping[str, Device | float | None]
    """Values by name of the key; a limit of None is no limit."""

    def matches(self, document: str, source_name: str) -> bool:
        """Return whether the rule is about a lecture.

        The pattern is matched against the document name (`folder/name`), or against the file name where it ends in `.md` or
        `.ipynb`. A pattern without a slash is matched against the last part alone. Upper and lower case differ; `*` also
        matches slashes.
        """
        name = source_name if self.pattern.endswith(_SUFFIXES) else document
        return fnmatchcase(name if "/" in self.pattern else name.rpartition("/")[2], self.pattern)

    @property
    def origin(self) -> str:
        """Where the values were set, in words that end a sentence."""
        return f"{OPTION}[{self.pattern!r}] in the book's configuration"


def read_lectures(value: object, warn: Warn) -> tuple[LectureRule, ...]:
    """Return the rules that the option stands for, in its order; what is wrong in it is warned about and left out alone."""
    if not isinstance(value, Mapping):
        accepted = "a mapping of lecture patterns, such as {mle: {jax-device: cpu}}"
        _warn(warn, OPTION, f"{refusal(value, accepted)} The option is ignored.")
        return ()
    rules = (_read_rule(pattern, entry, warn) for pattern, entry in value.items())
    return tuple(rule for rule in rules if rule is not None)


def _read_rule(pattern: object, entry: object, warn: Warn) -> LectureRule | None:
    where = f"{OPTION}[{quote(pattern)}]"
    if not isinstance(pattern, str) or not pattern.strip():
        accepted = "a document name or a pattern in quotes, such as 'mle' or 'mccall_*'"
        _warn(warn, OPTION, f"{refusal(pattern, accepted)} This entry is ignored.")
        return None
    if not isinstance(entry, Mapping):
        _warn(warn, where, f"{refusal(entry, _ENTRY)} This entry is ignored.")
        return None
    values: dict[str, Device | float | None] = {}
    for name, value in entry.items():
        key = KEYS.get(name) if isinstance(name, str) else None
        if key is None:
            problem = refusal(name, listed(KEYS), looks_like(name))
            _warn(warn, where, f"{problem} This key has no effect.", WarningKind.KEY)
            continue
        try:
            values[key.name] = key.parse(value)
        except ValueError as error:
            _warn(warn, f"{where}: {name}", f"{error} This value is ignored.")
    return LectureRule(pattern, values)


def _warn(warn: Warn, where: str, problem: str, kind: WarningKind = WarningKind.VALUE) -> None:
    warn(Diagnostic(kind, f"{where}: {problem}"))
