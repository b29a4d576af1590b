"""What runs inside a Python kernel beside the lecture: it notes JAX's compile times and says what was used.

This file is not imported by the package: its text is sent to the kernel, which may be another Python with nothing of ours
installed. So it needs nothing but the standard library of Python 3.8, and it must never import JAX, start a backend, leave a
name in the lecture's namespace or raise. `JOURNAL`, the path of the file that it appends to, is put into its globals.

The journal holds one JSON value a line, so that all that was noted survives a kernel that is killed:
`{"loaded": t}` when JAX was loaded, `{"span": [start, end]}` for each piece of compilation, `{"started": {...}}` when backends
were started, `{"use": {...}}` as the answer to `report`. Times are POSIX times in seconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import signal
import sys
import time
from typing import Any

JOURNAL = globals().get("JOURNAL", "")

MONITORING = "jax._src.monitoring"
PIECES = (
    # Names as of JAX 0.4 to 0.12. Tracing nests, so it is the union of the spans that counts.
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)
BACKEND_COMPILE = PIECES[2]


def note(value: object) -> None:
    """Append a value to the journal. A journal that can't be written is no reason to disturb the lecture."""
    with contextlib.suppress(Exception), open(JOURNAL, "a") as journal:  # noqa: PTH123 - one call, and nothing more to load
        journal.write(json.dumps(value) + "\n")


class Listener:
    """Hears of every piece of compilation."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def __call__(self, event: str, seconds: float, **_more: object) -> None:
        """Note the span of a piece; JAX reports it at its end."""
        with contextlib.suppress(Exception):
            if event in PIECES:
                end = time.time()
                note({"span": [end - seconds, end]})
            if event == BACKEND_COMPILE:
                started = backends()
                if started and started != self.known:
                    self.known = started
                    note({"started": started})


def arm(monitoring: Any) -> None:
    """Register the listener with JAX's monitoring module."""
    monitoring.register_event_duration_secs_listener(Listener())
    note({"loaded": time.time()})


class Watcher:
    """Arms the listener as soon as the lecture imports JAX, so that a cell that imports and compiles is not missed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find nothing; for JAX's monitoring module let the other finders do it and arm after it has run."""
        if name != MONITORING:
            return None
        sys.meta_path.remove(self)
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path)
        spec: Any = next((spec for spec in found if spec is not None), None)
        if spec is None:
            return None
        run = getattr(spec.loader, "exec_module", None)
        if run is None:
            return spec

        def exec_module(module: Any) -> None:
            run(module)
            with contextlib.suppress(Exception):
                arm(module)

        with contextlib.suppress(Exception):
            spec.loader.exec_module = exec_module
        return spec


def backends() -> dict[str, str]:
    """Return the kinds of the devices of the backends that have been started, by platform; starts none."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not bridge.backends_are_initialized():
        return {}
    return {name: client.devices()[0].device_kind for name, client in bridge.backends().items()}


def use() -> dict[str, Any] | None:
    """Return what JAX says of itself: version, precision, backends started and how much each one did."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "config"):
        return None
    said: dict[str, Any] = {
        "version": jax.__version__,
        "x64": bool(jax.config.jax_enable_x64),
        "kinds": {},
        "work": {},
        "default": None,
    }
    try:
        said["kinds"] = backends()
        bridge = sys.modules["jax._src.xla_bridge"]
        for name in said["kinds"]:
            client = bridge.backends()[name]
            said["work"][name] = len(client.live_executables()) + len(client.live_arrays())
        default = getattr(bridge, "_default_backend", None)
        said["default"] = next((name for name in said["kinds"] if bridge.backends()[name] is default), None)
    except Exception as error:  # noqa: BLE001 - see below
        # These are names that JAX keeps to itself; a release that renames them costs the detail, not the record.
        said["problem"] = repr(error)[:200]
    return said


def report() -> None:
    """Note what was used; called once, when the last cell has run."""
    with contextlib.suppress(Exception):
        note({"use": use()})


def end_with_parent() -> None:
    """Have Linux end this process with its parent: a cell that holds the interpreter's lock would outlive a killed build."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def begin() -> None:
    """Start to watch; called once, before the first cell."""
    with contextlib.suppress(Exception):
        end_with_parent()
    with contextlib.suppress(Exception):
        if MONITORING in sys.modules:
            arm(sys.modules[MONITORING])
        else:
            sys.meta_path.insert(0, Watcher())
