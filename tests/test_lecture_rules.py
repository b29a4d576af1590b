from __future__ import annotations

from typing import Any

import pytest

from sphinx_jaxdevice.device import Device
from sphinx_jaxdevice.diagnostics import Diagnostic
from sphinx_jaxdevice.lecture_rules import LectureRule, read_lectures


def read(value: object) -> tuple[tuple[LectureRule, ...], list[Diagnostic]]:
    warnings: list[Diagnostic] = []
    return read_lectures(value, warnings.append), warnings


def test_lectures_are_read_in_their_order() -> None:
    """Patterns keep their order and their values are read like front matter."""
    raw = {"mle": {"jax-device": "cpu"}, "mccall_*": {"jax-timeout": "10m", "jax-lecture-timeout": "none"}, "ar1": {}}

    expected = (
        LectureRule("mle", {"jax-device": Device.CPU}),
        LectureRule("mccall_*", {"jax-timeout": 600.0, "jax-lecture-timeout": None}),
        LectureRule("ar1", {}),
    )
    assert read(raw) == (expected, [])


@pytest.mark.parametrize(
    ("bad", "kept", "told"),
    [
        ({"b": "cpu"}, (), "jaxdevice_lectures['b']: found 'cpu', accepted: a mapping"),
        ({"b": None}, (), "jaxdevice_lectures['b']: found nothing"),
        ({7: {"jax-device": "gpu"}}, (), "jaxdevice_lectures: found 7, accepted: a document name"),
        ({"": {"jax-device": "gpu"}}, (), "jaxdevice_lectures: found ''"),
        (
            {"b": {"jax-device": "gpus", "jax-timeout": 5}},
            (LectureRule("b", {"jax-timeout": 5.0}),),
            "jaxdevice_lectures['b']: jax-device: found 'gpus', accepted: cpu, gpu, tpu and auto; did you mean 'gpu'?",
        ),
        (
            {"b": {"jax_device": "gpu", "jax-timeout": 5}},
            (LectureRule("b", {"jax-timeout": 5.0}),),
            "jaxdevice_lectures['b']: found 'jax_device', accepted: jax-device, jax-timeout and jax-lecture-timeout; did you mean",
        ),
        ({"b": {3: "gpu"}}, (LectureRule("b", {}),), "jaxdevice_lectures['b']: found 3"),
    ],
)
def test_a_bad_lecture_entry_is_dropped_alone(bad: dict[Any, Any], kept: tuple[LectureRule, ...], told: str) -> None:
    """Of a mapping with one bad entry only the bad part is dropped, with one warning."""
    rules, warnings = read({"a": {"jax-device": "cpu"}} | bad | {"c": {"jax-timeout": 9}})

    expected = (LectureRule("a", {"jax-device": Device.CPU}), *kept, LectureRule("c", {"jax-timeout": 9.0}))
    assert rules == expected
    assert len(warnings) == 1
    assert warnings[0].message.startswith(told)


@pytest.mark.parametrize("value", ["mle", ["mle"], None, 1, True])
def test_lectures_that_are_no_mapping_are_ignored(value: object) -> None:
    """A value of jaxdevice_lectures that is no mapping gives one warning and no rules."""
    rules, warnings = read(value)

    assert rules == ()
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("pattern", "source", "matches"),
    [
        ("mle", "mle.md", True),
        ("mle", "lectures/mle.md", True),
        ("mccall_*", "lectures/mccall_q.ipynb", True),
        ("mccall_*", "mccall/intro.md", False),
        ("lectures/*", "lectures/mle.md", True),
        ("lectures/*", "mle.md", False),
        ("lectures/mle", "other/lectures/mle.md", False),
        ("MLE", "mle.md", False),
        ("mle.md", "lectures/mle.md", True),
        ("mle.ipynb", "lectures/mle.md", False),
        ("lectures/mle.md", "lectures/mle.md", True),
        ("*.ipynb", "lectures/mle.ipynb", True),
        ("*.ipynb", "lectures/mle.md", False),
        ("*", "lectures/mle.md", True),
        ("**/mle", "a/b/mle.md", True),
        ("ar[12]", "ar2.md", True),
        ("mle[", "mle.md", False),
        ("café *", "chapter/café au lait.md", True),
    ],
)
def test_patterns_match_names_of_lectures(pattern: str, source: str, matches: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Patterns are about document names; without a slash about the last part, with a suffix about files; case counts."""
    assert LectureRule(pattern, {}).matches(source.rpartition(".")[0], source) is matches
