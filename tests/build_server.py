"""A process that has Sphinx and MyST-NB loaded and forks a child for each build that a test asks for.

Each build is as separate as one started from a shell; only the two seconds of imports are saved, for hundreds of builds.
Run as a program it reads one JSON request a line: arguments of `sphinx-build`, folder, environment, file for all output.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PRELOADED = (
    "myst_nb.sphinx_ext",
    "sphinx_jaxdevice.sphinx_ext",
    "sphinx.builders.html",
    "sphinx.builders.dirhtml",
    "sphinx.builders.text",
)


class BuildServer:
    """The parent's end of the line."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def build(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path) -> int:
        """Run `sphinx-build` and return its exit status, negative for a signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "log": str(log)}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=10)


def _serve() -> None:
    for module in PRELOADED:
        __import__(module)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _build(request)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _build(request: Mapping[str, object]) -> None:
    """Become the build: its folder, environment and output, then Sphinx's own entry point."""
    from sphinx.cmd.build import main

    signal.alarm(240)  # a build that hangs ends here, and its test fails
    os.chdir(str(request["cwd"]))
    env = request["env"]
    assert isinstance(env, dict)
    os.environ.clear()
    os.environ.update(env)
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(str(request["log"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    arguments = request["arguments"]
    assert isinstance(arguments, list)
    status = 1
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:  # noqa: BLE001 - the child must never return into the server's loop
        import traceback

        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve()
