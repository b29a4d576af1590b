"""The order in which configurations are measured, and for how long: shuffled within ranks, repeated, within a budget.

A shared machine drifts. Neighbours that are compared take turns, in a new order each round.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .child import ChildReport
from .configurations import Configuration, Effort
from .result import RowOutcome

HEADROOM = 1.2
"""A configuration is measured again where this many times its last duration is left."""
LEAST = 5.0
"""Seconds that must be left for one that was not measured yet: a process that imports JAX takes longer than two."""


class Run(Protocol):
    """Runs one child for a configuration, for at most `limit` seconds."""

    def __call__(self, configuration: Configuration, limit: float, round_number: int, /) -> ChildReport:
        """Return what the child told."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is about to be measured."""

    configuration: Configuration
    number: int
    total: int
    round_number: int
    seconds_left: float


@dataclass(slots=True)
class Schedule:
    """Measures configurations, rank after rank, round after round, and keeps what the children told."""

    ranks: Sequence[Sequence[Configuration]]
    effort: Effort
    run: Run
    on_step: Callable[[Step], None]
    on_report: Callable[[Configuration, ChildReport], None]
    clock: Callable[[], float] = time.monotonic
    reports: dict[Configuration, list[ChildReport]] = field(default_factory=dict)
    _durations: dict[Configuration, float] = field(default_factory=dict)

    def measure(self, seed: int | None = None) -> None:
        """Measure until all rounds are done or the budget is spent. What was measured stays in `reports`, whatever happens."""
        shuffler = random.Random(seed)  # noqa: S311 - an order, no secret
        deadline = self.clock() + self.effort.budget
        for round_number in range(1, self.effort.rounds + 1):
            for rank in self.ranks:
                for configuration in shuffler.sample(list(rank), len(rank)):
                    left = deadline - self.clock()
                    if self._is_worth(configuration, left):
                        self._measure(configuration, left, round_number)

    def _is_worth(self, configuration: Configuration, left: float) -> bool:
        """Whether there is time for a configuration; one that failed is not tried again."""
        done = self.reports.get(configuration)
        if not done:
            return left > LEAST
        return done[-1].outcome is RowOutcome.MEASURED and left > HEADROOM * self._durations[configuration]

    def _measure(self, configuration: Configuration, left: float, round_number: int) -> None:
        known = {one for rank in self.ranks for one in rank}
        number = len(self.reports) + (configuration not in self.reports)
        self.on_step(Step(configuration, number, len(known), round_number, left))
        limit = min(self.effort.child_limit, left)
        start = self.clock()
        report = self.run(configuration, limit, round_number)
        if report.outcome is RowOutcome.TIMED_OUT and limit < self.effort.child_limit:
            report = ChildReport(report.lines, RowOutcome.NOT_REACHED, "the time of the benchmark was spent while it ran")
        self._durations[configuration] = self.clock() - start
        self.reports.setdefault(configuration, []).append(report)
        self.on_report(configuration, report)
