"""Notebooks run in real kernels."""

from __future__ import annotations

import json
import pickle
import uuid
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from sphinx_jaxdevice import execution
from sphinx_jaxdevice.device import Device
from sphinx_jaxdevice.execution import CellStarted, KernelSession
from sphinx_jaxdevice.outcome import Execution, Outcome
from sphinx_jaxdevice.policy import Policy, Setting

from .books import wait_until_gone

pytestmark = pytest.mark.slow

HOLDS_THE_GIL = "import time\nprint('begins', flush=True)\ntime.sleep(0.5)\nsum(range(10**13))"
STAND_IN_GPU = """
from jax._src import xla_bridge
from jaxlib import xla_client
xla_bridge.register_backend_factory("rocm", lambda: xla_client.make_cpu_client(), priority=400, fail_quietly=False)
"""


def _notebook(*cells: str, kernel: str = "python3", tags: dict[int, list[str]] | None = None) -> Any:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel}
    for index, names in (tags or {}).items():
        notebook.cells[index].metadata["tags"] = names
    return notebook


def _policy(cell: float | None = None, lecture: float | None = None, **more: Any) -> Policy:
    limits = {
        "cell_limit": Setting(cell, "jax-timeout, line 3"),
        "lecture_limit": Setting(lecture, "jax-lecture-timeout, line 4"),
    }
    return Policy(device=Setting(Device.CPU, "jax-device, line 2"), **{**limits, **more})


def _run(notebook: Any, policy: Policy | None = None, **more: Any) -> Execution:
    return execution.run(notebook, policy or _policy(), cwd=str(Path.cwd()), **more)


def _text(finished: Execution, index: int) -> str:
    return "".join(output.get("text", "") for output in finished.notebook.cells[index].outputs)


def _errors(finished: Execution, index: int) -> list[Any]:
    return [output for output in finished.notebook.cells[index].outputs if output.output_type == "error"]


@pytest.mark.parametrize(
    "notebook",
    [
        _notebook(
            "x = 1\nprint('out')",
            "x + 1",
            "import sys\nprint('err', file=sys.stderr)",
            "",
            "from IPython.display import HTML\nHTML('<b>x</b>')",
        ),
        _notebook("1 / 0", "print('after')", tags={0: ["raises-exception"]}),
        _notebook("print('no')", "print('yes')", tags={0: ["skip-execution"]}),
        _notebook("from IPython.display import display\nh = display('a', display_id='d')", "h.update('b')\nprint('x')"),
    ],
    ids=["streams and results", "raises-exception", "skip-execution", "updates"],
)
def test_notebook_equals_that_of_nbclient(notebook: Any) -> None:
    """A notebook that succeeds is filled exactly as nbclient fills it, metadata included."""
    theirs = deepcopy(notebook)
    nbclient.execute(theirs, record_timing=False)

    finished = _run(notebook)

    assert finished.outcome is Outcome.SUCCEEDED
    assert finished.failure is None
    ours = json.loads(nbformat.writes(finished.notebook))
    expected = json.loads(nbformat.writes(theirs))
    for cell in (*ours["cells"], *expected["cells"]):
        for output in cell["outputs"]:
            output.pop("traceback", None)  # holds the number of the kernel's process
    assert ours == expected


def test_input_and_result_are_picklable_and_the_input_is_untouched() -> None:
    """The call can be made in another process: notebook, policy and result survive pickling, and the notebook is copied."""
    notebook = _notebook("print(1)")

    finished = _run(pickle.loads(pickle.dumps(notebook)), pickle.loads(pickle.dumps(_policy())))

    assert pickle.loads(pickle.dumps(finished)) == finished
    assert notebook.cells[0].outputs == []


def test_environment_is_set_before_any_code() -> None:
    """The kernel starts with the variables that were asked for beside those of this process."""
    finished = _run(
        _notebook("import os\nprint(os.environ['JAX_PLATFORMS'], 'PATH' in os.environ)"), environment={"JAX_PLATFORMS": "cpu"}
    )

    assert _text(finished, 0) == "cpu True\n"


def test_agent_leaves_no_trace_in_the_lecture() -> None:
    """Names, history, counts and warnings of a kernel with the agent are those of one without it."""
    code = "import warnings\nprint(sorted(n for n in dir() if n != 'warnings'), In, Out, len(warnings.filters), get_ipython().execution_count)"
    theirs = _notebook(code)
    nbclient.execute(theirs)

    finished = _run(_notebook(code))

    assert _text(finished, 0) == theirs.cells[0].outputs[0].text


@pytest.mark.parametrize(
    "code", ["import time\nprint('begins', flush=True)\ntime.sleep(60)", HOLDS_THE_GIL], ids=["python", "native code"]
)
def test_cell_over_its_limit_is_ended(code: str) -> None:
    """Partial output stays, one readable error is added, the next cell is not run, and the end comes within seconds."""
    finished = _run(_notebook(code, "print('never')"), _policy(cell=1))

    assert finished.outcome is Outcome.TIMED_OUT
    assert finished.seconds < 1 + 6
    assert _text(finished, 0) == "begins\n"
    (error,) = _errors(finished, 0)
    assert error.ename == "CellTimeoutError"
    story = "\n".join(error.traceback)
    for part in ("limit of 1 s", "jax-timeout, line 3", "used:", "cpu"):
        assert part in story
    assert finished.notebook.cells[1].outputs == []
    assert finished.failure is not None
    assert finished.failure.cell_index == 0


def test_code_that_swallows_the_interrupt_is_killed() -> None:
    """A cell that ignores KeyboardInterrupt is over its limit all the same."""
    finished = _run(
        _notebook(
            "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        print('no')"
        ),
        _policy(cell=1),
    )

    assert finished.outcome is Outcome.TIMED_OUT
    assert [error.ename for error in _errors(finished, 0)] == ["CellTimeoutError"]


def test_tags_and_allowed_errors_do_not_excuse_a_timeout() -> None:
    """A cell over its limit is a failure, also with raises-exception and allowed errors."""
    notebook = _notebook("import time; time.sleep(60)", tags={0: ["raises-exception"]})

    assert _run(notebook, _policy(cell=1, allow_errors=True)).outcome is Outcome.TIMED_OUT


def test_own_limit_of_a_cell_wins() -> None:
    """A cell's own limit may be wider or tighter than the lecture's."""
    own = {0: Setting(30.0, "cell 1"), 1: Setting(1.0, "cell 2")}

    finished = _run(_notebook("import time; time.sleep(2)", "time.sleep(60)"), _policy(cell=1.5, own_cell_limits=own))

    assert finished.outcome is Outcome.TIMED_OUT
    assert finished.failure is not None
    assert finished.failure.cell_index == 1


def test_limit_of_the_lecture_is_shared_by_its_cells() -> None:
    """The deadline of the lecture ends the cell that is running when it passes, and names itself."""
    finished = _run(_notebook(*["import time; time.sleep(1)"] * 9), _policy(cell=30, lecture=3.5))

    assert finished.outcome is Outcome.TIMED_OUT
    assert finished.failure is not None
    assert finished.failure.error == "LectureTimeoutError"
    assert 3.5 <= finished.seconds < 7


def test_no_process_is_left_after_a_limit() -> None:
    """Children of the kernel, also those in sessions of their own, are ended with it."""
    marker = uuid.uuid4().hex
    code = "import subprocess, time\nsubprocess.Popen(['sleep', '61'], start_new_session=True)\nsubprocess.Popen(['sleep', '62'])\ntime.sleep(60)"

    _run(_notebook(code), _policy(cell=2), environment={"MARKER": marker})

    assert wait_until_gone(marker, 3) == []


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import os\nos._exit(3)", "exit status 3"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
    ],
)
def test_dead_kernel_says_how_it_ended(code: str, says: str) -> None:
    """A kernel that dies is an outcome with signal or exit status, and its page has one error output."""
    finished = _run(_notebook("print('before')", code, "print('never')"))

    assert finished.outcome is Outcome.KERNEL_DIED
    (error,) = _errors(finished, 1)
    assert says in error.evalue
    assert _text(finished, 0) == "before\n"


def test_old_outputs_after_a_failing_cell_are_cleared() -> None:
    """What a notebook brought along does not stand after the failure as if it were of this run."""
    notebook = _notebook("1 / 0", "print('new')")
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="old")]

    finished = _run(notebook)

    assert finished.outcome is Outcome.FAILED
    assert finished.notebook.cells[1].outputs == []
    assert finished.failure is not None
    assert finished.failure.message == "ZeroDivisionError: division by zero"
    assert "\x1b" not in finished.failure.traceback


def test_unknown_kernel_is_a_failure_that_names_the_known_ones() -> None:
    """A kernel that does not exist fails the lecture before its first cell and says which ones there are."""
    finished = _run(_notebook("print(1)", kernel="no-such-kernel"))

    assert finished.outcome is Outcome.FAILED
    assert not finished.reached_a_cell
    assert "python3" in _errors(finished, 0)[0].evalue


DIES_AT_FIRST = """import os, sys
first = not os.path.exists(sys.argv[1])
open(sys.argv[1], "a").close()
if first:
    sys.exit(1)
os.execv(sys.executable, [sys.executable, "-m", "ipykernel_launcher", *sys.argv[2:]])
"""


def test_kernel_that_dies_before_it_answers_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that loses a race for a port at its start gets another chance."""
    kernel = tmp_path / "kernels" / "unlucky"
    kernel.mkdir(parents=True)
    (tmp_path / "start.py").write_text(DIES_AT_FIRST)
    argv = ["python", str(tmp_path / "start.py"), str(tmp_path / "mark"), "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Unlucky", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))

    assert _run(_notebook("print(1)", kernel="unlucky")).outcome is Outcome.SUCCEEDED


def test_compile_time_is_told_by_cell() -> None:
    """A cell before JAX is loaded has none, one that imports and compiles has its own, one that reuses a program has zero."""
    cells = (
        "1 + 1",
        "import jax, jax.numpy as jnp\nf = jax.jit(lambda x: jnp.sin(x @ x).sum())\nx = jnp.eye(20)\nf(x)",
        "f(x)",
    )

    finished = _run(_notebook(*cells), environment={"JAX_PLATFORMS": "cpu"})

    before, compiling, warm = (cell.compile_seconds for cell in finished.cells)
    assert before is None
    assert compiling is not None
    assert 0 < compiling < finished.cells[1].seconds
    assert warm == 0
    assert finished.jax is not None
    assert (finished.jax.platform, finished.jax.device_kind, finished.jax.x64) == ("cpu", "cpu", False)


def test_compile_time_and_device_survive_a_killed_kernel() -> None:
    """What JAX did before the kernel was killed is known all the same."""
    code = "import jax, jax.numpy as jnp\njax.jit(lambda x: x @ x)(jnp.eye(9))\n" + HOLDS_THE_GIL

    finished = _run(_notebook(code), _policy(cell=8), environment={"JAX_PLATFORMS": "cpu"})

    assert finished.outcome is Outcome.TIMED_OUT
    assert finished.cells[0].compile_seconds
    assert finished.jax is not None
    assert finished.jax.platform == "cpu"


def test_stand_in_gpu_is_reported_as_used() -> None:
    """With a second platform present, the one that worked is named, and the other ones that were opened."""
    code = STAND_IN_GPU + "import jax.numpy as jnp\n(jnp.ones(3) + 1).sum()"

    finished = _run(_notebook(code))

    assert finished.jax is not None
    assert finished.jax.platform == "rocm"
    assert finished.jax.other_platforms == ("cpu",)


def test_jax_is_neither_imported_nor_started_by_the_question() -> None:
    """A lecture without JAX has no answer, and one that only imports it has no device."""
    assert _run(_notebook("1 + 1")).jax is None
    imported = _run(_notebook("import jax")).jax
    assert imported is not None
    assert imported.platform is None


def test_other_languages_run_without_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bash kernel runs, keeps its limits and has nothing to say of JAX."""
    kernel = tmp_path / "kernels" / "bash"
    kernel.mkdir(parents=True)
    spec = {"argv": ["python", "-m", "bash_kernel", "-f", "{connection_file}"], "display_name": "Bash", "language": "bash"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))

    finished = _run(_notebook("echo $((1 + 1))", "sleep 60", kernel="bash"), _policy(cell=2))

    assert _text(finished, 0) == "2\n"
    assert finished.outcome is Outcome.TIMED_OUT
    assert finished.jax is None


def test_progress_counts_the_cells_that_run() -> None:
    """Progress is told as each cell starts, k of n, without cells that are not executed."""
    seen: list[CellStarted] = []

    _run(_notebook("1", "", "2"), progress=seen.append)

    assert [(cell.number, cell.total, cell.index) for cell in seen] == [(1, 2, 0), (2, 2, 2)]


def test_peak_memory_is_that_of_the_kernel() -> None:
    """A cell that holds 300 MB shows in the peak of the kernel."""
    finished = _run(_notebook("x = b'x' * 300_000_000\ndel x"))

    assert finished.peak_memory_bytes is not None
    assert finished.peak_memory_bytes > 300_000_000


def test_session_evaluates_expressions_without_a_trace() -> None:
    """An expression between two cells gives its outputs and changes neither counts nor notebook."""
    notebook = _notebook("x = 20", "x + 1")
    with KernelSession(notebook, _policy(), cwd=str(Path.cwd())) as session:
        session.start()
        session.run_cell(0)
        outputs = session.evaluate("x * 2")
        session.run_cell(1)
        finished = session.close()

    assert outputs[0].data["text/plain"] == "40"
    assert [cell.execution_count for cell in finished.notebook.cells] == [1, 2]
    assert len(finished.notebook.cells) == 2


def test_temporary_folder_is_empty_and_goes_away() -> None:
    """Without a folder the kernel works in an empty one that is removed."""
    finished = execution.run(_notebook("import os\nprint(os.getcwd(), os.listdir())"), _policy(), cwd=None)

    folder, listing = _text(finished, 0).split(maxsplit=1)
    assert listing.strip() == "[]"
    assert not Path(folder).exists()
