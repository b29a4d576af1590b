"""The command `jaxdevice benchmark`, also `python -m sphinx_jaxdevice.benchmark`: arguments in, progress and tables out.

Exit status 0: measured; 1: incomplete, or no configuration could be measured; 2: it could not be done as asked.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from sphinx_jaxdevice.device import Device
from sphinx_jaxdevice.diagnostics import JaxDeviceError
from sphinx_jaxdevice.timeouts import DurationError, format_duration, parse_duration
from sphinx_jaxdevice.wording import listed, nearest, refusal

from .configurations import DEFAULT, FULL, QUICK, Effort
from .result import FILE, Result, Row, read_result

MEASURABLE = (Device.CPU, Device.GPU, Device.TPU)
CLEAR_LINE = "\r\x1b[K"
FORMATS = ("text", "markdown", "json")


class Fault(click.ClickException):
    """The command can't do what was asked."""

    exit_code = 2


class Devices(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """Names of devices, separated by commas."""

    name = "devices"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Device, ...]:
        """Return the devices, each once."""
        accepted = listed(MEASURABLE)
        found = []
        for word in str(value).split(","):
            name = word.strip()
            if name not in set(MEASURABLE):
                self.fail(refusal(name, accepted, nearest(name, MEASURABLE)), param, ctx)
            found.append(Device(name))
        return tuple(dict.fromkeys(found))


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """A duration as in front matter."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        try:
            parsed = parse_duration(value)
        except DurationError as error:
            self.fail(str(error), param, ctx)
        if parsed is None:
            self.fail("a benchmark needs a limit; `--full` takes an hour", param, ctx)
        return parsed


class Progress:
    """Shows how the benchmark gets on: one line a configuration, and on a terminal the one that is being measured."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def on_step(self, step: object) -> None:
        """Show what is being measured."""
        from .schedule import Step  # noqa: PLC0415 - needs NumPy

        assert isinstance(step, Step)
        if self._live:
            left = format_duration(round(step.seconds_left))
            where = f"{step.number} of {step.total}, round {step.round_number}, {left} left"
            click.echo(f"{CLEAR_LINE}{where}: {step.configuration.name}", nl=False, err=True)

    def on_row(self, row: Row) -> None:
        """Show what came of it."""
        click.echo(f"{CLEAR_LINE if self._live else ''}{told(row)}", err=True)

    def on_problem(self, text: str) -> None:
        """Show that something went wrong beside the measurement."""
        click.echo(f"{CLEAR_LINE if self._live else ''}Warning: {text}", err=True)


def told(row: Row) -> str:
    """Return a row in a line."""
    from .notation import interval, seconds  # noqa: PLC0415 - for `--help` alone it need not be loaded

    if row.counts and row.interval_s is not None:
        return f"{row.name}: {seconds(row.median_s)} ({interval(*row.interval_s)})"
    return f"{row.name}: {row.outcome.value.replace('_', ' ')}{f', {row.cause}' if row.cause else ''}"


@click.command("benchmark")
@click.option(
    "--devices", type=Devices(), help="Devices to measure, such as cpu,gpu; by default the CPU, and a GPU if one is there."
)
@click.option("--quick", "effort", flag_value="quick", help="Under three minutes on two cores; wide intervals.")
@click.option("--full", "effort", flag_value="full", help="Up to an hour; narrow intervals.")
@click.option("--budget", type=Duration(), help="Time to spend, such as 5m, in place of the mode's own.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), default=FILE, show_default=True, help="File for the result."
)
@click.option(
    "--compare", "old", type=click.Path(path_type=Path, dir_okay=False), help="An older result to show beside this one."
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Form of what is printed."
)
@click.option("--show", type=click.Path(path_type=Path, dir_okay=False), help="Measure nothing: print this result.")
def benchmark(
    devices: tuple[Device, ...] | None,
    effort: str | None,
    budget: float | None,
    out: Path,
    old: Path | None,
    form: str,
    show: Path | None,
) -> None:
    """Measure why a GPU is slower than the CPU beside it, and what helps.

    The bundled model is run in many small configurations, each in a process of its own, so that one which hangs or crashes costs
    only itself. The result is written to a file as it grows and printed as tables at the end.
    """
    try:
        older = read_result(old) if old else None
        result = read_result(show) if show else _measure(devices, _effort(effort, budget), out)
    except JaxDeviceError as error:
        raise Fault(str(error)) from error
    click.echo(_printed(result, older, form))
    if not show:
        click.echo(f"\nThe result is in {out}.", err=True)
    if not result.complete or not any(row.counts for row in result.configurations):
        raise click.exceptions.Exit(1)


def _effort(name: str | None, budget: float | None) -> Effort:
    effort = {"quick": QUICK, "full": FULL}.get(name or "", DEFAULT)
    return effort if budget is None else replace(effort, budget=budget, child_limit=min(effort.child_limit, budget))


def _measure(devices: Sequence[Device] | None, effort: Effort, out: Path) -> Result:
    from . import surroundings  # noqa: PLC0415 - the rest needs NumPy, whose absence is told below

    surroundings.check_packages()
    pins = surroundings.pins(devices, surroundings.installed())
    from .run import Watcher, run_benchmark  # noqa: PLC0415 - see above

    progress = Progress()
    click.echo(f"Measuring {listed(pins)}, at most {format_duration(effort.budget)}. Ctrl-C keeps what was measured.", err=True)
    return run_benchmark(pins, effort, out, Watcher(progress.on_step, progress.on_row, progress.on_problem))


def _printed(result: Result, older: Result | None, form: str) -> str:
    from . import comparison, tables  # noqa: PLC0415 - for `--help` alone they need not be loaded

    if form == "json":
        from .result import as_json  # noqa: PLC0415

        return as_json(result)
    width = shutil.get_terminal_size((120, 24)).columns
    whole = tables.as_markdown(result) if form == "markdown" else tables.as_text(result, width)
    if older is None:
        return whole
    beside = comparison.compared(older, result)
    shown = tables.markdown_of(beside) if form == "markdown" else tables.text_of(beside, width)
    return f"{whole}\n\n{shown}"


if __name__ == "__main__":
    benchmark()
