"""How the extension speaks through Sphinx: diagnostics as warnings, failures as MyST-NB words them, report files."""

from __future__ import annotations

from pathlib import Path

from sphinx.util import logging

from sphinx_jaxdevice.diagnostics import Diagnostic, Warn
from sphinx_jaxdevice.records import Record

LOGGER = logging.getLogger("sphinx_jaxdevice")
TYPE = "jaxdevice"


def warn_for(document: str | None) -> Warn:
    """Return a `Warn` whose warnings point to a document, or to the build as a whole for None."""

    def warn(diagnostic: Diagnostic) -> None:
        location = None if document is None else (document, diagnostic.line)
        LOGGER.warning(diagnostic.message, type=TYPE, subtype=diagnostic.kind.subtype, location=location)

    return warn


def failure_message(record: Record, traceback: str | None, *, show_traceback: bool) -> str:
    """Return the warning of a failed lecture. It starts as MyST-NB's does, so that people and filters know it."""
    text = f"Executing notebook failed: {record.error}: {record.message}"
    return f"{text}\n{traceback}" if show_traceback and traceback else text


def report_path(output_folder: Path, document: str) -> Path:
    """Return where a builder keeps the error report of a document."""
    return output_folder.joinpath("reports", *f"{document}.err.log".split("/"))


def warn_again(record: Record, traceback: str | None, output_folder: Path, *, show_traceback: bool) -> None:
    """Repeat the warnings and the report file of a failed page that this builder did not read.

    Without this a builder over a kept environment publishes the broken page without a word and exits 0.
    """
    location = (record.document, record.failing_line)
    message = failure_message(record, traceback, show_traceback=show_traceback)
    LOGGER.warning("%s [mystnb.exec]", message, type="mystnb", subtype="exec", location=location)
    if traceback is None:
        return
    path = report_path(output_folder, record.document)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback, encoding="utf8")
    except OSError as error:
        LOGGER.warning(
            "the error report %s can't be written: %s", path, error, type=TYPE, subtype="state", location=record.document
        )
        return
    saved = f"Notebook exception traceback saved in: {path} [mystnb.exec]"
    LOGGER.warning(saved, type="mystnb", subtype="exec", location=record.document)
