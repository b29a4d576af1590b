"""The state folder beside a book's output: its paths, and reading and writing its files so that no damage ends a build.

A file is replaced in one step or not at all. One that can't be read is set aside with a warning; one of a newer version is
left alone.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from .diagnostics import Diagnostic, StateError, Warn, WarningKind
from .records import SCHEMA, Record, from_json, to_json

NAME = "jaxdevice"
"""Name of the folder, beside the output folder of a builder."""
REPORT = "report.json"
LOCK_LIMIT = 4 * 3600.0
"""Seconds to wait for another build that runs the same lecture. A build that was killed gives its locks back at once."""
MOMENT = 1.0
"""Seconds after which waiting for another build is worth a word."""
PLACES = ("", NAME, f"_build/{NAME}", f"build/{NAME}", f"docs/_build/{NAME}")
"""Where the folder may lie from a path that a person gives: itself, a build folder, a book."""


class StateFolder:
    """The state folder of one build tree."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def report(self) -> Path:
        """Path of the file that holds one record a lecture."""
        return self.path / REPORT

    @property
    def failures(self) -> Path:
        """Folder of the stored failures, one file each."""
        return self.path / "failures"

    @property
    def written(self) -> Path:
        """Folder of the register of files that lectures wrote."""
        return self.path / "written"

    def read_json(self, path: Path, warn: Warn) -> dict[str, Any] | None:
        """Return the object in a file; None where there is none or it can't be read, which is a warning."""
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn(warn, f"{path} can't be read ({error.strerror}); what it holds does not count in this build")
            return None
        except (ValueError, RecursionError) as error:
            self._set_aside(path, f"is damaged ({_short(error)})", warn)
            return None
        if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
            self._set_aside(path, "is not a file of this extension", warn)
            return None
        if data["schema"] > SCHEMA:
            found = f"has schema {data['schema']} and this version reads up to {SCHEMA}"
            _warn(warn, f"{path} {found}; it is left alone and does not count: upgrade sphinx-jaxdevice, or delete it")
            return None
        return data

    def write_json(self, path: Path, data: dict[str, Any], warn: Warn) -> bool:
        """Replace a file in one step and return whether that was possible; where not, one warning and the old file stays."""
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(data), encoding="utf8")
            temporary.replace(path)
        except OSError as error:
            _warn(warn, f"{path} can't be written ({error.strerror}); the pages of this build are not touched by that")
            return False
        finally:
            with suppress(OSError):
                temporary.unlink()
        return True

    @contextmanager
    def lock(self, name: str, waiting: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold a lock against other processes over the same folder. Where no lock file can be made, there is none to hold.

        `waiting` is called once where another process holds the lock for more than a moment.
        """
        lock = FileLock(self.path / "locks" / f"{name}.lock")
        try:
            (self.path / "locks").mkdir(parents=True, exist_ok=True)
            _acquire(lock, waiting)
        except (OSError, Timeout):
            # A read-only or full disk: nothing can be written there anyway, by us or by others.
            yield
            return
        try:
            yield
        finally:
            lock.release()

    def read_report(self, warn: Warn) -> list[Record]:
        """Return the records of the report, none where there is none or it can't be read. A damaged record is passed over."""
        data = self.read_json(self.report, warn)
        lectures = [] if data is None else data.get("lectures")
        if not isinstance(lectures, list):
            self._set_aside(self.report, "holds no list of lectures", warn)
            return []
        records = []
        for entry in lectures:
            try:
                records.append(from_json(entry))
            except ValueError as error:
                _warn(warn, f"{self.report} holds an entry that is {error}; it is dropped")
        return records

    def merge_report(self, records: Sequence[Record], documents: Collection[str] | None, warn: Warn) -> None:
        """Put records into the report in place of those of the same documents, keeping those of other builders.

        Records of documents that are not in `documents` are dropped: their pages are gone. None keeps all.
        """
        if self._newer():
            self.read_json(self.report, warn)  # for its warning
            return
        with self.lock("report"):
            merged = {record.document: record for record in (*self.read_report(warn), *records)}
            kept = [to_json(merged[name]) for name in sorted(merged) if documents is None or name in documents]
            self.write_json(self.report, {"schema": SCHEMA, "lectures": kept}, warn)

    def _newer(self) -> bool:
        """Whether the report is of a version that this one must not overwrite."""
        with suppress(OSError, ValueError, RecursionError, AttributeError, TypeError):
            return bool(json.loads(self.report.read_bytes())["schema"] > SCHEMA)
        return False

    def _set_aside(self, path: Path, found: str, warn: Warn) -> None:
        aside = path.with_name(f"{path.name}.damaged-{int(time.time())}")
        try:
            os.replace(path, aside)  # noqa: PTH105 - Path.replace of a vanished file says less
        except OSError:
            _warn(warn, f"{path} {found}; it does not count")
            return
        _warn(warn, f"{path} {found}; it was set aside as {aside.name} and does not count")


def _acquire(lock: BaseFileLock, waiting: Callable[[], None] | None) -> None:
    if waiting is not None:
        try:
            lock.acquire(timeout=MOMENT)
        except Timeout:
            waiting()
        else:
            return
    lock.acquire(timeout=LOCK_LIMIT)


def find(path: Path | None) -> StateFolder:
    """Return the state folder of a book, a build folder, an output folder, or of its report itself; None is the present folder.

    Raises StateError, saying where it was looked for.
    """
    start = Path.cwd() if path is None else path
    if start.is_file():
        start = start.parent
    candidates = [start / place for place in PLACES] + [start.parent / NAME]
    for candidate in candidates:
        if (candidate / REPORT).is_file():
            return StateFolder(candidate)
    looked = ", ".join(str(candidate / REPORT) for candidate in candidates)
    msg = f"no report of a build was found; looked for {looked}. Build the book first, or give the path of its build folder."
    raise StateError(msg)


def _warn(warn: Warn, message: str) -> None:
    warn(Diagnostic(WarningKind.STATE, message))


def _short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
