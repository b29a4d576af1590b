"""The command `jaxdevice`: arguments in, exit status out. What it prints is made elsewhere.

Exit status 0: done; 1: `gate` found a failed lecture; 2: the command could not do what was asked.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import __version__, report
from .benchmark.command import benchmark
from .diagnostics import Diagnostic, StateError
from .records import Record
from .state_folder import StateFolder, find

if TYPE_CHECKING:
    from .failure_store import FailureStore, StoredFailure

# Imports inside functions are those of nbformat's users: it takes seconds to import, and `report` and `gate` do without.

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


def _records(state: StateFolder) -> tuple[list[Record], bool]:
    """Return the records of a report and whether it could be read as a whole; without any record it is a fault.

    Nothing must pass for lack of facts.
    """
    doubts: list[Diagnostic] = []
    records = state.read_report(doubts.append)
    for doubt in doubts:
        _warn(doubt)
    if not records:
        msg = f"{state.report} lists no lecture that can be read, so there is nothing to judge. Build the book again."
        raise Fault(msg)
    return records, not doubts


@click.group()
@click.version_option(__version__, prog_name="jaxdevice")
@click.pass_context
def main(context: click.Context) -> None:
    """Look at what sphinx-jaxdevice recorded of a book's lectures."""
    if os.environ.get("NO_COLOR"):
        context.color = False
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal or a pipe without UTF-8 gets escapes for what it can't show, not a traceback.
            stream.reconfigure(errors="backslashreplace")


main.add_command(benchmark)


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
    records, _ = _records(_state(path))
    text = FORMATS[form](records)
    if form == "text":
        told = report.failures(records)
        closing = report.summary(records, {record.document for record in records})
        text = "\n".join([text, "", *([click.style("Failed:", fg="red"), *told, ""] if told else []), *closing])
    if output is None:
        click.echo(text)
        return
    try:
        output.write_text(f"{click.unstyle(text)}\n", encoding="utf8", errors="backslashreplace")
    except OSError as error:
        msg = f"{output} can't be written: {error.strerror}"
        raise Fault(msg) from error


@main.command()
@path_argument
def gate(path: Path | None) -> None:
    """Exit 1 when a lecture failed, naming it, 0 when none did, and 2 when that can't be told.

    It holds also behind a builder whose own exit status does not tell. PATH as for `report`.
    """
    state = _state(path)
    records, whole = _records(state)
    failed = report.failures(records)
    for line in failed:
        click.echo(line)
    click.secho(f"{len(failed)} of {_count(len(records), 'lecture')} failed", fg="red" if failed else None)
    if failed:
        raise click.exceptions.Exit(1)
    if not whole:
        msg = f"a part of {state.report} can't be read, and a lecture that failed may be in it. Build the book again."
        raise Fault(msg)


@main.group("failures")
def failures_group() -> None:
    """List, show or clear stored failures."""


@failures_group.command("list")
@path_argument
def list_failures(path: Path | None) -> None:
    """List the stored failures."""
    stored = _store(path).all()
    longest = max((len(failure.record.document) for failure in stored), default=0)
    for failure in stored:
        what = report.what_happened(failure.record)
        click.echo(f"{_when(failure)}  {failure.record.document:<{longest}}  {what}")
    if not stored:
        click.echo("no failure is stored")


@failures_group.command("show")
@click.argument("document")
@path_option
def show_failure(document: str, path: Path | None) -> None:
    """Show the stored failure of a lecture, with its traceback."""
    from .explain import story  # noqa: PLC0415 - see above

    for failure in _stored(document, _store(path)):
        click.echo("\n".join(story(failure, _when(failure))))


@failures_group.command("clear")
@click.argument("documents", nargs=-1)
@path_option
@click.option("--yes", is_flag=True, help="Clear all without asking.")
def clear_failures(documents: tuple[str, ...], path: Path | None, *, yes: bool) -> None:
    """Forget stored failures, so that the lectures run again; without DOCUMENTS all of them."""
    store = _store(path)
    if documents:
        named = {failure.record.document for document in documents for failure in _stored(document, store)}
        found = [failure for failure in store.all() if failure.record.document in named]
    else:
        found = store.all()
        if found and not yes:
            click.confirm(f"Forget {_count(len(found), 'stored failure')}?", abort=True)
    for failure in found:
        store.discard(failure.key)
    kept = [failure.record.document for failure in found if store.find(failure.key)]
    if kept:
        msg = f"still stored, because the files in {_state(path).failures} can't be removed: {', '.join(kept)}"
        raise Fault(msg)
    click.echo(f"{_count(len(found), 'stored failure')} forgotten")


@main.command()
@click.argument("document")
@path_option
def explain(document: str, path: Path | None) -> None:
    """Say why a lecture was run, cached or reused, and what would make it run again."""
    from .explain import explanation  # noqa: PLC0415 - see above
    from .failure_store import FailureStore  # noqa: PLC0415 - see above

    state = _state(path)
    records, _ = _records(state)
    name = _named(document, records)
    record = next(record for record in records if record.document == name)
    stored = [failure for failure in FailureStore(state, _warn).all() if failure.record.document == name]
    click.echo("\n".join(explanation(record, stored, now=time.time())))


def _store(path: Path | None) -> FailureStore:
    from .failure_store import FailureStore  # noqa: PLC0415 - see above

    return FailureStore(_state(path), _warn)


def _stored(document: str, store: FailureStore) -> list[StoredFailure]:
    """Return the stored failures of a document; none is a fault that names the nearest."""
    stored = store.all()
    if not stored:
        msg = "no failure is stored"
        raise Fault(msg)
    name = _named(document, [failure.record for failure in stored])
    return [failure for failure in stored if failure.record.document == name]


def _named(given: str, records: Sequence[Record]) -> str:
    """Return the document that a person means; none is a fault that names the nearest."""
    from .explain import meant  # noqa: PLC0415 - see above

    try:
        return meant(given, records)
    except LookupError as error:
        raise Fault(str(error.args[0])) from error


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _when(failure: StoredFailure) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(failure.stored_at))


if __name__ == "__main__":
    main()
