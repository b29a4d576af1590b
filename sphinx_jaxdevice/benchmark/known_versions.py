"""Versions of JAX whose faults change what is measured, named where they matter. Plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownFault:
    """A fault of one package's versions."""

    package: str
    versions: tuple[str, ...]
    on: str
    """The platform that it touches."""
    text: str


KNOWN_FAULTS = (
    KnownFault(
        "jaxlib",
        ("0.10.2", "0.11.0"),
        "gpu",
        "its float32 scatter-add is slow on GPUs, so float32 times, and what float64 seems to cost beside them, are not to be trusted",
    ),
)


def faults_of(versions: Mapping[str, str], platforms: Iterable[str]) -> list[str]:
    """Return a sentence for each known fault of these versions on these platforms."""
    return [
        f"{fault.package} {versions[fault.package]}: {fault.text}. Measure again with another version."
        for fault in KNOWN_FAULTS
        if versions.get(fault.package) in fault.versions and fault.on in set(platforms)
    ]
