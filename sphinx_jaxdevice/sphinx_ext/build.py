"""One Sphinx build: options, runner and records, and what happens at each of Sphinx's events."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

from myst_nb.core.execute.base import NotebookClientBase
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.logging import is_suppressed_warning

from sphinx_jaxdevice.config import BookOptions, OnFailure, option_specs, read_options
from sphinx_jaxdevice.diagnostics import Diagnostic, Warn, WarningKind
from sphinx_jaxdevice.failure_store import ReuseRules, current_ci_run
from sphinx_jaxdevice.front_matter_source import check_source
from sphinx_jaxdevice.lecture import Lecture, LectureResult
from sphinx_jaxdevice.outcome import Execution
from sphinx_jaxdevice.records import Record, Source
from sphinx_jaxdevice.runner import Book, Runner
from sphinx_jaxdevice.state_folder import StateFolder

from .clients import InlineClient, ResultClient
from .console import Console, ending, print_summary
from .domain import LectureDomain
from .mystnb import Page, Request, attach
from .page import lecture_of, page_policy
from .reporting import LOGGER, warn_again, warn_for


class Build:
    """Connects one Sphinx application with the core; its methods are Sphinx's event handlers, in the order they fire."""

    def __init__(self, app: Sphinx) -> None:
        self._app = app
        self._read: set[str] = set()
        """Documents read, or warned about, by this process; reading can happen twice in one process."""
        self._options: BookOptions
        self._state: StateFolder
        self._runner: Runner

    def start(self, app: Sphinx) -> None:
        """Read the options and open the state folder (`builder-inited`)."""
        raw = {spec.name: app.config[spec.name] for spec in option_specs()}
        self._options = read_options(raw, warn_for(None), os.environ)
        self._state = StateFolder(Path(app.outdir).parent / "jaxdevice")
        output = {
            Path(folder).resolve()
            for folder in (app.outdir, app.doctreedir, self._state.path, Path(app.outdir).parent / "jupyter_execute")
        }
        rules = ReuseRules(time.time(), self._options.failure_ttl, current_ci_run(os.environ), self._options.retry_failed)
        book = Book(
            source_dir=Path(app.srcdir),
            state=self._state,
            builder=app.builder.name,
            document_suffixes=tuple(app.config.source_suffix),
            output_folders=frozenset(output),
            rules=rules,
        )
        self._runner = Runner(book, self._options)
        attach(app, self)

    def outdated(self, _app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
        """Return failed pages whose failure may not be shown again, so that they are read again (`env-get-outdated`)."""
        known = added | changed | removed
        candidates = [record for record in self._domain(env).records() if record.failed and record.document not in known]
        return [record.document for record in candidates if self._runner.must_run_again(record, warn_for(record.document))]

    def reading(self, _app: Sphinx, _env: BuildEnvironment, documents: list[str]) -> None:
        """Note which pages this build reads (`env-before-read-docs`)."""
        self._read.update(documents)

    def finished_reading(self, app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
        """Write the report, warn about failed pages that were not read, set the exit status (`env-updated`).

        This is the last event that fires in every build: sphinx-tojupyter's builder ends the process before `build-finished`.
        Returns the documents whose table must be written again.
        """
        domain = self._domain(env)
        self._keep_silent_failures(domain)
        records = domain.records()
        self._merge_report(records, env)
        shown = [record for record in records if record.document in self._read]
        if shown:
            print_summary(records, {record.document for record in shown})
        failed = [record for record in records if record.failed]
        if failed and (self._options.on_failure is OnFailure.ERROR or _failures_are_errors(app)):
            _fail(app)
        self._warn_about_silent_failures(domain, env)
        return sorted(domain.documents_with_table & set(env.found_docs)) if shown else []

    def _merge_report(self, records: list[Record], env: BuildEnvironment) -> None:
        """Put into the report what this build showed or warns about.

        Of the pages that it did not read another builder, with an environment of its own, may know something newer.
        """
        warn = warn_for(None)
        known = {record.document for record in self._state.read_report(warn)}
        news = [record for record in records if record.document in self._read or record.failed or record.document not in known]
        self._state.merge_report(news, frozenset(env.found_docs), warn)

    def check_page(self, page: Page, source: Path) -> None:
        """Warn about the text of a page's front matter, executed or not."""
        check_source(page.text, source.suffix, warn_for(page.document))

    def open_client(self, request: Request) -> NotebookClientBase:
        """Return what renders the page: MyST-NB's own client where it is not executed, else one with our result."""
        env = self._app.env
        warn = warn_for(request.page.document)
        if request.host_client.path is None:  # text without a file has no folder to run in and no name to keep
            return request.host_client
        policy = page_policy(request, env, self._options, warn)
        if not request.executes:
            return request.host_client
        lecture = lecture_of(request, policy, env)
        console = Console(self._app, lecture.document, policy)
        if request.inline:
            return self._inline_client(request, lecture, warn, console)

        def obtain() -> LectureResult:
            result = self._runner.result(lecture, warn, console.cell_started, console.waiting)
            return self._concluded(result, warn, console)

        return ResultClient(request.host_client, obtain)

    def _inline_client(self, request: Request, lecture: Lecture, warn: Warn, console: Console) -> NotebookClientBase:
        session = self._runner.session(lecture, warn, console.cell_started)

        def conclude(execution: Execution) -> LectureResult:
            return self._concluded(self._runner.result_of_session(lecture, execution, warn), warn, console)

        return InlineClient(request.host_client, session, conclude)

    def _concluded(self, result: LectureResult, warn: Warn, console: Console) -> LectureResult:
        """Keep the record of a result; what has run or failed is written at once, in case the build stops before its end."""
        record = result.record
        console.finished(record)
        if record.device_problem is not None:
            warn(Diagnostic(WarningKind.DEVICE_USED, record.device_problem))
        self._domain(self._app.env).keep(record, result.traceback)
        if record.source is Source.RUN or record.failed:
            self._state.merge_report([record], None, warn)
        return result

    def _keep_silent_failures(self, domain: LectureDomain) -> None:
        """Turn the records of failed pages that this builder did not read into reused ones."""
        for document, record, traceback in list(domain.entries()):
            if record.failed and document not in self._read:
                reason = f"its page was read by the {record.builder} build and is not read again"
                domain.keep(replace(record, source=Source.REUSED, reason=reason, builder=self._app.builder.name), traceback)

    def _warn_about_silent_failures(self, domain: LectureDomain, env: BuildEnvironment) -> None:
        show = env.mystnb_config.execution_show_tb  # type: ignore[attr-defined]  # set by myst-nb
        for document, record, traceback in domain.entries():
            if record.failed and document not in self._read:
                self._read.add(document)
                LOGGER.info("jaxdevice: %s: %s", document, ending(record))
                warn_again(record, traceback, Path(self._app.outdir), show_traceback=show)

    @staticmethod
    def _domain(env: BuildEnvironment) -> LectureDomain:
        return cast("LectureDomain", env.get_domain(LectureDomain.name))


def _failures_are_errors(app: Sphinx) -> bool:
    """Whether `-W` was given and warnings of failed lectures are not suppressed.

    Sphinx 7 moves `-W` from the first attribute to the second where `--keep-going` stands beside it.
    """
    suppressed = is_suppressed_warning("mystnb", "exec", app.config.suppress_warnings)
    return bool(app.warningiserror or app.keep_going) and not suppressed


def _fail(app: Sphinx) -> None:
    """Have this build exit 1 after its pages are written."""
    app.statuscode = 1
    if hasattr(app.builder, "execution_status_code"):
        # sphinx-tojupyter's builder ends the process with this status and never looks at Sphinx's own.
        app.builder.execution_status_code = 1
