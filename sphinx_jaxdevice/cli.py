"""The command `jaxdevice`: arguments in, exit status out. What it prints is made elsewhere.

Exit status 0: done; 1: `gate` found a failed lecture; 2: the command could not do what was asked.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from . import __version__, report
from .config import RETRY_VARIABLE
from .diagnostics import Diagnostic, StateError
from .explain import explanation
from .failure_store import FailureStore, StoredFailure
from .records import Record
from .state_folder import StateFolder, find

FORMATS: dict[str, Callable[[Sequence[Record]], str]] = {
    "text": lambda records: report.as_text(records, shutil.get_terminal_size((100, 24)).columns),
    "markdown": report.as_markdown,
    "json": report.as_json,
    "junit": report.as_junit,
}

path_argument = click.argument("path", required=False, type=click.Path(path_type=Path))
path_option = click.option(
    "--path",
    type=click.Path(path_type=Path),
    help="The book, its build folder or its state folder; by default the present folder.",
)


def _warn(diagnostic: Diagnostic) -> None:
    click.echo(f"Warning: {diagnostic.message}", err=True)


def _state(path: Path | None) -> StateFolder:
    try:
        return find(path)
    except StateError as error:
        raise Fault(str(error)) from error


class Fault(click.ClickException):
    """The command can't do what was asked."""

    exit_code = 2


def _records(state: StateFolder) -> list[Record]:
    """Return the records of a report; one that can't be read or is empty is a fault: nothing must pass for lack of facts."""
    records = state.read_report(_warn)
    if not records:
        msg = f"{state.report} lists no lecture, so there is nothing to judge. Build the book again."
        raise Fault(msg)
    return records


@click.group()
@click.version_option(__version__, prog_name="jaxdevice")
def main() -> None:
    """Look at what sphinx-jaxdevice recorded of a book's lectures."""


@main.command("report")
@path_argument
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="Form of the output."
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write instead of the terminal.")
def report_command(path: Path | None, form: str, output: Path | None) -> None:
    """Print the table of the last build.

    PATH is the book, its build folder or its state folder; by default the present folder.
    """
    records = _records(_state(path))
    text = FORMATS[form](records)
    if form == "text":
        told = [f"  {line}" for line in report.failures(records)]
        closing = report.summary(records, {record.document for record in records})
        text = "\n".join([text, "", *(["Failed:", *told, ""] if told else []), *closing])
    if output is None:
        click.echo(text)
        return
    try:
        output.write_text(f"{text}\n", encoding="utf8")
    except OSError as error:
        msg = f"{output} can't be written: {error.strerror}"
        raise Fault(msg) from error


@main.command()
@path_argument
def gate(path: Path | None) -> None:
    """Exit 1 when a lecture failed, naming it, and 0 when none did.

    It holds also behind a builder whose own exit status does not tell. PATH as for `report`.
    """
    records = _records(_state(path))
    failed = report.failures(records)
    for line in failed:
        click.echo(line)
    click.echo(f"{len(failed)} of {len(records)} lectures failed")
    if failed:
        raise click.exceptions.Exit(1)


@main.group("failures")
def failures_group() -> None:
    """List, show or clear stored failures."""


@failures_group.command("list")
@path_argument
def list_failures(path: Path | None) -> None:
    """List the stored failures."""
    stored = FailureStore(_state(path), _warn).all()
    for failure in stored:
        click.echo(f"{_when(failure)}  {failure.record.document}  {failure.record.error}: {failure.record.message}")
    if not stored:
        click.echo("no failure is stored")


@failures_group.command("show")
@click.argument("document")
@path_option
def show_failure(document: str, path: Path | None) -> None:
    """Show the stored failure of a lecture, with its traceback."""
    for failure in _stored(document, FailureStore(_state(path), _warn)):
        record = failure.record
        lines = [
            f"{record.document}: {status_line(record)}",
            f"stored   {_when(failure)}" + (f", CI run {failure.ci_run}" if failure.ci_run else ""),
            f"ran      {report.duration(record.seconds)} in the {record.ran_by} build, on {record.machine}",
            f"device   {record.device_asked} ({record.device_origin}), used: {report.device_used(record)}",
            f"again    set {RETRY_VARIABLE}=1, or: jaxdevice failures clear '{record.document}'",
            "",
            failure.traceback,
        ]
        click.echo("\n".join(lines))


def status_line(record: Record) -> str:
    """Return how a lecture ended, where, and why."""
    return f"{report.status(record)} at {report.place(record)}: {record.error}: {record.message}"


@failures_group.command("clear")
@click.argument("documents", nargs=-1)
@path_option
@click.option("--yes", is_flag=True, help="Clear all without asking.")
def clear_failures(documents: tuple[str, ...], path: Path | None, *, yes: bool) -> None:
    """Forget stored failures, so that the lectures run again; without DOCUMENTS all of them."""
    store = FailureStore(_state(path), _warn)
    if documents:
        found = [failure for document in documents for failure in _stored(document, store)]
    else:
        found = store.all()
        if found and not yes:
            click.confirm(f"Forget {len(found)} stored failures?", abort=True)
    for failure in found:
        store.discard(failure.key)
    click.echo(f"{len(found)} stored failures forgotten")


@main.command()
@click.argument("document")
@path_option
def explain(document: str, path: Path | None) -> None:
    """Say why a lecture was run, cached or reused, and what would make it run again."""
    state = _state(path)
    records = _records(state)
    name = _named(document, [record.document for record in records], [record.source_path for record in records])
    record = next(record for record in records if record.document == name)
    stored = [failure for failure in FailureStore(state, _warn).all() if failure.record.document == name]
    click.echo("\n".join(explanation(record, stored, now=time.time())))


def _stored(document: str, store: FailureStore) -> list[StoredFailure]:
    """Return the stored failures of a document; none is a fault that names the nearest."""
    stored = store.all()
    if not stored:
        msg = "no failure is stored"
        raise Fault(msg)
    name = _named(document, [failure.record.document for failure in stored], [failure.record.source_path for failure in stored])
    return [failure for failure in stored if failure.record.document == name]


def _named(given: str, documents: Sequence[str], sources: Sequence[str]) -> str:
    """Return the document that a person means by its name or by its source file."""
    plain = Path(given).as_posix().removesuffix(".md").removesuffix(".ipynb")
    if plain in documents:
        return plain
    if given in sources:
        return documents[sources.index(given)]
    near = get_close_matches(plain, documents, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are: {', '.join(dict.fromkeys(documents))}"
    msg = f"there is no lecture {given!r} here; {advice}"
    raise Fault(msg)


def _when(failure: StoredFailure) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(failure.stored_at))


if __name__ == "__main__":
    main()
