"""What the scripts share: run builds side by side in turn, and print medians and their ratio.

Machines are shared and noisy, so both sides alternate in random order within one run and only ratios of medians are compared.
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

PLAIN = ("myst_nb",)
OURS = ("myst_nb", "sphinx_jaxdevice")


@dataclass(frozen=True)
class Comparison:
    """Samples of two sides in seconds, and what they come to."""

    name: str
    samples_s: Mapping[str, list[float]]
    median_s: Mapping[str, float]
    ratio: float
    """Median of the second side over that of the first."""
    interval: tuple[float, float]
    """95 % bootstrap interval of the ratio."""


def alternate(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return the times in seconds of `rounds` calls of each side; the order within a round is drawn anew.

    Two kinds of time: `wall`, and `processor`, that of the processes a call started, which other work on the machine hardly
    touches.
    """
    wall: dict[str, list[float]] = {name: [] for name in sides}
    processor: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name in random.sample(list(sides), len(sides)):
            start, used = time.perf_counter(), _processor_seconds()
            sides[name]()
            wall[name].append(time.perf_counter() - start)
            processor[name].append(_processor_seconds() - used)
    return {"wall": wall, "processor": processor}


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compare(name: str, samples: Mapping[str, list[float]]) -> Comparison:
    """Return medians, the ratio of the second side to the first, and its 95 % bootstrap interval."""
    first, second = samples.values()
    draws = sorted(
        statistics.median(random.choices(second, k=len(second))) / statistics.median(random.choices(first, k=len(first)))
        for _ in range(2000)
    )
    medians = {side: statistics.median(values) for side, values in samples.items()}
    ratio = statistics.median(second) / statistics.median(first)
    return Comparison(name, samples, medians, ratio, (draws[50], draws[-51]))


def show(comparison: Comparison) -> None:
    """Print a comparison for people, then as one line of JSON."""
    for side, median in comparison.median_s.items():
        print(f"{comparison.name}: {side:<28} median {median:6.2f} s of {len(comparison.samples_s[side])}")
    low, high = comparison.interval
    print(f"{comparison.name}: ratio {comparison.ratio:.3f} (95 % {low:.3f} to {high:.3f})")
    print(json.dumps(_rounded(asdict(comparison))), flush=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
