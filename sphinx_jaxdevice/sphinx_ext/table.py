"""`{jaxdevice-table}`: the records of the book as a table.

The directive leaves a placeholder; a post-transform fills it once all pages have been read.
"""

from __future__ import annotations

from typing import Any, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from sphinx_jaxdevice.report import COLUMNS, Row, rows

from .domain import LectureDomain


class TablePlaceholder(nodes.General, nodes.Element):
    """Stands for the table until the records are known."""


class LectureTable(SphinxDirective):
    """Show device, times, status and source of every lecture of the book."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Leave the placeholder and note that this document shows the table."""
        cast("LectureDomain", self.env.get_domain(LectureDomain.name)).mark_table(self.env.docname)
        placeholder = TablePlaceholder()
        self.set_source_info(placeholder)
        return [placeholder]


class FillTables(SphinxPostTransform):
    """Replace placeholders by tables."""

    default_priority = 8  # before references are resolved (9 and 10): the table holds links to documents

    def run(self, **_kwargs: Any) -> None:
        """Fill all placeholders of the document."""
        for placeholder in list(self.document.findall(TablePlaceholder)):
            domain = cast("LectureDomain", self.env.get_domain(LectureDomain.name))
            placeholder.replace_self(table(rows(domain.records()), self.env.docname))


def table(lines: list[Row], from_document: str) -> nodes.Element:
    """Return the table node; the first column links to the lectures."""
    if not lines:
        return nodes.paragraph("", "No lecture of this book has been executed.")
    node = nodes.table(classes=["jaxdevice-table", "colwidths-auto"])
    group = nodes.tgroup(cols=len(COLUMNS))
    node += group
    for index, column in enumerate(COLUMNS):
        # The text builder takes these as characters, and never ends where a word does not fit.
        group += nodes.colspec(colwidth=max(len(column.heading), *(len(line.texts[index]) for line in lines)))
    head = nodes.thead()
    head += _row([nodes.Text(column.heading) for column in COLUMNS])
    body = nodes.tbody()
    for line in lines:
        cells: list[nodes.Node] = [_link(line.document, from_document)]
        cells += [nodes.Text(text) for text in line.texts[1:]]
        body += _row(cells, line.status)
    group += head
    group += body
    return node


def _row(cells: list[nodes.Node], status: str | None = None) -> nodes.row:
    row = nodes.row(classes=[f"jaxdevice-{status}"] if status else [])
    for cell in cells:
        row += nodes.entry("", nodes.paragraph("", "", cell))
    return row


def _link(document: str, from_document: str) -> addnodes.pending_xref:
    link = addnodes.pending_xref(
        refdoc=from_document, refdomain="std", reftype="doc", reftarget=f"/{document}", refexplicit=True, refwarn=True
    )
    link += nodes.inline("", document, classes=["xref", "doc"])
    return link


def setup_table(app: Sphinx) -> None:
    """Register the directive and what fills it."""
    app.add_node(TablePlaceholder)
    app.add_directive("jaxdevice-table", LectureTable)
    app.add_post_transform(FillTables)
