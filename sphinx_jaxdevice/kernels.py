"""Kernel specifications: which program a kernel name starts, and what is installed for it."""

from __future__ import annotations

from functools import lru_cache

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbformat import NotebookNode

from .interpreter import Interpreter, describe

DEFAULT_KERNEL = "python3"
"""What nbclient starts for a notebook that names no kernel."""


def kernel_name(notebook: NotebookNode) -> str:
    """Return the name of the kernel that the notebook asks for."""
    return str((notebook.metadata.get("kernelspec") or {}).get("name") or DEFAULT_KERNEL)


@lru_cache(maxsize=32)
def interpreter_of(name: str) -> Interpreter | None:
    """Return what runs the kernel `name`, or None where there is no such kernel. One look per build."""
    try:
        command = KernelSpecManager().get_kernel_spec(name).argv
    except NoSuchKernel:
        return None
    return describe(command[0])
