from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sphinx_jaxdevice.diagnostics import Diagnostic, StateError, WarningKind
from sphinx_jaxdevice.state_folder import StateFolder, find

from .records import record


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    """Return an empty state folder."""
    return StateFolder(tmp_path / "jaxdevice")


def test_missing_file_is_nothing_and_no_warning(state: StateFolder) -> None:
    """Before the first build there is nothing to read and nothing to say."""
    warnings: list[Diagnostic] = []

    assert state.read_json(state.report, warnings.append) is None
    assert state.read_report(warnings.append) == []
    assert warnings == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.binary(max_size=200))
def test_damaged_file_is_set_aside_with_one_warning(state: StateFolder, content: bytes) -> None:
    """Whatever bytes a file holds, it is read or it is set aside with one warning, and the next read finds nothing."""
    state.path.mkdir(exist_ok=True)
    state.report.write_bytes(content)
    warnings: list[Diagnostic] = []

    assert state.read_json(state.report, warnings.append) is None

    assert [warning.kind for warning in warnings] == [WarningKind.STATE]
    assert not state.report.exists()


def test_newer_file_is_left_in_place(state: StateFolder) -> None:
    """A file of a newer schema is not read, not set aside and not overwritten."""
    state.path.mkdir()
    state.report.write_text('{"schema": 99, "lectures": []}')
    warnings: list[Diagnostic] = []

    state.merge_report([record()], None, warnings.append)

    assert json.loads(state.report.read_text())["schema"] == 99
    assert [warning.kind for warning in warnings] == [WarningKind.STATE]


def test_merge_replaces_adds_and_drops(state: StateFolder) -> None:
    """Records of the same documents are replaced, others kept, and those of pages that are gone dropped."""
    warnings: list[Diagnostic] = []
    state.merge_report([record("a", seconds=1.0), record("b"), record("gone")], None, warnings.append)

    state.merge_report([record("a", seconds=2.0), record("c")], {"a", "b", "c"}, warnings.append)

    assert [(one.document, one.seconds) for one in state.read_report(warnings.append)] == [
        ("a", 2.0),
        ("b", 12.34),
        ("c", 12.34),
    ]
    assert warnings == []


def test_damaged_entry_costs_itself(state: StateFolder) -> None:
    """One entry that is no record is dropped with a warning; the others stay."""
    warnings: list[Diagnostic] = []
    state.merge_report([record("a"), record("b")], None, warnings.append)
    data = json.loads(state.report.read_text())
    data["lectures"][0]["outcome"] = "exploded"
    state.report.write_text(json.dumps(data))

    assert [one.document for one in state.read_report(warnings.append)] == ["b"]
    assert len(warnings) == 1


def test_write_that_fails_keeps_the_old_file_and_leaves_nothing(state: StateFolder) -> None:
    """A folder that can't be written costs one warning, no exception and no temporary file."""
    state.path.write_text("a file where the folder should be")
    warnings: list[Diagnostic] = []

    assert not state.write_json(state.report, {"schema": 1}, warnings.append)

    assert len(warnings) == 1
    assert list(state.path.parent.iterdir()) == [state.path]


def test_two_processes_lose_no_record(state: StateFolder) -> None:
    """Processes that merge into one report at the same time keep each other's records."""
    script = (
        "import sys; from pathlib import Path; from tests.records import record; from sphinx_jaxdevice.state_folder import StateFolder\n"
        "state = StateFolder(Path(sys.argv[1]))\n"
        "for n in range(20): state.merge_report([record(f'{sys.argv[2]}{n}')], None, print)"
    )
    root = Path(__file__).parent.parent
    processes = [subprocess.Popen([sys.executable, "-c", script, str(state.path), name], cwd=root) for name in "abc"]
    assert [process.wait(60) for process in processes] == [0, 0, 0]

    assert len(state.read_report(lambda warning: pytest.fail(warning.message))) == 60


def test_search_without_a_report_says_where_it_looked(tmp_path: Path) -> None:
    """A path without a report is an error that names the places and what to do."""
    with pytest.raises(StateError, match=r"_build/jaxdevice/report\.json.*Build the book first"):
        find(tmp_path)
