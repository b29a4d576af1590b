"""Measured rows -> seconds of the reference run, by platform and chain method. Pure.

seconds = leapfrog steps made one after the other x seconds of one + compilation. Sequential chains compile once each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sphinx_jaxdevice.device import Device

from .configurations import CHAINS, Configuration, Kind
from .estimate import Medians, Rounds, estimate
from .reference_run import ReferenceRun, reference_run
from .remedies import REFERENCE, ChainMethod
from .result import Estimate, Row

Figure = Callable[[Medians], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured, by configuration, and the run that predictions are about."""

    rows: Mapping[str, Row]
    run: ReferenceRun = field(default_factory=reference_run)

    def row(self, configuration: Configuration) -> Row | None:
        """Return the row of a configuration where its times count."""
        row = self.rows.get(configuration.name)
        return row if row is not None and row.counts and row.samples_s else None

    def missing(self, configurations: Iterable[Configuration]) -> str | None:
        """Return a sentence about the first configuration without times that count, or None."""
        for configuration in configurations:
            if self.row(configuration) is None:
                row = self.rows.get(configuration.name)
                why = (
                    "not measured" if row is None else f"{row.outcome.value.replace('_', ' ')}: {row.cause or 'no cause known'}"
                )
                return f"'{configuration.name}' has no times that count ({why})."
        return None

    def estimate(self, figure: Figure, configurations: Iterable[Configuration]) -> Estimate:
        """Return a figure with its interval; all the configurations must have been measured."""
        samples: dict[str, Rounds] = {one.name: self.rows[one.name].rounds for one in configurations}
        return estimate(figure, samples)

    def seconds_a_step(self, configuration: Configuration) -> Figure:
        """Return the figure: seconds of one leapfrog step of all chains of a `nuts` configuration."""
        row = self.rows[configuration.name]
        steps = row.leapfrogs or 1
        return lambda medians: medians[configuration.name] / steps

    def compilation(self, device: Device, method: ChainMethod) -> Figure:
        """Return the figure: seconds of compilation of the reference run; zero where it was not measured."""
        configuration = compiles(device)
        row = self.row(configuration)
        if row is None or row.chains is None:
            return lambda _: np.zeros(1)
        first = row.chains["first"]["total_s"] / row.chains["further"]["total_s"]
        factor = first + (CHAINS - 1 if method is ChainMethod.SEQUENTIAL else 0)
        return lambda medians: medians[configuration.name] * factor

    def sampling(self, configuration: Configuration) -> Figure:
        """Return the figure: seconds of all steps of the reference run with a `nuts` configuration."""
        step = self.seconds_a_step(configuration)
        steps = self.run.steps(configuration.chain_method or ChainMethod.SEQUENTIAL)
        return lambda medians: step(medians) * steps


def nuts(device: Device, method: ChainMethod = ChainMethod.SEQUENTIAL, form: str = REFERENCE) -> Configuration:
    """Return the configuration of the sampler."""
    return Configuration(Kind.NUTS, device, chain_method=method, form=form)


def compiles(device: Device) -> Configuration:
    """Return the configuration that measures compilation."""
    return Configuration(Kind.COMPILATION, device, chain_method=ChainMethod.SEQUENTIAL)


def full_run(evidence: Evidence, configuration: Configuration) -> Estimate | None:
    """Return the predicted seconds of the reference run with a `nuts` configuration; None where it was not measured."""
    if evidence.row(configuration) is None:
        return None
    device, method = configuration.platform, configuration.chain_method or ChainMethod.SEQUENTIAL
    sampling, compilation = evidence.sampling(configuration), evidence.compilation(device, method)
    used = [configuration, *([compiles(device)] if evidence.row(compiles(device)) else [])]
    return evidence.estimate(lambda medians: sampling(medians) + compilation(medians), used)


def predictions(evidence: Evidence, devices: Iterable[Device], form: str = REFERENCE) -> dict[str, dict[str, Estimate]]:
    """Return the predictions by platform and chain method; what was not measured is left out."""
    found = {
        device.value: {method.value: full_run(evidence, nuts(device, method, form)) for method in ChainMethod}
        for device in devices
    }
    return {
        device: {method: value for method, value in by_method.items() if value is not None}
        for device, by_method in found.items()
    }
