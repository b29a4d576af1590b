from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphinx_jaxdevice.diagnostics import Diagnostic, WarningKind
from sphinx_jaxdevice.front_matter_source import LARGEST, PageSource, check_source, read_source

from .test_timeouts import UNHURRIED

PAGE = """---
file_format: mystnb
jax-device: cpu  # no GPU here
"jax-timeout": 10m
execution:
  timeout: 60
jax-lecture-timeout:
  30m
---

# A lecture
"""


def notebook(source: object, cell_type: str = "raw") -> str:
    return json.dumps({"cells": [{"cell_type": cell_type, "metadata": {}, "source": source}], "metadata": {}})


def test_keys_have_the_lines_of_the_file() -> None:
    """Lines count from the top of the file, for quoted keys too, and for keys within MyST-NB's block."""
    lines = read_source(PAGE, ".md").lines

    assert lines == {
        "file_format": 2,
        "jax-device": 3,
        "jax-timeout": 4,
        "execution": 5,
        "execution.timeout": 6,
        "jax-lecture-timeout": 7,
    }


def test_values_are_kept_as_written() -> None:
    """Unquoted values beside their keys are kept as written, without comments; others are not."""
    assert read_source(PAGE.replace("10m", "010"), ".md").texts == {
        "file_format": "mystnb",
        "jax-device": "cpu",
        "jax-timeout": "010",
    }


@pytest.mark.parametrize(
    "text",
    [PAGE.replace("\n", "\r\n"), "\ufeff" + PAGE, PAGE.replace("---\n\n", "...\n\n"), PAGE.replace("---\n", "--- \n")],
    ids=["crlf", "bom", "dots", "trailing-space"],
)
def test_other_ways_to_write_a_file_give_the_same_lines(text: str) -> None:
    """Windows line ends, a byte order mark, closing dots and trailing spaces change no line."""
    assert read_source(text, ".md") == read_source(PAGE, ".md")


@pytest.mark.parametrize(
    "text", ["", "---", "---\n---\n", "# Title\n---\njax-device: cpu\n", "---\n# only a comment\n---\n", "\n" + PAGE]
)
def test_a_page_without_front_matter_has_no_positions(text: str) -> None:
    """Where nothing stands between dashes at the very top there are no positions and no warnings."""
    assert read_source(text, ".md") == PageSource()


@pytest.mark.parametrize("body", ["title: a: b", "title: [", "\ttab: 1", "when: 2026-13-45"])
def test_broken_front_matter_without_our_keys_is_left_to_the_host(body: str) -> None:
    """Front matter that can't be read is warned about only where a key of ours is in it, not where one is talked about."""
    text = f"---\n{body}\nabout: the jax-device key\n---\njax-device: cpu\n"

    assert read_source(text, ".md").diagnostics == ()


def test_an_unclosed_block_ends_at_the_first_empty_line() -> None:
    """A page that begins with a line of dashes and is no front matter is searched to its first empty line only."""
    text = "---\nAn introduction: with colons: twice\n\njax-device: cpu\n"

    assert read_source(text, ".md").diagnostics == ()


def test_keys_in_an_unclosed_block_are_not_lost_silently() -> None:
    """Front matter that is never closed and can't be read gives a warning."""
    diagnostics = read_source("---\njax-device: cpu\ntitle: a: b\n\n# Text\n", ".md").diagnostics

    assert [(found.kind, found.line) for found in diagnostics] == [(WarningKind.FRONT_MATTER, 3)]


def test_an_alias_bomb_is_read_at_once() -> None:
    """Aliases that stand for billions of items cost nothing, because nothing is expanded."""
    bomb = "\n".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9) if n else '1'}]" for n in range(30))

    assert read_source(f"---\n{bomb}\njax-device: cpu\n---\n", ".md").lines["jax-device"] == 32


def test_a_huge_block_is_left_to_the_host() -> None:
    """Front matter over the largest size that is looked at has no positions and no warnings."""
    assert read_source(f"---\njax-device: cpu\ntitle: {'x' * LARGEST}\n---\n", ".md") == PageSource()


@pytest.mark.parametrize("cell_type", ["raw", "markdown"])
@pytest.mark.parametrize("source", ["---\njax-device: cpu\n---", ["---\n", "jax-device: cpu\n", "---"]])
def test_front_matter_in_a_notebooks_first_cell_is_told(cell_type: str, source: object) -> None:
    """Our keys in the text of a notebook's first cell give one warning that says where they belong."""
    diagnostics = read_source(notebook(source, cell_type), ".ipynb").diagnostics

    assert [(found.kind, found.line) for found in diagnostics] == [(WarningKind.KEY, None)]
    assert "the notebook's metadata" in diagnostics[0].message


@pytest.mark.parametrize(
    "text",
    [
        notebook("---\njax-device: cpu\n---", "code"),
        notebook("The jax-device key"),
        notebook("---\ntitle: jax-device\n---"),
        notebook(7),
        '{"cells": [], "metadata": {"jax-device": "cpu"}}',
        '{"jax-device',
        "[" * 100_000 + "jax-device",
    ],
)
def test_other_notebooks_give_no_warning(text: str) -> None:
    """Code cells, text about the keys, metadata and files that are no notebooks give no warning."""
    assert read_source(text, ".ipynb") == PageSource()


def test_checking_hands_each_diagnostic_on() -> None:
    """Checking a page's text warns about all that reading it finds."""
    warnings: list[Diagnostic] = []
    text = "---\njax-device: cpu\njax-device: gpu\n---\n"
    check_source(text, ".md", warnings.append)

    assert tuple(warnings) == read_source(text, ".md").diagnostics
    assert [(found.kind, found.line) for found in warnings] == [(WarningKind.DUPLICATE, 3)]


FRAGMENTS = st.sampled_from(
    ["jax-device: ", "jax-timeout:", "\n", "---\n", "...", "\t", "&a ", "*a", "!!int ", "[", "{", "? ", "\r", "\0", "'"]
)


@UNHURRIED
@given(st.lists(FRAGMENTS | st.text(max_size=5)).map("".join), st.sampled_from([".md", ".ipynb", ".rst"]))
def test_no_text_raises(text: str, suffix: str) -> None:
    """Whatever the text, reading it gives a result, and every warning is one printable line."""
    found = read_source("---\n" + text, suffix)

    assert all(diagnostic.message.isprintable() for diagnostic in found.diagnostics)
