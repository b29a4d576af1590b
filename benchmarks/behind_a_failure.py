"""What a second builder costs behind a lecture that ran over a limit of 20 s, against the same book with that lecture cached.

    python -m benchmarks.behind_a_failure [rounds]

Kernels are counted: the second builder must start none.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import OURS, alternate, compare, show
from tests.books import TinyBook

LIMIT = 20
START = """import os, sys
with open({log!r}, "a") as log:
    log.write("start\\n")
os.execv(sys.executable, [sys.executable, "-m", "ipykernel_launcher", *sys.argv[1:]])
"""


class CountedBook(TinyBook):
    """A book whose kernel leaves a line in a file whenever it starts."""

    @property
    def starts(self) -> int:
        """Return how many kernels have been started."""
        log = self.root / "starts"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def counted_build(self, builder: str) -> None:
        """Build with the counting kernel."""
        kernel = self.root / "jupyter" / "kernels" / "python3"
        kernel.mkdir(parents=True, exist_ok=True)
        script = self.root / "start.py"
        script.write_text(START.format(log=str(self.root / "starts")))
        spec = {"argv": [sys.executable, str(script), "-f", "{connection_file}"], "display_name": "Test", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec))
        self.build(builder, env={"JUPYTER_PATH": str(self.root / "jupyter")})


def _book(root: Path, last_cell: str) -> CountedBook:
    book = CountedBook(root, extensions=OURS)
    for number in range(5):
        book.lecture(f"lecture_{number}", "print('fine')")
    book.lecture(
        "slow", "import time\nprint('begins', flush=True)", last_cell, front_matter=f"jax-device: cpu\njax-timeout: {LIMIT}"
    )
    book.counted_build("html")
    return book


def _second(book: CountedBook) -> None:
    shutil.rmtree(book.build_folder / "dirhtml", ignore_errors=True)
    before = book.starts
    book.counted_build("dirhtml")
    if book.starts != before:
        sys.exit(f"the second builder started {book.starts - before} kernels")


def main(rounds: int) -> None:
    """Build both books in turn."""
    with tempfile.TemporaryDirectory() as folder:
        cached = _book(Path(folder) / "cached", "time.sleep(1)")
        failed = _book(Path(folder) / "failed", "time.sleep(600)")
        outcomes = [book.report()["slow"]["outcome"] for book in (cached, failed)]
        if outcomes != ["succeeded", "timed_out"]:
            sys.exit(f"the books are not as meant: {outcomes}")
        samples = alternate({"lecture cached": lambda: _second(cached), "lecture timed out": lambda: _second(failed)}, rounds)
        print(f"behind a failure: kernels started by {2 * rounds} second builders: 0")
    for kind, values in samples.items():
        show(compare(f"behind a failure, {kind} time", values))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
