from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result

from sphinx_jaxdevice.cli import main
from sphinx_jaxdevice.diagnostics import Diagnostic
from sphinx_jaxdevice.failure_store import FailureStore, StoredFailure
from sphinx_jaxdevice.records import Record
from sphinx_jaxdevice.state_folder import StateFolder

from .records import failed, record


def _no_warning(diagnostic: Diagnostic) -> None:
    raise AssertionError(diagnostic)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    """Return the state folder of a book with a good and a failed lecture, and the stored failure."""
    state = StateFolder(tmp_path / "book" / "_build" / "jaxdevice")
    state.merge_report([record("good"), failed("sub/broken")], None, _no_warning)
    FailureStore(state, _no_warning).add(_stored(failed("sub/broken")))
    return state


def _stored(one: Record, **key: str) -> StoredFailure:
    notebook = nbformat.v4.new_notebook()
    return StoredFailure(one, notebook, "Traceback: ValueError: no", time.time() - 120, None, {**one.key, **key})


def _call(*arguments: object, **more: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **more)  # type: ignore[arg-type]  # input, env


@pytest.mark.parametrize("place", [".", "_build", "_build/jaxdevice", "_build/jaxdevice/report.json", "_build/html"])
def test_state_is_found_from_book_build_and_output_folders(state: StateFolder, place: str) -> None:
    """A person may name the book, the build folder, an output folder, the state folder or the report itself."""
    book = state.path.parent.parent
    (book / "_build" / "html").mkdir()

    result = _call("report", book / place)

    assert result.exit_code == 0, result.output
    assert "sub/broken" in result.output


def test_report_ends_with_failures_and_summary(state: StateFolder) -> None:
    """Under the table stand the failed lectures with file, line and message, and the counts."""
    output = _call("report", state.path).output

    assert "sub/broken.md:42: CellExecutionError: ValueError: no" in output
    assert "2 lectures: 2 ran, 0 cached, 0 reused, 1 failed" in output
    assert "\x1b" not in output


@pytest.mark.parametrize(("form", "part"), [("json", '"schema": 1'), ("markdown", "| Lecture"), ("junit", "<testsuite")])
def test_report_in_other_forms_and_into_a_file(state: StateFolder, tmp_path: Path, form: str, part: str) -> None:
    """Each form can be written to a file instead of the terminal."""
    target = tmp_path / "out"

    result = _call("report", state.path, "--format", form, "--output", target)

    assert result.output == ""
    assert part in target.read_text()


def test_gate_names_failed_lectures_and_exits_1(state: StateFolder) -> None:
    """A failed lecture is named and the exit status is 1."""
    result = _call("gate", state.path)

    assert result.exit_code == 1
    assert "sub/broken.md:42" in result.output


def test_gate_exits_0_when_none_failed(tmp_path: Path) -> None:
    """Without a failed lecture the exit status is 0."""
    state = StateFolder(tmp_path / "jaxdevice")
    state.merge_report([record("good")], None, _no_warning)

    assert _call("gate", tmp_path).exit_code == 0


@pytest.mark.parametrize(
    "content",
    [None, "", "{", '{"schema": 1, "lectures": []}', '{"schema": 99, "lectures": []}', '{"schema": 1, "lectures": 3}'],
)
def test_gate_never_passes_for_lack_of_facts(tmp_path: Path, content: str | None) -> None:
    """No report, a damaged one, one of a newer version and one without lectures exit 2 with a sentence."""
    (tmp_path / "jaxdevice").mkdir()
    if content is not None:
        (tmp_path / "jaxdevice" / "report.json").write_text(content)

    result = _call("gate", tmp_path)

    assert result.exit_code == 2
    assert "Error: " in result.output
    assert "Traceback" not in result.output


def test_failures_are_listed_shown_and_cleared(state: StateFolder) -> None:
    """The stored failure is listed, shown with its traceback and how to run it again, and gone after clearing."""
    assert "sub/broken" in _call("failures", "list", state.path).output
    shown = _call("failures", "show", "sub/broken", "--path", state.path).output
    assert "Traceback: ValueError: no" in shown
    assert "JAXDEVICE_RETRY_FAILED=1" in shown

    assert _call("failures", "clear", "sub/broken.md", "--path", state.path).exit_code == 0

    assert "no failure is stored" in _call("failures", "list", state.path).output


def test_clearing_all_asks_first(state: StateFolder) -> None:
    """Without a name all failures go, but only after a yes."""
    assert _call("failures", "clear", "--path", state.path, input="n\n").exit_code == 1
    assert "sub/broken" in _call("failures", "list", state.path).output
    assert _call("failures", "clear", "--path", state.path, "--yes").exit_code == 0
    assert "no failure" in _call("failures", "list", state.path).output


def test_unknown_lecture_is_told_with_near_names(state: StateFolder) -> None:
    """A slip in a name gets the nearest ones and exit status 2."""
    result = _call("failures", "show", "sub/brokn", "--path", state.path)

    assert result.exit_code == 2
    assert "did you mean 'sub/broken'" in result.output


def test_explain_says_why_and_what_differs(state: StateFolder) -> None:
    """The reason, device and limits with where they were set, and the parts in which a stored failure's key differs."""
    FailureStore(state, _no_warning).add(_stored(failed("sub/broken"), files="other"))

    output = _call("explain", "sub/broken.md", "--path", state.path).output

    assert "was run in the html build" in output
    assert "there is no earlier result" in output
    assert "jax-device, line 4 of sub/broken.md" in output
    assert "files: other files in the lecture's folder" in output
    assert "jaxdevice failures clear 'sub/broken'" in output


def test_installed_command_answers() -> None:
    """The command is installed and knows its version."""
    command = Path(sys.executable).with_name("jaxdevice")

    done = subprocess.run([str(command), "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("jaxdevice, version ")


def test_broken_pipe_is_no_traceback(state: StateFolder) -> None:
    """A reader that closes early, as `head` does, ends the command quietly."""
    shell = f"{sys.executable} -m sphinx_jaxdevice.cli report {state.path} --format json | true"

    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)

    assert "Traceback" not in done.stderr
