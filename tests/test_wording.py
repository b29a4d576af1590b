from __future__ import annotations

import pytest

from sphinx_jaxdevice.wording import listed, nearest, quote, refusal


class Odd:
    """A value whose own description is dangerous or broken."""

    def __init__(self, shown: str | None) -> None:
        self.shown = shown

    def __repr__(self) -> str:
        if self.shown is None:
            msg = "no description"
            raise RuntimeError(msg)
        return self.shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        (False, "False (YAML reads off, no and false so)"),
        ("a'b", '"a\'b"'),
        (10**5000, "a huge whole number"),
        (Odd("\x1b[31mred\n"), "\\x1b[31mred\\n"),
        ("café", "'café'"),
    ],
    ids=["nothing", "truth", "quote", "huge", "control", "accent"],
)
def test_values_are_quoted_on_one_printable_line(value: object, shown: str) -> None:
    """A value is quoted with its control characters escaped, and what Python can't or shouldn't print is described."""
    assert quote(value) == shown


def test_a_value_that_cannot_describe_itself_is_quoted() -> None:
    """A value whose own description raises is quoted all the same."""
    assert "Odd" in quote(Odd(None))


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, ["y" * 1000] * 1000, dict.fromkeys(range(9999), "z" * 99), Odd("w" * 999)],
    ids=["text", "list", "mapping", "odd"],
)
def test_long_values_are_cut(value: object) -> None:
    """Whatever its size, a value takes no more than about sixty characters of a message."""
    assert len(quote(value)) <= 66


def test_look_alikes_are_shown_as_escapes() -> None:
    """A letter of another alphabet that looks like the accepted one is told apart in the refusal."""
    assert refusal("\u0441pu", "cpu") == "found '\\u0441pu', accepted: cpu."


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("gpus", "gpu"),
        ("CPU", "cpu"),
        (" cpu ", "cpu"),
        ("cuda", "gpu"),
        ("xpu", None),
        ("cpu gpu", None),
        ("", None),
        (7, None),
    ],
)
def test_the_nearest_word_is_named_only_where_one_is(word: object, meant: str | None) -> None:
    """One word is the nearest, or none: not where two are equally near, nor for several words."""
    assert nearest(word, ["cpu", "gpu", "tpu"], {"cuda": "gpu"}) == meant


@pytest.mark.parametrize(("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_words_are_listed_as_in_a_sentence(words: list[str], text: str) -> None:
    """Words are joined by commas and a last `and`."""
    assert listed(words) == text
