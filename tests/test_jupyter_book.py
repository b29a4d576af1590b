"""Jupyter Book 1 with its three builders over one environment, as books are built in CI."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .books import Built, TinyBook

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("jupyter_book") is None, reason="Jupyter Book 1 is not part of this stack"),
]

BUILDERS = {
    "html": ("--builder=html",),
    "latex": ("--builder=latex",),
    "jupyter": ("--builder=custom", "--custom-builder=jupyter"),
}
CONFIG = """title: Test
author: Test
only_build_toc_files: true
execute: {execute_notebooks: cache}
sphinx:
  extra_extensions: [sphinx_jaxdevice, sphinx_tojupyter]
  config:
    show_warning_types: true
    jaxdevice_lectures:
      "pin*": {jax-device: cpu, jax-timeout: 10m}
"""


class JupyterBook(TinyBook):
    """A tiny book built by `jb build`."""

    def start(self) -> None:
        """Write configuration and table of contents for all pages there are."""
        names = sorted(path.relative_to(self.source).with_suffix("").as_posix() for path in self.source.rglob("*.md"))
        chapters = "".join(f"  - file: {name}\n" for name in names if name != "index")
        self.write("_config.yml", CONFIG)
        self.write("_toc.yml", f"format: jb-book\nroot: index\nchapters:\n{chapters}")
        self.write("index.md", "# Book\n")

    @property
    def build_folder(self) -> Path:
        """Return Jupyter Book's build folder."""
        return self.source / "_build"

    def jb(self, builder: str) -> Built:
        """Build with `-n -W --keep-going`."""
        command = [sys.executable, "-m", "jupyter_book.cli.main", "build", str(self.source), *BUILDERS[builder]]
        code = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
        command = [sys.executable, "-W", "ignore", "-c", code, *command[3:], "-n", "-W", "--keep-going"]
        return self._run(command, self.build_folder / builder, None)


@pytest.mark.parametrize("order", [("html", "latex", "jupyter"), ("jupyter", "latex", "html")])
def test_failing_lecture_runs_once_and_fails_all_three_builders(tmp_path: Path, order: tuple[str, ...]) -> None:
    """Whatever the order, one run, the same warnings and exit status 1 in html, latex and jupyter, and the gate says so."""
    book = JupyterBook(tmp_path)
    book.lecture("good", "print('fine')")
    book.lecture("bad", "print('before')\n1 / 0")
    book.start()

    built = [book.jb(builder) for builder in order]

    assert book.runs("bad") == book.runs("good") == 1
    for one in built:
        assert one.status == 1, one.text
        assert len([warning for warning in one.warnings if "[mystnb.exec]" in warning]) == 2, one.text
        assert (one.output / "reports" / "bad.err.log").exists()
    gate = subprocess.run(
        [sys.executable, "-m", "sphinx_jaxdevice.cli", "gate", str(book.source)], capture_output=True, text=True, check=False
    )
    assert gate.returncode == 1
    assert "bad.md:" in gate.stdout


def test_good_book_passes_all_three_builders(tmp_path: Path) -> None:
    """Pins from the book's configuration hold, each lecture runs once, and all builders and the gate exit 0."""
    book = JupyterBook(tmp_path)
    book.lecture("pinned", "import os\nprint(os.environ['JAX_PLATFORMS'])")
    book.write("status.md", "# Status\n\n```{jaxdevice-table}\n```\n")
    book.start()

    built = [book.jb(builder) for builder in BUILDERS]

    assert [one.status for one in built] == [0, 0, 0], [one.text for one in built]
    assert book.runs("pinned") == 1
    assert "pinned" in built[0].page("status")
    assert "pinned" in next(built[1].output.glob("*.tex")).read_text()
    record = book.report()["pinned"]
    assert (record["device_asked"], record["cell_limit"]) == ("cpu", 600)
    gate = subprocess.run(
        [sys.executable, "-m", "sphinx_jaxdevice.cli", "gate", str(book.source)], capture_output=True, text=True, check=False
    )
    assert gate.returncode == 0
