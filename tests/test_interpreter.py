from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from sphinx_jaxdevice import interpreter
from sphinx_jaxdevice.interpreter import describe


def make_environment(folder: Path, *distributions: str) -> str:
    """Make an environment of this Python without pip; return its program."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for name in distributions:
        (site / f"{name}.dist-info").mkdir()
    return str(folder / "bin" / "python")


def script(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["python", "python3", f"python{sys.version_info[0]}.{sys.version_info[1]}", sys.executable])
def test_a_bare_python_is_this_interpreter(name: str) -> None:
    """The names that jupyter-client replaces by this interpreter stand for it here too."""
    found = describe(name)

    assert found.executable == sys.executable
    assert found.version == sys.version.split()[0]


def test_another_name_in_the_same_folder_is_this_interpreter() -> None:
    """A full path to this environment's `python3` is answered without a child process, with the same digest."""
    other_name = next(path for path in Path(sys.executable).parent.glob("python*") if str(path) != sys.executable)

    assert describe(str(other_name)).distributions_digest == describe("python").distributions_digest


def test_the_distributions_are_those_that_python_knows() -> None:
    """Every distribution with a metadata folder that `importlib.metadata` finds is found by its folder's name."""
    known = {f"{found.metadata['Name']}-{found.version}".replace("-", "_").lower() for found in metadata.distributions()}

    found = {name.replace("-", "_").lower() for name in interpreter._distributions(sys.path)}

    assert len(known - found) <= 0.02 * len(known)  # a few write their folder's name in an older manner


def test_jax_is_not_imported() -> None:
    """Describing an interpreter that has JAX does not import JAX."""
    code = "import sys; from sphinx_jaxdevice.interpreter import describe; describe('python'); print('jax' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_another_environment_has_its_own_distributions(tmp_path: Path) -> None:
    """An environment with the same Python file behind its link is asked for its own distributions and plugins."""
    program = make_environment(tmp_path / "env", "jax_cuda13_plugin-0.10.2", "libtpu-0.1", "numpy-2.3.0")

    found = describe(program)

    assert found.plugins == ("jax-cuda13-plugin", "libtpu")
    assert found.version == sys.version.split()[0]
    assert found.distributions_digest != describe("python").distributions_digest


def test_the_digest_changes_with_a_version(tmp_path: Path) -> None:
    """Installing another version of one distribution changes the digest, although the interpreter is asked only once."""
    program = make_environment(tmp_path / "env", "numpy-2.3.0")
    before = describe(program).distributions_digest
    folder = next(tmp_path.glob("env/lib/python*/site-packages/numpy-2.3.0.dist-info"))
    folder.rename(folder.with_name("numpy-2.3.1.dist-info"))

    assert describe(program).distributions_digest != before


def test_a_module_in_the_working_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `json.py` beside the lectures has no part in the question to another interpreter."""
    program = make_environment(tmp_path / "env")
    (tmp_path / "json.py").write_text("raise SystemExit('run')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert describe(program).version == sys.version.split()[0]


def test_a_program_that_is_no_python_is_not_started(tmp_path: Path) -> None:
    """A kernel of another language is described by its file and never started, because `-c` could mean anything to it."""
    program = script(tmp_path / "R", f"#!/bin/sh\ntouch {tmp_path}/started\n")

    found = describe(program)

    assert (found.version, found.plugins) == ("", ())
    assert not (tmp_path / "started").exists()


def test_a_program_that_changed_has_another_digest(tmp_path: Path) -> None:
    """A kernel program that is no Python has another digest when its file changes."""
    before = describe(script(tmp_path / "R", "#!/bin/sh\n")).distributions_digest

    assert describe(script(tmp_path / "R", "#!/bin/sh\ntrue\n")).distributions_digest != before


@pytest.mark.parametrize(
    "answer",
    ["exit 1", "echo nonsense", "echo '[1]'", "echo 5", "true", "kill -9 $$", "sleep 60; true"],
    ids=lambda answer: answer.split()[0],
)
def test_a_python_that_does_not_answer_is_described_by_its_file(
    tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program called python that fails, talks nonsense or hangs is described by its file, and nothing is raised."""
    monkeypatch.setattr(interpreter, "ANSWER_LIMIT", 0.5)
    program = script(tmp_path / "python3", f"#!/bin/sh\n{answer}\n")

    assert describe(program).version == ""


@pytest.mark.parametrize(
    "name", ["", "nul\0character", "/absent/python", "/absent/R", "x" * 5000, os.fsdecode(b"/\xff/python")]
)
def test_a_name_that_is_no_program_raises_nothing(name: str) -> None:
    """Whatever a kernel specification names, it gets a description without plugins."""
    assert describe(name).plugins == ()


def test_the_answer_is_asked_for_once(tmp_path: Path) -> None:
    """Another interpreter is started once per process, however many lectures it runs."""
    real = shutil.which("python3")
    program = script(tmp_path / "python3", f'#!/bin/sh\necho x >> {tmp_path}/calls\nexec {json.dumps(real)} "$@"\n')
    for _ in range(3):
        describe(program)

    assert (tmp_path / "calls").read_text() == "x\n"
