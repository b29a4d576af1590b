"""The journal that the kernel agent keeps: how the agent is sent, and what its lines say. See `kernel_agent`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from .outcome import JaxUse

AGENT = "sphinx_jaxdevice_kernel_agent"
"""Name under which the kernel keeps the agent among its loaded modules: no name of the lecture's is touched."""

Span = tuple[float, float]
"""Start and end, POSIX time, s."""


@dataclass(frozen=True, slots=True)
class Journal:
    """What the agent noted."""

    loaded_at: float | None = None
    """When JAX was loaded, POSIX time, s; None if it was not."""
    spans: tuple[Span, ...] = ()
    """Pieces of compilation; they may nest."""
    jax: JaxUse | None = None

    def compile_seconds(self, start: float, end: float) -> float | None:
        """Return the time between `start` and `end` (POSIX, s) that JAX spent compiling; None where JAX was not loaded by then.

        It is the length of the union of the spans: tracing a function that calls another is reported for both.
        """
        if self.loaded_at is None or self.loaded_at > end:
            return None
        return union_length((max(begin, start), min(stop, end)) for begin, stop in self.spans)


def union_length(spans: Iterable[Span]) -> float:
    """Return the length of the union of spans; one that ends before it starts counts nothing."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        if end > max(start, reached):
            total += end - max(start, reached)
            reached = end
    return total


LAUNCH = f"""
import sys, types
agent = sys.modules[{AGENT!r}] = types.ModuleType({AGENT!r})
agent.JOURNAL = journal
exec(compile(source, "<{AGENT}>", "exec"), agent.__dict__)
agent.begin()
"""


def begin_code(journal: Path) -> str:
    """Return the code that brings the agent into a Python kernel. It runs in a namespace of its own and binds no name."""
    source = resources.files(__package__).joinpath("kernel_agent.py").read_text(encoding="utf8")
    return f"exec({LAUNCH!r}, {{'source': {source!r}, 'journal': {str(journal)!r}}})"


REPORT_CODE = f"__import__('sys').modules[{AGENT!r}].report()"
"""The code that asks the agent for its report."""


def read(journal: Path) -> Journal:
    """Return what the journal says; lines that are cut off or are not ours are passed over."""
    loaded: float | None = None
    spans: list[Span] = []
    use: dict[str, Any] | None = None
    started: dict[str, str] = {}
    for entry in _entries(journal):
        match entry:
            case {"loaded": float(at)}:
                loaded = at if loaded is None else loaded
            case {"span": [float(start), float(end)]}:
                spans.append((start, end))
            case {"started": dict(kinds)}:
                started = kinds
            case {"use": dict(said)}:
                use = said
    return Journal(loaded, tuple(spans), _jax_use(use, started))


def _entries(journal: Path) -> Iterable[object]:
    try:
        lines = journal.read_text(encoding="utf8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _jax_use(use: dict[str, Any] | None, started: dict[str, str]) -> JaxUse | None:
    """Return what was used, from the final report or, where a killed kernel gave none, from the backends it had started."""
    if use is None:
        if not started:
            return None
        # With several platforms the first one that was named is JAX's default, and it started them in that order.
        platform, *others = started
        return JaxUse("unknown", x64=False, platform=platform, device_kind=started[platform], other_platforms=tuple(others))
    kinds: dict[str, str] = use.get("kinds") or started
    work: dict[str, int] = use.get("work") or {}
    platform = max(kinds, key=lambda name: (work.get(name, 0), name == use.get("default")), default=None)  # type: ignore[assignment]
    others = [name for name in kinds if name != platform]
    kind = kinds.get(platform) if platform else None
    return JaxUse(str(use["version"]), bool(use["x64"]), platform, kind, tuple(others))
