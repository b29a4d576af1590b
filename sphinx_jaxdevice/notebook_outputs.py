"""Move what an execution adds to a notebook from one copy to another; nothing else of the notebook is touched."""

from __future__ import annotations

from copy import deepcopy

from nbformat import NotebookNode

EXECUTION_METADATA = ("kernelspec", "language_info", "widgets")
"""Notebook metadata that an execution sets, and that jupyter-cache too merges back."""


def copy_outputs(source: NotebookNode, target: NotebookNode) -> None:
    """Give `target` the outputs, execution counts and execution metadata of `source`; both hold the same code cells.

    Raises ValueError where they do not.
    """
    givers = [cell for cell in source.cells if cell.cell_type == "code"]
    takers = [cell for cell in target.cells if cell.cell_type == "code"]
    if len(givers) != len(takers):
        msg = f"{len(givers)} code cells can't fill {len(takers)}"
        raise ValueError(msg)
    for giver, taker in zip(givers, takers, strict=True):
        taker.outputs = deepcopy(giver.outputs)
        taker.execution_count = giver.execution_count
    for name in EXECUTION_METADATA:
        if name in source.metadata:
            target.metadata[name] = deepcopy(source.metadata[name])
