"""The key under which a failure may be shown again: everything that could make the lecture end otherwise.

The key is kept in readable parts, so that `jaxdevice explain` can say which part differs.
"""

from __future__ import annotations

import os
from pathlib import Path

from .interpreter import Interpreter
from .lecture import Lecture
from .notebook_cache import code_key
from .policy import Policy


def limits_part(policy: Policy) -> str:
    """Return the limits in force in one line, seconds."""
    own = ", ".join(f"{index}: {setting.value}" for index, setting in sorted(policy.own_cell_limits.items()))
    return f"cell {policy.cell_limit.value}, lecture {policy.lecture_limit.value}, own {{{own}}}"


def folder_part(lecture: Lecture, source_dir: Path) -> str:
    """Return the folder the kernel works in, relative to the book: content decides, not where the book lies."""
    return "temporary" if lecture.in_temp else os.path.relpath(lecture.source.parent, source_dir)


def environment_parts(interpreter: Interpreter | None) -> dict[str, str]:
    """Return the parts that depend on what is installed; `interpreter` is None where the kernel does not exist."""
    if interpreter is None:
        return {"interpreter": "none", "distributions": "none"}
    return {
        "interpreter": f"{interpreter.executable} {interpreter.version}",
        "distributions": interpreter.distributions_digest,
    }


def failure_key(lecture: Lecture, source_dir: Path, interpreter: Interpreter | None, files: str) -> dict[str, str]:
    """Return the key of a lecture: part -> value or digest. `files` is the digest of the folder's data files."""
    return {
        "code": code_key(lecture.notebook),
        "device": lecture.policy.device.value.value,
        "limits": limits_part(lecture.policy),
        "options": f"allow_errors {lecture.policy.allow_errors}",
        "folder": folder_part(lecture, source_dir),
        **environment_parts(interpreter),
        "files": files,
    }
