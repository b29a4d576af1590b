"""Device names, and what is asked -> the environment of the kernel."""

from __future__ import annotations

from enum import StrEnum


class Device(StrEnum):
    """What a lecture may ask for in `jax-device`."""

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"
    AUTO = "auto"
