"""One kernel, from start to end: started with its environment, watched while a cell runs, ended whatever happens.

nbclient starts kernels and talks to them; what is added here is that a limit really ends things, that a death is explained,
and that a stopped build leaves no process behind.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbclient.util import ensure_async
from nbformat import NotebookNode

from . import kernel_journal
from .kernel_journal import Journal
from .processes import ProcessTree, how_it_ended, out_of_memory_kills, peak_memory
from .stop_signals import StopSignals

START_LIMIT = 60
"""Seconds within which a kernel must answer; nbclient's own default."""
START_ATTEMPTS = 3
"""How often a kernel that dies at once is started: of two that start at the same moment, in two builds or in the workers of one,
both may be given the same port, and the loser ends before it answers."""
GRACE = 1.0
"""Seconds between the interrupt at a limit and the kill. Ordinary Python code needs milliseconds to end."""
ANSWER_LIMIT = 5.0
"""Seconds that the agent has for an answer when nothing else runs in the kernel."""
LOOK_EVERY = 1.0
"""Seconds between two looks at memory and descendants while a cell runs."""


class KernelStartError(Exception):
    """A kernel could not be started; its text is for the person at the terminal."""


class KernelProcess:
    """A kernel for one notebook. `start` once, then cells, then `end`; `end` may be called at any time and twice."""

    def __init__(self, notebook: NotebookNode, *, cwd: str | None, environment: Mapping[str, str], allow_errors: bool) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="jaxdevice-"))
        if cwd is None:
            (self._folder / "work").mkdir()
            cwd = str(self._folder / "work")
        self.client = NotebookClient(
            notebook,
            allow_errors=allow_errors,
            timeout=None,  # limits are the watchdog's: nbclient's own leave a kernel in native code running for seconds
            shutdown_kernel="immediate",
            record_timing=False,  # times in cell metadata would change the key of the notebook cache
            resources={"metadata": {"path": cwd}},
        )
        self._environment = environment
        self._signals = StopSignals(self.abandon)
        self._tree: ProcessTree | None = None
        self._pid: int | None = None
        self._memory_kills: int | None = None
        self._has_agent = False
        self._killed = False
        self.peak_memory: int | None = None
        """Bytes."""
        self.over_limit = False
        """Whether a cell was over its limit and has been interrupted."""

    @property
    def _manager(self) -> Any:
        """The kernel manager of a started kernel; nbclient declares it as optional and as either of two kinds."""
        return self.client.km

    @property
    def _channels(self) -> Any:
        """The client end of a started kernel; optional in nbclient, as above."""
        return self.client.kc

    @property
    def name(self) -> str:
        """Name of the kernel that was asked for."""
        return str(self.client.kernel_name or (self.client.nb.metadata.get("kernelspec") or {}).get("name") or "python3")

    async def start(self, limit: float | None) -> None:
        """Start the kernel within `limit` seconds, or `START_LIMIT`. Raises KernelStartError."""
        self._signals.catch()
        # nbclient takes whole seconds here.
        self.client.startup_timeout = START_LIMIT if limit is None else min(START_LIMIT, math.ceil(limit))
        try:
            for attempts_left in reversed(range(START_ATTEMPTS)):
                try:
                    await self._start()
                    break
                except RuntimeError as error:
                    if "died" not in str(error) or not attempts_left:
                        raise
            await self._read_language()
            await self._bring_agent()
        except NoSuchKernel as error:
            known = ", ".join(sorted(KernelSpecManager().find_kernel_specs())) or "none"
            msg = f"there is no kernel named {error.name!r} on this machine; there are: {known}"
            raise KernelStartError(msg) from error
        except Exception as error:
            msg = f"the kernel {self.name!r} could not be started: {type(error).__name__}: {error}"
            raise KernelStartError(msg) from error

    async def _start(self) -> None:
        # None leaves the environment to jupyter-client, as it is without us; a kernelspec's own variables win over ours.
        env = {**os.environ, **self._environment} if self._environment else None
        self.client.create_kernel_manager()
        await self.client.async_start_new_kernel(**({} if env is None else {"env": env}))
        pid: int = self._manager.provisioner.pid
        self._pid, self._tree, self._memory_kills = pid, ProcessTree(pid), out_of_memory_kills(pid)
        self._note_memory()
        await self.client.async_start_new_kernel_client()

    async def _read_language(self) -> None:
        """Put the kernel's language into the notebook, as nbclient does: pages are coloured by it."""
        message = await ensure_async(self._channels.kernel_info())
        reply = await self.client.async_wait_for_reply(message)
        if reply is not None and "language_info" in reply["content"]:
            self.client.nb.metadata["language_info"] = reply["content"]["language_info"]

    async def _bring_agent(self) -> None:
        if self.client.nb.metadata.get("language_info", {}).get("name") == "python":
            self._has_agent = await self._ask(kernel_journal.begin_code(self._folder / "journal"))

    async def _ask(self, code: str) -> bool:
        """Run code of ours that leaves no trace in history, counts and outputs; return whether it was answered in time."""
        message = self._channels.execute(code, silent=True, store_history=False, allow_stdin=False, stop_on_error=False)
        with suppress(TimeoutError, DeadKernelError, RuntimeError):
            reply = await asyncio.wait_for(self.client.async_wait_for_reply(message), ANSWER_LIMIT)
            return reply is not None and reply["content"].get("status") == "ok"
        return False

    async def execute(self, cell: NotebookNode, index: int, limit: float | None) -> None:
        """Run a cell, interrupting it after `limit` seconds, and killing the kernel where that is of no use.

        Raises what nbclient raises for a cell that fails or a kernel that dies; where `over_limit` is true then, the limit is
        the reason.
        """
        watchdog = asyncio.ensure_future(self._watchdog(limit))
        try:
            await self.client.async_execute_cell(cell, index, execution_count=self.client.code_cells_executed + 1)
        finally:
            watchdog.cancel()
            self._note_memory()

    async def evaluate(self, expression: str) -> list[NotebookNode]:
        """Return the outputs of an expression, which is kept out of history and counts."""
        cell = nbformat.v4.new_code_cell(expression)
        self.client.nb.cells.append(cell)  # nbclient wants a place in the notebook; it is taken away again
        try:
            await self.client.async_execute_cell(cell, len(self.client.nb.cells) - 1, store_history=False)
        finally:
            self.client.nb.cells.pop()
            self.client.code_cells_executed -= 1
        return list(cell.outputs)

    async def _watchdog(self, limit: float | None) -> None:
        end = float("inf") if limit is None else time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, LOOK_EVERY))
            self._note_memory()
            if self._tree is not None:
                self._tree.look()
        self.over_limit = True
        with suppress(RuntimeError, OSError):
            await ensure_async(self._manager.interrupt_kernel())
        await asyncio.sleep(GRACE)
        self.kill()
        if self.client.task_poll_for_reply is not None:
            # nbclient would notice the death within a second; this is how it tells itself.
            self.client.task_poll_for_reply.cancel()

    def _note_memory(self) -> None:
        if self._pid is not None:
            self.peak_memory = max(self.peak_memory or 0, peak_memory(self._pid) or 0) or None

    async def how_it_died(self) -> str:
        """Return how the kernel's process ended, as the end of a sentence."""
        provisioner = self.client.km.provisioner if self.client.km is not None else None
        returncode = await provisioner.poll() if provisioner is not None else None
        after = out_of_memory_kills(os.getpid())  # the kernel is gone; it was in this process's group
        grew = after is not None and self._memory_kills is not None and after > self._memory_kills
        return how_it_ended(returncode, out_of_memory=grew)

    async def report(self) -> None:
        """Have the agent note what JAX used; without an agent or an answer there is nothing to note."""
        if self._has_agent and not self._killed and await ensure_async(self._channels.is_alive()):
            await self._ask(kernel_journal.REPORT_CODE)

    def kill(self) -> None:
        """Kill the kernel, its process group and its descendants at once."""
        self._killed = True
        self._note_memory()
        if self._tree is not None:
            self._tree.kill()

    def journal(self) -> Journal:
        """Return what the agent has noted so far."""
        return kernel_journal.read(self._folder / "journal")

    async def end(self, *, politely: bool) -> Journal:
        """End the kernel, give back its resources and return what the agent noted.

        `politely` lets the kernel's exit handlers run, as nbclient does after a notebook; else all its processes are killed.
        """
        try:
            if not politely:
                self.kill()
            self.client.shutdown_kernel = "graceful" if politely else "immediate"
            if self.client.km is not None:
                with suppress(Exception):  # a kernel that is gone can't be shut down, and is no fault of the lecture
                    await self.client._async_cleanup_kernel()  # noqa: SLF001 - nbclient offers it only inside `execute`
            return self.journal()
        finally:
            self._signals.release()
            shutil.rmtree(self._folder, ignore_errors=True)

    def abandon(self) -> None:
        """Leave nothing behind, at once and without another word to the kernel: the build is ending."""
        self._signals.release()
        self.kill()
        if self.client.km is not None:
            with suppress(Exception):  # this file is all that would be left
                self.client.km.cleanup_connection_file()
        shutil.rmtree(self._folder, ignore_errors=True)
