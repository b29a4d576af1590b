from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .books import TinyBook

pytestmark = pytest.mark.slow


@pytest.fixture
def book(tmp_path: Path) -> TinyBook:
    """Return a book that was built once, with a stored failure."""
    book = TinyBook(tmp_path)
    book.lecture("good", "print('fine')")
    book.lecture("bad", "open('out.csv', 'w').write('1')\n1 / 0")
    book.build("html")
    return book


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda _text: b"",
    "not JSON": lambda _text: b"\x00\xff\xfe garbage",
    "another type": lambda _text: b"[1, 2, 3]",
    "wrong fields": lambda _text: b'{"schema": 1, "lectures": [{"document": 3}], "key": 4, "files": [1]}',
    "newer schema": lambda _text: b'{"schema": 99, "lectures": []}',
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_state_files_cost_a_warning_and_a_run(book: TinyBook, damage: str) -> None:
    """Whatever a state file holds, the next build ends well, warns, and shows the pages."""
    files = [path for path in book.state.rglob("*.json") if path.is_file()]
    assert {path.parent.name for path in files} == {"jaxdevice", "failures", "written"}
    for path in files:
        path.write_bytes(DAMAGE[damage](path.read_bytes()))

    built = book.build("text")

    assert built.status == 0, built.text
    assert built.warnings_of("jaxdevice.state")
    assert (built.output / "bad.txt").exists()
    assert "fine" in (built.output / "good.txt").read_text()
    assert "Traceback (most recent call last)" not in built.text


def test_report_of_a_newer_version_is_left_alone(book: TinyBook) -> None:
    """A report that a newer version wrote is neither read nor overwritten."""
    newer = json.dumps({"schema": 99, "lectures": [], "more": 1})
    (book.state / "report.json").write_text(newer)

    built = book.build("text")

    assert built.status == 0
    assert (book.state / "report.json").read_text() == newer


def test_state_folder_that_is_a_file_costs_warnings_only(tmp_path: Path) -> None:
    """Where nothing can be written, as in a read-only folder, every lecture runs and the build ends well."""
    book = TinyBook(tmp_path)
    book.lecture("good", "print('fine')")
    book.lecture("bad", "1 / 0")
    book.build_folder.mkdir()
    book.state.write_text("no folder")

    built = book.build("html")

    assert built.status == 0, built.text
    assert built.warnings_of("jaxdevice.state")
    assert "fine" in built.page("good")
    assert "ZeroDivisionError" in built.page("bad")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system of 200 kB; needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_full_disk_under_the_state_folder_costs_warnings_only(tmp_path: Path, small_disk: Path) -> None:
    """With no room for state files the lectures run, the pages are there, and no half-written file is left."""
    book = TinyBook(tmp_path)
    book.lecture("good", "print('fine')")
    book.lecture("bad", "1 / 0")
    book.build_folder.mkdir()
    book.state.symlink_to(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * 1000)
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)

    built = book.build("html")
    (small_disk / "filler").unlink()
    after = book.build("text")

    assert built.status == after.status == 0, built.text
    assert built.warnings_of("jaxdevice.state")
    assert "fine" in built.page("good")
    assert after.warnings_of("jaxdevice.state") == []
    assert not [path for path in small_disk.rglob(".*") if path.is_file()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take every right of writing away from itself by another user")
def test_read_only_folder_for_another_user_costs_warnings_only(tmp_path: Path) -> None:
    """A user who may not write the state folder gets warnings and pages."""
    book = TinyBook(tmp_path)
    book.lecture("good", "print('fine')")
    book.build("html")
    locked = book.state
    subprocess.run(["chmod", "-R", "a-w", str(locked)], check=True)
    attribute = subprocess.run(["chattr", "-R", "+i", str(locked)], check=False, capture_output=True)
    if attribute.returncode:
        pytest.skip("this file system has no immutable files, and root may write everywhere else")
    try:
        built = book.build("text")
    finally:
        subprocess.run(["chattr", "-R", "-i", str(locked)], check=True)

    assert built.status == 0, built.text
    assert built.warnings_of("jaxdevice.state")


BAD_HEADERS = {
    "jax-device: gpus": "jaxdevice.value",
    "jax_device: cpu": "jaxdevice.key",
    "jax-timeout: soon": "jaxdevice.value",
    "jax-timeout: .nan": "jaxdevice.value",
    "jax-lecture-timeout: 1e400": "jaxdevice.value",
    "jax-device: cpu\njax-device: auto": "jaxdevice.duplicate",
    "execution:\n  timeout: soon": "jaxdevice.value",
    "execution:": "jaxdevice.value",
    "mystnb:\n  jax-device: cpu": "jaxdevice.key",
}


def test_bad_front_matter_costs_one_warning_each_and_nothing_else(tmp_path: Path) -> None:
    """Each malformed value is one warning with file and line; every page is built, and good keys beside it count."""
    book = TinyBook(tmp_path)
    for number, header in enumerate(BAD_HEADERS):
        book.lecture(f"page_{number}", "print('fine')", front_matter=header)
    book.write("broken.md", "---\nfile_format: mystnb\njax-device: [cpu\n---\n\n# Broken\n")

    built = book.build("html")

    assert built.status == 0, built.text
    for number, kind in enumerate(BAD_HEADERS.values()):
        mine = [warning for warning in built.warnings if f"page_{number}.md:" in warning and "jaxdevice" in warning]
        assert len(mine) == 1, (number, mine)
        assert f"[{kind}]" in mine[0]
        assert "fine" in built.page(f"page_{number}")
    assert len(built.warnings_of("jaxdevice.front_matter")) == 1
