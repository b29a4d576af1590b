"""The reference run of the founding case: 4 chains, 400 + 400 draws each. How many leapfrog steps it takes was counted once.

Steps and effective samples belong to the model and the sampler, not to the machine. `benchmarks/reference_run.py` makes the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from .remedies import ChainMethod

FILE = "reference_run.json"


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """The counts of the run."""

    leapfrogs_by_chain: tuple[int, ...]
    """Leapfrog steps of each chain, warm-up included."""
    leapfrogs_of_longest: int
    """The sum over draws of the longest chain's steps: vectorized chains wait for it at each draw."""
    effective_samples: Mapping[str, float]
    """Effective samples of all chains together, by parameter."""

    def steps(self, method: ChainMethod) -> int:
        """Return how many steps are made one after the other."""
        match method:
            case ChainMethod.SEQUENTIAL:
                return sum(self.leapfrogs_by_chain)
            case ChainMethod.VECTORIZED:
                return self.leapfrogs_of_longest
            case ChainMethod.PARALLEL:
                return max(self.leapfrogs_by_chain)

    @property
    def fewest_effective_samples(self) -> float:
        """Effective samples of the parameter that mixes worst."""
        return min(self.effective_samples.values())


@lru_cache(maxsize=1)
def reference_run() -> ReferenceRun:
    """Return the counts that the package ships."""
    told = json.loads(resources.files(__package__).joinpath(FILE).read_text(encoding="utf8"))
    return ReferenceRun(
        leapfrogs_by_chain=tuple(told["leapfrogs_by_chain"]),
        leapfrogs_of_longest=told["leapfrogs_of_the_longest_chain_a_draw"],
        effective_samples=told["effective_samples"],
    )
