"""How long after its limit a lecture stuck in native code that holds the GIL has a page, and whether a process is left.

    python -m benchmarks.limit_to_page [times]

The time over the limit is that of the whole build, less the limit, less the same build without code: the start of the kernel is
in it, as it is for the person who waits for the page.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

from benchmarks.measure import OURS, PLAIN
from tests.books import TinyBook, wait_until_gone

LIMIT = 4
HOLDS_THE_GIL = "print('begins', flush=True)\nsum(range(10**13))"


def _book(root: Path, extensions: tuple[str, ...], cell: str | None) -> TinyBook:
    book = TinyBook(root, extensions=extensions, config={"nb_execution_timeout": LIMIT, "nb_execution_mode": "force"})
    if cell is None:
        book.write("stuck.md", "# stuck\n")
    else:
        book.lecture("stuck", cell)
    return book


def _seconds(book: TinyBook) -> tuple[float, int]:
    """Return the seconds of a build from nothing, and the number of processes it left."""
    shutil.rmtree(book.build_folder, ignore_errors=True)
    marker = f"limit_to_page_{uuid.uuid4().hex}"
    start = time.perf_counter()
    book.build(env={"LIMIT_TO_PAGE": marker})
    took = time.perf_counter() - start
    return took, len(wait_until_gone(marker, 0.0))


def main(times: int) -> None:
    """Measure both sides in turn."""
    sides = {"MyST-NB": PLAIN, "with sphinx-jaxdevice": OURS}
    with tempfile.TemporaryDirectory() as folder:
        stuck = {name: _book(Path(folder) / f"stuck {name}", side, HOLDS_THE_GIL) for name, side in sides.items()}
        idle = {name: _book(Path(folder) / f"idle {name}", side, None) for name, side in sides.items()}
        base: dict[str, list[float]] = {name: [] for name in sides}
        over: dict[str, list[float]] = {name: [] for name in sides}
        left = dict.fromkeys(sides, 0)
        for _ in range(times):
            for name in sides:
                base[name].append(_seconds(idle[name])[0])
                took, processes = _seconds(stuck[name])
                over[name].append(took - LIMIT)
                left[name] += bool(processes)
    for name in sides:
        usual = statistics.median(base[name])
        excess = [took - usual for took in over[name]]
        row = {"median_s": statistics.median(excess), "worst_s": max(excess), "left_a_process": left[name], "times": times}
        print(
            f"limit to page: {name:<24} {row['median_s']:.2f} s over the limit, worst {row['worst_s']:.2f} s, "
            f"processes left {left[name]} times of {times}"
        )
        print(json.dumps({"name": "limit to page", "side": name, **row}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
