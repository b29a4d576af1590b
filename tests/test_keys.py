from __future__ import annotations

from typing import Any

import pytest

from sphinx_jaxdevice.diagnostics import Diagnostic
from sphinx_jaxdevice.keys import KEYS, looks_like
from sphinx_jaxdevice.page_keys import PageKeys
from sphinx_jaxdevice.stray_keys import warn_of_stray_keys


def stray_keys(metadata: dict[Any, object], cell: dict[Any, object]) -> list[Diagnostic]:
    warnings: list[Diagnostic] = []
    warn_of_stray_keys(PageKeys("mle", "mle.md", metadata, cells=[cell]), warnings.append)
    return warnings


@pytest.mark.parametrize(
    "name",
    [
        "device",
        "timeout",
        "execution_timeout",
        "jax",
        "title",
        "jaxtyping",
        "ajax",
        "kernelspec",
        "",
        7,
        None,
        True,
        ("jax", "device"),
    ],
)
def test_other_peoples_keys_are_left_alone(name: object) -> None:
    """Keys that do not look like ours are ignored without a word, whatever their type."""
    assert looks_like(name) is None
    assert stray_keys({name: "cpu"}, {name: "cpu"}) == []


@pytest.mark.parametrize("name", list(KEYS))
def test_our_keys_do_not_look_like_ours(name: str) -> None:
    """A key of ours is no misspelling of itself or another."""
    assert looks_like(name) is None
