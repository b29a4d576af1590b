"""How a failure is told: the error output at the end of the page, and the texts for warnings and the report file."""

from __future__ import annotations

import re
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from .outcome import Failure

ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
LONGEST_MESSAGE = 300


def plain(text: str) -> str:
    """Return text without terminal codes."""
    return ANSI.sub("", text)


def one_line(text: str) -> str:
    """Return the first line of a text without terminal codes, cut where it is long."""
    lines = plain(text).strip().splitlines()
    first = lines[0] if lines else ""
    return first if len(first) <= LONGEST_MESSAGE else f"{first[:LONGEST_MESSAGE]}…"


@dataclass(frozen=True, slots=True)
class Story:
    """A failure with what its page and its report say beyond the message."""

    error: str
    message: str
    details: tuple[str, ...] = ()
    """Further lines."""
    source: str | None = None
    """The failing cell's code."""
    cell_index: int | None = None

    @property
    def failure(self) -> Failure:
        """Return the failure with the text of its report."""
        rule = "-" * 18
        cell = () if self.source is None else ("The cell:", rule, self.source, rule, "")
        report = "\n".join([*cell, f"{self.error}: {self.message}", *self.details, ""])
        return Failure(self.error, self.message, plain(report), self.cell_index)

    @property
    def output(self) -> NotebookNode:
        """Return the output that ends the page."""
        lines = [f"{self.error}: {self.message}", *self.details]
        output: NotebookNode = nbformat.v4.new_output("error", ename=self.error, evalue=self.message, traceback=lines)
        return output


def clear_outputs(notebook: NotebookNode, after: int) -> None:
    """Empty the code cells after a failing one: what a notebook brought along would look as if it were of this run."""
    for cell in notebook.cells[after + 1 :]:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None


def show_at_start(notebook: NotebookNode, story: Story) -> None:
    """End a page before its first cell has run: all outputs go, and the first code cell gets the error."""
    clear_outputs(notebook, -1)
    first = next((cell for cell in notebook.cells if cell.cell_type == "code"), None)
    if first is not None:
        first.outputs = [story.output]
