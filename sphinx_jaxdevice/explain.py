"""Why a lecture was run, cached or reused, in lines for a person. Pure.

Also how a stored failure is told, and which lecture a person means by a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import PurePath
from posixpath import splitext

from .config import RETRY_VARIABLE
from .failure_store import StoredFailure, differing_parts
from .records import Record, Source
from .report import device_used, duration, place, status, what_happened
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

MOST_NAMES = 10
"""How many lectures are named where none is near."""

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
        f"  outcome  {status(record)}" + (f" at {place(record)}: {what_happened(record)}" if record.failed else ""),
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
    head = f"  stored   a failure {age} old: {what_happened(failure.record)}"
    if not record.key:
        return [head, "           this record has no key to compare: its build kept no results"]
    # The key of a cached result has fewer parts; what it lacks can't differ.
    parts = differing_parts({part: failure.key.get(part, "") for part in record.key}, record.key)
    if not parts and record.failed:
        return [head, "           under the key of this record: it is what builders show"]
    if not parts:
        unseen = ", ".join(part for part in PARTS if part in failure.key and part not in record.key)
        return [head, f"           under the same {' and '.join(record.key)}; passed over for its age, or for its {unseen}"]
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


def story(failure: StoredFailure, when: str) -> list[str]:
    """Return the lines for a stored failure with its traceback; `when` says when it was stored."""
    record = failure.record
    return [
        f"{record.document}: {status(record)} at {place(record)}: {what_happened(record)}",
        f"  stored   {when}" + (f", CI run {failure.ci_run}" if failure.ci_run else ""),
        f"  ran      {duration(record.seconds)}"
        + (f" in the {record.ran_by} build" if record.ran_by else "")
        + (f", on {record.machine}" if record.machine else ""),
        f"  device   {record.device_asked}, set by {record.device_origin}; used: {device_used(record)}",
        f"  again    with {RETRY_VARIABLE}=1, or after: jaxdevice failures clear '{record.document}'",
        "",
        failure.traceback.rstrip(),
    ]


def meant(given: str, records: Sequence[Record]) -> str:
    """Return the document that a person means by its name, by its source file, or by a path that ends in one of these.

    Raises LookupError with a sentence that names the nearest documents.
    """
    names = {record.source_path: record.document for record in records} | {
        record.document: record.document for record in records
    }
    path = PurePath(given)
    # The longest ending counts: `book/part/intro.md` is `part/intro`, not `intro`.
    for start in range(len(path.parts)):
        ending = PurePath(*path.parts[start:]).as_posix()
        for name in (ending, splitext(ending)[0]):
            if name in names:
                return names[name]
    documents = sorted({record.document for record in records})
    near = get_close_matches(splitext(path.as_posix())[0], documents, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are: {_some(documents)}"
    msg = f"there is no lecture {given!r} here; {advice}"
    raise LookupError(msg)


def _some(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
