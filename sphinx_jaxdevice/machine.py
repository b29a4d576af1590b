"""What machine this is, in a few words for records."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


@lru_cache(maxsize=1)
def describe_machine() -> str:
    """Return the processor and the number of cores that this process may use, such as `AMD EPYC 9B14, 2 cores`."""
    cores = available_cores()
    return f"{processor()}, {cores} core{'' if cores == 1 else 's'}"


def processor() -> str:
    """Return the processor's name, or its architecture where the system does not tell more."""
    with suppress(OSError):
        for line in CPU_INFO.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown processor"


def available_cores() -> int:
    """Return how many cores this process may use: those of the machine, less what its affinity takes away."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
