"""The project's sessions: what people and CI run. Needs only Python and `python -m pip install "nox[uv]"`.

Supported Pythons are read from the classifiers and tools from the dependency groups of pyproject.toml, so each list stands
in one place. The two stacks of the tests are the groups `jb1` (Jupyter Book 1) and `new` (the newest Sphinx with MyST-NB).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nox
from nox.command import CommandFailed

HERE = Path(__file__).parent
PYPROJECT = nox.project.load_toml(HERE / "pyproject.toml")
PYTHONS = nox.project.python_versions(PYPROJECT)
STACKS = ("jb1", "new")
BOOK = HERE / "example_book"
BUILDERS = (
    ("--builder=html",),
    ("--builder=latex",),
    ("--builder=custom", "--custom-builder=jupyter"),
)


def works(version: str) -> bool:
    """Return whether there is a Python of this version, such as `3.12`, that really starts.

    A name on the PATH is not enough: the shims of pyenv exist for versions that are not switched on, and fail.
    """
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return True
    try:
        return subprocess.run([f"python{version}", "--version"], capture_output=True, check=False, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


PRESENT = [version for version in PYTHONS if works(version)]
if not PRESENT:
    msg = f"none of the supported Pythons ({', '.join(PYTHONS)}) is on this machine"
    raise SystemExit(msg)
OLDEST, NEWEST = PRESENT[0], PRESENT[-1]

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["tests", "lint", "types", "imports"]
# A missing Python is skipped with a message, also in CI, and never fetched: each run tests the Pythons that are there.
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"
# Each test starts new interpreters; with byte code made at installation, also where the environment forbids writing it later,
# they start in half the time.
os.environ.setdefault("UV_COMPILE_BYTECODE", "1")


def group(*names: str) -> tuple[str, ...]:
    """Return the requirements of dependency groups."""
    return nox.project.dependency_groups(PYPROJECT, *names)


def install(session: nox.Session, *groups: str, extra: str = "") -> None:
    """Install the package as users get it, built into a wheel and not linked to this folder, with dependency groups."""
    session.install(f".{extra}", *group(*groups))


def run_tests(session: nox.Session, stack: str) -> None:
    """Install a stack with the wheel and run the tests against it; arguments after `--` go to pytest."""
    missing = [version for version in PYTHONS if version not in PRESENT]
    if missing:
        session.log(f"not on this machine, so not tested: Python {', '.join(missing)}")
    install(session, stack, "tests", extra="[benchmark]")
    # importlib mode and the `pytest` command put no folder of ours on the path, so that the installed wheel is what is
    # imported; tests/conftest.py checks it where this variable is set.
    environment = {"JAXDEVICE_TEST_INSTALLED": "1"}
    # Three workers on two cores: half of the tests' time is waiting for kernels and limits.
    session.run("pytest", "--import-mode=importlib", "-n", "3", *session.posargs, env=environment)


@nox.session
@nox.parametrize(("python", "stack"), [nox.param(OLDEST, "jb1", id="jb1"), nox.param(NEWEST, "new", id="new")])
def tests(session: nox.Session, stack: str) -> None:
    """Run the tests: Jupyter Book 1 on the oldest Python here, the newest Sphinx on the newest."""
    run_tests(session, stack)


@nox.session(python=PYTHONS)
@nox.parametrize("stack", STACKS, ids=STACKS)
def tests_all(session: nox.Session, stack: str) -> None:
    """Run the tests on every supported Python that is here, with both stacks."""
    run_tests(session, stack)


@nox.session(python=OLDEST)
def lint(session: nox.Session) -> None:
    """Check style, format and spelling."""
    session.install(*group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    session.run("zizmor", "--offline", "--quiet", ".github/workflows", "docs/how-to/book-workflow.yml")


@nox.session(python=OLDEST)
def types(session: nox.Session) -> None:
    """Check types, tests and this file included."""
    install(session, "jb1", "tests", "types", extra="[benchmark]")
    session.run("mypy", *session.posargs)


@nox.session(python=OLDEST)
def imports(session: nox.Session) -> None:
    """Check who may import whom: no Sphinx in the core, no JAX outside the benchmark, no cycles."""
    session.install(*group("imports"))
    session.run("lint-imports", "--no-cache")


@nox.session(python=OLDEST)
def book(session: nox.Session) -> None:
    """Build the example book with three builders, check that no lecture failed, print the report and the page to open."""
    install(session, "jb1", "book", extra="[benchmark]")
    failed = [builder[-1] for builder in BUILDERS if not build(session, *builder)]
    session.run("jaxdevice", "report", str(BOOK))
    session.run("jaxdevice", "gate", str(BOOK))
    if failed:
        session.error(f"these builds failed, see above: {', '.join(failed)}")
    print(f"\nThe book is built. Open {BOOK / '_build' / 'html' / 'index.html'} in a browser.")


def build(session: nox.Session, *builder: str) -> bool:
    """Build the example book and return whether it went well; the report is worth reading even if it did not."""
    try:
        session.run("jupyter-book", "build", str(BOOK), *builder, "-n", "-W", "--keep-going")
    except CommandFailed:
        return False
    return True


@nox.session(python=NEWEST)
def docs(session: nox.Session) -> None:
    """Build the manual; every warning and every broken reference fails."""
    install(session, "docs")
    output = HERE / "docs" / "_build" / "html"
    session.run("sphinx-build", "-n", "-W", "--keep-going", "-E", "-b", "html", "docs", str(output))
    print(f"\nThe manual is built. Open {output / 'index.html'} in a browser.")


@nox.session(python=OLDEST)
def benchmarks(session: nox.Session) -> None:
    """Run the measurements of benchmarks/, or those named after `--`, one after the other: they must not share the cores."""
    install(session, "jb1", "tests", extra="[benchmark]")
    scripts = session.posargs or [
        path.stem for path in sorted((HERE / "benchmarks").glob("*.py")) if "__main__" in path.read_text()
    ]
    for script in scripts:
        session.run("python", "-m", f"benchmarks.{script}")
