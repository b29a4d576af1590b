from __future__ import annotations

import datetime as dt
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sphinx_jaxdevice.timeouts import LONGEST, Deadline, DurationError, format_duration, host_limit, parse_duration

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.from_regex(r"[0-9.hms ]+"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
"""Values as YAML, JSON or a configuration file may give them."""

UNHURRIED = settings(deadline=None, max_examples=100)
"""A busy machine may take its time for one example."""


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (90, 90.0),
        (0.5, 0.5),
        ("90", 90.0),
        ("90s", 90.0),
        ("2.5", 2.5),
        ("10m", 600.0),
        ("1h30m", 5400.0),
        ("1h30m15s", 5415.0),
        ("1h15s", 3615.0),
        ("1.5h", 5400.0),
        ("24h", 86400.0),
        (" 10M ", 600.0),
        ("366", 366.0),
        (LONGEST, LONGEST),
    ],
)
def test_durations_are_read_in_seconds(value: object, seconds: float) -> None:
    """Numbers are seconds; texts may add units, in any case and with spaces around."""
    assert seconds == parse_duration(value)


@pytest.mark.parametrize("value", ["none", "None", " NONE\n"])
def test_none_is_no_limit(value: str) -> None:
    """The word none, in any case, is no limit."""
    assert parse_duration(value) is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        0.0,
        math.nan,
        math.inf,
        -math.inf,
        LONGEST + 1,
        10**400,
        "",
        " ",
        "0",
        "0s",
        "nan",
        "inf",
        "1e3",
        "+5",
        "-5",
        "1h1h",
        "1m1h",
        "5.h",
        ".5h",
        "1_000",
        "9" * 5000,
        "\uff11\uff10",
        "10m;",
        b"10m",
        [10],
        {"m": 10},
        dt.timedelta(minutes=10),
        1 + 0j,
    ],
)
def test_everything_else_is_refused(value: object) -> None:
    """What is no duration, not positive or over 366 days raises DurationError."""
    with pytest.raises(DurationError):
        parse_duration(value)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("10 minutes", "10m"),
        ("10 min.", None),
        ("1 hour and 30 minutes", "1h30m"),
        ("2 hrs, 5 secs", "2h5s"),
        ("1h 30m", "1h30m"),
        ("off", "none"),
        (False, "none"),
        ("never", "none"),
        ("400000 hours", None),
        ("minutes", None),
    ],
)
def test_the_refusal_names_what_was_probably_meant(value: object, meant: str | None) -> None:
    """A duration in words is refused with its notation as a hint, and only where that notation is accepted."""
    with pytest.raises(DurationError) as refused:
        parse_duration(value)

    assert str(refused.value).endswith(f"; did you mean '{meant}'?" if meant else ".")


@UNHURRIED
@given(ANYTHING)
def test_no_value_raises_another_error(value: object) -> None:
    """Whatever the value, the answer is None, seconds within the accepted range, or a DurationError of one printable line."""
    try:
        seconds = parse_duration(value)
    except DurationError as error:
        seconds, told = None, str(error)
    else:
        told = ""

    assert seconds is None or 0 < seconds <= LONGEST
    assert told.isprintable()


@UNHURRIED
@given(st.floats(min_value=1, max_value=LONGEST))
def test_a_formatted_duration_reads_back_nearly_the_same(seconds: float) -> None:
    """A duration written for people, without its spaces, is the duration to within a second."""
    written = format_duration(seconds).replace(" min", "m").replace(" ", "")

    back = parse_duration(written)
    assert back is not None
    assert abs(seconds - back) <= 0.51


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (20, "20 s"),
        (59.96, "1 min"),
        (90, "1 min 30 s"),
        (600, "10 min"),
        (5400, "1 h 30 min"),
        (86400, "24 h"),
        (3601, "1 h 1 s"),
        (math.inf, "inf s"),
    ],
)
def test_durations_are_written_for_people(seconds: float, text: str) -> None:
    """Durations are written with spaces, and parts that are zero are left out."""
    assert text == format_duration(seconds)


@pytest.mark.parametrize("value", [0, -1, None, math.nan, math.inf, 10**400, "30", True])
def test_a_limit_of_the_host_may_be_none(value: object) -> None:
    """For MyST-NB zero, negative and absent limits are no limit; so is what no timer can be set to."""
    assert host_limit(value) is None


def test_a_limit_of_the_host_is_in_seconds() -> None:
    """A positive limit of MyST-NB is taken as it is."""
    assert host_limit(30) == 30.0


def test_a_deadline_counts_down_to_zero() -> None:
    """A deadline tells the seconds that are left by the clock it was given, and never less than zero."""
    readings = iter([100.0, 104.0, 104.0, 111.0, 111.0])
    deadline = Deadline(10.0, lambda: next(readings))
    told = [(deadline.left(), deadline.passed()) for _ in range(2)]

    assert told == [(6.0, False), (0.0, True)]


def test_a_deadline_without_limit_never_passes() -> None:
    """Without a limit nothing is left to count and the deadline never passes."""
    deadline = Deadline(None, iter(range(10**6, 10**9, 10**6)).__next__)

    assert deadline.left() is None
    assert not deadline.passed()
