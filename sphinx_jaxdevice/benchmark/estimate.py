"""Medians with 95 % bootstrap intervals, of samples and of figures that are computed from several sets of samples.

Samples come in rounds, each from a process of its own. Both are resampled, first rounds and then the samples within, because
samples of one process are more alike than those of two (B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .result import Estimate

DRAWS = 2000
PERCENTILES = (2.5, 97.5)

Rounds = Sequence[Sequence[float]]
Medians = Mapping[str, NDArray[np.float64]]
"""One array of resampled medians a set of samples, or an array with the one median of all samples."""


def resampled_medians(rounds: Rounds, seed: int, draws: int = DRAWS) -> NDArray[np.float64]:
    """Return `draws` medians of resampled rounds; of one round only its samples are resampled."""
    generator = np.random.default_rng(seed)
    sets = [np.asarray(samples, dtype=float) for samples in rounds if len(samples)]
    medians = np.empty(draws)
    for draw in range(draws):
        chosen = generator.integers(len(sets), size=len(sets)) if len(sets) > 1 else [0]
        medians[draw] = np.median(np.concatenate([generator.choice(sets[index], sets[index].size) for index in chosen]))
    return medians


def estimate(figure: Callable[[Medians], NDArray[np.float64]], samples: Mapping[str, Rounds]) -> Estimate:
    """Return a figure that follows from the medians of several sets of samples.

    The interval holds the figure itself: with few samples the percentiles of a resampled median can miss it.
    Raises ValueError where a set is empty.
    """
    pooled = {name: [value for values in rounds for value in values] for name, rounds in samples.items()}
    if not all(pooled.values()):
        msg = f"no samples of {', '.join(name for name, values in pooled.items() if not values)}"
        raise ValueError(msg)
    value = float(figure({name: np.asarray([np.median(values)]) for name, values in pooled.items()})[0])
    drawn = figure({name: resampled_medians(rounds, seed) for seed, (name, rounds) in enumerate(samples.items())})
    low, high = np.percentile(drawn, PERCENTILES)
    return Estimate(value, min(float(low), value), max(float(high), value))


def median(rounds: Rounds) -> Estimate:
    """Return the median of all samples."""
    return estimate(lambda medians: medians["all"], {"all": rounds})


def ratio(above: Rounds, below: Rounds) -> Estimate:
    """Return the ratio of two medians."""
    return estimate(lambda medians: medians["above"] / medians["below"], {"above": above, "below": below})
