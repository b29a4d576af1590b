from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from .books import TinyBook, kernels_of, wait_until_gone

pytestmark = pytest.mark.slow

MOMENTS = 20
"""Random moments at which a build is stopped, spread over the three signals."""


def _start(book: TinyBook, marker: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-c", str(book._conf()), str(book.source)]
    return subprocess.Popen(
        [*command, str(book.build_folder / "html")],
        env=book.environment({"MARKER": marker}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _wait_for_kernel(book: TinyBook, document: str) -> None:
    end = time.monotonic() + 60
    while book.runs(document) == 0:
        assert time.monotonic() < end, "the lecture never began"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: signal.Signals(s).name)
@pytest.mark.parametrize("code", ["import time\ntime.sleep(100)", "sum(range(10**13))"], ids=["python", "native"])
def test_build_stopped_in_a_cell_leaves_no_kernel_and_stores_nothing(tmp_path: Path, number: int, code: str) -> None:
    """A build that is stopped while a cell runs leaves no process and no failure; the next build runs the lecture."""
    book = TinyBook(tmp_path)
    book.lecture("slow", code)
    marker = uuid.uuid4().hex
    build = _start(book, marker)
    _wait_for_kernel(book, "slow")
    time.sleep(0.3)

    build.send_signal(number)
    build.wait(30)

    assert build.returncode != 0
    assert wait_until_gone(marker, 10) == []
    assert not list((book.state / "failures").glob("*.json"))
    book.lecture("slow", "print('fine')")
    assert book.build("html", "-W", "--keep-going").status == 0


def test_build_stopped_at_random_moments_does_not_break_the_next_one(tmp_path: Path) -> None:
    """Whenever Ctrl-C, SIGTERM or SIGKILL comes, no kernel is left, and the next build works."""
    choose = random.Random(20261201)
    book = TinyBook(tmp_path)
    for moment in range(MOMENTS):
        book.lecture("a_good", f"print('fine {moment}')")
        book.lecture("b_bad", f"x = {moment}\n1 / 0")
        marker = uuid.uuid4().hex
        build = _start(book, marker)
        time.sleep(choose.uniform(0.3, 4.0))
        build.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[moment % 3])
        build.wait(30)
        assert wait_until_gone(marker, 10) == [], moment
    built = book.build("html")

    assert built.status == 0, built.text
    assert built.warnings_of("jaxdevice.state") == built.warnings_of("jaxdevice.cache") == []
    assert "fine" in built.page("a_good")
    assert book.report()["b_bad"]["outcome"] == "failed"


def test_parallel_build_that_is_killed_leaves_no_kernel(tmp_path: Path) -> None:
    """Workers of `sphinx-build -j` end their kernels when the build's own process is killed."""
    book = TinyBook(tmp_path)
    for number in range(8):
        book.lecture(f"slow_{number}", "import time\ntime.sleep(100)")
    marker = uuid.uuid4().hex
    command = [sys.executable, "-m", "sphinx", "-j", "4", "-b", "html", "-c", str(book._conf()), str(book.source)]
    build = subprocess.Popen(
        [*command, str(book.build_folder / "html")],
        env=book.environment({"MARKER": marker}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while not any(book.runs(f"slow_{number}") for number in range(8)):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len(kernels_of(marker)) > 1

    os.kill(build.pid, signal.SIGKILL)
    build.wait(10)

    assert wait_until_gone(marker, 10) == []
