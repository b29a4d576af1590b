"""Run a benchmark: children by schedule, rows as they come, and what follows from them. The file is written after every row."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx_jaxdevice.device import Choice, Device

from . import surroundings
from .child import ChildReport, environment_of, run_child
from .configurations import Configuration, Effort, Kind, configurations
from .findings import with_findings
from .job import Job
from .result import SCHEMA, Result, ResultError, Row, write_result
from .rows import row_of
from .schedule import Schedule, Step

INTERRUPTED = "stopped by Ctrl-C"


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told how a benchmark gets on."""

    on_step: Callable[[Step], None]
    on_row: Callable[[Row], None]
    on_problem: Callable[[str], None]
    """The result can't be written; the benchmark goes on."""


def run_benchmark(pins: Mapping[Device, Choice], effort: Effort, out: Path, watcher: Watcher) -> Result:
    """Measure on some devices, write the result to a file and return it.

    Ctrl-C ends the children and returns what was measured until then, marked as incomplete. A file that can't be written costs a
    word to the watcher and is tried again with the next row; raises `ResultError` where it can't be written in the end.
    """
    started, start = datetime.now(UTC), time.monotonic()
    names = surroundings.installed()
    ranks = configurations(list(pins), effort)
    rows: dict[Configuration, Row] = {}
    written = _Writer(out, watcher)

    def result(remark: str | None) -> Result:
        missed = remark or "the time of the benchmark was spent before"
        known = dict.fromkeys(one for rank in ranks for one in rank)
        found = tuple(rows.get(one) or row_of(one, [], effort.tree_depth, missed) for one in known)
        gpu = next((row.device_kind for row in found if row.platform != Device.CPU and row.device_kind), None)
        return Result(
            schema=SCHEMA,
            complete=remark is None,
            remark=remark,
            effort=effort.name,
            started_at=started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - start, 1),
            machine=surroundings.machine(gpu),
            versions=surroundings.versions(names),
            environment=surroundings.variables(),
            configurations=found,
        )

    with TemporaryDirectory(prefix="jaxdevice-benchmark-", ignore_cleanup_errors=True) as cache:

        def run(configuration: Configuration, limit: float, _round: int) -> ChildReport:
            # The sampler's own compilation is what `compilation` measures; all else may read its second round from a cache.
            folder = None if configuration.kind is Kind.COMPILATION else cache
            job = Job(configuration, effort.sampling, effort.tree_depth, effort.smallest_samples, effort.largest_samples)
            environment = environment_of(pins[configuration.platform].environment, configuration.xla_flags, folder)
            return run_child(job.to_json(), environment, limit)

        def on_report(configuration: Configuration, _report: ChildReport) -> None:
            row = rows[configuration] = row_of(configuration, schedule.reports[configuration], effort.tree_depth)
            watcher.on_row(row)
            written.attempt(result("it has not come to its end"))

        schedule = Schedule(ranks, effort, run, watcher.on_step, on_report)
        remark = None
        try:
            schedule.measure()
        except KeyboardInterrupt:
            measured = len(rows)
            remark = f"{INTERRUPTED} after {measured} of {sum(map(len, ranks))} configurations"
    final = with_findings(result(remark))
    written.finish(final)
    return final


class _Writer:
    """Writes a result again and again, and tells once where that fails."""

    def __init__(self, path: Path, watcher: Watcher) -> None:
        self._path = path
        self._watcher = watcher
        self._told = False

    def attempt(self, result: Result) -> None:
        try:
            write_result(self._path, result)
        except ResultError as error:
            if not self._told:
                self._told = True
                self._watcher.on_problem(f"{error}; it is tried again after the next configuration")

    def finish(self, result: Result) -> None:
        write_result(self._path, result)
