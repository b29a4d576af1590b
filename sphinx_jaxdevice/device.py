"""Device names; what is asked and what the machine has -> the environment of the kernel; what was used against what was asked.

Nothing here imports JAX: a process that opens a GPU takes most of its memory. The machine is judged by device files and by the
names of the distributions that the kernel's interpreter has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from .outcome import JaxUse
from .wording import listed, nearest, refusal


class Device(StrEnum):
    """What a lecture may ask for in `jax-device`."""

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"
    AUTO = "auto"


class DeviceError(ValueError):
    """A value is not the name of a device; the text says what was found and what is accepted."""


ACCEPTED = listed(device.value for device in Device)

_ALIASES = {
    **dict.fromkeys(("cuda", "nvidia", "rocm", "amd", "hip", "metal", "mps"), "gpu"),
    **dict.fromkeys(("default", "any", "none"), "auto"),
}

_NVIDIA_FILES = ("nvidia0", "nvidiactl", "dxg")
"""Under `/dev`; the same three without which JAX passes CUDA over without a word."""
_AMD_FILES = ("kfd",)
_TPU_FILES = re.compile(r"accel[0-9]+|vfio/[0-9]+")

_GPU_PLATFORMS = frozenset({"cuda", "rocm", "gpu", "metal"})


def parse_device(value: object) -> Device:
    """Return the device that a value names. Raises `DeviceError` where it names none."""
    if isinstance(value, str) and value in set(Device):
        return Device(value)
    raise DeviceError(refusal(value, ACCEPTED, nearest(value, Device, _ALIASES)))


@dataclass(frozen=True, slots=True)
class AcceleratorFacts:
    """What speaks for an accelerator: device files of the machine, and JAX plugins of the kernel's interpreter."""

    nvidia_device: bool = False
    cuda_plugin: bool = False
    rocm_device: bool = False
    rocm_plugin: bool = False
    metal_plugin: bool = False
    tpu_device: bool = False
    tpu_plugin: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """How a device is asked of JAX."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set for the kernel, before Python starts."""
    missing: str | None = None
    """What was looked for and what lacked, in a sentence; None where the device is there."""


def look(plugins: Collection[str], dev_root: Path = Path("/dev")) -> AcceleratorFacts:
    """Look at the device files and return the facts about this machine and an interpreter with these distributions.

    `plugins` are names of distributions as in `Interpreter.plugins`. Never raises: a folder that can't be read has no devices.
    """
    names = {re.sub(r"[-_.]+", "-", plugin).lower() for plugin in plugins}
    files = {*_names_in(dev_root), *(f"vfio/{name}" for name in _names_in(dev_root / "vfio"))}
    return AcceleratorFacts(
        nvidia_device=not files.isdisjoint(_NVIDIA_FILES),
        cuda_plugin=any(name.startswith("jax-cuda") for name in names),
        rocm_device=not files.isdisjoint(_AMD_FILES),
        rocm_plugin=any(name.startswith("jax-rocm") for name in names),
        metal_plugin="jax-metal" in names,
        tpu_device=any(_TPU_FILES.fullmatch(name) for name in files),
        tpu_plugin=any(name.startswith("libtpu") for name in names),
    )


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are wanted, not paths
    except (OSError, ValueError):
        return []


def choose(device: Device, facts: AcceleratorFacts) -> Choice:
    """Return how to ask JAX for a device on a machine of which these facts are known.

    `gpu` is never written into `JAX_PLATFORMS`: JAX would then insist on CUDA, ROCm and oneAPI at once. `cpu` always follows an
    accelerator, because lectures may call `jax.devices("cpu")`.
    """
    match device:
        case Device.AUTO:
            return Choice()
        case Device.CPU:
            return Choice({"JAX_PLATFORMS": "cpu"})
        case Device.GPU:
            platform, missing = _gpu_platform(facts), _missing_gpu
        case Device.TPU:
            platform, missing = "tpu" if facts.tpu_device and facts.tpu_plugin else None, _missing_tpu
    return Choice({"JAX_PLATFORMS": f"{platform},cpu"}) if platform else Choice(missing=missing(facts))


def _gpu_platform(facts: AcceleratorFacts) -> str | None:
    if facts.nvidia_device and facts.cuda_plugin:
        return "cuda"
    if facts.rocm_device and facts.rocm_plugin:
        return "rocm"
    return "METAL" if facts.metal_plugin else None


def _missing_gpu(facts: AcceleratorFacts) -> str:
    if facts.nvidia_device:
        lacking = (
            "There is an NVIDIA device, but no jax-cuda plugin among the distributions of the kernel's Python: install "
            'jax with an extra such as "jax[cuda13]" there.'
        )
    elif facts.rocm_device:
        lacking = (
            "There is an AMD device, but no jax-rocm plugin among the distributions of the kernel's Python: install one there."
        )
    elif facts.cuda_plugin or facts.rocm_plugin:
        lacking = "The kernel's Python has a JAX plugin for GPUs, but the machine (or its container) shows no device."
    else:
        lacking = "Neither a device nor a plugin is there."
    looked = "an NVIDIA device (/dev/nvidia0, /dev/nvidiactl, /dev/dxg), an AMD device (/dev/kfd) and JAX's plugins for them"
    return f"No GPU that JAX can use was found; looked for {looked}. {lacking}"


def _missing_tpu(facts: AcceleratorFacts) -> str:
    if facts.tpu_device:
        lacking = "There is a TPU device, but no libtpu among the distributions of the kernel's Python."
    elif facts.tpu_plugin:
        lacking = "The kernel's Python has libtpu, but the machine (or its container) shows no device."
    else:
        lacking = "Neither is there."
    return f"No TPU that JAX can use was found; looked for a device (/dev/accel0, /dev/vfio/0) and libtpu. {lacking}"


def differs(asked: Device, use: JaxUse | None) -> str | None:
    """Return a sentence where JAX used another device than the lecture asks for, else None.

    Nothing is said about `auto`, nor where JAX was not loaded or started no backend.
    """
    if use is None or use.platform is None or asked is Device.AUTO:
        return None
    kind = f" ({use.device_kind})" if use.device_kind and use.device_kind.lower() != use.platform.lower() else ""
    if not _satisfies(asked, use.platform):
        return f"the lecture asks for {asked}, but JAX computed on {use.platform}{kind}. {_HOW_A_PIN_IS_UNDONE}"
    others = [name for name in use.other_platforms if name.lower() != Device.CPU]
    if asked is Device.CPU and others:
        return f"the lecture asks for cpu and JAX computed there, but it also opened {listed(others)}. {_HOW_A_PIN_IS_UNDONE}"
    return None


_HOW_A_PIN_IS_UNDONE = (
    "JAX_PLATFORMS is changed by the `env` entry of the kernel specification, or by code of the lecture that sets a platform: "
    "look for JAX_PLATFORMS, `jax_platforms`, `jax_platform_name`, `jax_default_device` and `set_platform`."
)


def _satisfies(asked: Device, platform: str) -> bool:
    name = platform.lower()
    return name in _GPU_PLATFORMS if asked is Device.GPU else name == asked
