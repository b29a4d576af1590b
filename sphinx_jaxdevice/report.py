"""Records -> rows -> text, Markdown, JSON, JUnit XML, and the summary at the end of a build. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from .records import SCHEMA, Record, Source, to_json
from .timeouts import format_duration

SLOWEST = 5
"""How many lectures the summary names."""
SHORTEST_NAME = 12
"""Characters of a lecture's name that stay in the narrowest table."""
LONGEST_DEVICE = 11
NOTHING = "-"
# What XML 1.0 has no place for, not even escaped.
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its heading, how a record fills it, and how it is aligned."""

    heading: str
    text: Callable[[Record], str]
    align: str = "left"


@dataclass(frozen=True, slots=True)
class Row:
    """One lecture in the table."""

    document: str
    texts: tuple[str, ...]
    """One text for each of `COLUMNS`; the first is the document."""
    status: str
    """The outcome as one word, for styling."""


def duration(seconds: float | None) -> str:
    """Return a duration for the table, with one decimal below a minute, or a dash for None."""
    if seconds is None:
        return NOTHING
    return f"{seconds:.1f} s" if seconds < 60 else format_duration(round(seconds))  # noqa: PLR2004 - a minute


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
    Column("Time", lambda record: duration(record.seconds), "right"),
    Column("Compile", lambda record: duration(record.compile_seconds), "right"),
    Column("Status", status),
    Column("Source", lambda record: record.source.value),
)


def rows(records: Sequence[Record]) -> list[Row]:
    """Return the rows of the table, in the order of the records."""
    return [Row(record.document, tuple(column.text(record) for column in COLUMNS), record.outcome.value) for record in records]


def as_text(records: Sequence[Record], width: int = 80) -> str:
    """Return the table for a terminal of `width` columns; names that are too long lose their middle."""
    lines = [[*row.texts[:2], _cut(row.texts[2], LONGEST_DEVICE), *row.texts[3:]] for row in rows(records)]
    table = _tabulate(lines, "simple")
    excess = max(map(len, table.splitlines())) - width
    if excess <= 0:
        return table
    longest = max((len(line[0]) for line in lines), default=0)
    room = max(SHORTEST_NAME, longest - excess)
    return _tabulate([[_cut(line[0], room), *line[1:]] for line in lines], "simple")


def as_markdown(records: Sequence[Record]) -> str:
    """Return the table as GitHub's Markdown, for an issue or a job's summary."""
    escaped = [[re.sub(r"([|\\`<>*_\[\]])", r"\\\1", text) for text in row.texts] for row in rows(records)]
    return _tabulate(escaped, "pipe")


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
            failure.text = _xml(f"{place(record)}: {record.error}: {record.message}")
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def place(record: Record) -> str:
    """Return where a lecture failed: its source file with the line, or the number of the cell in a notebook."""
    if record.failing_line is not None:
        return f"{record.source_path}:{record.failing_line}"
    return record.source_path if record.failing_cell is None else f"{record.source_path}, cell {record.failing_cell}"


def failures(records: Sequence[Record]) -> list[str]:
    """Return one line for each lecture that failed."""
    return [f"{place(record)}: {record.error}: {record.message}" for record in records if record.failed]


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


def _tabulate(lines: Sequence[Sequence[str]], form: str) -> str:
    from tabulate import tabulate  # noqa: PLC0415 - its import takes as long as ten cached lectures, and builds don't need it

    headings = [column.heading for column in COLUMNS]
    alignment = [column.align for column in COLUMNS] if lines else None
    # Texts stay as they are: tabulate would turn a document named "1e5" into a number.
    return tabulate(lines, headings, tablefmt=form, colalign=alignment, disable_numparse=True)


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[: longest - 1 - half]}…{text[-half:]}"


def _xml(text: str) -> str:
    return NOT_XML.sub("?", text)
