"""What the build prints: a line when a lecture starts and ends, the running cell on a terminal, a summary."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Collection

from sphinx.application import Sphinx

from sphinx_jaxdevice.execution import CellStarted
from sphinx_jaxdevice.policy import Policy
from sphinx_jaxdevice.records import Record, Source
from sphinx_jaxdevice.report import summary
from sphinx_jaxdevice.timeouts import format_duration

from .reporting import LOGGER

CLEAR_LINE = "\r\x1b[K"


class Console:
    """Prints for one lecture."""

    def __init__(self, app: Sphinx, document: str, policy: Policy) -> None:
        self._document = document
        self._policy = policy
        # The running cell is shown where a person watches; workers of a parallel build share the terminal and stay silent.
        self._live = sys.stdout.isatty() and not app.quiet and multiprocessing.parent_process() is None
        self._started = False

    def cell_started(self, cell: CellStarted) -> None:
        """Show the cell that begins; the first one announces the lecture."""
        if not self._started:
            self._started = True
            self._announce(cell.total)
        if self._live:
            text = f"{self._document} [{self._policy.device.value}] cell {cell.number} of {cell.total}"
            sys.stdout.write(f"{CLEAR_LINE}{text}")
            sys.stdout.flush()

    def waiting(self) -> None:
        """Say that another build is running the lecture."""
        LOGGER.info("")
        LOGGER.info("jaxdevice: %s: another build is running it; waiting for its result", self._document)

    def _announce(self, cells: int) -> None:
        limits = [
            f"{words} {format_duration(setting.value)}"
            for words, setting in (("cell limit", self._policy.cell_limit), ("lecture limit", self._policy.lecture_limit))
            if setting.value is not None
        ]
        device = self._policy.device
        LOGGER.info("")  # Sphinx leaves its progress line open
        count = "1 cell" if cells == 1 else f"{cells} cells"
        LOGGER.info("jaxdevice: %s: running %s, device %s", self._document, count, ", ".join([device.value, *limits]))

    def finished(self, record: Record) -> None:
        """Show how the lecture ended."""
        if self._live and self._started:
            sys.stdout.write(CLEAR_LINE)
        if not self._started:
            LOGGER.info("")
        LOGGER.info("jaxdevice: %s: %s", self._document, ending(record))


def ending(record: Record) -> str:
    """Return how a lecture ended, in the words of its closing line."""
    took = "" if record.seconds is None else f" in {format_duration(record.seconds)}"
    if record.source is Source.CACHED:
        return f"cached, ran{took} before"
    if record.source is Source.REUSED:
        again = f"JAXDEVICE_RETRY_FAILED=1 or 'jaxdevice failures clear {record.document}' runs it again"
        return f"failed before, not run: {record.reason}; {again}"
    compiled = "" if record.compile_seconds is None else f", of which {format_duration(record.compile_seconds)} compiling"
    device = f" on {record.device_kind}" if record.device_kind else ""
    return f"{record.outcome.value.replace('_', ' ')}{took}{compiled}{device}"


def print_summary(records: Collection[Record], shown: Collection[str]) -> None:
    """Print the summary of what this build read; nothing where it read no lecture."""
    LOGGER.info("")
    for line in summary(list(records), set(shown)):
        LOGGER.info("jaxdevice: %s", line)
