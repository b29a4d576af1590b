"""Records: the facts kept about one lecture, and their JSON form.

`Record` is the one declaration of the fields of `report.json`; the manual's reference prints it from here.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from .outcome import CellRun, Outcome

SCHEMA = 1
"""Version of the JSON form. Readers refuse a larger number."""


class Source(StrEnum):
    """Where the page's outputs come from."""

    RUN = "run"
    """Executed by this build."""
    CACHED = "cached"
    """Taken from the notebook cache."""
    REUSED = "reused"
    """A stored failure, shown again without running the lecture."""


def _about(text: str, **kwargs: Any) -> Any:
    """Declare a record field with the text that the manual prints."""
    return field(metadata={"about": text}, **kwargs)


@dataclass(frozen=True, slots=True)
class Record:
    """The facts about one lecture in its last build."""

    document: str = _about("Sphinx document name, `folder/name` without suffix.")
    source_path: str = _about("Path of the source file, relative to the book's source folder.")
    outcome: Outcome = _about("`succeeded`, `failed`, `timed_out` or `kernel_died`.")
    source: Source = _about("`run`, `cached` (notebook cache) or `reused` (a stored failure).")
    reason: str = _about("Why it was run, cached or reused, in a sentence.")
    device_asked: str = _about("`cpu`, `gpu`, `tpu` or `auto`.")
    device_origin: str = _about("Where the device was set.")
    seconds: float | None = _about(
        "Wall time of the run that made the outputs, s; null where a cache entry does not say.", default=None
    )
    compile_seconds: float | None = _about(
        "Time of that in which JAX traced, lowered and compiled, s; null without JAX.", default=None
    )
    platform: str | None = _about(
        "JAX platform that worked: `cpu`, `cuda`, `rocm`, `tpu`; null where none started.", default=None
    )
    device_kind: str | None = _about("JAX's name of the device, such as `NVIDIA H200`.", default=None)
    jax_version: str | None = _about("Version of JAX in the kernel; null where the lecture did not load it.", default=None)
    x64: bool | None = _about("Whether JAX computed in double precision at the end of the lecture.", default=None)
    device_problem: str | None = _about(
        "How the device used differs from the one asked for, in a sentence; null where it does not.", default=None
    )
    kernel: str | None = _about("Name of the kernel.", default=None)
    cell_limit: float | None = _about("Limit for each cell, s; null for none.", default=None)
    cell_limit_origin: str = _about("Where that limit was set.", default="the default")
    lecture_limit: float | None = _about("Limit for the lecture, s; null for none.", default=None)
    lecture_limit_origin: str = _about("Where that limit was set.", default="the default")
    cells: tuple[CellRun, ...] = _about("Executed code cells: `index`, `seconds`, `compile_seconds`.", default=())
    error: str | None = _about("Name of the error of a lecture that did not succeed.", default=None)
    message: str | None = _about("What happened, in a sentence.", default=None)
    failing_cell: int | None = _about("Number of the failing code cell, counted from 1.", default=None)
    failing_line: int | None = _about("Line of that cell in the source file; null for a notebook.", default=None)
    peak_memory_bytes: int | None = _about("Peak resident memory of the kernel process, bytes.", default=None)
    machine: str | None = _about("Machine that ran it: processor and number of cores.", default=None)
    builder: str | None = _about("Sphinx builder of the build that wrote this record.", default=None)
    ran_at: float | None = _about("When the outputs were made, POSIX time, s.", default=None)
    ran_by: str | None = _about("Sphinx builder of the build that made the outputs.", default=None)
    key: Mapping[str, str] = _about("Parts of the key under which the result may be reused.", default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the lecture did not succeed."""
        return self.outcome is not Outcome.SUCCEEDED


_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "float | None": (float, int, type(None)),
    "int | None": (int, type(None)),
    "bool | None": (bool, type(None)),
    "Mapping[str, str]": (dict,),
}
"""What a JSON value of a field may be, by the field's annotation; the other fields are read by their own types."""


def _checked(entry: Field[Any], value: Any) -> Any:
    """Return the value of a field, which is of a type that readers of the record can count on; raises TypeError if not."""
    if not isinstance(value, _TYPES.get(str(entry.type), object)):
        msg = f"its {entry.name} is {reprlib.repr(value)}"
        raise TypeError(msg)
    return value


def to_json(record: Record) -> dict[str, Any]:
    """Return the record as JSON values; `from_json` gives the record back."""
    return asdict(record)


def from_json(data: Any) -> Record:
    """Return the record that `to_json` wrote. Fields that this version does not know are dropped.

    Raises ValueError where `data` is not such a record.
    """
    try:
        known = {entry.name: _checked(entry, data[entry.name]) for entry in fields(Record) if entry.name in data}
        known["outcome"] = Outcome(known["outcome"])
        known["source"] = Source(known["source"])
        known["cells"] = tuple(CellRun(**cell) for cell in known.get("cells", ()))
        return Record(**known)
    except (TypeError, KeyError, AttributeError) as error:
        msg = f"not a record: {error}"
        raise ValueError(msg) from error
