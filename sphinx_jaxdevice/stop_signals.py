"""Signals that stop a build: clean up first, then let them do what they would have done without us."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from .processes import end_with_parent

STOPPING = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Calls a function when Ctrl-C or SIGTERM arrives, then restores the handlers of before and raises the signal again."""

    def __init__(self, clean_up: Callable[[], None]) -> None:
        self._clean_up = clean_up
        self._before: dict[signal.Signals, Any] = {}

    def catch(self) -> None:
        """Begin; only the main thread may set handlers, in others nothing happens."""
        if threading.current_thread() is not threading.main_thread():
            return
        if multiprocessing.parent_process() is not None:
            # A worker of a parallel build would go on, with its kernel, after the build itself was killed.
            end_with_parent(signal.SIGTERM)
        self._before = {number: signal.signal(number, self._arrived) for number in STOPPING}

    def release(self) -> None:
        """End, giving back the handlers of before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _arrived(self, number: int, _frame: FrameType | None) -> None:
        try:
            self._clean_up()
        finally:
            self.release()
            signal.raise_signal(number)
