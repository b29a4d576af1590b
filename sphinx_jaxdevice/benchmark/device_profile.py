"""What a GPU did during a few calls, from JAX's own profile: how many operations, how long each, how long it was busy.

A trace slows every launch down, so the idle time is taken from the untraced time of a call less the busy time of the trace.
Command buffers hide single operations from a trace: it is taken with them switched off. Nothing but JAX is needed to read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sphinx_jaxdevice.kernel_journal import union_length

STREAM = re.compile(r"Stream #")
"""Lines of a device that hold its work; the others (modules, steps, XLA operations) tell of the same work again."""
COPY = re.compile(r"Mem(cpy|set)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """The work of one call on one device. Times in seconds."""

    operations: float
    """Kernels, copies and fills."""
    copies: float
    busy: float
    """Time in which at least one stream had work."""
    mean_length: float
    """Mean length of an operation."""
    longest: tuple[tuple[str, float], ...]
    """Names of the operations that took most, and their share of the sum of all lengths."""


def capture(call: Callable[[], Any], calls: int) -> DeviceProfile | None:
    """Trace `calls` calls of a function that is compiled already; None where the backend records no device.

    Raises whatever JAX raises where it can't trace.
    """
    import jax  # noqa: PLC0415 - only the process that measures may open a device

    with TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, profiler_options=_options())
        try:
            for _ in range(calls):
                result = call()
            jax.block_until_ready(result)
        finally:
            jax.profiler.stop_trace()
        traces = sorted(Path(folder).rglob("*.xplane.pb"))
        if not traces:
            return None
        return summary(jax.profiler.ProfileData.from_file(str(traces[-1])), calls)


def _options() -> Any:
    import jax  # noqa: PLC0415 - see above

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # its frames would fill the trace
    options.host_tracer_level = 1
    options.enable_hlo_proto = False
    return options


def summary(profile: Any, calls: int) -> DeviceProfile | None:
    """Return what the first device with work did a call, from `jax.profiler.ProfileData`; None where no device is in it."""
    for plane in profile.planes:
        if not plane.name.startswith("/device:"):
            continue
        events = [event for line in plane.lines if STREAM.match(line.name) for event in line.events]
        if events:
            return _summary(events, calls)
    return None


def _summary(events: list[Any], calls: int) -> DeviceProfile:
    lengths: dict[str, float] = {}
    for event in events:
        lengths[event.name] = lengths.get(event.name, 0.0) + event.duration_ns
    total = sum(lengths.values()) or 1.0
    longest = sorted(((name, length / total) for name, length in lengths.items()), key=lambda item: -item[1])[:5]
    return DeviceProfile(
        operations=len(events) / calls,
        copies=sum(1 for event in events if COPY.match(event.name)) / calls,
        busy=union_length((event.start_ns, event.end_ns) for event in events) * 1e-9 / calls,
        mean_length=total * 1e-9 / len(events),
        longest=tuple(longest),
    )
