"""A result as tables and lines of text, for the terminal and for pages. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from .notation import NOTHING, about, estimated, factor, interval, percent, seconds
from .result import Result, Row, RowOutcome


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its title, its columns, and its cells as text. The first column names what the row is about."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def timed(row: Row) -> str:
    """Return a row's median, or what became of it."""
    if row.counts and row.median_s is not None:
        return seconds(row.median_s)
    return row.outcome.value.replace("_", " ")


def verdicts(result: Result) -> Table:
    """Return the four hypotheses."""
    return Table(
        "Why is the GPU slower?",
        ("Hypothesis", "Verdict", "Share of the gap", "Reason"),
        tuple(
            (
                found.hypothesis.replace("_", " "),
                found.verdict.value.replace("_", " "),
                NOTHING
                if found.share is None or found.interval is None
                else f"{percent(found.share)} ({interval(*found.interval, percent)})",
                found.reason,
            )
            for found in result.verdicts
        ),
    )


def gradients(result: Result) -> Table:
    """Return the time of a gradient in the reference form against the batch size."""
    rows = [row for row in result.configurations if row.kind == "gradient" and row.form == "reference" and not row.xla_flags]
    lines = list(dict.fromkeys((row.platform, row.dtype) for row in rows))
    batches = sorted({row.batch for row in rows})
    cells = {(row.platform, row.dtype, row.batch): timed(row) for row in rows}
    return Table(
        "One log-likelihood with its gradient, reference form",
        ("Points at once", *(f"{platform.upper()} {dtype.value}" for platform, dtype in lines)),
        tuple((str(batch), *(cells.get((*line, batch), NOTHING) for line in lines)) for batch in batches),
    )


def samplers(result: Result) -> Table:
    """Return the sampler's step on each device, and what a run comes to."""
    return Table(
        "NUTS",
        ("Chains", "Device", "Form", "A leapfrog step", "A step of one chain", "An effective sample"),
        tuple(
            (
                row.chain_method.value if row.chain_method else NOTHING,
                row.platform.upper(),
                row.form.replace("_", " "),
                *_steps(row),
            )
            for row in result.configurations
            if row.kind == "nuts"
        ),
    )


def _steps(row: Row) -> tuple[str, str, str]:
    if not row.counts or row.seconds_a_leapfrog is None:
        return timed(row), NOTHING, NOTHING
    chains = 1 if row.chain_method == "sequential" else 4
    return seconds(row.seconds_a_leapfrog), seconds(row.seconds_a_leapfrog / chains), seconds(row.seconds_an_effective_sample)


def compilation(result: Result) -> Table:
    """Return compilation by device and chain."""
    words = {"first": "first chain", "further": "each other chain", "cached": "each other chain, JAX's cache"}
    return Table(
        "Compilation of the sampler",
        ("Device", "Chain", "Tracing", "Lowering", "Backend", "Together"),
        tuple(
            (
                row.platform.upper(),
                words.get(chain, chain),
                *(seconds(told[key]) for key in ("trace_s", "lower_s", "backend_s", "total_s")),
            )
            for row in result.configurations
            if row.kind == "compilation"
            for chain, told in (row.chains or {}).items()
        ),
    )


def profiles(result: Result) -> Table:
    """Return what the GPU did during one gradient."""
    times = {
        row.platform: row.median_s for row in result.configurations if row.name == f"gradient {row.platform} float64 batch 1"
    }
    rows = []
    for row in result.configurations:
        if row.kind == "profile" and row.profile is not None and row.median_s is not None:
            whole = times.get(row.platform)
            operations = row.profile["operations"]
            gap = None if whole is None else (whole - row.median_s) / operations
            share = NOTHING if whole is None else percent(row.median_s / whole)
            rows.append(
                (
                    row.platform.upper(),
                    f"{operations:,.0f}",
                    seconds(row.profile["mean_length"]),
                    seconds(row.median_s),
                    share,
                    seconds(gap),
                )
            )
    columns = ("Device", "Operations", "Mean length", "Busy", "Busy share", "Mean gap")
    return Table("What the device did in one gradient", columns, tuple(rows))


def remedies(result: Result) -> Table:
    """Return the remedies of each device, the best first."""
    ordered = sorted(result.remedies, key=lambda one: (one.platform, -one.speedup.value if one.speedup else 0.0))
    return Table(
        "Remedies, against the reference form on the same device",
        ("Remedy", "Device", "Speed-up", "Same result", "What it does"),
        tuple(
            (
                one.remedy.replace("_", " "),
                one.platform.upper(),
                estimated(one.speedup, factor) if one.speedup else one.outcome.value.replace("_", " "),
                _same(one.outcome, one.error, one.tolerance),
                one.about,
            )
            for one in ordered
        ),
    )


def _same(outcome: RowOutcome, error: float | None, tolerance: float | None) -> str:
    if outcome is RowOutcome.WRONG:
        return "no"
    return NOTHING if error is None or tolerance is None else f"to {error:.1g} (may differ by {tolerance:g})"


def predicted(result: Result) -> Table:
    """Return the predicted time of the reference run."""
    return Table(
        "Predicted time of the reference run, 4 chains of 400 + 400 draws",
        ("Device", "Chains", "Time"),
        tuple(
            (platform.upper(), method, about(run))
            for platform, runs in result.predicted_full_run_s.items()
            for method, run in runs.items()
        ),
    )


def troubles(result: Result) -> Table:
    """Return the configurations without times that count, and why."""
    return Table(
        "Without a time",
        ("Configuration", "Outcome", "Cause"),
        tuple(
            (row.name, row.outcome.value.replace("_", " "), row.cause or NOTHING)
            for row in result.configurations
            if not row.counts
        ),
    )


ALL = (verdicts, predicted, remedies, gradients, samplers, profiles, compilation, troubles)
"""In the order of a reader's interest."""


def tables(result: Result) -> Iterator[Table]:
    """Yield the tables that have rows."""
    for make in ALL:
        table = make(result)
        if table.rows:
            yield table


def where(result: Result) -> list[str]:
    """Return where and when a result was measured, in lines."""
    machine = result.machine
    gpu = f"; {machine.gpu}" if machine.gpu else "; no GPU"
    driver = f", driver {machine.driver}" if machine.driver else ""
    packages = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    flags = result.environment.get("XLA_FLAGS")
    lines = [
        f"{machine.cpu}, {machine.cores} cores{gpu}{driver}",
        packages,
        f"{result.effort} benchmark of {result.started_at}, {seconds(result.seconds)}",
    ]
    lines += [f"XLA_FLAGS={flags}"] if flags else []
    lines += [f"Incomplete: {result.remark}"] if not result.complete else []
    return lines


def as_text(result: Result, width: int) -> str:
    """Return a result for the terminal: where, tables, advice."""
    parts = ["\n".join(where(result))]
    parts += [text_of(table, width) for table in tables(result)]
    parts.append("\n".join(["Advice", "", *(f"- {piece.text}" for piece in result.advice)]))
    return "\n\n".join(parts)


def text_of(table: Table, width: int) -> str:
    """Return a table with its title for the terminal."""
    return f"{table.title}\n\n{grid(table, width)}"


def markdown_of(table: Table) -> str:
    """Return a table with its title as Markdown."""
    cells: Sequence[Sequence[str]] = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    return f"### {table.title}\n\n{tabulate(cells, headers=table.columns, tablefmt='github', disable_numparse=True)}"


def grid(table: Table, width: int) -> str:
    """Return a table as text of at most `width` columns where its last column can be broken."""
    others = sum(max(map(len, column)) + 2 for column in list(zip(table.columns, *table.rows, strict=True))[:-1])
    longest = max(20, width - others)
    limits: list[int | None] = [*(None for _ in table.columns[:-1]), longest]
    return tabulate(table.rows, headers=table.columns, tablefmt="simple", disable_numparse=True, maxcolwidths=limits)


def as_markdown(result: Result) -> str:
    """Return a result for an issue or a job's summary."""
    parts = ["  \n".join(where(result))]
    parts += [markdown_of(table) for table in tables(result)]
    parts.append("\n".join(["### Advice", "", *(f"- {piece.text}" for piece in result.advice)]))
    return "\n\n".join(parts)
