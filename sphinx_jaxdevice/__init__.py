"""Decide, per lecture, where its kernel runs and for how long, and remember what happened.

This module holds the version and the entry point that Sphinx calls. The import of Sphinx is left to that call, so that the
command line and the benchmark work where Sphinx is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__version__ = "0.1.0"


def setup(app: Sphinx) -> dict[str, Any]:
    """Set the extension up; called by Sphinx.

    Returns the extension's metadata: version, environment version and that it is safe for parallel reading and writing.
    """
    from .sphinx_ext import setup as setup_extension  # noqa: PLC0415 - Sphinx is loaded only when Sphinx asks

    return setup_extension(app)
