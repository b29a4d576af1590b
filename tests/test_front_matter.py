from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphinx_jaxdevice.config import BookOptions
from sphinx_jaxdevice.device import Device
from sphinx_jaxdevice.diagnostics import Diagnostic, WarningKind
from sphinx_jaxdevice.front_matter import resolve
from sphinx_jaxdevice.keys import KEYS, UNSET
from sphinx_jaxdevice.lecture_rules import LectureRule
from sphinx_jaxdevice.page_keys import PageKeys, lines_of_cells
from sphinx_jaxdevice.policy import Policy, Setting

from .test_timeouts import ANYTHING, UNHURRIED

BOOK = "in the book's configuration"


def page(metadata: Mapping[Any, object] | None = None, **more: Any) -> PageKeys:
    return PageKeys("lectures/intro", "lectures/intro.md", metadata or {}, **more)


def rules(**values: Any) -> BookOptions:
    """Return book options whose only entry of jaxdevice_lectures is `intro` with these values."""
    return BookOptions(lectures=(LectureRule("intro", {name.replace("_", "-"): value for name, value in values.items()}),))


def resolve_silently(keys: PageKeys, options: BookOptions | None = None) -> Policy:
    warnings: list[Diagnostic] = []
    policy = resolve(keys, options or BookOptions(), warnings.append)
    assert warnings == []
    return policy


def warnings_of(keys: PageKeys) -> list[Diagnostic]:
    warnings: list[Diagnostic] = []
    resolve(keys, BookOptions(), warnings.append)
    return warnings


def test_a_page_without_keys_has_the_defaults() -> None:
    """A page that sets nothing in a book that sets nothing has the default policy."""
    assert resolve_silently(page()) == Policy()


def test_the_device_of_the_front_matter_wins() -> None:
    """The device in front matter wins over the lecture's entry and the book's default."""
    options = BookOptions(default_device=Device.TPU, lectures=rules(jax_device=Device.GPU).lectures)
    keys = page({"jax-device": "cpu"}, lines={"jax-device": 4})

    assert resolve_silently(keys, options).device == Setting(Device.CPU, "jax-device, line 4 of lectures/intro.md")


def test_the_device_of_the_lectures_entry_comes_second() -> None:
    """Without front matter the lecture's entry in the book's configuration names the device."""
    options = BookOptions(default_device=Device.TPU, lectures=rules(jax_device=Device.GPU).lectures)

    assert resolve_silently(page(), options).device == Setting(Device.GPU, f"jaxdevice_lectures['intro'] {BOOK}")


def test_the_default_device_comes_last() -> None:
    """Without front matter and entry the book's default device counts."""
    options = BookOptions(default_device=Device.TPU)

    assert resolve_silently(page(), options).device == Setting(Device.TPU, f"jaxdevice_default_device {BOOK}")


LADDER: list[tuple[dict[str, Any], Setting[float | None]]] = [
    ({"metadata": {"jax-timeout": "10m"}}, Setting(600.0, "jax-timeout, line 5 of lectures/intro.md")),
    ({"metadata": {"execution": {"timeout": 50}}}, Setting(50.0, "execution: timeout, line 7 of lectures/intro.md")),
    ({"host_page_limit": 40}, Setting(40.0, "mystnb: execution_timeout, line 8 of lectures/intro.md")),
    ({"rule": 35.0}, Setting(35.0, f"jaxdevice_lectures['intro'] {BOOK}")),
    ({"timeout": 32.0}, Setting(32.0, f"jaxdevice_timeout {BOOK}")),
    ({"host_book_limit": 30}, Setting(30.0, "nb_execution_timeout (execute: timeout in _config.yml)")),
    ({}, Setting(None, "the default")),
]
"""Places of the cell limit, from the tightest scope of a page to the widest, and what each gives when those above it are silent."""


def ladder_policy(rungs: list[dict[str, Any]]) -> Policy:
    given: dict[str, Any] = {}
    metadata: dict[str, object] = {}
    for rung in rungs:
        metadata |= rung.get("metadata", {})
        given |= rung
    limits = {name: given.get(name, UNSET) for name in ("host_page_limit", "host_book_limit")}
    lines = {"jax-timeout": 5, "execution": 6, "execution.timeout": 7, "mystnb": 8}
    entry = rules(jax_timeout=given["rule"]).lectures if "rule" in given else ()
    options = BookOptions(lectures=entry, timeout=given.get("timeout", UNSET))
    return resolve_silently(page(metadata, lines=lines, **limits), options)


@pytest.mark.parametrize("rung", range(len(LADDER)))
def test_the_tightest_cell_limit_of_a_page_wins(rung: int) -> None:
    """Of all limits that are set from one scope on, the tightest scope's is in force, and says where it was set."""
    assert ladder_policy([given for given, _ in LADDER[rung:]]).cell_limit == LADDER[rung][1]


NO_LIMITS: list[dict[str, Any]] = [
    {"metadata": {"jax-timeout": "none"}},
    {"metadata": {"execution": {"timeout": None}}},
    {"host_page_limit": 0},
    {"rule": None},
    {"timeout": None},
]


@pytest.mark.parametrize("rung", range(len(NO_LIMITS)))
def test_no_limit_stops_the_search(rung: int) -> None:
    """A scope that says none, or MyST-NB's zero or null, means no limit, whatever wider scopes say."""
    limit = ladder_policy([NO_LIMITS[rung], *(given for given, _ in LADDER[rung + 1 :])]).cell_limit

    assert limit == Setting(None, LADDER[rung][1].origin)


@pytest.mark.parametrize("limit", [0, -1, None])
def test_the_book_of_the_host_may_have_no_limit(limit: int | None) -> None:
    """Zero, a negative number and null as nb_execution_timeout mean no limit."""
    origin = "nb_execution_timeout (execute: timeout in _config.yml)"

    assert resolve_silently(page(host_book_limit=limit)).cell_limit == Setting(None, origin)


def test_a_cell_has_its_own_limit() -> None:
    """A code cell's own limit is kept by the cell's index, with the number of the code cell and its line."""
    keys = page({"jax-timeout": 5}, cells=[None, {}, None, {"jax-timeout": "2m", "tags": []}], cell_lines={3: 41})
    policy = resolve_silently(keys)

    assert policy.limit_of(3) == Setting(120.0, "jax-timeout of code cell 2, line 41 of lectures/intro.md")
    assert policy.limit_of(1) == Setting(5.0, "jax-timeout in lectures/intro.md")


def test_a_cell_may_have_no_limit() -> None:
    """A code cell that says none has no limit, whatever the page says."""
    policy = resolve_silently(page({"jax-timeout": 5}, cells=[{"jax-timeout": "none"}]))

    assert policy.limit_of(0).value is None


def test_a_bad_limit_of_a_cell_leaves_the_limit_of_the_page() -> None:
    """Where a cell's own limit is not accepted, the page's applies to it."""
    warnings: list[Diagnostic] = []
    policy = resolve(page({"jax-timeout": 5}, cells=[{"jax-timeout": 0}]), BookOptions(), warnings.append)

    assert policy.limit_of(0) == policy.cell_limit
    assert len(warnings) == 1


def test_a_bad_value_leaves_the_next_wider_scope() -> None:
    """Where the front matter's value is not accepted, the lecture's entry applies."""
    policy = resolve(page({"jax-device": "gpus"}), rules(jax_device=Device.GPU), lambda _: None)

    assert policy.device.origin == f"jaxdevice_lectures['intro'] {BOOK}"


def test_the_lecture_limit_is_searched_in_front_matter_entry_and_book() -> None:
    """The lecture limit comes from the front matter, else the lecture's entry, else the book."""
    options = BookOptions(lecture_timeout=30.0, lectures=rules(jax_lecture_timeout=20.0).lectures)

    assert resolve_silently(page({"jax-lecture-timeout": 10}), options).lecture_limit.value == 10.0
    assert resolve_silently(page(), options).lecture_limit.value == 20.0
    assert resolve_silently(page(), BookOptions(lecture_timeout=30.0)).lecture_limit == Setting(
        30.0, f"jaxdevice_lecture_timeout {BOOK}"
    )


def test_the_later_of_two_entries_wins_key_by_key() -> None:
    """Of several entries that match, the later one counts for the keys it has, and the earlier one for the others."""
    first = LectureRule("*", {"jax-device": Device.CPU, "jax-timeout": 9.0})
    second = LectureRule("lectures/*", {"jax-device": Device.GPU})
    other = LectureRule("mle", {"jax-device": Device.TPU})
    policy = resolve_silently(page(), BookOptions(lectures=(first, second, other)))

    assert policy.device == Setting(Device.GPU, f"jaxdevice_lectures['lectures/*'] {BOOK}")
    assert policy.cell_limit == Setting(9.0, f"jaxdevice_lectures['*'] {BOOK}")


@pytest.mark.parametrize(
    ("metadata", "host", "allowed"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"execution": {"allow_errors": True}}, False, True),
        ({"execution": {"allow_errors": False}}, True, False),
        ({"execution": {}}, True, True),
    ],
)
def test_errors_are_allowed_as_by_the_host(metadata: dict[str, object], host: bool, allowed: bool) -> None:  # noqa: FBT001 - parameters
    """MyST-NB's option says whether errors are allowed, and the page's execution block wins over it."""
    assert resolve_silently(page(metadata, allow_errors=host)).allow_errors is allowed


def test_a_notebook_has_no_lines() -> None:
    """A warning about the metadata of an .ipynb has no line, and the origin of its values names the file alone."""
    keys = PageKeys("mle", "mle.ipynb", {"jax-device": "cpu", "jax-timeout": 0})
    warnings: list[Diagnostic] = []
    policy = resolve(keys, BookOptions(), warnings.append)

    assert policy.device.origin == "jax-device in mle.ipynb"
    assert [warning.line for warning in warnings] == [None]


def test_one_bad_page_gives_one_warning_for_each_fault() -> None:
    """Several faults on one page give one warning each, and none twice."""
    metadata = {"jax_device": 1, "jax-timeout": 0, "execution": None, "mystnb": {"jax-device": "cpu"}}
    warnings = warnings_of(page(metadata, cells=[{"jax-device": "cpu"}]))

    assert sorted(warning.kind.subtype for warning in warnings) == ["key", "key", "key", "value", "value"]


BLOCKS = st.sampled_from(["execution", "mystnb", "jupytext", "jax_device", *KEYS])
METADATA = st.dictionaries(
    BLOCKS | st.text() | st.integers() | st.none(), ANYTHING | st.dictionaries(BLOCKS, ANYTHING, max_size=3), max_size=4
)


@UNHURRIED
@given(METADATA, st.lists(st.none() | METADATA, max_size=3), st.dictionaries(BLOCKS, st.text()))
def test_no_page_raises(metadata: dict[Any, Any], cells: list[dict[Any, Any] | None], texts: dict[str, str]) -> None:
    """Whatever a page and its cells hold, there is a policy, and warnings are one printable line each."""
    warnings: list[Diagnostic] = []
    policy = resolve(page(metadata, cells=cells, texts=texts), BookOptions(), warnings.append)

    assert isinstance(policy.device.value, Device)
    assert all(warning.message.isprintable() for warning in warnings)
    assert {warning.kind for warning in warnings} <= {WarningKind.KEY, WarningKind.VALUE}


@pytest.mark.parametrize(("source_map", "lines"), [([3, 9], {0: 3, 1: 9}), (None, {}), ("ab", {}), ([True, "x", 4], {2: 4})])
def test_lines_of_cells_come_from_the_source_map(source_map: object, lines: dict[int, int]) -> None:
    """The reader's map gives each cell its line; anything else in its place gives none."""
    assert lines_of_cells({"source_map": source_map}) == lines
