"""From rows to all that follows from them: verdicts, predictions, crossover, remedies, advice. Pure."""

from __future__ import annotations

from dataclasses import replace

from sphinx_jaxdevice.device import Device

from .advice import advice
from .crossover import crossover
from .hypotheses import HYPOTHESES
from .prediction import Evidence, predictions
from .reference_run import ReferenceRun, reference_run
from .remedies import Precision
from .remedy_effects import effects
from .result import Result


def with_findings(result: Result, run: ReferenceRun | None = None) -> Result:
    """Return a result with what follows from its rows; `run` replaces the counted reference run."""
    evidence = Evidence({row.name: row for row in result.configurations}, run or reference_run())
    devices = [Device(platform) for platform in result.platforms]
    gpu = next((device for device in devices if device is not Device.CPU), None)
    predicted = predictions(evidence, devices)
    found = effects(evidence, devices)
    crossings = (
        () if gpu is None or Device.CPU not in devices else tuple(crossover(evidence, gpu, dtype) for dtype in Precision)
    )
    return replace(
        result,
        verdicts=tuple(hypothesis.judge(evidence, gpu) for hypothesis in HYPOTHESES),
        predicted_full_run_s=predicted,
        crossover=crossings,
        remedies=found,
        advice=advice(evidence, gpu, predicted, found, crossings, result.versions),
    )
