"""From how many points at once on the GPU is faster. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sphinx_jaxdevice.device import Device

from .configurations import Configuration, Kind
from .estimate import Medians
from .prediction import Evidence
from .remedies import REFERENCE, Precision
from .result import Crossover, Estimate


def curve(evidence: Evidence, device: Device, dtype: Precision) -> list[Configuration]:
    """Return the configurations of one line of time against batch size that were measured, smallest batch first."""
    batches = sorted(
        row.batch
        for row in evidence.rows.values()
        if row.kind == Kind.GRADIENT
        and row.platform == device
        and row.dtype == dtype
        and row.form == REFERENCE
        and not row.xla_flags
    )
    line = [Configuration(Kind.GRADIENT, device, dtype, batch=batch) for batch in batches]
    return [configuration for configuration in line if evidence.row(configuration)]


def crossover(evidence: Evidence, gpu: Device, dtype: Precision) -> Crossover:
    """Return where the GPU overtakes the CPU: between two batch sizes, interpolated on logarithmic scales."""
    lines = {device: {one.batch: one for one in curve(evidence, device, dtype)} for device in (gpu, Device.CPU)}
    batches = sorted(lines[gpu].keys() & lines[Device.CPU].keys())
    if not batches:
        return Crossover(dtype, None, "No batch size was measured on both devices.")

    def crossing(medians: Medians) -> NDArray[np.float64]:
        """Return the batch size at which the GPU becomes faster; infinity where it does not."""
        lead = np.array([np.log(medians[lines[gpu][b].name] / medians[lines[Device.CPU][b].name]) for b in batches]).T
        return np.array([_first_crossing(np.log(batches), values) for values in lead])

    used = [line[batch] for line in lines.values() for batch in batches]
    found = evidence.estimate(crossing, used)
    if found.value <= batches[0]:
        return Crossover(dtype, _finite(found, batches[-1]), f"The GPU is faster from {_points(batches[0])} on.")
    if not np.isfinite(found.value):
        return Crossover(dtype, None, f"The CPU is faster up to {_points(batches[-1])}, the most that were measured.")
    reason = f"The GPU is faster from about {found.value:.0f} points at once on."
    return Crossover(dtype, _finite(found, batches[-1]), reason)


def _first_crossing(places: NDArray[np.float64], lead: NDArray[np.float64]) -> float:
    """Return the batch size from which on the lead of the CPU is below zero."""
    if lead[0] <= 0:
        return float(np.exp(places[0]))
    for index in range(1, len(lead)):
        if lead[index] <= 0:
            share = lead[index - 1] / (lead[index - 1] - lead[index])
            return float(np.exp(places[index - 1] + share * (places[index] - places[index - 1])))
    return float("inf")


def _finite(found: Estimate, largest: int) -> Estimate:
    """Return an estimate that JSON can hold: an end beyond what was measured becomes the largest batch."""
    return Estimate(min(found.value, largest), min(found.low, largest), min(found.high, largest))


def _points(number: int) -> str:
    return "1 point" if number == 1 else f"{number} points"
