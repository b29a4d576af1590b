from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given

from sphinx_jaxdevice.device import AcceleratorFacts, Choice, Device, DeviceError, choose, differs, look, parse_device
from sphinx_jaxdevice.outcome import JaxUse

from .test_timeouts import ANYTHING, UNHURRIED

NVIDIA = AcceleratorFacts(nvidia_device=True, cuda_plugin=True)
AMD = AcceleratorFacts(rocm_device=True, rocm_plugin=True)
TPU = AcceleratorFacts(tpu_device=True, tpu_plugin=True)


def used(platform: str | None, *others: str, kind: str | None = None) -> JaxUse:
    return JaxUse("0.10.2", x64=True, platform=platform, device_kind=kind, other_platforms=others)


def folder_with(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("name", ["cpu", "gpu", "tpu", "auto"])
def test_each_name_is_its_device(name: str) -> None:
    """The four names are read as they are written."""
    assert parse_device(name).value == name


@UNHURRIED
@given(ANYTHING)
def test_no_value_raises_another_error(value: object) -> None:
    """Whatever the value, it is a device or a DeviceError of one printable line."""
    try:
        told = parse_device(value).value
    except DeviceError as error:
        told = str(error)

    assert told.isprintable()


@pytest.mark.parametrize(
    ("asked", "facts", "platforms"),
    [
        (Device.AUTO, NVIDIA, None),
        (Device.CPU, NVIDIA, "cpu"),
        (Device.GPU, NVIDIA, "cuda,cpu"),
        (Device.GPU, AMD, "rocm,cpu"),
        (Device.GPU, AcceleratorFacts(metal_plugin=True), "METAL,cpu"),
        (Device.TPU, TPU, "tpu,cpu"),
    ],
)
def test_a_device_that_is_there_is_asked_of_jax(asked: Device, facts: AcceleratorFacts, platforms: str | None) -> None:
    """JAX_PLATFORMS names the platform that is there, with the CPU behind it; auto leaves the environment alone."""
    assert choose(asked, facts) == Choice({"JAX_PLATFORMS": platforms} if platforms else {})


def test_cuda_comes_before_rocm() -> None:
    """On a machine with both kinds of GPU the NVIDIA one is taken, as JAX does."""
    both = AcceleratorFacts(nvidia_device=True, cuda_plugin=True, rocm_device=True, rocm_plugin=True)

    assert choose(Device.GPU, both).environment == {"JAX_PLATFORMS": "cuda,cpu"}


@pytest.mark.parametrize(
    ("asked", "facts", "lacking"),
    [
        (Device.GPU, AcceleratorFacts(), "Neither a device nor a plugin is there."),
        (Device.GPU, AcceleratorFacts(nvidia_device=True), "no jax-cuda plugin"),
        (Device.GPU, AcceleratorFacts(cuda_plugin=True), "shows no device"),
        (Device.GPU, AcceleratorFacts(rocm_device=True, cuda_plugin=True), "no jax-rocm plugin"),
        (Device.GPU, TPU, "No GPU"),
        (Device.TPU, AcceleratorFacts(), "Neither is there."),
        (Device.TPU, AcceleratorFacts(tpu_device=True), "no libtpu"),
        (Device.TPU, AcceleratorFacts(tpu_plugin=True), "shows no device"),
    ],
)
def test_a_missing_device_is_told(asked: Device, facts: AcceleratorFacts, lacking: str) -> None:
    """Where an accelerator is missing, nothing is asked of JAX and a sentence says what lacks."""
    choice = choose(asked, facts)

    assert choice.environment == {}
    assert lacking in (choice.missing or "")


@pytest.mark.parametrize("facts", [AcceleratorFacts(), NVIDIA, AMD, TPU])
def test_gpu_is_never_a_platform(facts: AcceleratorFacts) -> None:
    """The name gpu never reaches JAX_PLATFORMS, where JAX would insist on CUDA, ROCm and oneAPI at once."""
    platforms = [choose(device, facts).environment.get("JAX_PLATFORMS", "") for device in Device]

    assert "gpu" not in ",".join(platforms)


@pytest.mark.parametrize(
    ("files", "plugins", "facts"),
    [
        (["nvidia0", "nvidiactl"], ["jax-cuda13-plugin"], NVIDIA),
        (["dxg"], ["jax_cuda12_plugin"], NVIDIA),
        (["kfd"], ["jax-rocm60-plugin"], AMD),
        (["accel0"], ["libtpu"], TPU),
        (["vfio/0"], ["libtpu-nightly"], TPU),
        (["vfio/vfio", "nvidia-uvm", "null"], ["numpy"], AcceleratorFacts()),
        ([], ["jax-metal"], AcceleratorFacts(metal_plugin=True)),
    ],
)
def test_device_files_and_plugins_are_the_facts(
    tmp_path: Path, files: list[str], plugins: list[str], facts: AcceleratorFacts
) -> None:
    """A GPU or TPU shows by its device file, and the way to use it by the name of a distribution."""
    assert look(plugins, folder_with(tmp_path, *files)) == facts


def test_a_folder_that_is_not_there_has_no_devices(tmp_path: Path) -> None:
    """Looking for devices where there is no folder finds none and raises nothing."""
    assert look([], tmp_path / "absent" / os.fsdecode(b"\xff")) == AcceleratorFacts()


@pytest.mark.parametrize(
    ("asked", "use"),
    [
        (Device.CPU, None),
        (Device.CPU, used(None)),
        (Device.AUTO, used("cuda", "cpu")),
        (Device.CPU, used("cpu")),
        (Device.CPU, used("cpu", "cpu")),
        (Device.GPU, used("cuda", "cpu")),
        (Device.GPU, used("rocm")),
        (Device.GPU, used("METAL", "cpu")),
        (Device.TPU, used("tpu", "cpu")),
    ],
)
def test_a_device_that_was_used_as_asked_is_no_difference(asked: Device, use: JaxUse | None) -> None:
    """Nothing is said where JAX used what was asked, was free to choose, or started nothing."""
    assert differs(asked, use) is None


@pytest.mark.parametrize(
    ("asked", "use", "told"),
    [
        (Device.CPU, used("cuda", kind="NVIDIA H200"), "asks for cpu, but JAX computed on cuda (NVIDIA H200)."),
        (Device.CPU, used("cpu", "cuda"), "it also opened cuda."),
        (Device.GPU, used("cpu", kind="cpu"), "asks for gpu, but JAX computed on cpu."),
        (Device.GPU, used("tpu"), "asks for gpu, but JAX computed on tpu."),
        (Device.TPU, used("cuda"), "asks for tpu, but JAX computed on cuda."),
    ],
)
def test_a_device_that_was_not_asked_for_is_a_difference(asked: Device, use: JaxUse, told: str) -> None:
    """A sentence names the device asked for and the one used, or opened besides."""
    assert told in (differs(asked, use) or "")
