from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sphinx_jaxdevice import processes


@pytest.mark.parametrize(
    ("returncode", "out_of_memory", "expected"),
    [
        (3, False, "it ended with exit status 3"),
        (0, False, "it ended with exit status 0"),
        (-9, False, "it was ended by SIGKILL"),
        (-11, False, "it was ended by SIGSEGV"),
        (-9, True, "it was ended by SIGKILL: out of memory, as its control group counts"),
        (-200, False, "it was ended by signal 200"),
        (None, False, "it no longer answers"),
    ],
)
def test_end_of_a_process_in_words(returncode: int | None, out_of_memory: bool, expected: str) -> None:  # noqa: FBT001
    """Exit statuses and signals are named, and memory where the control group counted a kill."""
    assert processes.how_it_ended(returncode, out_of_memory=out_of_memory) == expected


@pytest.mark.parametrize(
    ("line", "counter", "text", "expected"),
    [
        ("0::/kernels", "kernels/memory.events", "low 0\noom 2\noom_kill 2\n", 2),
        ("5:memory:/kernels", "memory/kernels/memory.oom_control", "under_oom 0\noom_kill 1\n", 1),
        ("0::/kernels", "kernels/memory.events", "nonsense\n", None),
        ("0::/kernels", "elsewhere/memory.events", "oom_kill 4\n", None),
        ("garbage", "kernels/memory.events", "oom_kill 4\n", None),
    ],
    ids=["version 2", "version 1", "no counter", "no file", "unreadable group"],
)
def test_memory_kills_are_read_from_the_control_group(
    tmp_path: Path, line: str, counter: str, text: str, expected: int | None
) -> None:
    """The count of processes killed for memory comes from version 2 and version 1 groups, and None where there is none."""
    proc = tmp_path / "proc" / "7"
    proc.mkdir(parents=True)
    (proc / "cgroup").write_text(f"{line}\n")
    path = tmp_path / "cgroup" / counter
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert processes.out_of_memory_kills(7, tmp_path / "cgroup", tmp_path / "proc") == expected


def test_peak_memory_of_this_process_is_known_and_of_none_is_none() -> None:
    """A process that is there has a peak, one that is not has none."""
    peak = processes.peak_memory(os.getpid())

    assert peak is not None
    assert peak > 1_000_000
    assert processes.peak_memory(2**22 + 1) is None


def _lives(pid: int) -> bool:
    """Return whether a process is there and not just waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_tree_kills_children_that_left_the_group() -> None:
    """A child in a session of its own is killed with the process that started it, also after that one has ended."""
    script = "import subprocess, sys; p = subprocess.Popen(['sleep', '60'], start_new_session=True, stdout=subprocess.DEVNULL); print(p.pid, flush=True); input()"
    process = subprocess.Popen(
        ["python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    tree = processes.ProcessTree(process.pid)
    tree.look()
    process.communicate("\n", timeout=10)

    tree.kill()

    end = time.monotonic() + 5
    while _lives(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(child)
    assert process.returncode in {0, -signal.SIGKILL}
