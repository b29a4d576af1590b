"""What the extension costs where there is nothing to do: 20 cached lectures, doctrees removed, against plain MyST-NB.

python -m benchmarks.cached_lectures [rounds]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import OURS, PLAIN, alternate, compare, show
from tests.books import TinyBook

LECTURES = 20
TEXT = "A paragraph of the size that lectures have, so that reading a page is not free. " * 8


def _book(root: Path, extensions: tuple[str, ...]) -> TinyBook:
    book = TinyBook(root, extensions=extensions)
    for number in range(LECTURES):
        pin = "jax-device: cpu" if number % 2 and extensions == OURS else ""
        book.lecture(f"lecture_{number:02}", *(f"x = {number} + {cell}\nprint(x)" for cell in range(8)), front_matter=pin)
        path = book.source / f"lecture_{number:02}.md"
        path.write_text(path.read_text() + "\n".join(f"\n## Section {part}\n\n{TEXT}\n" for part in range(6)))
    built = book.build()
    if built.status:
        sys.exit(built.text)
    return book


def _again(book: TinyBook) -> None:
    shutil.rmtree(book.build_folder / "html")
    built = book.build()
    if built.status or sum(book.runs(path.stem) for path in book.source.glob("lecture_*.md")) != LECTURES:
        sys.exit(f"not all lectures came from the cache:\n{built.text}")


def main(rounds: int) -> None:
    """Build both books in turn."""
    with tempfile.TemporaryDirectory() as folder:
        plain, ours = _book(Path(folder) / "plain", PLAIN), _book(Path(folder) / "ours", OURS)
        samples = alternate({"MyST-NB": lambda: _again(plain), "with sphinx-jaxdevice": lambda: _again(ours)}, rounds)
    for kind, values in samples.items():
        show(compare(f"20 cached lectures, {kind} time", values))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
