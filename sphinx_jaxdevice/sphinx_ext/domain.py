"""The Sphinx domain that keeps the records of lectures in the build environment, so that they survive, merge and clear."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sphinx.domains import Domain

from sphinx_jaxdevice.records import Record, from_json, to_json


class LectureDomain(Domain):
    """Records by document, and the documents that show a table of them."""

    name = "jaxdevice"
    label = "JAX device"
    initial_data: dict[str, Any] = {"lectures": {}, "tables": set()}  # noqa: RUF012 - as Sphinx declares it; it is copied
    data_version = 1

    def keep(self, record: Record, traceback: str | None) -> None:
        """Keep what a page showed; plain JSON values, so that an environment outlives a change of our classes."""
        self.data["lectures"][record.document] = {"record": to_json(record), "traceback": traceback}

    def records(self) -> list[Record]:
        """Return all records, sorted by document."""
        return [record for _, record, _ in self.entries()]

    def entries(self) -> Iterator[tuple[str, Record, str | None]]:
        """Yield document, record and traceback (None for a success), sorted by document."""
        for document, entry in sorted(self.data["lectures"].items()):
            yield document, from_json(entry["record"]), entry["traceback"]

    def mark_table(self, document: str) -> None:
        """Note that a document shows the table."""
        self.data["tables"].add(document)

    @property
    def documents_with_table(self) -> frozenset[str]:
        """Documents that must be written again when a record changes."""
        return frozenset(self.data["tables"])

    def clear_doc(self, docname: str) -> None:
        """Forget a document that is about to be read again or is gone."""
        self.data["lectures"].pop(docname, None)
        self.data["tables"].discard(docname)

    def merge_domaindata(self, docnames: Collection[str], otherdata: dict[str, Any]) -> None:
        """Take over what a parallel reading process found."""
        for docname in docnames:
            if docname in otherdata["lectures"]:
                self.data["lectures"][docname] = otherdata["lectures"][docname]
            if docname in otherdata["tables"]:
                self.data["tables"].add(docname)
