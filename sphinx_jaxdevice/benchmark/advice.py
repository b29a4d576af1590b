"""What a maintainer should do, derived from the numbers. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from sphinx_jaxdevice.device import Device

from .configurations import CHAINS
from .known_versions import faults_of
from .notation import about
from .prediction import Evidence, full_run, nuts
from .remedies import REFERENCE, ChainMethod
from .remedy_effects import fastest_form
from .result import Advice, Crossover, Estimate, RemedyEffect

HEADROOM = 2.0
"""A limit leaves this many times the predicted time: machines of a pool differ."""
STEP = 300
"""Limits are rounded up to whole five minutes."""

Predicted = Mapping[str, Mapping[str, Estimate]]


def advice(
    evidence: Evidence,
    gpu: Device | None,
    predicted: Predicted,
    effects: Sequence[RemedyEffect],
    crossover: Sequence[Crossover],
    versions: Mapping[str, str],
) -> tuple[Advice, ...]:
    """Return the advice: where to run such a lecture, from how many chains on that changes, what helps, which limit suits."""
    devices = [Device.CPU] if gpu is None else [Device.CPU, gpu]
    pieces = [
        *_pin(predicted, gpu),
        *_chains(crossover),
        *(piece for device in devices for piece in _remedy(evidence, device, effects)),
        *_limit(predicted),
        *(Advice("versions", text) for text in faults_of(versions, [device.value for device in devices])),
    ]
    return tuple(pieces)


def _best(predicted: Predicted, platform: str) -> tuple[str, Estimate] | None:
    times = predicted.get(platform, {})
    return min(times.items(), key=lambda item: item[1].value) if times else None


def _pin(predicted: Predicted, gpu: Device | None) -> Iterator[Advice]:
    if gpu is None:
        yield Advice("pin", "Only the CPU was measured. Run the benchmark on a machine with a GPU to learn which device suits.")
        return
    here, there = _best(predicted, Device.CPU), _best(predicted, gpu)
    if here is None or there is None:
        yield Advice("pin", "The run could not be predicted for both devices, so the numbers say nothing about a pin.")
        return
    times = (
        f"the reference run is predicted to take {about(here[1])} on the CPU ({here[0]} chains) and "
        f"{about(there[1])} on the GPU ({there[0]} chains)"
    )
    if here[1].high < there[1].low:
        factor = there[1].value / here[1].value
        yield Advice("pin", f"Pin lectures of this kind with `jax-device: cpu`: {times}, {factor:.3g} times as long.")
    elif there[1].high < here[1].low:
        factor = here[1].value / there[1].value
        yield Advice("pin", f"Leave lectures of this kind on the GPU: {times}; the CPU takes {factor:.3g} times as long.")
    else:
        yield Advice("pin", f"No pin is needed: {times}, and the intervals overlap. A GPU is better kept for other work.")


def _chains(crossover: Sequence[Crossover]) -> Iterator[Advice]:
    for found in crossover:
        if found.dtype == "float64":
            chains = (
                f" With fewer vectorized chains, such as {CHAINS}, use the CPU."
                if found.batch and found.batch.low > CHAINS
                else ""
            )
            yield Advice("chains", f"In the reference form: {found.reason}{chains}")


def _remedy(evidence: Evidence, device: Device, effects: Sequence[RemedyEffect]) -> Iterator[Advice]:
    fastest = fastest_form(evidence, device, effects)
    if fastest is None:
        return
    configuration, effect = fastest
    gain = effect.speedup
    if gain is None or gain.low <= 1:
        yield Advice("remedy", f"On the {device.upper()} no form of the likelihood is clearly faster than the reference form.")
        return
    text = f"On the {device.upper()} '{effect.remedy}' helps most: {effect.about}. A gradient is {gain.value:.3g} times as fast"
    runs = [(method, full_run(evidence, nuts(device, method, configuration.form))) for method in ChainMethod]
    known = [(method, run) for method, run in runs if run is not None]
    if known and configuration.form != REFERENCE and not configuration.xla_flags:
        method, run = min(known, key=lambda item: item[1].value)
        text += f", and the reference run is predicted to take {about(run)} with it ({method} chains)"
    yield Advice("remedy", f"{text}.")


def _limit(predicted: Predicted) -> Iterator[Advice]:
    best = {platform: _best(predicted, platform) for platform in predicted}
    known = {platform: found for platform, found in best.items() if found}
    if not known:
        return
    platform, (method, run) = min(known.items(), key=lambda item: item[1][1].value)
    minutes = math.ceil(run.high * HEADROOM / STEP) * STEP // 60
    text = (
        f"`jax-lecture-timeout: {minutes}m` suits a lecture with the reference run on the {platform.upper()} ({method} chains)"
    )
    yield Advice("limit", f"{text}: twice the longest predicted time.")
