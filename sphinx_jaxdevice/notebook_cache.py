"""The cache of successful runs: jupyter-cache, with the device in its key.

For lectures without a pin the key is jupyter-cache's own, so that entries made by plain MyST-NB count and ours count for it.
Any damage of the cache is a miss and one warning, never the end of a build.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.db import NbProjectRecord
from jupyter_cache.cache.main import JupyterCacheBase
from nbformat import NotebookNode
from sqlalchemy.exc import DatabaseError

from .device import Device
from .diagnostics import Diagnostic, Warn, WarningKind
from .state_folder import StateFolder

DATABASE_NAME = "global.db"
RECORD_KEY = "jaxdevice"
"""Where our facts stand in the data that jupyter-cache keeps with an entry."""


class DeviceKeyedCache(JupyterCacheBase):  # type: ignore[misc]  # jupyter-cache ships no types
    """A jupyter-cache whose keys are those of plain MyST-NB for `auto` and differ for every other device."""

    def __init__(self, path: Path, device: Device) -> None:
        super().__init__(path)
        self._device = device
        self.code_key = ""
        """jupyter-cache's own key of the notebook that was hashed last."""

    def create_hashed_notebook(
        self,
        nb: NotebookNode,
        nb_metadata: Iterable[str] | None = ("kernelspec",),
        cell_metadata: Iterable[str] | None = None,
    ) -> tuple[NotebookNode, str]:
        """Return the notebook as it is stored and its key; every match and every store of jupyter-cache goes through here."""
        stored, key = super().create_hashed_notebook(nb, nb_metadata, cell_metadata)
        self.code_key = key
        if self._device is Device.AUTO:
            return stored, key
        # jupyter-cache keeps MD5 digests in a column of 255 characters; anything of that form is safe there.
        return stored, hashlib.md5(f"{key} {self._device}".encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class CachedRun:
    """A successful run found in the cache."""

    notebook: NotebookNode
    """The lecture's notebook with the cached outputs merged in."""
    created_at: float
    """POSIX time, s."""
    seconds: float | None
    """Wall time of the run, s; None where the entry does not say."""
    facts: Mapping[str, Any] | None
    """JSON form of the record of that run; None for an entry made by plain MyST-NB."""
    code_key: str
    """jupyter-cache's own key of the notebook, without the device."""


def code_key(notebook: NotebookNode, device: Device = Device.AUTO) -> str:
    """Return jupyter-cache's key of the notebook's code, cell metadata and kernelspec, for a device. Touches no disk."""
    return str(DeviceKeyedCache(Path("unused"), device).create_hashed_notebook(notebook)[1])


class NotebookCache:
    """Looks up and keeps successful runs in one jupyter-cache folder."""

    def __init__(self, path: Path, state: StateFolder, warn: Warn) -> None:
        self._path = path
        self._state = state
        self._warn = warn

    def find(self, notebook: NotebookNode, device: Device) -> CachedRun | None:
        """Return the cached run of the same code, kernel and device, or None. Damage is a miss and one warning."""
        cache = DeviceKeyedCache(self._path, device)
        # Two processes that open a new cache at once both try to create its tables; the lock makes one wait.
        with self._state.lock("notebook-cache"):
            try:
                number, merged = cache.merge_match_into_notebook(notebook)
                record = cache.get_cache_record(number)
            except KeyError:
                return None
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the cache, the lecture can still be run
                self._report("read", error)
                return None
            finally:
                _close(cache)
        data = record.data or {}
        return CachedRun(
            merged, record.created.timestamp(), data.get("execution_seconds"), data.get(RECORD_KEY), cache.code_key
        )

    def add(
        self, notebook: NotebookNode, device: Device, source: Path, read_data: Mapping[str, Any] | None, facts: dict[str, Any]
    ) -> None:
        """Keep a successful run under the lecture's key. A cache that can't be written costs one warning."""
        cache = DeviceKeyedCache(self._path, device)
        data = {"execution_seconds": facts["seconds"], RECORD_KEY: facts}
        with self._state.lock("notebook-cache"):
            try:
                self._stage(cache, source, read_data, None)
                # Where an entry has lost its notebook, jupyter-cache stumbles over the folder that is left.
                shutil.rmtree(cache.path / "executed" / cache.create_hashed_notebook(notebook)[1], ignore_errors=True)
                # Notebooks of format 3 come with plain dictionaries in them, which jupyter-cache refuses.
                bundle = CacheBundleIn(nbformat.from_dict(notebook), str(source), data=data)
                cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            except Exception as error:  # noqa: BLE001 - the page is there; only the next build pays
                self._report("written", error)
            finally:
                _close(cache)

    def note_failure(self, device: Device, source: Path, read_data: Mapping[str, Any] | None, traceback: str) -> None:
        """Leave the traceback with jupyter-cache's project record, as MyST-NB does, so that `jcache` can show it."""
        cache = DeviceKeyedCache(self._path, device)
        with self._state.lock("notebook-cache"):
            try:
                self._stage(cache, source, read_data, traceback)
            except Exception as error:  # noqa: BLE001 - as above
                self._report("written", error)
            finally:
                _close(cache)

    @staticmethod
    def _stage(cache: JupyterCacheBase, source: Path, read_data: Mapping[str, Any] | None, traceback: str | None) -> None:
        extra = {} if read_data is None else {"read_data": dict(read_data)}
        staged = cache.add_nb_to_project(str(source), **extra)
        NbProjectRecord.remove_tracebacks([staged.pk], cache.db)
        if traceback is not None:
            NbProjectRecord.set_traceback(staged.uri, traceback, cache.db)

    def _report(self, verb: str, error: Exception) -> None:
        """Warn, and set a database aside that can't be used, so that the next lecture finds a working cache."""
        advice = f"delete {self._path} if this comes again"
        if _is_damage(error):
            with suppress(OSError):
                aside = self._path / f"{DATABASE_NAME}.damaged-{int(time.time())}"
                (self._path / DATABASE_NAME).rename(aside)
                advice = f"its database was set aside as {aside.name}; a new one is made"
        found = f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0][:150]}"
        message = (
            f"the notebook cache in {self._path} can't be {verb} ({found}); the lecture runs as if it were not cached; {advice}"
        )
        self._warn(Diagnostic(WarningKind.CACHE, message))


def _is_damage(error: BaseException) -> bool:
    """Whether the database itself is broken, rather than busy or on a full or read-only disk."""
    # jupyter-cache wraps operational errors, of which a missing table is one, into a RuntimeError.
    cause = error.__cause__ if isinstance(error, RuntimeError) else error
    passing = ("locked", "readonly", "read-only", "disk is full", "unable to open", "disk i/o")
    return isinstance(cause, DatabaseError) and not any(word in str(cause).lower() for word in passing)


def _close(cache: JupyterCacheBase) -> None:
    """Give the database's file back at once: an engine left to the garbage collector warns on Python 3.13."""
    engine = cache._db  # noqa: SLF001 - jupyter-cache opens the engine and offers no way to close it
    if engine is not None:
        engine.dispose()
