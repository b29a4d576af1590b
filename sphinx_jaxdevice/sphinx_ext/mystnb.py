"""The seam to MyST-NB: everything that depends on how its parser executes notebooks, in this one file.

MyST-NB has no hook for execution. Its parser calls `create_client`, a name imported into `myst_nb.sphinx_`, and uses the result
as a context manager. `attach` puts a function of ours there, which asks MyST-NB first: its answer says whether and in which
mode the page is executed, and pages that are not executed keep MyST-NB's own client.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import myst_nb.sphinx_ as parser_module
from docutils import nodes
from myst_nb import __version__ as mystnb_version
from myst_nb.core.execute import NotebookClientCache, NotebookClientDirect, NotebookClientInline
from myst_nb.core.execute.base import NotebookClientBase
from sphinx.application import Sphinx

from sphinx_jaxdevice.diagnostics import Diagnostic, WarningKind

from .reporting import warn_for

SOURCE_TYPE = "myst-nb"
"""The name under which MyST-NB registers its parser."""
EXPECTED = ("notebook", "source", "nb_config", "logger", "read_fmt")
"""First parameters of `create_client`; later versions of MyST-NB may add more, which are passed on."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is being parsed."""

    document: str
    text: str
    """Its source after Sphinx's `source-read` event."""


@dataclass(frozen=True, slots=True)
class Request:
    """What MyST-NB hands over when a page with code cells is to be rendered."""

    page: Page
    host_client: NotebookClientBase
    """The client that MyST-NB would use; not entered yet."""
    read_format: dict[str, Any] | None

    @property
    def executes(self) -> bool:
        """Whether MyST-NB would execute the page or look it up in the cache."""
        return isinstance(self.host_client, NotebookClientCache | NotebookClientDirect | NotebookClientInline)

    @property
    def inline(self) -> bool:
        """Whether the page is executed while it is rendered."""
        return isinstance(self.host_client, NotebookClientInline)

    @property
    def cache_path(self) -> Path | None:
        """The notebook cache of the page; None where MyST-NB would not use one."""
        if not isinstance(self.host_client, NotebookClientCache):
            return None
        return Path(self.host_client.nb_config.execution_cache_path or ".jupyter_cache")


class ClientFactory(Protocol):
    """Answers a request with the client that renders the page; it may answer with `request.host_client`."""

    def open_client(self, request: Request) -> NotebookClientBase:
        """Return the client for the request."""

    def check_page(self, page: Page, source: Path) -> None:
        """Warn about the source of a page, executed or not."""


@dataclass(frozen=True, slots=True)
class _Reading:
    factory: ClientFactory
    page: Page


# Set while a page of an app with this extension is parsed. Other apps in the same process (tests, servers) see None and get
# MyST-NB's own behaviour.
_reading: ContextVar[_Reading | None] = ContextVar("sphinx_jaxdevice_reading", default=None)
_host_create_client = parser_module.create_client


def _create_client(
    notebook: Any, source: str, nb_config: Any, logger: Any, read_fmt: dict[str, Any] | None = None, **more: Any
) -> NotebookClientBase:
    client = _host_create_client(notebook, source, nb_config, logger, read_fmt, **more)
    reading = _reading.get()
    return client if reading is None else reading.factory.open_client(Request(reading.page, client, read_fmt))


def problem_with_host() -> str | None:
    """Return what this version of MyST-NB lacks, in a sentence, or None where the seam is there."""
    try:
        names = tuple(inspect.signature(_host_create_client).parameters)[: len(EXPECTED)]
    except (TypeError, ValueError):
        names = ()
    if names != EXPECTED:
        return f"create_client of myst-nb {mystnb_version} takes {names}, not {EXPECTED}"
    return None


def attach(app: Sphinx, factory: ClientFactory) -> None:
    """Have the pages of `app` opened by `factory`. Where the seam is gone: one warning, and MyST-NB works as without us."""
    if (problem := problem_with_host()) is not None:
        advice = "pins and limits have no effect; install a version of myst-nb that sphinx-jaxdevice names as supported"
        warn_for(None)(Diagnostic(WarningKind.HOST, f"{problem}; {advice}"))
        return
    parser_module.create_client = _create_client
    host_parser: Any = app.registry.source_parsers[SOURCE_TYPE]

    class LectureParser(host_parser):  # type: ignore[misc]  # the base is whatever parser the app has
        """MyST-NB's parser, with the page known to `_create_client` while it runs."""

        def parse(self, inputstring: str, document: nodes.document) -> None:
            page = Page(document.settings.env.docname, inputstring)
            factory.check_page(page, Path(document.settings.env.doc2path(page.document)))
            with _known(_Reading(factory, page)):
                super().parse(inputstring, document)

    app.add_source_parser(LectureParser, override=True)


@contextmanager
def _known(reading: _Reading) -> Iterator[None]:
    token = _reading.set(reading)
    try:
        yield
    finally:
        _reading.reset(token)
