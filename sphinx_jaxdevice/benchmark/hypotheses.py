"""Why a GPU is slower: four hypotheses, each with its claim, what it needs, and the gap that would be left without its cause.

The gap is the predicted time of the reference run on the GPU less that on the CPU, with sequential chains in double precision.
The effect of a cause is its share of the gap, 1 - (gap without the cause) / (gap), so that shares can be read side by side. Causes
overlap (without launches there is less to gain from fewer chains in turn), so shares need not sum to one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sphinx_jaxdevice.device import Device

from .configurations import Configuration, Kind
from .prediction import Evidence, Figure, compiles, nuts
from .remedies import ChainMethod, Precision
from .result import HypothesisVerdict, Verdict

MATERIAL = 0.2
"""Share of the gap from which on a cause counts: supported above, rejected below, inconclusive where the interval holds it."""


def gradient(device: Device, dtype: Precision = Precision.FLOAT64) -> Configuration:
    """Return the configuration of one gradient in the reference form."""
    return Configuration(Kind.GRADIENT, device, dtype)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One possible cause."""

    name: str
    claim: str
    needs: Callable[[Device], tuple[Configuration, ...]]
    """The configurations beside the sequential sampler on both devices."""
    without: Callable[[Evidence, Device], Figure]
    """The gap that would be left without the cause."""
    reason: Callable[[Evidence, Device], str]
    """The figures behind it."""

    def judge(self, evidence: Evidence, gpu: Device | None) -> HypothesisVerdict:
        """Return the verdict; `gpu` is None where only the CPU was measured."""
        if gpu is None:
            return self._verdict(Verdict.NOT_APPLICABLE, "No GPU was measured, so there is no gap to explain.")
        base = (nuts(gpu), nuts(Device.CPU))
        used = dict.fromkeys([*base, *self.needs(gpu)])
        missing = evidence.missing(used)
        if missing:
            return self._verdict(Verdict.INCONCLUSIVE, missing)
        used |= dict.fromkeys(one for one in (compiles(gpu), compiles(Device.CPU)) if evidence.row(one))
        gap, without = gap_of(evidence, gpu), self.without(evidence, gpu)
        whole = evidence.estimate(gap, used)
        if whole.high <= 0:
            return self._verdict(Verdict.NOT_APPLICABLE, "The GPU is not slower than the CPU, so there is no gap to explain.")
        if whole.low <= 0:
            return self._verdict(Verdict.INCONCLUSIVE, "The times of GPU and CPU can't be told apart on this machine.")
        share = evidence.estimate(lambda medians: 1 - without(medians) / gap(medians), used)
        verdict = (
            Verdict.SUPPORTED if share.low >= MATERIAL else Verdict.REJECTED if share.high < MATERIAL else Verdict.INCONCLUSIVE
        )
        doubt = f" The interval holds {MATERIAL:.0%}, so it can't be told." if verdict is Verdict.INCONCLUSIVE else ""
        return HypothesisVerdict(
            self.name, self.claim, verdict, share.value, (share.low, share.high), self.reason(evidence, gpu) + doubt
        )

    def _verdict(self, verdict: Verdict, reason: str) -> HypothesisVerdict:
        return HypothesisVerdict(self.name, self.claim, verdict, None, None, reason)


def gap_of(evidence: Evidence, gpu: Device) -> Figure:
    """Return the figure: the gap, s."""
    sampling, compilation = sampling_gap(evidence, gpu), compilation_gap(evidence, gpu)
    return lambda medians: sampling(medians) + compilation(medians)


def sampling_gap(evidence: Evidence, gpu: Device, method: ChainMethod = ChainMethod.SEQUENTIAL) -> Figure:
    """Return the figure: the part of the gap that comes with the steps, s."""
    there, here = evidence.sampling(nuts(gpu, method)), evidence.sampling(nuts(Device.CPU, method))
    return lambda medians: there(medians) - here(medians)


def compilation_gap(evidence: Evidence, gpu: Device) -> Figure:
    """Return the figure: the part of the gap that comes with compilation, s."""
    there = evidence.compilation(gpu, ChainMethod.SEQUENTIAL)
    here = evidence.compilation(Device.CPU, ChainMethod.SEQUENTIAL)
    return lambda medians: there(medians) - here(medians)


def _without_float64(evidence: Evidence, gpu: Device) -> Figure:
    """Each step takes what it takes less the share that float32 saves of a gradient, on both devices."""
    compilation = compilation_gap(evidence, gpu)

    def sampling(device: Device) -> Figure:
        double, single = gradient(device).name, gradient(device, Precision.FLOAT32).name
        whole = evidence.sampling(nuts(device))
        return lambda medians: whole(medians) * medians[single] / medians[double]

    there, here = sampling(gpu), sampling(Device.CPU)
    return lambda medians: there(medians) - here(medians) + compilation(medians)


def _without_launches(evidence: Evidence, gpu: Device) -> Figure:
    """Each step on the GPU takes only the share of a gradient in which the device was busy."""
    compilation = compilation_gap(evidence, gpu)
    there, here = evidence.sampling(nuts(gpu)), evidence.sampling(nuts(Device.CPU))
    busy, whole = profile(gpu).name, gradient(gpu).name
    return lambda medians: there(medians) * medians[busy] / medians[whole] - here(medians) + compilation(medians)


def _without_turns(evidence: Evidence, gpu: Device) -> Figure:
    """All chains move at once, on both devices; compilation is left as it is."""
    sampling, compilation = sampling_gap(evidence, gpu, ChainMethod.VECTORIZED), compilation_gap(evidence, gpu)
    return lambda medians: sampling(medians) + compilation(medians)


def profile(gpu: Device) -> Configuration:
    """Return the configuration of the device's own record."""
    return Configuration(Kind.PROFILE, gpu)


def _ms(evidence: Evidence, configuration: Configuration) -> str:
    return f"{(evidence.rows[configuration.name].median_s or 0) * 1e3:.3g} ms"


def _float64_reason(evidence: Evidence, gpu: Device) -> str:
    there = f"{_ms(evidence, gradient(gpu))} in float64 and {_ms(evidence, gradient(gpu, Precision.FLOAT32))} in float32"
    here = f"{_ms(evidence, gradient(Device.CPU))} and {_ms(evidence, gradient(Device.CPU, Precision.FLOAT32))}"
    return f"A gradient takes {there} on the GPU, {here} on the CPU."


def _launch_reason(evidence: Evidence, gpu: Device) -> str:
    seen = evidence.rows[profile(gpu).name].profile or {}
    whole = _ms(evidence, gradient(gpu))
    operations, length = seen.get("operations", 0), seen.get("mean_length", 0) * 1e6
    return (
        f"A gradient takes {whole} on the GPU, which is busy for {_ms(evidence, profile(gpu))} of it: "
        f"{operations:,.0f} operations of {length:.3g} µs each, and waiting between them."
    )


def _turns_reason(evidence: Evidence, gpu: Device) -> str:
    def steps(method: ChainMethod, device: Device) -> str:
        configuration = nuts(device, method)
        row = evidence.rows[configuration.name]
        return f"{(row.median_s or 0) / (row.leapfrogs or 1) * 1e3:.3g} ms"

    sequential, vectorized = ChainMethod.SEQUENTIAL, ChainMethod.VECTORIZED
    return (
        f"A step of one chain takes {steps(sequential, gpu)} on the GPU, of four vectorized chains {steps(vectorized, gpu)}; "
        f"on the CPU {steps(sequential, Device.CPU)} and {steps(vectorized, Device.CPU)}."
    )


def _compilation_reason(evidence: Evidence, gpu: Device) -> str:
    def words(device: Device) -> str:
        chains = evidence.rows[compiles(device).name].chains or {}
        cached = f", {chains['cached']['total_s']:.3g} s from JAX's cache" if "cached" in chains else ""
        return f"{chains['first']['total_s']:.3g} s for the first chain, {chains['further']['total_s']:.3g} s for each other{cached}"

    return f"Compilation takes {words(gpu)} on the GPU; {words(Device.CPU)} on the CPU."


HYPOTHESES = (
    Hypothesis(
        "float64",
        "The GPU is slow because it computes in double precision.",
        lambda gpu: tuple(gradient(device, dtype) for device in (gpu, Device.CPU) for dtype in Precision),
        _without_float64,
        _float64_reason,
    ),
    Hypothesis(
        "launch_overhead",
        "The GPU is slow because it waits between many tiny operations.",
        lambda gpu: (gradient(gpu), profile(gpu)),
        _without_launches,
        _launch_reason,
    ),
    Hypothesis(
        "sequential_chains",
        "The GPU is slow because the chains run one after the other.",
        lambda gpu: (nuts(gpu, ChainMethod.VECTORIZED), nuts(Device.CPU, ChainMethod.VECTORIZED)),
        _without_turns,
        _turns_reason,
    ),
    Hypothesis(
        "compilation",
        "The GPU is slow because the sampler is compiled once for each chain.",
        lambda gpu: (compiles(gpu), compiles(Device.CPU)),
        sampling_gap,
        _compilation_reason,
    ),
)
"""In the order in which they were raised."""
