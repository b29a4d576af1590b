"""Records -> rows -> text, Markdown, JSON, JUnit XML, and the summary at the end of a build. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from .records import SCHEMA, Record, Source, to_json
from .timeouts import format_duration

SLOWEST = 5
"""How many lectures the summary names."""
SHORTEST_NAME = 9
"""Characters of a lecture's name that stay in the narrowest table."""
LONGEST_DEVICE = 11
NOTHING = "-"
HOUR = 3600.0
# Terminal codes and control characters, line ends included: a message is one line, and orders nothing of a terminal.
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# What XML 1.0 has no place for, not even escaped.
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its heading, and how a record fills it."""

    heading: str
    text: Callable[[Record], str]
    right: bool = False
    """Whether its texts end in line, as numbers do."""


@dataclass(frozen=True, slots=True)
class Row:
    """One lecture in the table."""

    document: str
    texts: tuple[str, ...]
    """One text for each of `COLUMNS`; the first is the document."""
    status: str
    """The outcome as one word, for styling."""


def duration(seconds: float | None) -> str:
    """Return a duration, given in seconds, for the table, or a dash for None.

    It has one decimal below a minute and no seconds from an hour on, so that it takes at most eleven columns.
    """
    if seconds is None:
        return NOTHING
    if seconds < 59.95:  # noqa: PLR2004 - from there on one decimal rounds to a minute
        return f"{seconds:.1f} s"
    # An infinite time comes from a report that was written by hand; it must not end the command.
    rounded = seconds if seconds < HOUR or not math.isfinite(seconds) else round(seconds / 60) * 60
    return format_duration(rounded)


def status(record: Record) -> str:
    """Return the outcome in words."""
    return record.outcome.value.replace("_", " ")


def device_used(record: Record) -> str:
    """Return JAX's name of the device, or the platform where it has no name of its own."""
    return record.device_kind or record.platform or NOTHING


COLUMNS = (
    Column("Lecture", lambda record: record.document),
    Column("Asked", lambda record: record.device_asked),
    Column("Used", device_used),
    Column("Time", lambda record: duration(record.seconds), right=True),
    Column("Compile", lambda record: duration(record.compile_seconds), right=True),
    Column("Status", status),
    Column("Source", lambda record: record.source.value),
)


def rows(records: Sequence[Record]) -> list[Row]:
    """Return the rows of the table, in the order of the records."""
    return [Row(record.document, tuple(column.text(record) for column in COLUMNS), record.outcome.value) for record in records]


def as_text(records: Sequence[Record], width: int = 80) -> str:
    """Return the table for a terminal of `width` columns; names that are too long lose their middle."""
    lines = [[*row.texts[:2], _cut(row.texts[2], LONGEST_DEVICE), *row.texts[3:]] for row in rows(records)]
    excess = len(_aligned(lines)[1]) - width
    if excess > 0:
        room = max(SHORTEST_NAME, max((_columns(line[0]) for line in lines), default=0) - excess)
        lines = [[_cut(line[0], room), *line[1:]] for line in lines]
    return "\n".join(_aligned(lines))


def as_markdown(records: Sequence[Record]) -> str:
    """Return the table as GitHub's Markdown, for an issue or a job's summary."""
    escaped = [[re.sub(r"([|\\`<>*_\[\]])", r"\\\1", text) for text in row.texts] for row in rows(records)]
    rule = ["---:" if column.right else ":---" for column in COLUMNS]
    return "\n".join(f"| {' | '.join(line)} |" for line in ([column.heading for column in COLUMNS], rule, *escaped))


def as_json(records: Sequence[Record]) -> str:
    """Return the records in the form of `report.json`."""
    return json.dumps({"schema": SCHEMA, "lectures": [to_json(record) for record in records]}, indent=2)


def as_junit(records: Sequence[Record]) -> str:
    """Return the records as a JUnit suite, which CI systems show as test results."""
    failed = sum(record.failed for record in records)
    total = sum(record.seconds or 0.0 for record in records)
    suite = ET.Element("testsuite", name="lectures", tests=str(len(records)), failures=str(failed), time=f"{total:.3f}")
    for record in records:
        case = ET.SubElement(
            suite, "testcase", name=_xml(record.document), classname="lectures", time=f"{record.seconds or 0.0:.3f}"
        )
        if record.failed:
            failure = ET.SubElement(case, "failure", type=_xml(record.error or ""), message=_xml(record.message or ""))
            failure.text = _xml(f"{place(record)}: {what_happened(record)}")
    ET.indent(suite)
    # ASCII with character references is right in whatever encoding the file or the pipe has.
    text: bytes = ET.tostring(suite, encoding="us-ascii", xml_declaration=True)
    return text.decode("ascii")


def place(record: Record) -> str:
    """Return where a lecture failed: its source file with the line, or the number of the cell in a notebook."""
    if record.failing_line is not None:
        return f"{record.source_path}:{record.failing_line}"
    return record.source_path if record.failing_cell is None else f"{record.source_path}, cell {record.failing_cell}"


def what_happened(record: Record) -> str:
    """Return error and message of a failed lecture in one line, without terminal codes."""
    told = ": ".join(filter(None, (record.error, record.message))) or status(record)
    return " ".join(CONTROL.sub(" ", told).split())


def failures(records: Sequence[Record]) -> list[str]:
    """Return one line for each lecture that failed: `source:line: error: message`."""
    return [f"{place(record)}: {what_happened(record)}" for record in records if record.failed]


def summary(records: Sequence[Record], shown: Collection[str]) -> list[str]:
    """Return the closing lines of a build: what became of the lectures that it showed, the slowest, and the time saved."""
    counted = [record for record in records if record.document in shown]
    by_source = {source: [record for record in counted if record.source is source] for source in Source}
    failed = sum(record.failed for record in counted)
    plural = "" if len(counted) == 1 else "s"
    counts = (
        f"{len(counted)} lecture{plural}: {len(by_source[Source.RUN])} ran, {len(by_source[Source.CACHED])} cached, "
        f"{len(by_source[Source.REUSED])} reused, {failed} failed"
    )
    lines = [counts]
    ran = sorted((record for record in by_source[Source.RUN] if record.seconds), key=lambda record: -(record.seconds or 0.0))
    if ran:
        lines.append("slowest: " + ", ".join(f"{record.document} {duration(record.seconds)}" for record in ran[:SLOWEST]))
    saved = sum(record.seconds or 0.0 for source in (Source.CACHED, Source.REUSED) for record in by_source[source])
    if saved:
        lines.append(f"time saved by reuse: {duration(saved)}")
    return lines


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return heading, rule and lines, each column as wide as its widest text."""
    from tabulate import tabulate  # noqa: PLC0415 - its import takes as long as ten cached lectures, and builds don't need it

    headings = [column.heading for column in COLUMNS]
    alignment = ["right" if column.right else "left" for column in COLUMNS] if lines else None
    # Texts stay as they are: tabulate would turn a document named "1e5" into a number.
    return tabulate(lines, headings, tablefmt="simple", colalign=alignment, disable_numparse=True).splitlines()


def _columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese and the like two a character, combining accents none."""
    from wcwidth import wcswidth  # noqa: PLC0415 - for terminals only, as tabulate, which asks it too

    width: int = wcswidth(text)
    return len(text) if width < 0 else width  # less than none stands for control characters


def _cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` columns: one that is longer loses characters from its middle."""
    if _columns(text) <= longest:
        return text
    start, end = text[: len(text) // 2], text[len(text) // 2 :]
    while _columns(start) + 1 + _columns(end) > longest:
        start, end = (start[:-1], end) if _columns(start) > _columns(end) else (start, end[1:])
    return f"{start}…{end}"


def _xml(text: str) -> str:
    """Return text that XML may hold: what it may not is written as Python writes it, escape as a backslash and `x1b`."""
    return NOT_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
