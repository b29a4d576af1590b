from __future__ import annotations

import html
import re
import uuid
from pathlib import Path

import pytest

from .books import TinyBook, wait_until_gone

pytestmark = pytest.mark.slow

SLEEP = "import time\nprint('begins', flush=True)\ntime.sleep(100)"
HOLDS_THE_GIL = "import time\nprint('begins', flush=True)\ntime.sleep(0.5)\nsum(range(10**13))"


def _text(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


@pytest.mark.parametrize("mode", ["cache", "force", "inline"])
@pytest.mark.parametrize("cell", [SLEEP, HOLDS_THE_GIL], ids=["python", "native code"])
def test_page_over_its_limit_keeps_what_it_printed_and_says_why_it_ends(tmp_path: Path, mode: str, cell: str) -> None:
    """The page names the limit, where it was set, the time and the device; the next lecture runs and no process is left."""
    book = TinyBook(tmp_path, config={"nb_execution_mode": mode})
    book.lecture("a_slow", cell, "print('never')", front_matter="jax-device: cpu\njax-timeout: 2s")
    book.lecture("b_next", "print('fine')")
    marker = uuid.uuid4().hex

    built = book.build("html", env={"MARKER": marker})

    page = _text(built.page("a_slow"))
    assert "begins" in page
    assert "CellTimeoutError" in page
    assert "2 s" in page
    assert "jax-timeout, line" in page
    assert "cpu" in page
    assert "KeyboardInterrupt" not in page
    assert "fine" in built.page("b_next")
    record = book.report()["a_slow"]
    assert record["outcome"] == "timed_out"
    assert record["seconds"] < 2 + 8
    assert wait_until_gone(marker, 3) == []
    assert len(built.warnings_of("mystnb.exec")) == (2 if mode != "off" else 0)


def test_next_builder_shows_the_page_over_its_limit_without_a_run(tmp_path: Path) -> None:
    """A lecture that ran over a limit is run once for all builders."""
    book = TinyBook(tmp_path)
    book.lecture("slow", SLEEP, front_matter="jax-timeout: 1s")

    first = book.build("html")
    second = book.build("dirhtml")

    assert book.runs("slow") == 1
    assert "CellTimeoutError" in second.text
    assert second.warnings == [w.replace("/html/", "/dirhtml/") for w in first.warnings]


def test_limit_of_the_lecture_counts_all_cells(tmp_path: Path) -> None:
    """Cells that are each within their limit run over that of the lecture together."""
    book = TinyBook(tmp_path)
    cells = [f"import time\nprint('cell {number}', flush=True)\ntime.sleep(1.5)" for number in range(20)]
    book.lecture("long", *cells, front_matter="jax-timeout: 10\njax-lecture-timeout: 5")

    built = book.build("text")

    record = book.report()["long"]
    assert record["outcome"] == "timed_out"
    assert record["error"] == "LectureTimeoutError"
    assert 5 <= record["seconds"] < 10
    assert "jax-lecture-timeout" in (built.output / "long.txt").read_text()


def test_cells_own_limit_wins(tmp_path: Path) -> None:
    """`jax-timeout` in a cell's metadata is the limit of that cell, tighter or wider than the page's."""
    book = TinyBook(tmp_path)
    book.lecture("wide", ":jax-timeout: 30\nimport time; time.sleep(2)", front_matter="jax-timeout: 1")
    book.lecture("tight", "import time", ":jax-timeout: 1\ntime.sleep(50)", front_matter="jax-timeout: 40")

    book.build("html")

    records = book.report()
    assert records["wide"]["outcome"] == "succeeded"
    assert records["tight"]["outcome"] == "timed_out"
    assert records["tight"]["failing_cell"] == 3


@pytest.mark.parametrize(
    ("front_matter", "config", "expected", "origin"),
    [
        ("jax-timeout: 11", {"jaxdevice_timeout": "22"}, 11, "jax-timeout, line"),
        ("execution:\n  timeout: 12\nmystnb:\n  execution_timeout: 13", {}, 12, "execution: timeout"),
        ("mystnb:\n  execution_timeout: 13", {"jaxdevice_timeout": 22}, 13, "mystnb: execution_timeout"),
        (
            "",
            {"jaxdevice_lectures": {"lec*": {"jax-timeout": "14s"}}, "jaxdevice_timeout": 22},
            14,
            "jaxdevice_lectures['lec*']",
        ),
        ("", {"jaxdevice_timeout": "1h"}, 3600, "jaxdevice_timeout"),
        ("", {"nb_execution_timeout": 77}, 77, "nb_execution_timeout"),
        ("jax-timeout: none", {"jaxdevice_timeout": "1h"}, None, "jax-timeout, line"),
        ("", {"nb_execution_timeout": -1}, None, "nb_execution_timeout"),
    ],
)
def test_tightest_scope_sets_the_limit(
    tmp_path: Path, front_matter: str, config: dict[str, object], expected: float | None, origin: str
) -> None:
    """Front matter, MyST-NB's page keys, the book's table, the book's limit and MyST-NB's limit count in this order."""
    book = TinyBook(tmp_path, config=config)
    book.lecture("lecture", "1", front_matter=front_matter)

    book.build("html")

    record = book.report()["lecture"]
    assert record["cell_limit"] == expected
    assert origin in record["cell_limit_origin"]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("import os\nos._exit(3)", "3"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    ],
    ids=["exit", "killed", "segmentation fault"],
)
def test_dead_kernel_is_one_failed_page_that_says_how_it_ended(tmp_path: Path, cell: str, says: str) -> None:
    """A kernel that dies fails its page once, with signal or exit status, and the book goes on."""
    book = TinyBook(tmp_path)
    book.lecture("a_dies", "print('before', flush=True)\nimport time; time.sleep(0.3)", cell)
    book.lecture("b_next", "print('fine')")

    first = book.build("html", "-W", "--keep-going")
    second = book.build("text", "-W", "--keep-going")

    assert first.status == second.status == 1
    page = _text(first.page("a_dies"))
    assert "before" in page
    assert "DeadKernelError" in page
    assert says in page
    assert "fine" in first.page("b_next")
    assert book.runs("a_dies") == 1
    assert book.report()["a_dies"]["outcome"] == "kernel_died"


def test_html_and_ansi_in_errors_stay_escaped(tmp_path: Path) -> None:
    """Markup and terminal codes in an error's text are shown as text, when run and when shown again."""
    book = TinyBook(tmp_path)
    book.lecture("nasty", "raise ValueError('<script>alert(1)</script> \\x1b[31mred\\x1b[0m')")

    first = book.build("html")
    second = book.build("dirhtml")

    for page in (first.page("nasty"), (second.output / "nasty/index.html").read_text()):
        assert "<script>alert(1)" not in page
        assert "\x1b" not in page
    assert "\x1b" not in (second.output / "reports" / "nasty.err.log").read_text()
