"""Where a benchmark runs: the machine, the versions and the variables that change what JAX does. Nothing here starts JAX."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from sphinx_jaxdevice.device import Choice, Device, choose, look
from sphinx_jaxdevice.diagnostics import JaxDeviceError
from sphinx_jaxdevice.machine import available_cores, processor

from .result import Machine

PACKAGES = re.compile(r"jax|jaxlib|numpyro|numpy|jax-(cuda|rocm|metal).*|libtpu.*", re.IGNORECASE)
VARIABLES = re.compile(r"(JAX|XLA|TF|CUDA|NVIDIA|HIP|ROCR|OMP|MKL|OPENBLAS)_\w+")
NEEDED = ("jax", "numpyro", "numpy")
DRIVER = Path("/proc/driver/nvidia/version")


class CantMeasureError(JaxDeviceError):
    """The benchmark can't start here; the text says what is missing and what to do."""


def installed() -> dict[str, str]:
    """Return the distributions of this Python, name and version."""
    return {found.metadata["Name"]: found.version for found in distributions() if found.metadata["Name"]}


def versions(names: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that matter."""
    chosen = {name: version for name, version in sorted(names.items()) if PACKAGES.fullmatch(name)}
    return {"python": platform.python_version(), **chosen}


def variables() -> dict[str, str]:
    """Return the variables of the environment that change what JAX does."""
    return {name: value for name, value in sorted(os.environ.items()) if VARIABLES.fullmatch(name)}


def check_packages() -> None:
    """Raise `CantMeasureError` where a package is missing; the text names the command that installs it."""
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        wanted = " and ".join(lacking)
        msg = f'the benchmark needs {wanted}, and this Python has no such package: pip install "sphinx-jaxdevice[benchmark]"'
        raise CantMeasureError(msg)


def pins(asked: Iterable[Device] | None, names: Iterable[str]) -> dict[Device, Choice]:
    """Return how each device is asked of JAX; without `asked`, the CPU and a GPU where there is one.

    Raises `CantMeasureError` for a device that is not there.
    """
    facts = look(list(names))
    if asked is None:
        gpu = choose(Device.GPU, facts)
        return {Device.CPU: choose(Device.CPU, facts), **({} if gpu.missing else {Device.GPU: gpu})}
    chosen = {device: choose(device, facts) for device in asked}
    for choice in chosen.values():
        if choice.missing:
            msg = f"{choice.missing} `--devices cpu` measures the CPU alone."
            raise CantMeasureError(msg)
    return chosen


def machine(gpu_kind: str | None) -> Machine:
    """Return the machine; `gpu_kind` is JAX's name of the GPU, as a child told it."""
    return Machine(cpu=processor(), cores=available_cores(), gpu=gpu_kind, driver=_driver() if gpu_kind else None)


def _driver() -> str | None:
    """Return the version of the GPU's driver."""
    with suppress(OSError):
        found = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", DRIVER.read_text(errors="replace"))
        if found:
            return f"NVIDIA {found.group()}"
    with suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],  # noqa: S607 - wherever it is
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return f"NVIDIA {told.stdout.splitlines()[0].strip()}"
    return None
