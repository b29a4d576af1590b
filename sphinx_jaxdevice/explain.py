"""Why a lecture was run, cached or reused, in lines for a person. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .config import RETRY_VARIABLE
from .failure_store import StoredFailure, differing_parts
from .records import Record, Source
from .report import device_used, duration, place, status
from .timeouts import format_duration

PARTS = {
    "code": "the lecture's code cells, their metadata and the kernel's name",
    "device": "the device it asks for",
    "limits": "its limits",
    "options": "whether errors are allowed",
    "folder": "the folder it runs in",
    "interpreter": "the Python that runs the kernel",
    "distributions": "the distributions installed there",
    "files": "other files in the lecture's folder",
}
"""Parts of the key of a failure, and what they stand for."""

WORDS = {
    Source.RUN: "was run",
    Source.CACHED: "came from the notebook cache",
    Source.REUSED: "was not run: a stored failure was shown",
}


def explanation(record: Record, stored: Sequence[StoredFailure], *, now: float) -> list[str]:
    """Return the lines for the last record of a lecture and what is stored of its failures; `now` is POSIX time, s."""
    lines = [
        f"{record.document} {WORDS[record.source]} in the {record.builder} build",
        f"  why      {record.reason}",
        f"  outcome  {status(record)}" + (f" at {place(record)}: {record.error}: {record.message}" if record.failed else ""),
        f"  ran      {_ran(record, now)}",
        f"  device   {record.device_asked}, set by {record.device_origin}; used: {device_used(record)}",
        f"  limits   {_limit(record.cell_limit, record.cell_limit_origin)} for each cell",
        f"           {_limit(record.lecture_limit, record.lecture_limit_origin)} for the lecture",
    ]
    for failure in stored:
        lines += _stored_failure(record, failure, now)
    return [*lines, *_runs_again(record)]


def _ran(record: Record, now: float) -> str:
    ago = "at an unknown time" if record.ran_at is None else f"{format_duration(round(max(0.0, now - record.ran_at)))} ago"
    by = f" by the {record.ran_by} build" if record.ran_by else ""
    return f"{duration(record.seconds)}, {ago}{by}" + (f", on {record.machine}" if record.machine else "")


def _limit(seconds: float | None, origin: str) -> str:
    return f"{'none' if seconds is None else format_duration(seconds)} ({origin})"


def _stored_failure(record: Record, failure: StoredFailure, now: float) -> list[str]:
    age = format_duration(round(max(0.0, now - failure.stored_at)))
    head = f"  stored   a failure {age} old: {failure.record.error}: {failure.record.message}"
    # The key of a cached result has fewer parts; what it lacks can't differ.
    parts = differing_parts({part: failure.key.get(part, "") for part in record.key}, record.key)
    if not parts:
        return [head, "           under the key of this record: it is what builders show"]
    return [
        head,
        "           under another key, which differs in:",
        *(f"             {part}: {PARTS.get(part, part)}" for part in parts),
    ]


def _runs_again(record: Record) -> list[str]:
    if not record.failed:
        return ["  again    when its code, its kernel or its device changes, or the notebook cache is cleared"]
    return [
        "  again    when one of these changes: " + ", ".join(PARTS),
        "           in another CI run, or when the failure is older than jaxdevice_failure_ttl",
        f"           at once with {RETRY_VARIABLE}=1, or after: jaxdevice failures clear '{record.document}'",
    ]
