"""Records for tests."""

from __future__ import annotations

from typing import Any

from sphinx_jaxdevice.outcome import CellRun, Outcome
from sphinx_jaxdevice.records import Record, Source


def record(document: str = "lecture", **fields: Any) -> Record:
    """Return the record of a lecture that ran for 12.3 s on a CPU; `fields` replace what is given."""
    usual: dict[str, Any] = {
        "source_path": f"{document}.md",
        "outcome": Outcome.SUCCEEDED,
        "source": Source.RUN,
        "reason": "there is no earlier result",
        "device_asked": "cpu",
        "device_origin": f"jax-device, line 4 of {document}.md",
        "seconds": 12.34,
        "compile_seconds": 3.21,
        "platform": "cpu",
        "device_kind": "cpu",
        "cells": (CellRun(0, 1.5, None), CellRun(2, 10.5, 3.21)),
        "builder": "html",
        "ran_by": "html",
        "ran_at": 1_800_000_000.0,
        "machine": "Test processor, 2 cores",
        "key": {"code": "abc", "device": "cpu", "files": "f1"},
    }
    return Record(document=document, **{**usual, **fields})


def failed(document: str = "broken", **fields: Any) -> Record:
    """Return the record of a lecture that raised in its third code cell."""
    facts: dict[str, Any] = {
        "outcome": Outcome.FAILED,
        "error": "CellExecutionError",
        "message": "ValueError: no",
        "failing_cell": 3,
        "failing_line": 42,
    }
    return record(document, **{**facts, **fields})
