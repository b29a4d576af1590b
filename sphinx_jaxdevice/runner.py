"""From a lecture to its result: the notebook cache, else a stored failure, else a run. The one place of that decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from . import device as devices
from . import execution
from .config import BookOptions, MissingDevice
from .device import Device
from .diagnostics import Diagnostic, Warn, WarningKind
from .execution import KernelSession, Progress
from .failure_store import FailureStore, ReuseRules, StoredFailure, differing_parts, why_not_reused
from .kernels import DEFAULT_KERNEL, interpreter_of, kernel_name
from .lecture import Lecture, LectureResult, Provenance, record_of, record_of_cached
from .lecture_files import LectureFolder, WrittenFiles, changes
from .lecture_files import digest as files_digest
from .notebook_cache import NotebookCache, code_key
from .outcome import Execution
from .records import Record, Source, to_json
from .reuse_key import environment_parts, failure_key
from .state_folder import StateFolder

EVERY_TIME = "the execution mode runs it whenever its page is read"


@dataclass(frozen=True, slots=True)
class Book:
    """What a runner must know of the build."""

    source_dir: Path
    state: StateFolder
    builder: str
    document_suffixes: tuple[str, ...]
    output_folders: frozenset[Path]
    """Folders of build output, resolved; their files are no data of a lecture."""
    rules: ReuseRules


@dataclass(frozen=True, slots=True)
class Plan:
    """How a lecture would be run on this machine."""

    environment: Mapping[str, str]
    """Variables to set in the kernel."""
    cache_device: Device
    """The device under which a success is kept: `auto` where a missing device leaves the choice to JAX after all."""
    refusal: str | None = None
    """Why it can't be run: the device it asks for is missing."""


def plan(lecture: Lecture, options: BookOptions, warn: Warn) -> Plan:
    """Return how the lecture would be run on this machine; a missing device is a warning."""
    asked = lecture.policy.device
    interpreter = interpreter_of(kernel_name(lecture.notebook)) if asked.value in {Device.GPU, Device.TPU} else None
    choice = devices.choose(asked.value, devices.look(interpreter.plugins if interpreter else ()))
    if choice.missing is None:
        return Plan(choice.environment, asked.value)
    found = f"{asked.value} is asked for ({asked.origin}). {choice.missing}"
    if options.missing_device is MissingDevice.WARN:
        warn(Diagnostic(WarningKind.MISSING_DEVICE, f"{found} The lecture runs on what there is."))
        return Plan({}, Device.AUTO)
    advice = "build where there is one, pin the lecture to cpu, or set jaxdevice_missing_device to 'warn'"
    warn(Diagnostic(WarningKind.MISSING_DEVICE, f"{found} The lecture is not run: {advice}."))
    return Plan({}, asked.value, refusal=f"{found} To go on: {advice}.")


class Runner:
    """Gives the result of each lecture of one build."""

    def __init__(self, book: Book, options: BookOptions) -> None:
        self._book = book
        self._options = options

    def result(
        self, lecture: Lecture, warn: Warn, progress: Progress | None = None, waiting: Callable[[], None] | None = None
    ) -> LectureResult:
        """Return what the lecture's page shows, running the lecture only where nothing may be reused.

        `progress` is called as each cell starts, `waiting` when another build is running the lecture and this one waits for
        its result. Faults of the lecture are results; only an interrupted build raises.
        """
        if lecture.cache_path is None:
            ready = plan(lecture, self._options, warn)
            return self._run(lecture, ready, EVERY_TIME, warn, progress)
        asked = lecture.policy.device.value
        hit = self._cached(lecture, asked, warn)
        if hit and not FailureStore(self._book.state, warn).knows(hit.record.key["code"]):
            return hit
        # Held while the lecture runs: a second builder waits here and then finds the first one's result.
        with self._book.state.lock(f"lecture-{code_key(lecture.notebook, asked)}", waiting):
            return self._locked_result(lecture, warn, progress)

    def _locked_result(self, lecture: Lecture, warn: Warn, progress: Progress | None) -> LectureResult:
        """Return the result while no other build runs the lecture.

        A stored failure goes before a cached success: the notebook cache does not look at the folder, so that the success may
        be that of a lecture with the same code elsewhere.
        """
        ready = plan(lecture, self._options, warn)
        key = self._key(lecture, warn)
        stored = FailureStore(self._book.state, warn).find(key) if self._options.cache_failures else None
        if stored is not None:
            if (why_not := why_not_reused(stored, self._book.rules)) is None:
                return self._reused(lecture, stored, key)
            return self._run(lecture, ready, f"it failed before, and {why_not}", warn, progress)
        for device in {lecture.policy.device.value, ready.cache_device}:
            if hit := self._cached(lecture, device, warn):
                return hit
        return self._run(lecture, ready, self._why_run(lecture, key, warn), warn, progress)

    def session(self, lecture: Lecture, warn: Warn, progress: Progress | None = None) -> KernelSession:
        """Return the session in which MyST-NB's inline mode runs the lecture cell by cell; it has not been started."""
        ready = plan(lecture, self._options, warn)
        return KernelSession(
            lecture.notebook,
            lecture.policy,
            cwd=lecture.working_folder,
            environment=ready.environment,
            cell_lines=lecture.cell_lines,
            progress=progress,
        )

    def result_of_session(self, lecture: Lecture, finished: Execution, warn: Warn) -> LectureResult:
        """Return the result of a session that has ended."""
        return self._result(lecture, finished, EVERY_TIME, warn)

    def must_run_again(self, record: Record, warn: Warn) -> bool:
        """Return whether a failed page that Sphinx would not read again has to be: its failure may not be shown any more."""
        rules = self._book.rules
        if not record.key or not self._options.cache_failures:
            # Of an execution mode without cache, or failures are not to be kept: the page is read again when Sphinx says so.
            return rules.retry
        stored = FailureStore(self._book.state, warn).find(record.key)
        if stored is None or why_not_reused(stored, rules) is not None:
            return True
        folder = self._folder((self._book.source_dir / record.source_path).parent)
        files = files_digest(folder.snapshot(), WrittenFiles(self._book.state, warn).load())
        now = {**environment_parts(interpreter_of(record.kernel or DEFAULT_KERNEL)), "files": files}
        return any(record.key.get(part) != value for part, value in now.items())

    def _cached(self, lecture: Lecture, device: Device, warn: Warn) -> LectureResult | None:
        assert lecture.cache_path is not None
        run = NotebookCache(lecture.cache_path, self._book.state, warn).find(lecture.notebook, device)
        if run is None:
            return None
        key = {"code": run.code_key, "device": device.value}
        reason = "the notebook cache has a result for this code, kernel and device"
        provenance = Provenance(Source.CACHED, reason, self._book.builder, key)
        return LectureResult(record_of_cached(lecture, run, provenance), run.notebook)

    def _reused(self, lecture: Lecture, stored: StoredFailure, key: Mapping[str, str]) -> LectureResult:
        when = datetime.fromtimestamp(stored.stored_at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
        reason = f"it failed on {when} in the {stored.record.ran_by} build, and nothing that it depends on has changed since"
        record = replace(
            stored.record,
            document=lecture.document,
            source_path=lecture.source_name,
            source=Source.REUSED,
            reason=reason,
            builder=self._book.builder,
            key=dict(key),
        )
        return LectureResult(record, stored.notebook, stored.traceback)

    def _run(self, lecture: Lecture, ready: Plan, reason: str, warn: Warn, progress: Progress | None) -> LectureResult:
        if ready.refusal is not None:
            return self._result(lecture, execution.refuse(lecture.notebook, "MissingDeviceError", ready.refusal), reason, warn)
        if lecture.cache_path is None:
            return self._result(lecture, self._execute(lecture, ready, progress), reason, warn)
        folder = self._folder(lecture.source.parent)
        before = folder.snapshot()
        finished = self._execute(lecture, ready, progress)
        WrittenFiles(self._book.state, warn).note(lecture.document, changes(before, folder.snapshot()))
        result = self._result(lecture, finished, reason, warn)
        self._keep(lecture, ready, finished, result.record, warn)
        return result

    def _result(self, lecture: Lecture, finished: Execution, reason: str, warn: Warn) -> LectureResult:
        # The key is taken after the run: what the lecture wrote itself is no part of it.
        key = {} if lecture.cache_path is None else self._key(lecture, warn)
        record = record_of(lecture, finished, Provenance(Source.RUN, reason, self._book.builder, key))
        return LectureResult(record, finished.notebook, finished.failure.traceback if finished.failure else None)

    def _execute(self, lecture: Lecture, ready: Plan, progress: Progress | None) -> Execution:
        return execution.run(
            lecture.notebook,
            lecture.policy,
            cwd=lecture.working_folder,
            environment=ready.environment,
            cell_lines=lecture.cell_lines,
            progress=progress,
        )

    def _keep(self, lecture: Lecture, ready: Plan, finished: Execution, record: Record, warn: Warn) -> None:
        """Store a success in the notebook cache and a failure in the failure store."""
        assert lecture.cache_path is not None
        cache = NotebookCache(lecture.cache_path, self._book.state, warn)
        failures = FailureStore(self._book.state, warn)
        if finished.failure is None:
            cache.add(finished.notebook, ready.cache_device, lecture.source, lecture.read_data, to_json(record))
            failures.discard(record.key)
            return
        cache.note_failure(ready.cache_device, lecture.source, lecture.read_data, finished.failure.traceback)
        if self._options.cache_failures and finished.reached_a_cell:
            rules = self._book.rules
            kept = StoredFailure(record, finished.notebook, finished.failure.traceback, time.time(), rules.ci_run, record.key)
            failures.add(kept)
            if rules.ttl is not None:
                failures.prune(time.time() - rules.ttl)

    def _folder(self, path: Path) -> LectureFolder:
        book = self._book
        return LectureFolder(path, book.source_dir, book.document_suffixes, book.output_folders)

    def _key(self, lecture: Lecture, warn: Warn) -> dict[str, str]:
        written = WrittenFiles(self._book.state, warn).load()
        files = files_digest(self._folder(lecture.source.parent).snapshot(), written)
        return failure_key(lecture, self._book.source_dir, interpreter_of(kernel_name(lecture.notebook)), files)

    def _why_run(self, lecture: Lecture, key: Mapping[str, str], warn: Warn) -> str:
        """Return why neither cache nor store had a result: what differs from the lecture's last record."""
        last = next((record for record in self._book.state.read_report(warn) if record.document == lecture.document), None)
        if last is None:
            return "there is no earlier result"
        # The key of a cached result holds only what the notebook cache looks at.
        parts = differing_parts(last.key, {part: key[part] for part in last.key if part in key})
        if not parts:
            return "the result of its last run is gone from the cache"
        return f"changed since its last build: {', '.join(parts)}"
