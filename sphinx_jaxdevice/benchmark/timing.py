"""Timing of calls whose work goes on after they return: the clock stops when the result is there, and that is checked.

JAX hands back arrays before they are computed. `Sample.late` is the time that fetching the result took after the clock had
stopped; where it is not small against the sample, the clock stopped too early and the sample says nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

LATE_SHARE = 0.5
"""Largest share of a sample that may remain after its clock stopped. Fetching a finished result takes microseconds."""
MOMENT = 0.002
"""Seconds that may remain anyway: a copy from a device takes a while also when all work is done."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed call, seconds."""

    seconds: float
    late: float
    """How long fetching the result took after the clock had stopped."""


def samples(
    call: Callable[[], Any],
    wait: Callable[[Any], Any],
    fetch: Callable[[Any], object],
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Sample]:
    """Yield one sample after the other: `call` starts the work, `wait` ends the clock, `fetch` shows whether work was left."""
    while True:
        start = clock()
        result = call()
        wait(result)
        stopped = clock()
        fetch(result)
        yield Sample(stopped - start, clock() - stopped)


def stopped_early(taken: Sequence[tuple[float, float]]) -> bool:
    """Whether the clock of (seconds, late) pairs stopped before the work was done, judged by their medians."""
    if not taken:
        return False
    late = statistics.median(late for _, late in taken)
    return late > MOMENT and late > LATE_SHARE * statistics.median(seconds for seconds, _ in taken)
