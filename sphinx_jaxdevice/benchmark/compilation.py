"""How long JAX compiled, by phase, as `jax.monitoring` reports it."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from sphinx_jaxdevice.kernel_journal import union_length

# Event names as of JAX 0.4 to 0.12.
TRACING = "/jax/core/compile/jaxpr_trace_duration"
LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
BACKEND = "/jax/core/compile/backend_compile_duration"
CACHE_HIT = "/jax/compilation_cache/cache_hits"
PHASES = {"trace_s": TRACING, "lower_s": LOWERING, "backend_s": BACKEND}


class CompilationMeter:
    """Hears of every piece of compilation from now on; `take` hands over what was heard and starts anew."""

    def __init__(self, monitoring: Any) -> None:
        self._spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._hits = 0
        monitoring.register_event_duration_secs_listener(self._piece)
        monitoring.register_event_listener(self._event)

    def _piece(self, event: str, seconds: float, **_more: object) -> None:
        if event in PHASES.values():
            end = time.time()  # JAX reports a piece at its end
            self._spans[event].append((end - seconds, end))

    def _event(self, event: str, **_more: object) -> None:
        self._hits += event == CACHE_HIT

    def take(self) -> dict[str, float]:
        """Return seconds by phase and in all, programs compiled and programs read from the persistent cache.

        Tracing nests, and lowering may trace: each figure is the length of a union of spans, so the phases can sum to more
        than `total_s`.
        """
        taken: dict[str, float] = {phase: union_length(self._spans[event]) for phase, event in PHASES.items()}
        taken["total_s"] = union_length(span for spans in self._spans.values() for span in spans)
        taken["programs"] = len(self._spans[BACKEND])
        taken["cache_hits"] = self._hits
        self._spans.clear()
        self._hits = 0
        return taken
