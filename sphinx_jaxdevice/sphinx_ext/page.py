"""From a page as MyST-NB read it to a lecture with its policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.environment import BuildEnvironment

from sphinx_jaxdevice.config import BookOptions
from sphinx_jaxdevice.diagnostics import Warn
from sphinx_jaxdevice.front_matter import resolve
from sphinx_jaxdevice.front_matter_source import read_source
from sphinx_jaxdevice.keys import UNSET
from sphinx_jaxdevice.lecture import Lecture
from sphinx_jaxdevice.page_keys import PageKeys, lines_of_cells
from sphinx_jaxdevice.policy import Policy

from .mystnb import Request


def page_policy(request: Request, env: BuildEnvironment, options: BookOptions, warn: Warn) -> Policy:
    """Return what the page asks for, with MyST-NB's own limits and options in their places."""
    client = request.host_client
    metadata = client.notebook.metadata
    source = read_source(request.page.text, _suffix(client.path))
    own: Any = metadata.get(client.nb_config.metadata_key)
    on_page = isinstance(own, dict) and "execution_timeout" in own
    keys = PageKeys(
        document=request.page.document,
        source_name=source_name(client.path, env),
        metadata=metadata,
        cells=[cell.metadata if cell.cell_type == "code" else None for cell in client.notebook.cells],
        lines=source.lines,
        texts=source.texts,
        cell_lines=lines_of_cells(metadata),
        host_book_limit=env.mystnb_config.execution_timeout,  # type: ignore[attr-defined]  # set by myst-nb
        # The page's block counts only where MyST-NB took it over: one bad key in it drops the whole block.
        host_page_limit=client.nb_config.execution_timeout if on_page and client.nb_config is not env.mystnb_config else UNSET,  # type: ignore[attr-defined]  # as above
        allow_errors=bool(client.nb_config.execution_allow_errors),
    )
    return resolve(keys, options, warn)


def lecture_of(request: Request, policy: Policy, env: BuildEnvironment) -> Lecture:
    """Return the page as a lecture."""
    client = request.host_client
    lines = lines_of_cells(client.notebook.metadata)
    return Lecture(
        document=request.page.document,
        source=Path(client.path),
        source_name=source_name(client.path, env),
        notebook=client.notebook,
        policy=policy,
        cache_path=request.cache_path,
        in_temp=bool(client.nb_config.execution_in_temp),
        cell_lines=tuple(lines.get(index, 1) for index in range(len(client.notebook.cells))) if lines else None,
        read_data=request.read_format,
    )


def source_name(path: Path | None, env: BuildEnvironment) -> str:
    """Return the path of a source file relative to the book."""
    return "" if path is None else Path(path).resolve().relative_to(Path(env.srcdir).resolve()).as_posix()


def _suffix(path: Path | None) -> str:
    return path.suffix if path is not None else ""
