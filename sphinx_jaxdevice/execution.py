"""Run one notebook under one policy and return what came of it. Plain data in and out; nbclient does the running.

`run` is a function of picklable values, so that it can be called in another process. `KernelSession` is the same cell by cell,
for MyST-NB's inline mode.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy

from nbformat import NotebookNode

from .failure_output import Story, show_at_start
from .kernel_session import CellStarted, KernelSession, Progress
from .outcome import Execution, Outcome
from .policy import Policy

__all__ = ["CellStarted", "KernelSession", "Progress", "refuse", "run"]


def run(
    notebook: NotebookNode,
    policy: Policy,
    *,
    cwd: str | None,
    environment: Mapping[str, str] | None = None,
    cell_lines: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Execution:
    """Run a copy of the notebook and return the result; faults of the lecture are results and never raise.

    The kernel works in `cwd`, or in an empty folder of its own for None. `environment` holds variables to set in the kernel beside this process's own. `cell_lines` are the cells' lines in the
    source, from 1, for messages. Whatever ends this call, no kernel is left. A signal that stops the build passes on.
    """
    session = KernelSession(
        deepcopy(notebook), policy, cwd=cwd, environment=environment, cell_lines=cell_lines, progress=progress
    )
    with session:
        session.start()
        for index in range(len(notebook.cells)):
            if not session.run_cell(index):
                break
        return session.close()


def refuse(notebook: NotebookNode, error: str, message: str) -> Execution:
    """Return the result of a lecture that is not run at all: its page ends in the first code cell, with the reason."""
    refused = deepcopy(notebook)
    story = Story(error, message)
    show_at_start(refused, story)
    return Execution(refused, Outcome.FAILED, time.time(), 0.0, failure=story.failure)
