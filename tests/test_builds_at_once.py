from __future__ import annotations

import threading
from pathlib import Path

import pytest

from .books import Built, TinyBook

pytestmark = pytest.mark.slow


def _book(root: Path) -> TinyBook:
    book = TinyBook(root)
    for number in range(7):
        book.lecture(f"good_{number}", f"print('fine {number}')")
    book.lecture("bad", "import time\nprint('before', flush=True)\ntime.sleep(2)\n1 / 0")
    book.write("status.md", "# Status\n\n```{jaxdevice-table}\n```\n")
    return book


def test_parallel_reading_gives_the_same_records_and_pages(tmp_path: Path) -> None:
    """`sphinx-build -j 4` runs every lecture once and its table and report hold them all."""
    book = _book(tmp_path)

    built = book.build("html", "-j", "4")

    assert built.status == 0, built.text
    assert {document: book.runs(document) for document in book.report()} == dict.fromkeys(book.report(), 1)
    assert len(book.report()) == 8
    status = built.page("status")
    for document in book.report():
        assert document in status
    assert "database is locked" not in built.text
    assert built.warnings_of("jaxdevice.state") == built.warnings_of("jaxdevice.cache") == []


def test_parallel_builder_after_a_failure_reuses_it(tmp_path: Path) -> None:
    """A parallel second builder shows the stored failure, and its workers' warnings arrive."""
    book = _book(tmp_path)
    book.build("html", "-j", "4")

    second = book.build("dirhtml", "-j", "4", "-W", "--keep-going")

    assert second.status == 1
    assert book.runs("bad") == 1
    assert book.report()["bad"]["source"] == "reused"
    assert len(second.warnings_of("mystnb.exec")) == 2


def test_two_builders_at_once_run_the_failing_lecture_once(tmp_path: Path) -> None:
    """Two builders that start together over one state folder: one runs the failing lecture, the other waits and shows it."""
    book = _book(tmp_path)
    book.warm = False
    book._conf()
    results: dict[str, Built] = {}

    def build(builder: str) -> None:
        results[builder] = book.build(builder)

    threads = [threading.Thread(target=build, args=(builder,)) for builder in ("html", "dirhtml")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert book.runs("bad") == 1
    assert sum("jaxdevice: bad: another build is running it" in built.text for built in results.values()) == 1
    assert [book.runs(f"good_{number}") for number in range(7)] == [1] * 7
    for built in results.values():
        assert built.status == 0, built.text
        assert len(built.warnings_of("mystnb.exec")) == 2, built.text
        assert built.warnings_of("jaxdevice.state") == built.warnings_of("jaxdevice.cache") == []
