"""What the second builder costs behind a failed lecture today, and with the extension, in the situations that run it again.

python -m benchmarks.second_builder [seconds that the lecture takes to fail]
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import OURS, PLAIN
from tests.books import TinyBook


class Situation(NamedTuple):
    """Two builds in a row; what happens between them."""

    name: str
    arguments: tuple[str, ...] = ()
    between: Callable[[TinyBook], object] = lambda _book: None
    second_builder: str = "html"
    config: tuple[tuple[str, object], ...] = ()


def _remove_doctrees(book: TinyBook) -> None:
    shutil.rmtree(book.build_folder / "html" / ".doctrees", ignore_errors=True)


def _restore(book: TinyBook) -> None:
    """Do as a CI job that restores the kept folders but not hidden doctrees, over newly checked-out sources."""
    _remove_doctrees(book)
    for path in book.source.rglob("*.md"):
        path.touch()


SITUATIONS = (
    Situation("-W without --keep-going", ("-W",)),
    Situation("the builder raises (raise_on_error)", config=(("nb_execution_raise_on_error", True),)),
    Situation(".doctrees removed", between=_remove_doctrees),
    Situation("another output tree", second_builder="dirhtml"),
    Situation(
        "a changed configuration value", between=lambda book: book.config.update(html_title="Another title", language="de")
    ),
    Situation("another job with the build folder restored", between=_restore),
)


def _second_build(folder: Path, situation: Situation, extensions: tuple[str, ...], fails_after: int) -> dict[str, object]:
    book = TinyBook(folder, extensions=extensions, config=dict(situation.config))
    book.lecture("bad", f"import time\ntime.sleep({fails_after})\n1 / 0")
    book.build("html", *situation.arguments)
    situation.between(book)
    start = time.perf_counter()
    built = book.build(situation.second_builder, *situation.arguments)
    warned = bool(built.warnings) or built.status != 0
    return {"seconds": round(time.perf_counter() - start, 2), "runs_of_the_lecture": book.runs("bad"), "says_so": warned}


def main(fails_after: int) -> None:
    """Build each situation with and without the extension."""
    print(f"A lecture that fails after {fails_after} s; the second of two builds:")
    for situation in SITUATIONS:
        for side, extensions in (("MyST-NB", PLAIN), ("with sphinx-jaxdevice", OURS)):
            with tempfile.TemporaryDirectory() as folder:
                row = _second_build(Path(folder), situation, extensions, fails_after)
            print(f"  {situation.name:<45} {side:<22} {row['seconds']:>6} s, lecture run {row['runs_of_the_lecture']} times")
            print(json.dumps({"name": "second builder", "situation": situation.name, "side": side, **row}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
