"""One child process: started with its pin and its environment, ended at its limit, and what it told.

The process that starts children never uses JAX: whichever opens a GPU first takes most of its memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sphinx_jaxdevice.processes import ProcessTree, how_it_ended, out_of_memory_kills
from sphinx_jaxdevice.timeouts import format_duration

from .result import RowOutcome

WORKER = (sys.executable, "-m", f"{__package__}.worker")
MEMORY_WORDS = (
    "RESOURCE_EXHAUSTED",
    "MemoryError",
    "std::bad_alloc",
    "Out of memory",
    "out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
)
"""What JAX, Python and the C++ library say before they give up."""
LONGEST_CAUSE = 300
HIDING = ("JAX_PLATFORM_NAME", "JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_X64", "JAX_DISABLE_JIT", "JAX_DEBUG_NANS")
"""Variables that would undo the pin or change what is measured."""


@dataclass(frozen=True, slots=True)
class ChildReport:
    """What a child told, and how it ended."""

    lines: tuple[Mapping[str, Any], ...]
    outcome: RowOutcome
    """`MEASURED` where it came to its end."""
    cause: str | None = None

    def last(self, key: str) -> Any:
        """Return the last value told under a key, or None."""
        return next((line[key] for line in reversed(self.lines) if key in line), None)

    def all(self, key: str) -> list[Any]:
        """Return every value told under a key, in order."""
        return [line[key] for line in self.lines if key in line]


def environment_of(pin: Mapping[str, str], xla_flags: Sequence[str], cache: str | None) -> dict[str, str]:
    """Return the environment of a child: ours, with the pin, the flags and the folder of the compilation cache."""
    environment = {name: value for name, value in os.environ.items() if name not in HIDING}
    environment |= pin
    environment["TF_CPP_MIN_LOG_LEVEL"] = "2"  # XLA's remarks would hide what a person should read
    if xla_flags:
        environment["XLA_FLAGS"] = " ".join([*environment.get("XLA_FLAGS", "").split(), *xla_flags])
    if cache:
        environment |= {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
    return environment


def run_child(job: str, environment: Mapping[str, str], limit: float, command: Sequence[str] = WORKER) -> ChildReport:
    """Run a child on a job, for at most `limit` seconds, and return what it told until then.

    An exception that arrives here, such as Ctrl-C, ends the child too. Linux ends it also where this process is killed.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        text=True,
        errors="replace",
        start_new_session=True,
    )
    tree = ProcessTree(process.pid)
    kills = out_of_memory_kills(process.pid)
    try:
        output, errors = process.communicate(job, timeout=limit)
    except subprocess.TimeoutExpired:
        tree.kill()
        output, errors = process.communicate()
        return ChildReport(
            _lines(output), RowOutcome.TIMED_OUT, f"not done after {format_duration(round(limit, 1))}; it was ended"
        )
    except BaseException:
        tree.kill()
        process.communicate()
        raise
    lines = _lines(output)
    if process.returncode == 0 and any("done" in line for line in lines):
        return ChildReport(lines, RowOutcome.MEASURED)
    now = out_of_memory_kills(os.getpid())
    killed_for_memory = kills is not None and now is not None and now > kills
    return _fault(lines, errors, process.returncode, out_of_memory=killed_for_memory)


def _fault(lines: tuple[Mapping[str, Any], ...], errors: str, returncode: int, *, out_of_memory: bool) -> ChildReport:
    """Return the report of a child that did not come to its end."""
    said = [line.strip() for line in errors.splitlines() if line.strip()]
    memory = [line for line in said if any(word in line for word in MEMORY_WORDS)]
    if memory or out_of_memory:
        cause = memory[-1] if memory else how_it_ended(returncode, out_of_memory=True)
        return ChildReport(lines, RowOutcome.OUT_OF_MEMORY, cause[:LONGEST_CAUSE])
    ended = how_it_ended(returncode, out_of_memory=False)
    cause = f"{ended}: {said[-1]}" if said and returncode >= 0 else ended
    return ChildReport(lines, RowOutcome.CRASHED, cause[:LONGEST_CAUSE])


def _lines(output: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(_objects(output.splitlines()))


def _objects(texts: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    """Yield the lines that are ours: libraries may print too, and the last line of a killed process may be cut."""
    for text in texts:
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
