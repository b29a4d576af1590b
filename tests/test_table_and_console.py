from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .books import TinyBook

pytestmark = pytest.mark.slow

STATUS = "# Status\n\n```{jaxdevice-table}\n```\n"


def _rows(page: str) -> list[list[str]]:
    """Return the texts of a page's table, row by row."""
    table = re.search(r"<table.*?</table>", page, re.DOTALL)
    assert table is not None
    rows = re.findall(r"<tr.*?</tr>", table[0], re.DOTALL)
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]


def test_table_shows_each_lecture_with_a_link(tmp_path: Path) -> None:
    """The directive shows lecture, devices, times, status and source, and links to the page, also from a subfolder."""
    book = TinyBook(tmp_path)
    book.lecture("part/one", "1 + 1", front_matter="jax-device: cpu")
    book.lecture("two", "1 / 0")
    book.write("deep/status.md", STATUS)

    page = book.build("html").page("deep/status")

    head, *body = _rows(page)
    assert head == ["Lecture", "Asked", "Used", "Time", "Compile", "Status", "Source"]
    assert [(row[0], row[1], row[5], row[6]) for row in body] == [
        ("part/one", "cpu", "succeeded", "run"),
        ("two", "auto", "failed", "run"),
    ]
    assert 'href="../part/one.html"' in page


def test_table_is_written_again_when_any_lecture_ran(tmp_path: Path) -> None:
    """A page with the table shows a lecture that was added, although the page itself did not change."""
    book = TinyBook(tmp_path)
    book.lecture("one", "1 + 1")
    book.write("status.md", STATUS)
    book.build("html")
    book.lecture("two", "1 + 1")

    page = book.build("html").page("status")

    assert [row[0] for row in _rows(page)[1:]] == ["one", "two"]


def test_table_of_a_book_without_lectures_says_so(tmp_path: Path) -> None:
    """Where nothing was executed there is a sentence in place of the table."""
    book = TinyBook(tmp_path)
    book.write("status.md", STATUS)

    assert "No lecture of this book has been executed." in book.build("html").page("status")


@pytest.mark.parametrize("builder", ["latex", "text", "dummy"])
def test_table_is_there_for_other_builders(tmp_path: Path, builder: str) -> None:
    """LaTeX and text builders write the table without a warning."""
    book = TinyBook(tmp_path)
    book.lecture("one", "1 + 1")
    book.write("status.md", STATUS)

    built = book.build(builder, "-W", "--keep-going")

    assert built.status == 0, built.text


def test_log_has_a_line_at_start_and_end_of_each_lecture_and_a_summary(tmp_path: Path) -> None:
    """Without a terminal the lines are plain: start, end, and at the end of reading the counts and the slowest."""
    book = TinyBook(tmp_path)
    book.lecture("one", "1 + 1", front_matter="jax-device: cpu\njax-timeout: 5m")
    first = book.build("html").text
    again = book.build("dirhtml").text

    assert "jaxdevice: one: running 2 cells, device cpu, cell limit 5 min" in first
    assert re.search(r"jaxdevice: one: succeeded in [\d.]+ s", first)
    assert "jaxdevice: 1 lecture: 1 ran, 0 cached, 0 reused, 0 failed" in first
    assert "jaxdevice: slowest: one" in first
    assert "\x1b[K" not in first
    assert "jaxdevice: one: cached" in again
    assert "jaxdevice: time saved by reuse: " in again


def test_terminal_shows_the_running_cell(tmp_path: Path) -> None:
    """On a terminal the number of the running cell is shown, k of n, and taken away when the lecture ends."""
    book = TinyBook(tmp_path)
    book.lecture("one", "1 + 1", "2 + 2", front_matter="jax-device: cpu")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-c",
        str(book._conf()),
        str(book.source),
        str(book.build_folder / "html"),
    ]
    ours, theirs = pty.openpty()

    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=book.environment(), close_fds=True)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    process.wait(60)
    os.close(ours)

    text = seen.decode()
    assert process.returncode == 0, text
    for number in (1, 2, 3):
        assert f"\r\x1b[Kone [cpu] cell {number} of 3" in text
    assert "jaxdevice: one: succeeded" in text
