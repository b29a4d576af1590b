"""Every kind of warning and every exception of the package.

A kind is declared here once, with the sentence that the manual prints. The core hands a `Diagnostic` to a `Warn` callable and
never logs by itself; the fronts (Sphinx, command line) decide how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class WarningKind(Enum):
    """A kind of warning: the subtype that `suppress_warnings` takes (`jaxdevice.<subtype>`), and what it means."""

    VALUE = ("value", "A front-matter key, cell key or option has a value that is not accepted; the next wider scope applies.")
    KEY = ("key", "A key looks like one of the extension's but is not; it has no effect.")
    DUPLICATE = ("duplicate", "A key stands twice in the front matter; the last one counts.")
    FRONT_MATTER = ("front_matter", "The front matter is not valid YAML, so none of its keys can be read.")
    MISSING_DEVICE = ("missing_device", "A lecture asks for a GPU or TPU and none was found.")
    DEVICE_USED = ("device_used", "JAX ran on another device than the lecture asks for.")
    STATE = ("state", "A file of the state folder could not be read or written; it is set aside or skipped.")
    CACHE = (
        "cache",
        "The notebook cache of jupyter-cache could not be read or written; lectures run as if nothing were cached.",
    )
    HOST = ("host", "This version of MyST-NB no longer has the place where the extension is attached; pins and limits are off.")

    def __init__(self, subtype: str, sentence: str) -> None:
        """Give the member its two parts by name."""
        self.subtype = subtype
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One warning for a person: what was found, where, what is accepted and what to do next.

    `line` counts from 1; it is None where a file has no lines to speak of (a notebook's metadata, an option).
    """

    kind: WarningKind
    message: str
    line: int | None = None


Warn = Callable[[Diagnostic], None]


class JaxDeviceError(Exception):
    """Base of the errors that this package raises on purpose; its text is written for the person at the terminal."""


class StateError(JaxDeviceError):
    """A file of the state folder can't be read: missing, damaged, or written by a newer version."""
