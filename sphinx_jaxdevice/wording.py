"""How a value that somebody wrote is quoted in a message, and which accepted word comes nearest to it.

Values come from front matter, so they may be anything: this module never raises and never prints a control character.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping

LONGEST_QUOTE = 60
"""Characters of a value that a message shows."""

LONGEST_WORD = 40
"""Characters of a word that are compared with the accepted ones."""

_LARGEST_SHOWN_BITS = 128
"""Whole numbers with more bits are described: Python refuses to print one with more than 4300 digits."""


class _Short(reprlib.Repr):
    """A `repr` that stops early; a few lines of YAML with aliases can stand for billions of items."""

    def __init__(self) -> None:
        """Set the sizes at which containers and strings are cut."""
        super().__init__()
        self.maxlevel = 3
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 4
        self.maxstring = self.maxother = self.maxlong = LONGEST_QUOTE

    def repr1(self, x: object, level: int) -> str:
        """Treat subclasses, such as a notebook's metadata nodes, as the containers they are."""
        if isinstance(x, dict):
            return self.repr_dict(x, level)
        if isinstance(x, list):
            return self.repr_list(x, level)
        if isinstance(x, int) and not isinstance(x, bool) and x.bit_length() > _LARGEST_SHOWN_BITS:
            return "a huge whole number"
        return super().repr1(x, level)


def quote(value: object) -> str:
    """Return a value as a message shows it: at most 60 characters or so, on one line, control characters escaped."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        written = "on, yes and true" if value else "off, no and false"
        return f"{value} (YAML reads {written} so)"
    try:
        shown = _Short().repr(value)
    except Exception:  # noqa: BLE001 - a value's own __repr__ or __lt__ may raise anything
        shown = f"a value of type {type(value).__name__}"
    escaped = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in shown)
    return escaped if len(escaped) <= LONGEST_QUOTE + 5 else escaped[:LONGEST_QUOTE] + "…"


def nearest(value: object, accepted: Iterable[str], aliases: Mapping[str, str] | None = None) -> str | None:
    """Return the accepted word that was probably meant, or None where none is near, or two are equally near.

    `aliases` maps words in lower case that mean an accepted one without resembling it.
    """
    if not isinstance(value, str) or len(value.split()) != 1:
        return None
    word = value.strip().lower()[:LONGEST_WORD]
    if aliases and word in aliases:
        return aliases[word]
    close = difflib.get_close_matches(word, list(accepted), n=2)
    if len({difflib.SequenceMatcher(None, candidate, word).ratio() for candidate in close}) < len(close):
        return None
    return close[0] if close else None


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: `a, b and c`."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def refusal(value: object, accepted: str, meant: str | None = None) -> str:
    """Return the sentence about a value that is not accepted: what was found, what is accepted, what was probably meant.

    Characters outside ASCII are written as escapes: a Cyrillic letter looks like the Latin one that is accepted.
    """
    hint = f"; did you mean '{meant}'?" if meant else "."
    found = quote(value).encode("ascii", "backslashreplace").decode().replace("\\u2026", "…")
    return f"found {found}, accepted: {accepted}{hint}"
