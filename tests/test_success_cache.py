from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .books import TinyBook

pytestmark = pytest.mark.slow


def test_device_is_part_of_the_key(tmp_path: Path) -> None:
    """`cpu`, `auto` and `cpu` again run a lecture twice: not once, and not three times."""
    book = TinyBook(tmp_path)
    for device in ("cpu", "auto", "cpu"):
        book.lecture("lecture", "print('fine')", front_matter=f"jax-device: {device}")
        book.build("html")

    assert book.runs("lecture") == 2
    assert book.report()["lecture"]["source"] == "cached"


def test_entries_of_plain_mystnb_are_used_without_a_pin(tmp_path: Path) -> None:
    """What plain MyST-NB cached is used for a lecture without a pin, and not for a pinned one."""
    book = TinyBook(tmp_path, extensions=("myst_nb",))
    book.lecture("free", "print('fine')")
    book.build("html")
    book.extensions = ("myst_nb", "sphinx_jaxdevice")

    book.build("text")
    assert book.runs("free") == 1
    assert book.report()["free"]["source"] == "cached"
    assert book.report()["free"]["seconds"] > 0

    book.lecture("free", "print('fine')", front_matter="jax-device: cpu")
    book.build("text")
    assert book.runs("free") == 2


def test_plain_mystnb_uses_our_entries(tmp_path: Path) -> None:
    """A maintainer who takes the extension out again keeps the cache of lectures without a pin."""
    book = TinyBook(tmp_path)
    book.lecture("free", "print('fine')")
    book.build("html")
    book.extensions = ("myst_nb",)

    book.build("text")

    assert book.runs("free") == 1


def test_jcache_lists_our_entries(tmp_path: Path) -> None:
    """The `jcache` command lists what the extension cached."""
    book = TinyBook(tmp_path)
    book.lecture("lecture", "print('fine')", front_matter="jax-device: cpu")
    book.build("html")

    command = [sys.executable, "-m", "jupyter_cache.cli.commands.cmd_main"]
    code = "from jupyter_cache.cli.commands.cmd_main import jcache; jcache()"
    cache = str(book.build_folder / ".jupyter_cache")
    done = subprocess.run(
        [command[0], "-W", "ignore", "-c", code, "cache", "-p", cache, "list"], capture_output=True, text=True, check=False
    )

    assert "lecture.md" in done.stdout, done.stdout + done.stderr


def test_facts_of_a_run_survive_in_the_cache(tmp_path: Path) -> None:
    """A later build that takes a lecture from the cache still knows device, times and who ran it."""
    book = TinyBook(tmp_path)
    book.lecture("lecture", "import jax.numpy as jnp\njnp.ones(3).sum()", front_matter="jax-device: cpu")
    book.build("html")
    ran = book.report()["lecture"]
    (book.state / "report.json").unlink()

    book.build("text")

    cached = book.report()["lecture"]
    assert cached["source"] == "cached"
    assert cached["builder"] == "text"
    for name in ("seconds", "platform", "jax_version", "compile_seconds", "ran_by", "ran_at", "cells", "machine"):
        assert cached[name] == ran[name], name


def test_two_pages_with_the_same_code_and_other_devices_share_nothing(tmp_path: Path) -> None:
    """A pinned page and a free one with equal code do not share outputs."""
    book = TinyBook(tmp_path)
    code = "import os\nprint('platforms:', os.environ.get('JAX_PLATFORMS'))"
    text = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n{}---\n\n# Page\n\n```{{code-cell}}\n" + code + "\n```\n"
    book.write("a.md", text.format("jax-device: cpu\n"))
    book.write("b.md", text.format(""))

    built = book.build("text")

    assert "platforms: cpu" in (built.output / "a.txt").read_text()
    assert "platforms: None" in (built.output / "b.txt").read_text()


@pytest.mark.parametrize("damage", ["empty", "garbage", "missing notebook", "truncated notebook"])
def test_damaged_cache_costs_a_run_and_at_most_a_warning(tmp_path: Path, damage: str) -> None:
    """A damaged notebook cache, on which MyST-NB alone aborts, is a warning; the lectures run and the next build is clean."""
    book = TinyBook(tmp_path)
    book.lecture("one", "print('first')")
    book.lecture("two", "print('second')")
    book.build("html")
    cache = book.build_folder / ".jupyter_cache"
    notebooks = sorted(cache.glob("executed/*/base.ipynb"))
    if damage == "empty":
        (cache / "global.db").write_bytes(b"")
    elif damage == "garbage":
        (cache / "global.db").write_bytes(b"this is no database" * 500)
    elif damage == "missing notebook":
        notebooks[0].unlink()
    else:
        notebooks[0].write_text(notebooks[0].read_text()[:40])

    built = book.build("html", "-E")
    clean = book.build("html", "-E", "-W", "--keep-going")

    assert built.status == 0, built.text
    assert "first" in built.page("one")
    assert "second" in built.page("two")
    assert len(built.warnings) <= 2, built.text
    assert all("jaxdevice.cache" in warning for warning in built.warnings), built.text
    assert clean.status == 0, clean.text
