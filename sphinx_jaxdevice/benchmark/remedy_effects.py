"""What each remedy brings on each device, and whether it still computes the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from sphinx_jaxdevice.device import Device

from .configurations import Configuration, Kind, of_reference, of_remedy
from .hypotheses import gradient
from .prediction import Evidence
from .remedies import REMEDIES, Precision, Remedy
from .result import RemedyEffect, Row, RowOutcome
from .rows import LOG_LIKELIHOOD, TOLERANCES

GRADIENT_TOLERANCES = {Precision.FLOAT64: 1e-6, Precision.FLOAT32: 0.1}
"""Largest difference of a gradient that counts as the same, relative to its largest part."""


def effects(evidence: Evidence, devices: Iterable[Device]) -> tuple[RemedyEffect, ...]:
    """Return the effect of every remedy on every device it can work on."""
    return tuple(
        _effect(evidence, remedy, device) for device in devices for remedy in REMEDIES if remedy.only_on in (None, device.value)
    )


def _effect(evidence: Evidence, remedy: Remedy, device: Device) -> RemedyEffect:
    tried, reference = of_remedy(remedy, device), of_reference(remedy, device)
    row = evidence.rows.get(tried.name)
    outcome, cause = (RowOutcome.NOT_REACHED, "not measured") if row is None else (row.outcome, row.cause)
    if row is not None and row.counts:
        outcome, cause = _gradient_check(evidence, row, remedy)
    missing = evidence.missing([reference, tried]) if outcome is RowOutcome.MEASURED else cause
    speedup = None
    if missing is None:
        chains = tried.chains  # a step of several chains does the work of as many steps of one
        speedup = evidence.estimate(lambda medians: chains * medians[reference.name] / medians[tried.name], [reference, tried])
    error = None if row is None or row.log_likelihood is None else abs(row.log_likelihood - LOG_LIKELIHOOD)
    tolerance = TOLERANCES[tried.dtype] if tried.kind is Kind.GRADIENT else None
    return RemedyEffect(remedy.name, remedy.about, device.value, outcome, speedup, error, tolerance, missing)


def _gradient_check(evidence: Evidence, row: Row, remedy: Remedy) -> tuple[RowOutcome, str | None]:
    """Hold a remedy's gradient against the reference form's, from whichever device has it."""
    reference = next((one for device in Device if (one := evidence.row(gradient(device)))), None)
    if not row.gradient or reference is None or not reference.gradient:
        return RowOutcome.MEASURED, None
    scale = max(map(abs, reference.gradient))
    error = max(abs(here - there) for here, there in zip(row.gradient, reference.gradient, strict=True)) / scale
    tolerance = GRADIENT_TOLERANCES[remedy.dtype]
    if error <= tolerance:  # a gradient that is not a number is not
        return RowOutcome.MEASURED, None
    return (
        RowOutcome.WRONG,
        f"its gradient differs from the reference form's by {error:.2g}, relative, and may by {tolerance:g}",
    )


def fastest_form(
    evidence: Evidence, device: Device, found: Iterable[RemedyEffect]
) -> tuple[Configuration, RemedyEffect] | None:
    """Return the double-precision form with the quickest gradient on a device, and its effect; None where none was measured."""
    by_name = {remedy.name: remedy for remedy in REMEDIES}
    tried = [
        effect
        for effect in found
        if effect.platform == device.value
        and effect.speedup is not None
        and by_name[effect.remedy].chain_method is None
        and by_name[effect.remedy].dtype is Precision.FLOAT64
    ]
    if not tried or evidence.row(gradient(device)) is None:
        return None
    best = max(tried, key=lambda effect: effect.speedup.value if effect.speedup else 0.0)
    return of_remedy(by_name[best.remedy], device), best
