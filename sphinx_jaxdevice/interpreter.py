"""Which program runs a kernel, and which distributions it has. Nothing is imported from them, least of all JAX."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ANSWER_LIMIT = 10.0
"""Seconds that another interpreter has to say where it looks for packages."""

_ASK = "import sys; sys.path = [p for p in sys.path if p]; import json; print(json.dumps([sys.version.split()[0], sys.path]))"
"""The empty entry, the working folder, goes first: a `json.py` there must not be run."""

_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?", re.IGNORECASE)
"""Names of programs that are asked. Another program could take `-c` for anything."""

_METADATA = (".dist-info", ".egg-info")
_PLUGINS = re.compile(r"jax-(?:cuda|rocm)[0-9]*-plugin|jax-metal|libtpu(?:-nightly)?")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The program that runs a kernel, and what is installed for it."""

    executable: str
    """Path of the program, or its name where it can't be found."""
    version: str
    """Version of Python; empty where the program is no Python or did not answer."""
    distributions_digest: str
    """Digest of the names and versions of the installed distributions; for another program, of the file itself."""
    plugins: tuple[str, ...] = ()
    """Distributions that let JAX use an accelerator, such as `jax-cuda13-plugin`."""


def describe(argv0: str) -> Interpreter:
    """Return what is known about the program that a kernel specification names first. Never raises.

    `python`, `python3` and this interpreter's `python3.x` stand for this interpreter, as they do for jupyter-client. Another
    Python is asked once per process; a program that is no Python is described by its file.
    """
    executable = _find(argv0)
    if _is_this_interpreter(executable):
        return _python(executable, sys.version.split()[0], sys.path)
    answer = _ask(executable) if _PYTHON.fullmatch(os.path.basename(executable)) else None  # noqa: PTH119 - may be no valid path
    return _python(executable, *answer) if answer else Interpreter(executable, "", _file_digest(executable))


def _find(argv0: str) -> str:
    """Return the path of the program, by the same rule as jupyter-client's kernel manager."""
    major, minor = sys.version_info[:2]
    if argv0 in {"python", f"python{major}", f"python{major}.{minor}"}:
        return sys.executable
    try:
        return shutil.which(argv0) or argv0
    except (OSError, ValueError):
        return argv0


def _is_this_interpreter(executable: str) -> bool:
    """Return whether a path is this interpreter under one of the names it has in its folder.

    Environments share the file behind their links, so the folder has to be the same too.
    """
    try:
        one, other = Path(os.path.abspath(executable)), Path(os.path.abspath(sys.executable))  # noqa: PTH100 - links must stay
        return one == other or (one.parent == other.parent and one.samefile(other))
    except (OSError, ValueError):
        return False


@cache
def _ask(executable: str) -> tuple[str, tuple[str, ...]] | None:
    """Return another Python's version and its search path, or None where it gives no answer.

    It runs as a kernel would: with the environment's `PYTHONPATH` and the user's packages.
    """
    try:
        with tempfile.TemporaryFile() as answer:  # not a pipe: a process that it leaves behind could hold that open for ever
            command = [executable, "-c", _ASK]
            subprocess.run(
                command, stdout=answer, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=ANSWER_LIMIT, check=True
            )
            answer.seek(0)
            version, path = json.loads(answer.read().splitlines()[-1])
        return str(version), tuple(map(str, path))
    except (OSError, ValueError, TypeError, IndexError, subprocess.SubprocessError):
        return None


def _python(executable: str, version: str, path: Iterable[str]) -> Interpreter:
    found = _distributions(path)
    digest = hashlib.sha256("\n".join(found).encode(errors="surrogateescape")).hexdigest()
    names = {re.sub(r"[_.]+", "-", entry.partition("-")[0]).lower() for entry in found}
    return Interpreter(executable, version, digest, tuple(sorted(name for name in names if _PLUGINS.fullmatch(name))))


def _distributions(path: Iterable[str]) -> list[str]:
    """Return `name-version` of the distributions in the folders of a search path, sorted, each once.

    The names of the metadata folders say enough; none is opened. The empty entry, the working folder, is left out, because it
    differs between programs that start the same kernel.
    """
    found: set[str] = set()
    for folder in filter(None, dict.fromkeys(path)):
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are wanted, not paths
        except (OSError, ValueError):
            continue
        found.update(name.rpartition(".")[0] for name in names if name.endswith(_METADATA))
    return sorted(found)


def _file_digest(executable: str) -> str:
    """Return a digest of a program's path, size and time of modification."""
    try:
        status = os.stat(executable)  # noqa: PTH116 - may be no valid path
        facts = f"{executable}\0{status.st_size}\0{status.st_mtime_ns}"
    except (OSError, ValueError):
        facts = executable
    return hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()
