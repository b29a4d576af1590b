"""Directives that print the manual's reference from where things are declared: options, keys, warnings, record fields.

Each entry is also a target, so that a page which names an option, a key or a warning that does not exist fails the build, and
so does a declaration without its sentence. Markdown is made by pure functions and read by the parser of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from sphinx_jaxdevice.config import PREFIX, BookOptions
from sphinx_jaxdevice.diagnostics import WarningKind
from sphinx_jaxdevice.keys import KEYS
from sphinx_jaxdevice.records import Record

JSON_TYPES = {
    "str": "string",
    "float": "number",
    "int": "whole number",
    "bool": "true or false",
    "Outcome": "string",
    "Source": "string",
    "tuple[CellRun, ...]": "list of objects",
    "Mapping[str, str]": "object",
}
"""What the annotations of `Record` are in JSON."""


def told(text: object, what: str) -> str:
    """Return a declared text. Raises ExtensionError where the declaration of `what` lacks it."""
    if not isinstance(text, str) or not text.strip():
        message = f"{what} has no text to print in the manual: add it where it is declared"
        raise ExtensionError(message)
    return text.strip()


def entry(directive: str, name: str, body: str, **options: str) -> list[str]:
    """Return the Markdown lines of one entry, which is a target for references."""
    return [f"````{{{directive}}} {name}", *(f":{key}: {value}" for key, value in options.items()), "", body, "````", ""]


def option_lines() -> Iterator[str]:
    """Yield the Markdown of all book options."""
    for option in fields(BookOptions):
        name = PREFIX + option.name
        about = told(option.metadata.get("about"), name)
        accepted = told(option.metadata.get("shown"), name)
        default = option.metadata["default"]
        shown = "not set" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        yield from entry("confval", name, about, type=accepted, default=shown)


def key_lines() -> Iterator[str]:
    """Yield the Markdown of all front-matter keys."""
    for key in KEYS.values():
        where = "the page, an entry of {confval}`jaxdevice_lectures`" + (", a code cell" if key.in_cells else "")
        accepted = f"Accepted: {told(key.accepted, key.name)}."
        body = f"{told(key.about, key.name)}\n\n{accepted}\n\nWhere: {where}."
        yield from entry("jax-key", key.name, body)


def warning_lines() -> Iterator[str]:
    """Yield the Markdown of all kinds of warnings."""
    for kind in WarningKind:
        yield from entry("jax-warning", f"jaxdevice.{kind.subtype}", told(kind.sentence, str(kind)))


def field_lines() -> Iterator[str]:
    """Yield the Markdown table of the fields of a record."""
    yield from ("| Field | JSON | Meaning |", "| --- | --- | --- |")
    for record_field in fields(Record):
        about = told(record_field.metadata.get("about"), f"Record.{record_field.name}").replace("|", "\\|")
        plain = str(record_field.type).removesuffix(" | None")
        json_type = told(JSON_TYPES.get(plain), f"the type {plain} of Record.{record_field.name}")
        null = " or null" if str(record_field.type).endswith(" | None") else ""
        yield f"| `{record_field.name}` | {json_type}{null} | {about} |"


class ReferenceDirective(SphinxDirective):
    """Print what `lines` yields."""

    lines: ClassVar[Callable[[], Iterator[str]]]

    def run(self) -> list[nodes.Node]:
        """Read the Markdown as part of the page."""
        return self.parse_text_to_nodes("\n".join(type(self).lines()))


DIRECTIVES: dict[str, Callable[[], Iterator[str]]] = {
    "reference-options": option_lines,
    "reference-keys": key_lines,
    "reference-warnings": warning_lines,
    "reference-record": field_lines,
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and keys and warnings as things that a page can refer to."""
    app.add_object_type("jax-key", "jax-key", objname="front-matter key", indextemplate="pair: %s; front-matter key")
    app.add_object_type("jax-warning", "jax-warning", objname="warning", indextemplate="pair: %s; warning")
    for name, lines in DIRECTIVES.items():
        directive = type(name, (ReferenceDirective,), {"lines": staticmethod(lines)})
        app.add_directive(name, directive)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
