from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from sphinx_jaxdevice import report
from sphinx_jaxdevice.outcome import Outcome
from sphinx_jaxdevice.records import Source, from_json

from .records import failed, record


def test_row_holds_the_seven_columns_in_words() -> None:
    """A row is lecture, device asked and used, time, compile time, status and source."""
    (row,) = report.rows(
        [record("a/b", outcome=Outcome.TIMED_OUT, source=Source.REUSED, device_kind="NVIDIA H200", seconds=754.0)]
    )

    assert row.texts == ("a/b", "cpu", "NVIDIA H200", "12 min 34 s", "3.2 s", "timed out", "reused")
    assert row.status == "timed_out"


def test_unknown_times_and_devices_are_dashes() -> None:
    """What a cache entry of plain MyST-NB does not say is a dash."""
    (row,) = report.rows([record(seconds=None, compile_seconds=None, platform=None, device_kind=None)])

    assert row.texts[2:5] == ("-", "-", "-")


def test_text_fits_eighty_columns() -> None:
    """Long names lose their middle, so that the table fits a terminal."""
    long = record(
        "a_very_long_folder_name/with_a_lecture_name_that_goes_on_and_on",
        device_kind="NVIDIA H200 NVL with a long name",
        seconds=3000.0,
    )

    assert max(map(len, report.as_text([long, record("1e5")]).splitlines())) <= 80
    assert "1e5" in report.as_text([record("1e5")])


def test_text_fits_eighty_columns_in_any_script() -> None:
    """Characters that take two columns of a terminal count as two, and the longest times and words still fit."""
    long = record(
        "講義/" + "最尤推定" * 12,
        outcome=Outcome.KERNEL_DIED,
        source=Source.REUSED,
        device_kind="NVIDIA H200 NVL with a long name",
        seconds=45299.0,
        compile_seconds=3599.0,
    )

    text = report.as_text([long])

    assert max(map(report._columns, text.splitlines())) <= 80
    assert "…" in text


@pytest.mark.parametrize("width", [1, 40, 500])
@pytest.mark.parametrize("count", [0, 1])
def test_text_is_a_table_on_any_terminal(width: int, count: int) -> None:
    """Heading and rule are there for no lecture and for a terminal that is too narrow; enough of a name stays to know it."""
    lines = report.as_text([record("chapter/of_a_long_name")] * count, width).splitlines()

    assert lines[0].startswith("Lecture")
    assert [line.startswith("chap") for line in lines[2:]] == [True] * count


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.04, "0.0 s"),
        (12.34, "12.3 s"),
        (59.94, "59.9 s"),
        (59.97, "1 min"),
        (754.4, "12 min 34 s"),
        (4830.0, "1 h 20 min"),
        (float("inf"), "inf s"),
    ],
)
def test_times_are_for_people(seconds: float, expected: str) -> None:
    """Below a minute a time has one decimal, from an hour on no seconds."""
    assert report.duration(seconds) == expected


def test_markdown_escapes_what_would_break_the_table() -> None:
    """Pipes and markup in a name stay text."""
    assert r"a\|b\_c" in report.as_markdown([record("a|b_c")])


def test_json_is_that_of_the_report_file() -> None:
    """The JSON form gives the records back."""
    data = json.loads(report.as_json([record(), failed()]))

    assert data["schema"] == 1
    assert [from_json(entry) for entry in data["lectures"]] == [record(), failed()]


def test_junit_counts_failures_and_survives_odd_characters() -> None:
    """A failed lecture is a failure with its place; characters that XML has no place for are written as escapes."""
    text = report.as_junit([record("é"), failed(message="bad \x1b[31m \x00 <tag> & \ud800")])
    suite = ET.fromstring(text)

    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text == "broken.md:42: CellExecutionError: bad <tag> & \\ud800"
    assert failure.get("message") == "bad \\x1b[31m \\x00 <tag> & \\ud800"
    assert text.isascii()  # right in whatever encoding the pipe has


def test_message_of_a_failure_is_one_line_without_terminal_codes() -> None:
    """What a lecture raised can neither add lines to the list of failures nor order something of the terminal."""
    assert report.failures([failed(message="one\n::error::two \x1b[31mred\x1b[0m\x07")]) == [
        "broken.md:42: CellExecutionError: one ::error::two red"
    ]


def test_failure_without_error_and_message_is_told_by_its_outcome() -> None:
    """Nobody reads `None: None`."""
    assert report.what_happened(failed(outcome=Outcome.KERNEL_DIED, error=None, message=None)) == "kernel died"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "broken.md:42"),
        ({"failing_line": None}, "broken.md, cell 3"),
        ({"failing_line": None, "failing_cell": None}, "broken.md"),
    ],
)
def test_place_of_a_failure(fields: dict[str, Any], expected: str) -> None:
    """A failure is at a line where the source has lines, else at a cell, else in the file."""
    assert report.place(failed(**fields)) == expected


def test_summary_counts_and_names_the_slowest_five() -> None:
    """The closing lines count what became of the lectures shown, name the slowest that ran, and add up what reuse saved."""
    ran = [record(f"ran{number}", seconds=float(number)) for number in range(1, 8)]
    others = [
        record("cached", source=Source.CACHED, seconds=60.0),
        failed("again", source=Source.REUSED, seconds=2400.0),
        record("unseen"),
    ]

    lines = report.summary([*ran, *others], {one.document for one in (*ran, *others)} - {"unseen"})

    assert lines == [
        "9 lectures: 7 ran, 1 cached, 1 reused, 1 failed",
        "slowest: ran7 7.0 s, ran6 6.0 s, ran5 5.0 s, ran4 4.0 s, ran3 3.0 s",
        "time saved by reuse: 41 min",
    ]


def test_summary_of_one_lecture_that_took_no_time() -> None:
    """Nothing is named slowest or saved where there is nothing to name."""
    assert report.summary([record(seconds=None)], {"lecture"}) == ["1 lecture: 1 ran, 0 cached, 0 reused, 0 failed"]
