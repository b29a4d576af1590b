"""From what the children of a configuration told to its row: what became of it, its samples and their median."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sphinx_jaxdevice.device import Device

from .child import ChildReport
from .configurations import Configuration, Kind
from .estimate import median
from .reference_run import reference_run
from .remedies import ChainMethod, Precision
from .result import Row, RowOutcome
from .timing import stopped_early

LOG_LIKELIHOOD = -778.7534853919
"""Log-likelihood at the start point in double precision, from an independent implementation of the model."""
TOLERANCES = {Precision.FLOAT64: 1e-8, Precision.FLOAT32: 0.5}
"""Largest difference from it that counts as the same. Single precision is right to four digits, and differs by device."""
CPU_PLATFORM = "cpu"


def row_of(configuration: Configuration, reports: Sequence[ChildReport], tree_depth: int, missed: str | None = None) -> Row:
    """Return the row of a configuration; without reports it was not reached, and `missed` says why.

    A round that failed after another had been measured takes nothing away: the row then holds the rounds that were measured.
    """
    measured = [report for report in reports if report.outcome is RowOutcome.MEASURED]
    told = measured or list(reports[-1:])
    outcome, cause = _outcome(configuration, told, missed)
    rounds = [tuple(seconds for seconds, _ in report.all("sample")) for report in told]
    late = sorted(late for report in told for _, late in report.all("sample"))
    summary = median(rounds) if any(rounds) else None
    first = told[0] if told else None
    chains: dict[str, Any] = {}
    for part in first.all("chain") if first else []:
        chains |= part
    memory = (first.last("memory") if first else None) or {}
    return Row(
        **_identity(configuration),
        outcome=outcome,
        cause=cause,
        samples_s=tuple(value for values in rounds for value in values),
        samples_per_round=tuple(len(values) for values in rounds if values),
        median_s=summary.value if summary else None,
        interval_s=(summary.low, summary.high) if summary else None,
        late_s=late[len(late) // 2] if late else None,
        first_call_s=tuple(call["seconds"] for report in told for call in report.all("first_call")),
        compilation=_of(first, "first_call", "compilation"),
        chains=chains or None,
        **(_steps(configuration, tree_depth, summary.value if summary else None) if configuration.kind is Kind.NUTS else {}),
        log_likelihood=_of(first, "value", "log_likelihood"),
        gradient=tuple(_of(first, "value", "gradient") or ()),
        profile=first.last("profile") if first else None,
        device_kind=_of(first, "device", "kind"),
        process_peak_bytes=memory.get("process_peak"),
        device_peak_bytes=memory.get("device_peak"),
    )


def _identity(configuration: Configuration) -> dict[str, Any]:
    return {
        "name": configuration.name,
        "kind": configuration.kind.value,
        "platform": configuration.platform.value,
        "dtype": configuration.dtype,
        "batch": configuration.batch,
        "chain_method": configuration.chain_method,
        "form": configuration.form,
        "remedy": configuration.remedy,
        "xla_flags": configuration.xla_flags,
    }


def _steps(configuration: Configuration, tree_depth: int, seconds: float | None) -> dict[str, Any]:
    """Return what a transition of `seconds` comes to a leapfrog step and an effective sample of the reference run."""
    leapfrogs, run = 2**tree_depth - 1, reference_run()
    if seconds is None:
        return {"leapfrogs": leapfrogs}
    step = seconds / leapfrogs
    total = step * run.steps(configuration.chain_method or ChainMethod.SEQUENTIAL)
    return {
        "leapfrogs": leapfrogs,
        "seconds_a_leapfrog": step,
        "seconds_an_effective_sample": total / run.fewest_effective_samples,
    }


def _of(report: ChildReport | None, key: str, part: str) -> Any:
    """Return a part of the first value told under a key."""
    told = report.all(key) if report else []
    return told[0].get(part) if told else None


def _outcome(configuration: Configuration, told: Sequence[ChildReport], missed: str | None) -> tuple[RowOutcome, str | None]:
    if not told:
        return RowOutcome.NOT_REACHED, missed
    if told[0].outcome is not RowOutcome.MEASURED:
        return told[0].outcome, told[0].cause
    platform = _of(told[0], "device", "platform")
    if (platform == CPU_PLATFORM) is not (configuration.platform is Device.CPU):
        return RowOutcome.WRONG_DEVICE, f"JAX computed on {platform}, not on {configuration.platform}"
    for report in told:
        fault = report.last("fault")
        if fault is not None:
            return (RowOutcome.WRONG if configuration.kind is Kind.NUTS else RowOutcome.CRASHED), fault
        if stopped_early(report.all("sample")):
            return RowOutcome.CLOCK_STOPPED_EARLY, "work was left when the clock stopped, so these times are not compared"
    return _correctness(configuration, told)


def _correctness(configuration: Configuration, told: Sequence[ChildReport]) -> tuple[RowOutcome, str | None]:
    tolerance = TOLERANCES[configuration.dtype]
    for report in told:
        value = _of(report, "value", "log_likelihood")
        # Not `>`: a value that is not a number is wrong too.
        if value is not None and not abs(value - LOG_LIKELIHOOD) <= tolerance:
            return RowOutcome.WRONG, f"log-likelihood {value:.10f}, not {LOG_LIKELIHOOD:.10f} within {tolerance:g}"
    return RowOutcome.MEASURED, None
