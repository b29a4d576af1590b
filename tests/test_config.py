from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sphinx.config import Config

from sphinx_jaxdevice.config import BookOptions, MissingDevice, OnFailure, option_specs, read_options
from sphinx_jaxdevice.device import Device
from sphinx_jaxdevice.diagnostics import Diagnostic, WarningKind
from sphinx_jaxdevice.keys import UNSET, Unset
from sphinx_jaxdevice.lecture_rules import LectureRule

from .test_timeouts import ANYTHING, UNHURRIED

YES = ["1", "true", "True", "YES", "on", " yes ", True, 1]
NO = ["0", "false", "FALSE", "no", "Off", False, 0]
SWITCHES = ["cache_failures", "retry_failed"]


def read(raw: Mapping[str, object], environ: Mapping[str, str] | None = None) -> tuple[BookOptions, list[Diagnostic]]:
    warnings: list[Diagnostic] = []
    return read_options(raw, warnings.append, environ or {}), warnings


def read_one(name: str, value: object) -> Any:
    options, warnings = read({f"jaxdevice_{name}": value})
    assert warnings == []
    return getattr(options, name)


def read_through_sphinx(overrides: dict[str, str]) -> tuple[BookOptions, list[Diagnostic]]:
    """Return the options after a real Sphinx configuration has taken them from `-D`."""
    config = Config({}, overrides)
    for spec in option_specs():
        config.add(*spec)  # type: ignore[arg-type]  # `rebuild` is one of the three words
    return read({spec.name: getattr(config, spec.name) for spec in option_specs()})


def test_the_defaults_as_written_give_the_defaults() -> None:
    """Reading what Sphinx holds where nobody sets anything gives the default options, without a warning."""
    assert read({spec.name: spec.default for spec in option_specs()}) == (BookOptions(), [])


def test_nothing_at_all_gives_the_defaults() -> None:
    """Options that Sphinx does not hold have their defaults."""
    assert read({}) == (BookOptions(), [])


def test_every_field_is_an_option() -> None:
    """Every field is registered under its name with the prefix, and has a sentence for the manual."""
    assert [f"jaxdevice_{field.name}" for field in fields(BookOptions)] == [spec.name for spec in option_specs()]
    assert all(spec.help.endswith(".") for spec in option_specs())


def test_only_what_changes_a_policy_makes_sphinx_read_again() -> None:
    """A change of device, limits or the missing-device rule reads the pages again; all else does not."""
    reading = {spec.name.removeprefix("jaxdevice_") for spec in option_specs() if spec.rebuild == "env"}

    assert reading == {"default_device", "lectures", "timeout", "lecture_timeout", "missing_device"}
    assert {spec.rebuild for spec in option_specs()} == {"env", ""}


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", YES)
def test_a_switch_is_on(name: str, value: object) -> None:
    """All spellings of yes switch an option on."""
    assert read_one(name, value) is True


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", NO)
def test_a_switch_is_off(name: str, value: object) -> None:
    """All spellings of no switch an option off."""
    assert read_one(name, value) is False


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("word", [word for word in [*YES, *NO] if isinstance(word, str)])
def test_a_switch_works_from_the_command_line(name: str, word: str) -> None:
    """Each spelling of yes and no that follows `-D` survives Sphinx's own conversion."""
    options, warnings = read_through_sphinx({f"jaxdevice_{name}": word})

    assert (getattr(options, name), warnings) == (word in YES, [])


def test_every_other_option_works_from_the_command_line() -> None:
    """Words, durations and numbers that follow `-D` survive Sphinx's own conversion."""
    given = {
        "jaxdevice_default_device": "cpu",
        "jaxdevice_timeout": "1",
        "jaxdevice_lecture_timeout": "none",
        "jaxdevice_missing_device": "warn",
        "jaxdevice_failure_ttl": "90m",
        "jaxdevice_on_failure": "error",
    }
    expected = BookOptions(
        default_device=Device.CPU,
        timeout=1.0,
        lecture_timeout=None,
        missing_device=MissingDevice.WARN,
        failure_ttl=5400.0,
        on_failure=OnFailure.ERROR,
    )

    assert read_through_sphinx(given) == (expected, [])


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("timeout", None, UNSET),
        ("timeout", "none", None),
        ("timeout", "10m", 600.0),
        ("timeout", 2.5, 2.5),
        ("lecture_timeout", None, UNSET),
        ("lecture_timeout", 1800, 1800.0),
        ("failure_ttl", "none", None),
        ("failure_ttl", "24h", 86400.0),
    ],
)
def test_durations_are_in_seconds(name: str, value: object, expected: float | Unset | None) -> None:
    """A duration is read in seconds; none is no limit, which is not the same as a limit that nobody set."""
    assert read_one(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (
            "default_device",
            "gpus",
            "jaxdevice_default_device: found 'gpus', accepted: cpu, gpu, tpu and auto; did you mean 'gpu'?",
        ),
        ("default_device", None, "found nothing"),
        ("timeout", "10 minutes", "did you mean '10m'? The default applies."),
        ("timeout", True, "found True"),
        ("lecture_timeout", [1], "found [1]"),
        ("missing_device", "warning", "accepted: error and warn; did you mean 'warn'? The default applies: error."),
        ("cache_failures", "ja", "found 'ja', accepted: 1, true, yes, on, 0, false, no and off. The default applies: True."),
        ("cache_failures", 2, "found 2"),
        ("cache_failures", None, "found nothing"),
        ("failure_ttl", 0, "The default applies: 24h."),
        ("on_failure", "ERROR", "did you mean 'error'?"),
        ("retry_failed", 1.0, "found 1.0"),
    ],
)
def test_a_bad_value_costs_one_warning_and_only_itself(name: str, value: object, told: str) -> None:
    """A value that is not accepted gives one warning, the default for its option, and leaves the others alone."""
    good = {"jaxdevice_timeout": 5, "jaxdevice_default_device": "cpu"} | {f"jaxdevice_{name}": value}
    expected = replace(BookOptions(timeout=5.0, default_device=Device.CPU), **{name: getattr(BookOptions(), name)})

    options, warnings = read(good)

    assert options == expected
    assert [warning.kind for warning in warnings] == [WarningKind.VALUE]
    assert told in warnings[0].message


@pytest.mark.parametrize(("word", "expected"), [("1", True), ("yes", True), ("", False), ("0", False)])
def test_the_environment_asks_for_a_retry(word: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """`JAXDEVICE_RETRY_FAILED=1` switches the retry on."""
    assert read({}, {"JAXDEVICE_RETRY_FAILED": word}) == (BookOptions(retry_failed=expected), [])


def test_the_environment_does_not_switch_a_retry_off() -> None:
    """`JAXDEVICE_RETRY_FAILED=0` leaves a retry that the configuration asks for."""
    assert read({"jaxdevice_retry_failed": True}, {"JAXDEVICE_RETRY_FAILED": "0"})[0].retry_failed


def test_nonsense_in_the_environment_is_one_warning() -> None:
    """A value of the environment variable that is neither yes nor no is warned about and ignored."""
    options, warnings = read({}, {"JAXDEVICE_RETRY_FAILED": "perhaps"})

    assert options == BookOptions()
    assert [warning.message.split(":")[0] for warning in warnings] == ["JAXDEVICE_RETRY_FAILED in the environment"]


@UNHURRIED
@given(st.dictionaries(st.sampled_from([spec.name for spec in option_specs()]), ANYTHING), st.text())
def test_no_configuration_raises(raw: dict[str, object], word: str) -> None:
    """Whatever the values, options come back, and there is at most one warning for each value but the mapping's parts."""
    options, warnings = read(raw, {"JAXDEVICE_RETRY_FAILED": word})

    assert isinstance(options, BookOptions)
    assert all(warning.message.isprintable() for warning in warnings)


def test_options_can_be_pickled() -> None:
    """Options survive the way to a worker process, with the mark of an option that nobody set."""
    options = BookOptions(lectures=(LectureRule("a", {"jax-device": Device.CPU}),))

    assert pickle.loads(pickle.dumps(options)) == options
    assert pickle.loads(pickle.dumps(options)).timeout is UNSET
