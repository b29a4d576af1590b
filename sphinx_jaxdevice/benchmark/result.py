"""The result of a benchmark: its fields, declared once, and the file that holds it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import cattrs

from sphinx_jaxdevice.diagnostics import JaxDeviceError

from .remedies import ChainMethod, Precision

SCHEMA = 1
"""Version of the JSON form. Readers refuse a larger number."""
FILE = "benchmark.json"


class ResultError(JaxDeviceError):
    """A result file can't be read or written; the text says which, why, and what to do."""


class RowOutcome(StrEnum):
    """What became of one configuration."""

    MEASURED = "measured"
    WRONG = "wrong"
    """It computed another log-likelihood than the reference."""
    CLOCK_STOPPED_EARLY = "clock_stopped_early"
    """Work was left when its clock stopped, so its times are refused."""
    WRONG_DEVICE = "wrong_device"
    """JAX computed on another platform than asked for."""
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    NOT_REACHED = "not_reached"
    """The time of the benchmark was spent, or it was stopped, before."""


class Verdict(StrEnum):
    """What the measurements say about a hypothesis."""

    SUPPORTED = "supported"
    REJECTED = "rejected"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def _about(text: str, **kwargs: Any) -> Any:
    """Declare a field with the text that the manual prints."""
    return field(metadata={"about": text}, **kwargs)


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration and its measurements."""

    name: str = _about("Words that tell it from all others.")
    kind: str = _about("`gradient`, `nuts`, `compilation` or `profile`.")
    platform: str = _about("`cpu` or `gpu`.")
    dtype: Precision = _about("`float32` or `float64`.")
    batch: int = _about("Points evaluated at once.")
    chain_method: ChainMethod | None = _about("`sequential`, `vectorized` or `parallel`; null for gradients.")
    form: str = _about("Form of the likelihood.")
    remedy: str | None = _about("The remedy that it measures, if any.")
    xla_flags: tuple[str, ...] = _about("XLA flags of this configuration, beside those of the environment.")
    outcome: RowOutcome = _about("What became of it.")
    cause: str | None = _about("Why it has no times, or none that count.", default=None)
    samples_s: tuple[float, ...] = _about("Every sample, s, in order.", default=())
    samples_per_round: tuple[int, ...] = _about("How many of them each process gave.", default=())
    median_s: float | None = _about("Median of the samples, s.", default=None)
    interval_s: tuple[float, float] | None = _about("95 % bootstrap interval of the median, s.", default=None)
    late_s: float | None = _about("Median time that fetching a result took after the clock had stopped, s.", default=None)
    first_call_s: tuple[float, ...] = _about(
        "First call of each process, s; later ones read the compilation cache.", default=()
    )
    compilation: Mapping[str, float] | None = _about(
        "First call of the first process: tracing, lowering, backend compilation and their union, s; programs.", default=None
    )
    chains: Mapping[str, Mapping[str, float]] | None = _about(
        "For `compilation`: the same for the `first` chain, a `further` one, and one from JAX's cache (`cached`).", default=None
    )
    leapfrogs: int | None = _about("For `nuts`: leapfrog steps of each chain in one call.", default=None)
    seconds_a_leapfrog: float | None = _about("For `nuts`: seconds of one leapfrog step of all its chains.", default=None)
    seconds_an_effective_sample: float | None = _about(
        "For `nuts`: seconds of sampling, warm-up included, for one effective sample of the parameter that mixes worst.",
        default=None,
    )
    log_likelihood: float | None = _about("At the start point.", default=None)
    gradient: tuple[float, ...] = _about("Gradient there, by the 18 parameters.", default=())
    profile: Mapping[str, Any] | None = _about(
        "For `profile`: operations of one gradient, their mean length and busy time, s.", default=None
    )
    device_kind: str | None = _about("JAX's name of the device.", default=None)
    process_peak_bytes: int | None = _about("Largest resident memory of the process.", default=None)
    device_peak_bytes: int | None = _about("Largest memory in use on the device; null where JAX does not tell.", default=None)

    @property
    def counts(self) -> bool:
        """Whether its times may be compared."""
        return self.outcome is RowOutcome.MEASURED

    @property
    def rounds(self) -> list[tuple[float, ...]]:
        """The samples by process, s."""
        rounds, start = [], 0
        for size in self.samples_per_round:
            rounds.append(self.samples_s[start : start + size])
            start += size
        return rounds


@dataclass(frozen=True, slots=True)
class HypothesisVerdict:
    """One hypothesis and what was found."""

    hypothesis: str = _about("`float64`, `launch_overhead`, `sequential_chains` or `compilation`.")
    claim: str = _about("The hypothesis in a sentence.")
    verdict: Verdict = _about("`supported`, `rejected`, `inconclusive` or `not_applicable`.")
    share: float | None = _about("Share of the gap between GPU and CPU that would go away without the cause.")
    interval: tuple[float, float] | None = _about("95 % interval of the share.")
    reason: str = _about("The figures behind it, or what was missing.")


@dataclass(frozen=True, slots=True)
class RemedyEffect:
    """One remedy on one device."""

    remedy: str = _about("Its name.")
    about: str = _about("What it does.")
    platform: str = _about("`cpu` or `gpu`.")
    outcome: RowOutcome = _about("`wrong` where it computed something else.")
    speedup: Estimate | None = _about("Time of the reference over its time, on the same device.")
    error: float | None = _about("Difference of its log-likelihood from the reference value.")
    tolerance: float | None = _about("Largest difference that counts as the same.")
    cause: str | None = _about("Why there is no speed-up.", default=None)


@dataclass(frozen=True, slots=True)
class Crossover:
    """From how many points at once on the GPU is faster."""

    dtype: Precision = _about("`float32` or `float64`.")
    batch: Estimate | None = _about("Batch size at which both take equally long; null where they don't within the range.")
    reason: str = _about("In a sentence.")


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice."""

    topic: str = _about("`pin`, `chains`, `remedy`, `limit` or `versions`.")
    text: str = _about("A sentence.")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured."""

    cpu: str = _about("Model of the processor.")
    cores: int = _about("Cores that the benchmark could use.")
    gpu: str | None = _about("JAX's name of the GPU; null without one.", default=None)
    driver: str | None = _about("Version of its driver.", default=None)


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark: what was measured, and what follows from it."""

    schema: int = _about("Version of this form.")
    complete: bool = _about("Whether the benchmark reached its end.")
    remark: str | None = _about("Why it did not.")
    effort: str = _about("`quick`, `default` or `full`.")
    started_at: str = _about("UTC, ISO 8601.")
    seconds: float = _about("How long it took, s.")
    machine: Machine = _about("The machine.")
    versions: Mapping[str, str] = _about("Python, jax, jaxlib, numpyro, numpy and JAX's plugins.")
    environment: Mapping[str, str] = _about("Variables of the environment that change what JAX does, `XLA_FLAGS` among them.")
    configurations: tuple[Row, ...] = _about("One entry a configuration.")
    verdicts: tuple[HypothesisVerdict, ...] = _about("One entry a hypothesis.", default=())
    predicted_full_run_s: Mapping[str, Mapping[str, Estimate]] = _about(
        "Predicted time of the reference run, s, by platform and chain method.", default_factory=dict
    )
    crossover: tuple[Crossover, ...] = _about("One entry a precision; none without a GPU.", default=())
    remedies: tuple[RemedyEffect, ...] = _about("One entry a remedy and device.", default=())
    advice: tuple[Advice, ...] = _about("What to do.", default=())

    def find(self, name: str) -> Row | None:
        """Return the row of a name, or None."""
        return next((row for row in self.configurations if row.name == name), None)

    @property
    def platforms(self) -> list[str]:
        """The platforms measured, in order of appearance."""
        return list(dict.fromkeys(row.platform for row in self.configurations))


CONVERTER = cattrs.Converter()


def as_json(result: Result) -> str:
    """Return the JSON form of a result."""
    return json.dumps(CONVERTER.unstructure(result), indent=1)


def write_result(path: Path, result: Result) -> None:
    """Replace a file in one step. Raises `ResultError` where that can't be done; the old file then stays."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(f"{as_json(result)}\n", encoding="utf8")
        temporary.replace(path)
    except OSError as error:
        msg = f"{path} can't be written ({error.strerror})"
        raise ResultError(msg) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def read_result(path: Path) -> Result:
    """Return the result in a file. Raises `ResultError` where there is none, or none that this version reads."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        msg = f"{path} does not exist; `jaxdevice benchmark --out {path.name}` makes one"
        raise ResultError(msg) from None
    except OSError as error:
        msg = f"{path} can't be read ({error.strerror})"
        raise ResultError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{path} is damaged or was not written to its end ({error}); run the benchmark again"
        raise ResultError(msg) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int) or "configurations" not in data:
        msg = f"{path} is no result of this benchmark"
        raise ResultError(msg)
    if schema > SCHEMA:
        msg = f"{path} has schema {schema} and this version reads up to {SCHEMA}: upgrade sphinx-jaxdevice, or run the benchmark again"
        raise ResultError(msg)
    try:
        return CONVERTER.structure(data, Result)
    except (cattrs.BaseValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        problem = "; ".join(cattrs.transform_error(error)[:3])
        msg = f"{path} is damaged ({problem}); run the benchmark again"
        raise ResultError(msg) from error
