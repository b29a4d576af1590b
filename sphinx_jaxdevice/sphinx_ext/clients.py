"""The clients that MyST-NB's renderer talks to: one for results that are there before rendering, one for inline mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from myst_nb.core.execute.base import EvalNameError, ExecutionError, NotebookClientBase
from myst_nb.ext.glue import extract_glue_data_cell
from nbformat import NotebookNode

from sphinx_jaxdevice.execution import KernelSession
from sphinx_jaxdevice.lecture import LectureResult
from sphinx_jaxdevice.notebook_outputs import copy_outputs
from sphinx_jaxdevice.outcome import Execution
from sphinx_jaxdevice.records import Source

from .reporting import failure_message


class _LectureClient(NotebookClientBase):  # type: ignore[misc]  # myst-nb is untyped here
    """What both clients do once the result is known."""

    def _conclude(self, result: LectureResult) -> None:
        """Tell MyST-NB what its tables and report files need, and warn about a failure as MyST-NB does."""
        record = result.record
        self.exec_metadata = {
            "mtime": record.ran_at or datetime.now(UTC).timestamp(),
            "runtime": record.seconds,
            "method": self.nb_config.execution_mode,
            "succeeded": not record.failed,
            "error": record.error,
            "traceback": result.traceback,
        }
        if record.failed:
            message = failure_message(record, result.traceback, show_traceback=self.nb_config.execution_show_tb)
            # MyST-NB's logger takes no line that is None.
            line = {} if record.failing_line is None else {"line": record.failing_line}
            self.logger.warning(message, subtype="exec", **line)
            if self.nb_config.execution_raise_on_error:
                raise ExecutionError(str(self.path))


class ResultClient(_LectureClient):
    """Fills the page from a result that is obtained before rendering: cached, reused or run."""

    def __init__(self, host: NotebookClientBase, obtain: Callable[[], LectureResult]) -> None:
        super().__init__(host.notebook, host.path, host.nb_config, host.logger)
        self._obtain = obtain

    def start_client(self) -> None:
        """Obtain the result; called by MyST-NB before it renders the page."""
        result = self._obtain()
        if result.record.source is Source.CACHED:
            # As MyST-NB does it: the notebook offered for download keeps the outputs of its source.
            self._notebook = result.notebook
        else:
            copy_outputs(result.notebook, self._notebook)
        self._conclude(result)


class InlineClient(_LectureClient):
    """Runs cells while the page is rendered, so that `eval` can ask for variables between them."""

    def __init__(
        self, host: NotebookClientBase, session: KernelSession, conclude: Callable[[Execution], LectureResult]
    ) -> None:
        super().__init__(host.notebook, host.path, host.nb_config, host.logger)
        self._session = session
        self._to_result = conclude
        self._next = 0

    def start_client(self) -> None:
        """Start the kernel; called by MyST-NB before it renders the page."""
        self._session.start()

    def code_cell_outputs(self, cell_index: int) -> tuple[int | None, list[NotebookNode]]:
        """Return execution count and outputs of a cell, after running all cells up to it."""
        cells = self.notebook.cells
        while self._next <= min(cell_index, len(cells) - 1):
            self._session.run_cell(self._next)
            self._collect_glue(self._next)
            self._next += 1
        cell = cells[cell_index]
        return cell.get("execution_count"), cell.get("outputs", [])

    def _collect_glue(self, index: int) -> None:
        for key, data in extract_glue_data_cell(self.notebook.cells[index]):
            if key in self._glue_data:
                self.logger.warning("glue key %r duplicate", key, subtype="glue", line=self.cell_line(index))
            self._glue_data[key] = data

    def eval_variable(self, name: str) -> list[NotebookNode]:
        """Return the outputs of a variable in the running kernel. Raises EvalNameError for what is not a name."""
        if not re.match(self.nb_config.eval_name_regex, name):
            raise EvalNameError(name)
        return self._session.evaluate(name)

    def finalise_client(self) -> None:
        """Put the state of widgets into the notebook's metadata; called before the page's last pieces are rendered."""
        self._session.collect_widgets()

    def close_client(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:  # noqa: ARG002 - MyST-NB's signature
        """End the kernel and keep the record; called when the page has been rendered."""
        execution = self._session.close()
        if exc_type is None:
            self._conclude(self._to_result(execution))
