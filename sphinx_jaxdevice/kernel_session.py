"""The cells of one notebook in one kernel, and what becomes of the lecture: the place where an outcome is decided."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbclient.util import run_sync
from nbformat import NotebookNode

from .failure_output import Story, clear_outputs, one_line, plain, show_at_start
from .kernel_process import KernelProcess, KernelStartError
from .outcome import CellRun, Execution, Failure, Outcome
from .policy import Policy, Setting
from .timeouts import Deadline, format_duration


@dataclass(frozen=True, slots=True)
class CellStarted:
    """A code cell begins."""

    number: int
    """Its number among the code cells that are executed, from 1."""
    total: int
    index: int
    """Its index in the notebook's list of cells."""


Progress = Callable[[CellStarted], None]
SKIP_TAG = "skip-execution"


def executes(cell: NotebookNode) -> bool:
    """Return whether nbclient executes a cell: code that is not blank and not tagged to be skipped."""
    return cell.cell_type == "code" and bool(cell.source.strip()) and SKIP_TAG not in cell.metadata.get("tags", [])


class KernelSession:
    """A notebook that is run cell by cell. Use it in a `with` block, or call `close`: no kernel outlives either."""

    def __init__(
        self,
        notebook: NotebookNode,
        policy: Policy,
        *,
        cwd: str | None,
        environment: Mapping[str, str] | None = None,
        cell_lines: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.notebook = notebook
        """Filled in place."""
        self._policy = policy
        self._lines = cell_lines
        self._progress = progress
        self._kernel = KernelProcess(notebook, cwd=cwd, environment=environment or {}, allow_errors=policy.allow_errors)
        self._deadline = Deadline(policy.lecture_limit.value, time.monotonic)
        self._started_at = time.time()
        self._to_run = [index for index, cell in enumerate(notebook.cells) if executes(cell)]
        self._ran: list[tuple[int, float, float]] = []
        """Index, start (POSIX, s) and seconds of each executed cell."""
        self._outcome = Outcome.SUCCEEDED
        self._failure: Failure | None = None
        self._execution: Execution | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is None:
            self.close()
        else:
            self._kernel.abandon()

    def start(self) -> None:
        """Start the kernel. One that can't be started is a failure of the lecture, not an exception."""
        try:
            run_sync(self._kernel.start)(self._deadline.left())
        except KernelStartError as error:
            if self._deadline.passed():
                self._end_with(Outcome.TIMED_OUT, self._over_limit(self._policy.lecture_limit, self._deadline.elapsed(), None))
            else:
                self._end_with(Outcome.FAILED, Story("KernelStartError", str(error)))

    def run_cell(self, index: int) -> bool:
        """Run the cell at an index, if it is one to run; return whether the lecture may go on."""
        if self._failure is not None:
            return False
        cell = self.notebook.cells[index]
        if not executes(cell):
            return True
        if self._deadline.passed():
            self._stop_over_limit(index, 0.0)
            return False
        if self._progress is not None:
            self._progress(CellStarted(self._to_run.index(index) + 1, len(self._to_run), index))
        start, clock = time.time(), time.monotonic()
        error = self._try(cell, index)
        used = time.monotonic() - clock
        self._ran.append((index, start, used))
        if self._kernel.over_limit:
            self._stop_over_limit(index, used)
        elif error is not None:
            self._fail(error, index)
        return self._failure is None

    def _try(self, cell: NotebookNode, index: int) -> Exception | None:
        """Run a cell and return what went wrong. Whatever nbclient raises is a failure of this lecture, not of the book."""
        limits = [limit for limit in (self._policy.limit_of(index).value, self._deadline.left()) if limit is not None]
        try:
            run_sync(self._kernel.execute)(cell, index, min(limits, default=None))
        except Exception as error:  # noqa: BLE001 - see above
            return error
        return None

    def _fail(self, error: Exception, index: int) -> None:
        source = str(self.notebook.cells[index].source)
        if isinstance(error, CellExecutionError):
            # The page has the error already; the report is what MyST-NB's holds, without the frames of nbclient.
            message = one_line(f"{error.ename}: {error.evalue}")
            self._outcome = Outcome.FAILED
            self._failure = Failure("CellExecutionError", message, plain(f"CellExecutionError: {error}"), index)
            clear_outputs(self.notebook, index)
        elif isinstance(error, DeadKernelError):
            message = f"the kernel died in this cell: {run_sync(self._kernel.how_it_died)()}"
            self._end_with(Outcome.KERNEL_DIED, Story("DeadKernelError", message, (self._device_line(),), source, index))
        else:
            message = f"the cell could not be run: {type(error).__name__}: {one_line(str(error))}"
            self._end_with(Outcome.FAILED, Story("KernelError", message, (), source, index))

    def _stop_over_limit(self, index: int, used: float) -> None:
        outputs = self.notebook.cells[index].get("outputs", []) if used else []
        # The interrupt shows as an error that no author wrote.
        self.notebook.cells[index].outputs = [output for output in outputs if output.get("ename") != "KeyboardInterrupt"]
        run_sync(self._kernel.report)()
        own = self._policy.limit_of(index)
        whole = self._deadline.passed() or own.value is None
        limit, used = (self._policy.lecture_limit, self._deadline.elapsed()) if whole else (own, used)
        self._end_with(Outcome.TIMED_OUT, self._over_limit(limit, used, index, whole=whole))

    def _over_limit(self, limit: Setting[float | None], used: float, index: int | None, *, whole: bool = True) -> Story:
        assert limit.value is not None
        what, error = ("the lecture", "LectureTimeoutError") if whole else ("this cell", "CellTimeoutError")
        allowed, took = format_duration(limit.value), format_duration(used)
        message = f"{what} ran over its limit of {allowed} and was stopped after {took}"
        details = (f"limit:   {allowed}, set by {limit.origin}", f"used:    {took}", self._device_line())
        return Story(error, message, details, None if index is None else str(self.notebook.cells[index].source), index)

    def _device_line(self) -> str:
        asked = self._policy.device
        jax = self._kernel.journal().jax
        used = f"; JAX ran on {jax.device_kind}" if jax and jax.device_kind else ""
        return f"device:  {asked.value}, set by {asked.origin}{used}"

    def _end_with(self, outcome: Outcome, story: Story) -> None:
        """End the lecture, with an error output in the failing cell, or in the first one where none has run."""
        self._outcome, self._failure = outcome, story.failure
        if story.cell_index is None:
            show_at_start(self.notebook, story)
        else:
            self.notebook.cells[story.cell_index].outputs.append(story.output)
            clear_outputs(self.notebook, story.cell_index)

    def evaluate(self, expression: str) -> list[NotebookNode]:
        """Return the outputs of an expression in the running kernel; none after a failure.

        Raises what nbclient raises for an expression that fails, as MyST-NB's own client does.
        """
        return [] if self._failure is not None else run_sync(self._kernel.evaluate)(expression)

    def collect_widgets(self) -> None:
        """Put the state of widgets into the notebook's metadata."""
        self._kernel.client.set_widgets_metadata()

    def close(self) -> Execution:
        """End the kernel and return the result; a second call returns it again."""
        if self._execution is None:
            self._execution = self._finish()
        return self._execution

    def _finish(self) -> Execution:
        with suppress(Exception):  # the state of widgets is no reason to lose a lecture
            self.collect_widgets()
        if self._failure is None or self._outcome is Outcome.FAILED:
            run_sync(self._kernel.report)()
        politely = self._outcome in {Outcome.SUCCEEDED, Outcome.FAILED}
        journal = run_sync(self._kernel.end)(politely=politely)
        cells = (
            CellRun(index, round(took, 4), _rounded(journal.compile_seconds(at, at + took))) for index, at, took in self._ran
        )
        return Execution(
            notebook=self.notebook,
            outcome=self._outcome,
            started_at=self._started_at,
            seconds=self._deadline.elapsed(),
            cells=tuple(cells),
            failure=self._failure,
            jax=journal.jax,
            kernel=self._kernel.name,
            peak_memory_bytes=self._kernel.peak_memory,
        )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
