"""What a child process is asked to do, and its JSON form."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from sphinx_jaxdevice.device import Device

from .configurations import Configuration, Kind
from .remedies import ChainMethod, Precision


@dataclass(frozen=True, slots=True)
class Job:
    """One configuration and how long to sample it."""

    configuration: Configuration
    sampling: float
    """Seconds for the calls after the first."""
    tree_depth: int
    smallest_samples: int
    largest_samples: int

    def to_json(self) -> str:
        """Return the JSON form."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Return the job of a JSON form made by `to_json`."""
        fields = json.loads(text)
        return cls(**{**fields, "configuration": configuration_from(fields["configuration"])})


def configuration_from(fields: dict[str, Any]) -> Configuration:
    """Return the configuration of its JSON form. Raises ValueError or TypeError for what is none."""
    method = fields["chain_method"]
    return Configuration(
        kind=Kind(fields["kind"]),
        platform=Device(fields["platform"]),
        dtype=Precision(fields["dtype"]),
        batch=int(fields["batch"]),
        chain_method=None if method is None else ChainMethod(method),
        form=str(fields["form"]),
        xla_flags=tuple(map(str, fields["xla_flags"])),
    )
