"""What one execution of a lecture gave. Plain data, picklable; no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # nbformat takes seconds to import, and `jaxdevice gate` reads records without it
    from nbformat import NotebookNode


class Outcome(StrEnum):
    """How an execution ended."""

    SUCCEEDED = "succeeded"
    """Every cell ran, or raised where that is allowed."""
    FAILED = "failed"
    """A cell raised an error, or the kernel could not be started."""
    TIMED_OUT = "timed_out"
    """A cell or the lecture ran over its limit."""
    KERNEL_DIED = "kernel_died"
    """The kernel process ended by itself or was killed from outside."""


@dataclass(frozen=True, slots=True)
class CellRun:
    """One executed code cell: its index in the notebook's list of cells and its times in seconds."""

    index: int
    seconds: float
    compile_seconds: float | None = None
    """Time JAX spent tracing, lowering and compiling (union of its spans); None where JAX was not loaded."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an execution did not succeed, for people."""

    error: str
    """Short name: the exception's class, `CellTimeoutError`, `LectureTimeoutError`, `DeadKernelError`, …"""
    message: str
    """One or two sentences: what happened, the limit and where it was set, time used, how the process ended."""
    traceback: str
    """Text for `reports/<document>.err.log`, without ANSI codes."""
    cell_index: int | None
    """Index of the failing cell in the notebook's list of cells; None before the first cell."""


@dataclass(frozen=True, slots=True)
class JaxUse:
    """What the kernel said it used. All None but `jax_version` and `x64` where JAX was loaded and no backend started."""

    jax_version: str
    x64: bool
    platform: str | None = None
    """Platform of the backend that worked: `cpu`, `cuda`, `rocm`, `tpu`."""
    device_kind: str | None = None
    """What JAX calls the device: `cpu`, `NVIDIA H200`."""
    other_platforms: tuple[str, ...] = ()
    """Further backends that were started, whether or not anything ran on them."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of running one notebook under one policy."""

    notebook: NotebookNode
    """A copy of the notebook as far as it got; only outputs, execution counts and three metadata keys differ."""
    outcome: Outcome
    started_at: float
    """POSIX time, seconds."""
    seconds: float
    """Wall time, kernel start and shutdown included."""
    cells: tuple[CellRun, ...] = ()
    failure: Failure | None = None
    jax: JaxUse | None = None
    """None where the lecture did not load JAX, or the kernel could not be asked."""
    kernel: str | None = None
    """Name of the kernel specification."""
    peak_memory_bytes: int | None = None
    """Largest resident memory of the kernel process seen, bytes."""

    @property
    def reached_a_cell(self) -> bool:
        """Whether a cell was started: failures before that are never stored."""
        return bool(self.cells) or (self.failure is not None and self.failure.cell_index is not None)
