"""A lecture to be shown, its result, and the record that is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from .device import differs
from .machine import describe_machine
from .notebook_cache import CachedRun
from .outcome import Execution, Outcome
from .policy import Policy
from .records import Record, Source, from_json


@dataclass(frozen=True, slots=True)
class Lecture:
    """One document with code cells, as MyST-NB read it, and what it asks for."""

    document: str
    source: Path
    """The source file, absolute."""
    source_name: str
    """The same, relative to the book's source folder."""
    notebook: NotebookNode
    policy: Policy
    cache_path: Path | None
    """Folder of the notebook cache; None in the execution modes that run a lecture every time."""
    in_temp: bool = False
    """Whether the kernel starts in an empty temporary folder (MyST-NB's `execution_in_temp`)."""
    cell_lines: tuple[int, ...] | None = None
    """Line of each cell in the source, counted from 1; None for notebooks."""
    read_data: Mapping[str, Any] | None = None
    """How jupyter-cache reads the source file again; None for notebooks."""

    @property
    def working_folder(self) -> str | None:
        """Return the folder the kernel works in; None for an empty temporary one."""
        return None if self.in_temp else str(self.source.parent)


@dataclass(frozen=True, slots=True)
class LectureResult:
    """What a page shows and what is kept of it."""

    record: Record
    notebook: NotebookNode
    """A notebook with the same code cells, filled as far as the lecture got."""
    traceback: str | None = None
    """The text of the page's error report; None where the lecture succeeded."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The part of a record that does not come from the execution itself."""

    source: Source
    reason: str
    builder: str
    key: Mapping[str, str] = field(default_factory=dict)


def record_of(lecture: Lecture, result: Execution, provenance: Provenance) -> Record:
    """Return the record of an execution."""
    policy, failure, jax = lecture.policy, result.failure, result.jax
    cell = failure.cell_index if failure else None
    compiled = [run.compile_seconds for run in result.cells if run.compile_seconds is not None]
    return Record(
        document=lecture.document,
        source_path=lecture.source_name,
        outcome=result.outcome,
        source=provenance.source,
        reason=provenance.reason,
        device_asked=policy.device.value.value,
        device_origin=policy.device.origin,
        seconds=round(result.seconds, 3),
        compile_seconds=round(sum(compiled), 3) if compiled else None,
        platform=jax.platform if jax else None,
        device_kind=jax.device_kind if jax else None,
        jax_version=jax.jax_version if jax else None,
        x64=jax.x64 if jax else None,
        device_problem=differs(policy.device.value, jax),
        kernel=result.kernel,
        cell_limit=policy.cell_limit.value,
        cell_limit_origin=policy.cell_limit.origin,
        lecture_limit=policy.lecture_limit.value,
        lecture_limit_origin=policy.lecture_limit.origin,
        cells=result.cells,
        error=failure.error if failure else None,
        message=failure.message if failure else None,
        failing_cell=_cell_number(lecture, cell),
        failing_line=lecture.cell_lines[cell] if cell is not None and lecture.cell_lines else None,
        peak_memory_bytes=result.peak_memory_bytes,
        machine=describe_machine(),
        builder=provenance.builder,
        ran_at=result.started_at,
        ran_by=provenance.builder,
        key=dict(provenance.key),
    )


OF_THE_BUILD = (
    *("document", "source_path", "source", "reason", "device_asked", "device_origin"),
    *("cell_limit", "cell_limit_origin", "lecture_limit", "lecture_limit_origin", "builder", "key"),
)
"""Fields of a record that are about the build that shows a page; the others are about the run that made its outputs."""


def record_of_cached(lecture: Lecture, run: CachedRun, provenance: Provenance) -> Record:
    """Return the record of a result from the notebook cache: the facts kept with it, or what MyST-NB's own entry says."""
    bare = Execution(run.notebook, Outcome.SUCCEEDED, run.created_at, run.seconds or 0.0)
    shown = record_of(lecture, bare, provenance)
    try:
        ran = from_json(run.facts)
    except ValueError:
        return replace(shown, seconds=run.seconds, machine=None, ran_by=None)
    return replace(ran, **{name: getattr(shown, name) for name in OF_THE_BUILD})


def _cell_number(lecture: Lecture, index: int | None) -> int | None:
    """Return the number of a code cell, counted from 1, for its index among all cells."""
    if index is None:
        return None
    return len([cell for cell in lecture.notebook.cells[: index + 1] if cell.cell_type == "code"])
