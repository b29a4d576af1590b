"""What holds for all tests: the report's header, and which copy of the package is tested."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import sphinx_jaxdevice

from .books import TinyBook
from .build_server import BuildServer

SHOWN = ("sphinx", "myst-nb", "myst-parser", "jupyter-cache", "nbclient", "jupyter-book", "jax")
REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """End the run where the installed wheel is to be tested and the source folder would be."""
    found = Path(sphinx_jaxdevice.__file__).resolve()
    if os.environ.get("JAXDEVICE_TEST_INSTALLED") and found.parent.parent == REPOSITORY:
        pytest.exit(f"the tests would import {found}, not the installed package", returncode=3)


def pytest_report_header() -> str:
    """Name what the tests run against."""
    return f"sphinx_jaxdevice {sphinx_jaxdevice.__version__} from {Path(sphinx_jaxdevice.__file__).parent}; " + ", ".join(
        f"{name} {_version(name)}" for name in SHOWN
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


@pytest.fixture(scope="session")
def build_server() -> Iterator[BuildServer]:
    """Return a warm process that builds in forks of itself; one for each worker of a parallel test run."""
    server = BuildServer()
    TinyBook.server = server
    yield server
    TinyBook.server = None
    server.close()


@pytest.fixture(autouse=True)
def _warm_builds(request: pytest.FixtureRequest) -> None:
    """Start the warm process with the first test that is marked as one of books."""
    if request.node.get_closest_marker("slow") is not None:
        request.getfixturevalue("build_server")
