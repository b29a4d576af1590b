"""Malformed front matter, one case a file: read by MyST-NB's own reader, then resolved.

`front_matter_cases/<kind>/<what it shows>.md` is a lecture whose first paragraph is the one warning that it must give, with its line.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook

from sphinx_jaxdevice.config import BookOptions
from sphinx_jaxdevice.diagnostics import Diagnostic
from sphinx_jaxdevice.front_matter import resolve
from sphinx_jaxdevice.front_matter_source import check_source, read_source
from sphinx_jaxdevice.keys import KEYS
from sphinx_jaxdevice.page_keys import PageKeys, lines_of_cells
from sphinx_jaxdevice.policy import Policy

FOLDER = Path(__file__).parent / "front_matter_cases"
CASES = sorted(FOLDER.glob("*/*.md"))
READABLE = [case for case in CASES if case.parent.name != "front_matter"]


def name_of(case: Path) -> str:
    return f"{case.parent.name}-{case.stem}"


def text_of(case: Path) -> str:
    return case.read_text(encoding="utf-8")


def expected_warning(case: Path) -> str:
    return text_of(case).split("\n---\n", maxsplit=1)[1].strip().splitlines()[0]


def shown(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.line}: {diagnostic.message}"


def resolve_as_the_host_does(text: str) -> tuple[Policy | None, list[Diagnostic]]:
    """Return the policy (None where MyST-NB takes the text for no notebook) and all warnings about a page."""
    warnings: list[Diagnostic] = []
    check_source(text, ".md", warnings.append)
    if not is_myst_markdown_notebook(text):
        return None, warnings
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    source = read_source(text, ".md")
    page = PageKeys(
        document="case",
        source_name="case.md",
        metadata=notebook.metadata,
        cells=[cell.metadata if cell.cell_type == "code" else None for cell in notebook.cells],
        lines=source.lines,
        texts=source.texts,
        cell_lines=lines_of_cells(notebook.metadata),
        host_book_limit=30,
    )
    return resolve(page, BookOptions(), warnings.append), warnings


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_malformed_value_gives_its_one_warning(case: Path) -> None:
    """A malformed page gives exactly one warning: kind, line, what was found and what is accepted."""
    _, warnings = resolve_as_the_host_does(text_of(case))

    assert [expected_warning(case)] == [shown(warning) for warning in warnings]
    assert [case.parent.name] == [warning.kind.subtype for warning in warnings]


@pytest.mark.parametrize("case", READABLE, ids=name_of)
def test_a_malformed_value_costs_only_itself(case: Path) -> None:
    """Every good key beside a malformed one is in force, and comes from its own line of the page."""
    policy, warnings = resolve_as_the_host_does(text_of(case))
    front_matter = text_of(case).split("\n---\n", maxsplit=1)[0]
    written = set(re.findall(r"^'?([\w-]+)'?:", front_matter, re.MULTILINE)) & set(KEYS)
    refused = warnings[0].message.split(":")[0] if case.parent.name == "value" else None
    assert policy is not None

    origins = {
        "jax-device": policy.device.origin,
        "jax-timeout": policy.cell_limit.origin,
        "jax-lecture-timeout": policy.lecture_limit.origin,
    }
    in_force = {name for name, origin in origins.items() if origin.startswith(f"{name}, line ")}

    assert written - {refused} == in_force


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_warning_is_one_printable_line(case: Path) -> None:
    """No warning holds a control character, a line break or more than a few hundred characters of what was found."""
    _, warnings = resolve_as_the_host_does(text_of(case))

    assert all(warning.message.isprintable() and len(warning.message) < 400 for warning in warnings)


def test_there_are_cases() -> None:
    """The folder holds at least sixty malformed pages."""
    assert len(CASES) >= 60
