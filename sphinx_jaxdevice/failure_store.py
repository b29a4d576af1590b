"""The failure store: failed outcomes that every later builder shows again instead of running the lecture.

One JSON file per key, replaced atomically: no database to be locked, and damage of one file costs that file. The rules of
reuse stand in `why_not_reused`, a pure function.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from .diagnostics import Diagnostic, Warn, WarningKind
from .records import SCHEMA, Record, from_json, to_json
from .state_folder import StateFolder
from .timeouts import format_duration

CI_VARIABLES = (("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT"), ("CI_PIPELINE_ID",), ("BUILD_ID",))
"""Environment variables that name a CI run: GitHub, GitLab, Jenkins and others."""


@dataclass(frozen=True, slots=True)
class StoredFailure:
    """A failed outcome as it is kept."""

    record: Record
    notebook: NotebookNode
    """The partial notebook: the code cells with the outputs they had when the run ended."""
    traceback: str
    stored_at: float
    """POSIX time, s."""
    ci_run: str | None
    """The CI run that stored it, or None outside CI."""
    key: Mapping[str, str]
    """Parts of the key under which it is kept."""


@dataclass(frozen=True, slots=True)
class ReuseRules:
    """What this build asks of a failure before it shows it again."""

    now: float
    """POSIX time, s."""
    ttl: float | None
    """Oldest failure that may be reused, s; None for any age."""
    ci_run: str | None
    retry: bool


def current_ci_run(environ: Mapping[str, str]) -> str | None:
    """Return the name of the CI run that the environment tells of, or None."""
    for names in CI_VARIABLES:
        values = [environ[name] for name in names if environ.get(name)]
        if values:
            return f"{names[0]}={'.'.join(values)}"
    return None


def why_not_reused(failure: StoredFailure, rules: ReuseRules) -> str | None:
    """Return the reason why a failure with the right key is not shown again, as the end of a sentence; None if it is."""
    if rules.retry:
        return "a retry of failed lectures was asked for"
    age = rules.now - failure.stored_at
    if rules.ttl is not None and age > rules.ttl:
        return (
            f"the stored failure is {format_duration(age)} old, more than jaxdevice_failure_ttl ({format_duration(rules.ttl)})"
        )
    if failure.ci_run != rules.ci_run:
        return f"the stored failure is of another CI run ({failure.ci_run or 'none'}, now {rules.ci_run or 'none'})"
    return None


def differing_parts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the names of the parts in which two keys differ, sorted."""
    return sorted(part for part in {*old, *new} if old.get(part) != new.get(part))


def file_name(key: Mapping[str, str]) -> str:
    """Return the name of the file in which a failure is kept; it begins with the key of the code."""
    return f"{key.get('code', '')}-{hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()[:16]}.json"


class FailureStore:
    """Finds, keeps and drops failed outcomes in the state folder."""

    def __init__(self, state: StateFolder, warn: Warn) -> None:
        self._state = state
        self._warn = warn

    def _path(self, key: Mapping[str, str]) -> Path:
        return self._state.failures / file_name(key)

    def find(self, key: Mapping[str, str]) -> StoredFailure | None:
        """Return the failure kept under the key, or None. A damaged file is a miss and one warning."""
        return self._read(self._path(key))

    def knows(self, code_key: str) -> bool:
        """Return whether a failure of this code is kept, under whatever device, folder or data. Reads no file."""
        return any(self._state.failures.glob(f"{code_key}-*.json"))

    def all(self) -> list[StoredFailure]:
        """Return all failures that are kept, by document."""
        found = (self._read(path) for path in self._state.failures.glob("*.json"))
        return sorted((failure for failure in found if failure), key=lambda failure: failure.record.document)

    def _read(self, path: Path) -> StoredFailure | None:
        data = self._state.read_json(path, self._warn)
        if data is None:
            return None
        try:
            return _parse(data)
        except (KeyError, TypeError, ValueError, AttributeError, nbformat.ValidationError) as error:
            message = (
                f"{path} is not a stored failure ({type(error).__name__}: {error}); it is ignored and replaced by the next run"
            )
            self._warn(Diagnostic(WarningKind.STATE, message))
            return None

    def add(self, failure: StoredFailure) -> None:
        """Keep a failure under its key."""
        self._state.write_json(self._path(failure.key), _as_json(failure), self._warn)

    def discard(self, key: Mapping[str, str]) -> None:
        """Drop the failure kept under the key, as when the lecture has now succeeded."""
        with suppress(OSError):
            self._path(key).unlink()

    def prune(self, older_than: float) -> None:
        """Drop failures stored before `older_than` (POSIX time, s): no build would show them again."""
        for failure in self.all():
            if failure.stored_at < older_than:
                self.discard(failure.key)


def _as_json(failure: StoredFailure) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "document": failure.record.document,
        "stored_at": failure.stored_at,
        "ci_run": failure.ci_run,
        "key": dict(failure.key),
        "record": to_json(failure.record),
        "traceback": failure.traceback,
        "notebook": json.loads(nbformat.writes(failure.notebook, version=nbformat.NO_CONVERT)),
    }


def _parse(data: Mapping[str, Any]) -> StoredFailure:
    notebook = nbformat.from_dict(data["notebook"])
    nbformat.validate(notebook)
    return StoredFailure(
        record=from_json(data["record"]),
        notebook=notebook,
        traceback=str(data["traceback"]),
        stored_at=float(data["stored_at"]),
        ci_run=data["ci_run"],
        key=dict(data["key"]),
    )
