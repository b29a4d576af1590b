from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result

from sphinx_jaxdevice.cli import main
from sphinx_jaxdevice.diagnostics import Diagnostic
from sphinx_jaxdevice.explain import PARTS
from sphinx_jaxdevice.failure_store import FailureStore, StoredFailure
from sphinx_jaxdevice.records import Record, Source, to_json
from sphinx_jaxdevice.reuse_key import environment_parts
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


def test_gate_does_not_pass_where_an_entry_was_lost(tmp_path: Path) -> None:
    """A report with an entry that can't be read exits 2: the lost lecture may be the one that failed."""
    state = StateFolder(tmp_path / "jaxdevice")
    broken = {**to_json(failed("broken")), "outcome": "unheard of"}
    state.write_json(state.report, {"schema": 1, "lectures": [to_json(record("good")), broken]}, _no_warning)

    result = _call("gate", tmp_path)

    assert result.exit_code == 2
    assert "a lecture that failed may be in it" in result.output


@pytest.mark.parametrize("fields", [{"seconds": "12"}, {"document": 3}, {"key": []}, {"message": 1, "outcome": "failed"}])
@pytest.mark.parametrize("command", ["report", "gate"])
def test_values_of_the_wrong_type_are_no_traceback(tmp_path: Path, fields: dict[str, object], command: str) -> None:
    """A report that somebody edited ends in a sentence."""
    state = StateFolder(tmp_path / "jaxdevice")
    state.write_json(state.report, {"schema": 1, "lectures": [{**to_json(record()), **fields}]}, _no_warning)

    result = _call(command, tmp_path)

    assert result.exit_code == 2, result.output
    assert f"its {next(iter(fields))} is" in result.output


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


def test_clearing_says_when_a_file_stays(state: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the stored failure can't be removed, as on a read-only disk, nobody is told that it is gone."""

    def refuse(_path: Path, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - the signature of Path.unlink
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", refuse)  # the tests may run as root, whom no mode of a folder stops

    result = _call("failures", "clear", "sub/broken", "--path", state.path)

    assert result.exit_code == 2
    assert "still stored" in result.output


@pytest.mark.parametrize(
    "given", ["sub/broken", "sub/broken.md", "./sub/broken.md", "book/sub/broken.md", "/any/sub/broken.ipynb"]
)
def test_lecture_may_be_named_by_its_file(state: StateFolder, given: str) -> None:
    """A document name, a source path, another suffix, and a path that a shell completes all mean the lecture."""
    assert _call("explain", given, "--path", state.path).output.startswith("sub/broken was run")


@pytest.mark.parametrize("given", ["", ".", "/", "..", "zzz"])
def test_name_that_means_nothing_lists_the_lectures(state: StateFolder, given: str) -> None:
    """Where no lecture's name is near, some are named."""
    result = _call("explain", given, "--path", state.path)

    assert result.exit_code == 2
    assert "there are: good, sub/broken" in result.output


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


def test_explain_does_not_call_a_passed_over_failure_shown(state: StateFolder) -> None:
    """A success beside a stored failure of the same code and device: the failure did not fit, and that is what is said."""
    cached = record("sub/broken", source=Source.CACHED, key={"code": "abc", "device": "cpu"})
    state.merge_report([cached], None, _no_warning)

    output = _call("explain", "sub/broken", "--path", state.path).output

    assert "under the same code and device; passed over for its age, or for its files" in output
    assert "it is what builders show" not in output


def test_explain_knows_all_parts_of_the_key() -> None:
    """Every part of a failure's key is explained, and no other."""
    lecture_free = {"code", "device", "limits", "options", "folder", "files", *environment_parts(None)}

    assert set(PARTS) == lecture_free


def test_gate_needs_neither_notebooks_nor_jupyter(state: StateFolder) -> None:
    """The gate and the version answer at once: what takes seconds to import is left out."""
    code = (
        "import sys; from sphinx_jaxdevice.cli import main; main(['gate', sys.argv[1]], standalone_mode=False); "
        "print(sorted({'nbformat', 'jsonschema', 'jupyter_client', 'sqlalchemy', 'sphinx'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code, str(state.path)], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("1 of 2 lectures failed\n[]\n")


def test_terminal_without_utf8_gets_escapes(state: StateFolder) -> None:
    """A message that the terminal's encoding can't hold is no traceback."""
    state.merge_report([failed("sub/broken", message="σ ≤ 0 … \ud800")], None, _no_warning)
    command = [sys.executable, "-m", "sphinx_jaxdevice.cli", "report", str(state.path)]

    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}
    )

    assert "CellExecutionError: \\u03c3 \\u2264 0 \\u2026 \\ud800" in done.stdout


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_only_where_they_are_wanted(state: StateFolder, environment: dict[str, str], *, coloured: bool) -> None:
    """A terminal gets colours, unless NO_COLOR is set."""
    result = CliRunner().invoke(main, ["gate", str(state.path)], color=True, env={"NO_COLOR": "", **environment})

    assert ("\x1b[31m" in result.output) is coloured


def test_installed_command_answers() -> None:
    """The command is installed and knows its version."""
    command = Path(sys.executable).with_name("jaxdevice")

    done = subprocess.run([str(command), "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("jaxdevice, version ")


def test_broken_pipe_is_no_traceback(state: StateFolder) -> None:
    """A reader that closes early, as `head` does, ends the command quietly, also when there is more to say than a pipe holds."""
    state.merge_report([record(f"lecture{number}") for number in range(200)], None, _no_warning)
    shell = f"{sys.executable} -m sphinx_jaxdevice.cli report {state.path} --format json | true"

    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)

    assert done.stderr == ""
