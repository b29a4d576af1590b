"""What is measured: one configuration, and the list of them for the devices at hand. Plain data, no JAX.

A configuration is one process: its pin, its environment and its time limit are its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sphinx_jaxdevice.device import Device

from .remedies import MIXES, REFERENCE, REMEDIES, ChainMethod, Precision, Remedy

CHAINS = 4
"""Chains of the reference run."""


class Kind(StrEnum):
    """What one call of a configuration does."""

    GRADIENT = "gradient"
    """The log-likelihood and its gradient at `batch` points."""
    NUTS = "nuts"
    """One transition of the sampler with a fixed number of leapfrog steps: of one chain, or of all four at once."""
    COMPILATION = "compilation"
    """The compilation of NumPyro's whole sampler for one more chain."""
    PROFILE = "profile"
    """The device's own record of a few gradients."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One thing to measure; two with equal fields are the same measurement."""

    kind: Kind
    platform: Device
    dtype: Precision = Precision.FLOAT64
    batch: int = 1
    chain_method: ChainMethod | None = None
    form: str = REFERENCE
    xla_flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Words that tell this configuration from all others."""
        words = [self.kind.value, self.platform.value, self.dtype.value]
        words += [f"batch {self.batch}"] if self.kind is Kind.GRADIENT else []
        words += [self.chain_method.value] if self.chain_method else []
        words += [self.form] if self.form != REFERENCE else []
        words += ["command buffers"] if self.xla_flags else []
        return " ".join(words)

    @property
    def remedy(self) -> str | None:
        """The remedy that this measures, if it measures one."""
        return next((remedy.name for remedy in REMEDIES if self == of_remedy(remedy, self.platform)), None)

    @property
    def chains(self) -> int:
        """How many chains one call moves."""
        return CHAINS if self.chain_method in (ChainMethod.VECTORIZED, ChainMethod.PARALLEL) else 1


def of_remedy(remedy: Remedy, device: Device) -> Configuration:
    """Return the configuration that measures a remedy on a device."""
    if remedy.chain_method is not None:
        return Configuration(Kind.NUTS, device, chain_method=remedy.chain_method)
    return Configuration(Kind.GRADIENT, device, remedy.dtype, form=remedy.form, xla_flags=remedy.xla_flags)


def of_reference(remedy: Remedy, device: Device) -> Configuration:
    """Return the configuration that a remedy is held against on the same device."""
    if remedy.chain_method is not None:
        return Configuration(Kind.NUTS, device, chain_method=ChainMethod.SEQUENTIAL)
    return Configuration(Kind.GRADIENT, device)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured, and for how long. Times in seconds."""

    name: str
    budget: float
    """Time for all; what does not fit is left out and says so."""
    child_limit: float
    """Time for one process."""
    sampling: float
    """Time for the calls of one process, after the first."""
    batches: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    tree_depth: int = 5
    """The sampler does 2**depth - 1 leapfrog steps a transition."""
    rounds: int = 2
    """How often each configuration is measured, in a new process each time."""
    smallest_samples: int = 3
    largest_samples: int = 200


QUICK = Effort("quick", budget=150, child_limit=60, sampling=0.4, batches=(1, 16, 256), tree_depth=4, rounds=2)
DEFAULT = Effort("default", budget=420, child_limit=90, sampling=1.0, rounds=3)
FULL = Effort("full", budget=3600, child_limit=600, sampling=4.0, rounds=5)


def configurations(devices: Sequence[Device], effort: Effort) -> list[tuple[Configuration, ...]]:
    """Return the configurations in ranks: those that verdicts and predictions rest on come first.

    Where the time does not reach for all, it is the last rank that suffers. The references of remedies are in the second
    rank as well, so that both sides of each ratio are measured at about the same time.
    """
    essential = tuple(dict.fromkeys(_essential(devices)))
    remedies = tuple(dict.fromkeys(_remedies(devices)))
    rest = dict.fromkeys(_curve(devices, effort))
    return [essential, remedies, tuple(one for one in rest if one not in {*essential, *remedies})]


def _essential(devices: Sequence[Device]) -> Iterator[Configuration]:
    for device in devices:
        for dtype in Precision:
            yield Configuration(Kind.GRADIENT, device, dtype)
        yield Configuration(Kind.NUTS, device, chain_method=ChainMethod.SEQUENTIAL)
        yield Configuration(Kind.NUTS, device, chain_method=ChainMethod.VECTORIZED)
        yield Configuration(Kind.COMPILATION, device, chain_method=ChainMethod.SEQUENTIAL)
        if device is not Device.CPU:
            yield Configuration(Kind.PROFILE, device)


def _remedies(devices: Sequence[Device]) -> Iterator[Configuration]:
    for device in devices:
        for remedy in REMEDIES:
            if remedy.only_on in (None, device):
                if remedy.chain_method is None:
                    yield of_reference(remedy, device)
                yield of_remedy(remedy, device)


def _curve(devices: Sequence[Device], effort: Effort) -> Iterator[Configuration]:
    for device in devices:
        for form in MIXES:
            yield Configuration(Kind.NUTS, device, chain_method=ChainMethod.SEQUENTIAL, form=form)
            yield Configuration(Kind.NUTS, device, chain_method=ChainMethod.VECTORIZED, form=form)
        for batch in effort.batches:
            for dtype in Precision:
                yield Configuration(Kind.GRADIENT, device, dtype, batch=batch)
