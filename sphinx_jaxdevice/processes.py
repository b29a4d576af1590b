"""The processes of a kernel: how much memory it took, how it ended, and ending all that it started."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")
PR_SET_PDEATHSIG = 1


def peak_memory(pid: int) -> int | None:
    """Return the largest resident memory of a process so far, bytes, or None where it is gone.

    Off Linux, where the kernel does not keep the peak, it is the present size.
    """
    with suppress(OSError, ValueError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    with suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return None


class ProcessTree:
    """A kernel, its process group, and the descendants seen so far, also those that left the group."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        # psutil compares start times before it signals, so a number that was given to another process is safe.
        self._seen: dict[int, psutil.Process] = {}
        with suppress(psutil.Error):
            self._seen[pid] = psutil.Process(pid)

    def look(self) -> None:
        """Remember the descendants there are now: one whose parent has ended can't be found from the kernel any more."""
        root = self._seen.get(self._pid)
        if root is not None:
            with suppress(psutil.Error):
                self._seen |= {child.pid: child for child in root.children(recursive=True)}

    def kill(self) -> None:
        """Kill the process group and every descendant seen; what has ended already is passed over."""
        self.look()
        with suppress(ProcessLookupError, PermissionError):
            # The kernel leads a session of its own, so its number is that of the group.
            os.killpg(self._pid, signal.SIGKILL)
        for process in self._seen.values():
            with suppress(psutil.Error):
                process.kill()


def how_it_ended(returncode: int | None, *, out_of_memory: bool) -> str:
    """Return how a process ended, as the end of a sentence. A negative status is the number of a signal."""
    if returncode is None:
        return "it no longer answers"
    if returncode >= 0:
        return f"it ended with exit status {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    reason = ": out of memory, as its control group counts" if out_of_memory else ""
    return f"it was ended by {name}{reason}"


def out_of_memory_kills(pid: int, root: Path = CGROUP, proc: Path = PROC) -> int | None:
    """Return how often the kernel's control group had a process killed for memory; None where that can't be read.

    Version 2 groups say it in `memory.events`, version 1 in `memory.oom_control`, both as `oom_kill N`.
    """
    with suppress(OSError, ValueError):
        for line in (proc / str(pid) / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                counter = root / path.lstrip("/") / "memory.events"
            elif "memory" in controllers.split(","):
                counter = root / "memory" / path.lstrip("/") / "memory.oom_control"
            else:
                continue
            if counter.exists():
                return _count(counter)
    return None


def _count(counter: Path) -> int | None:
    for line in counter.read_text().splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "oom_kill":  # noqa: PLR2004 - a name and a number
            return int(words[1])
    return None


def end_with_parent(number: signal.Signals) -> None:
    """Have Linux send this process a signal when its parent ends; elsewhere nothing happens."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
