"""The files a lecture may read: what else lies in its folder, by content, or by size and modification time where they are large.

Data files and modules are in no cache key of jupyter-cache. A stored failure depends on them, so that mending one runs the
lecture again. Files that lectures write themselves are told apart by a register of what changed while a lecture ran.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .diagnostics import Warn
from .records import SCHEMA
from .state_folder import StateFolder

Stamp = str
"""What tells one state of a file from another."""
Snapshot = Mapping[str, Stamp]

LARGE = 4 * 2**20
"""Size in bytes from which a file is told by size and modification time. Below it the content counts, so that a fresh checkout,
which gives every file a new time, keeps its stored failures."""
MOST_FILES = 20_000
"""A folder with more files is cut there, in sorted order: a walk must not cost more than a small lecture."""


@dataclass(frozen=True, slots=True)
class LectureFolder:
    """A lecture's folder, with what does not count in it."""

    path: Path
    source_dir: Path
    """The book's source folder; names in a snapshot are relative to it, so that a moved book keeps its keys."""
    document_suffixes: tuple[str, ...]
    excluded: Collection[Path]
    """Folders of build output, resolved."""

    def snapshot(self) -> dict[str, Stamp]:
        """Return name -> stamp of the files below the folder that are neither documents nor output."""
        found: dict[str, Stamp] = {}
        for path in self._files():
            with suppress(OSError):  # a file that vanished between the listing and the look is not there
                info = path.stat()
                if not stat.S_ISREG(info.st_mode):
                    continue  # a pipe has no content to compare, and reading it would wait for ever
                found[os.path.relpath(path, self.source_dir)] = _stamp(path, info.st_size, info.st_mtime_ns)
            if len(found) >= MOST_FILES:
                break
        return found

    def _files(self) -> Iterator[Path]:
        for folder, names, files in os.walk(self.path):
            here = Path(folder)
            names[:] = sorted(name for name in names if self._counts(here / name))
            for name in sorted(files):
                if not name.startswith(".") and not name.endswith(self.document_suffixes):
                    yield here / name

    def _counts(self, folder: Path) -> bool:
        if folder.name.startswith((".", "_build", "__pycache__")) or folder.name == "node_modules":
            return False
        return folder.resolve() not in self.excluded and not (folder / "pyvenv.cfg").exists()


def digest(snapshot: Snapshot, written: Snapshot) -> str:
    """Return a digest of the files that no lecture wrote: those of `snapshot` that are not as `written` says."""
    foreign = sorted((name, stamp) for name, stamp in snapshot.items() if written.get(name) != stamp)
    return hashlib.sha256(json.dumps(foreign).encode()).hexdigest()[:16]


def changes(before: Snapshot, after: Snapshot) -> dict[str, Stamp]:
    """Return the entries of `after` that are new or differ."""
    return {name: stamp for name, stamp in after.items() if before.get(name) != stamp}


class WrittenFiles:
    """The register of files that lectures wrote, one JSON file per lecture in the state folder."""

    def __init__(self, state: StateFolder, warn: Warn) -> None:
        self._state = state
        self._warn = warn

    def load(self) -> dict[str, Stamp]:
        """Return what all lectures wrote: name -> stamp as it was right after the run."""
        written: dict[str, Stamp] = {}
        folder = self._state.written
        for path in sorted(folder.glob("*.json")):
            data = self._state.read_json(path, self._warn) or {}
            files = data.get("files")
            if isinstance(files, dict):
                written |= {name: stamp for name, stamp in files.items() if isinstance(stamp, str)}
        return written

    def note(self, document: str, files: Snapshot) -> None:
        """Keep what `document` wrote in its last run; nothing written, nothing kept."""
        path = self._state.written / f"{hashlib.sha256(document.encode()).hexdigest()[:16]}.json"
        if files:
            self._state.write_json(path, {"schema": SCHEMA, "document": document, "files": dict(files)}, self._warn)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)


@lru_cache(maxsize=MOST_FILES)
def _stamp(path: Path, size: int, modified: int) -> Stamp:
    """Return the stamp of a file of a size in bytes and a modification time in ns, by which it is remembered."""
    if size > LARGE:
        return f"{size} bytes of {modified}"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]
