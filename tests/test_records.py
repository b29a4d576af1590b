from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphinx_jaxdevice.records import from_json, to_json

from .records import failed, record


def test_json_form_gives_the_record_back() -> None:
    """A record survives its JSON form, cells and outcome included."""
    for one in (record(), failed()):
        assert from_json(json.loads(json.dumps(to_json(one)))) == one


def test_fields_of_later_versions_are_dropped() -> None:
    """A field that this version does not know is no error."""
    assert from_json({**to_json(record()), "new_field": 1}) == record()


@pytest.mark.parametrize("name", ["document", "outcome", "source", "device_asked"])
def test_missing_field_is_an_error(name: str) -> None:
    """A record without one of the fields that every record has is refused."""
    data = to_json(record())
    del data[name]

    with pytest.raises(ValueError, match="not a record"):
        from_json(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_nothing_but_value_error_comes_of_other_data(data: Any) -> None:
    """Whatever stands in a file, reading a record raises ValueError and nothing else."""
    with pytest.raises(ValueError):  # noqa: PT011 - the claim is the type
        from_json(data)


@given(st.sampled_from(sorted(to_json(record()))), JSON)
def test_odd_value_in_a_field_never_raises_anything_else(name: str, value: Any) -> None:
    """A field with a value of another type gives a record or ValueError, never another exception."""
    try:
        from_json({**to_json(record()), name: value})
    except ValueError:
        return
