"""The remedies that are tried, declared once: what each does, in which form, and where it can work. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Precision(StrEnum):
    """Floating-point type of a computation."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"


class ChainMethod(StrEnum):
    """How NumPyro runs several chains; its own words."""

    SEQUENTIAL = "sequential"
    VECTORIZED = "vectorized"
    PARALLEL = "parallel"


REFERENCE = "reference"
"""Name of the form that a remedy is held against."""

COMMAND_BUFFERS = (
    "--xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL",
    "--xla_gpu_command_buffer_unroll_loops=true",
)
"""Let XLA record whole loops as one CUDA graph; its default leaves loops out."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change to the reference: another form of the likelihood, another precision, another way to run it."""

    name: str
    about: str
    form: str = REFERENCE
    dtype: Precision = Precision.FLOAT64
    xla_flags: tuple[str, ...] = ()
    chain_method: ChainMethod | None = None
    """Where given, the sampler is what is timed, against the sequential chains of the reference."""
    only_on: str | None = None
    """`cpu` or `gpu` where the other has no such thing."""


REMEDIES = (
    Remedy("float32", "single precision", dtype=Precision.FLOAT32),
    Remedy("unroll_4", "both scans unrolled by 4", form="unroll_4"),
    Remedy("unroll_8", "both scans unrolled by 8", form="unroll_8"),
    Remedy("unroll_16", "both scans unrolled by 16", form="unroll_16"),
    Remedy(
        "command_buffers", "XLA command buffers over while loops and conditionals", xla_flags=COMMAND_BUFFERS, only_on="gpu"
    ),
    Remedy("doubling", "the fixed point by doubling in place of 60 iterations", form="doubling"),
    Remedy("associative_scan", "a Kalman filter parallel in time", form="associative_scan"),
    Remedy("plain_solves", "small solves written out, without library calls", form="plain_solves"),
    Remedy(
        "plain_solves_in_command_buffers",
        "small solves written out, so that command buffers can hold the loops",
        form="plain_solves",
        xla_flags=COMMAND_BUFFERS,
        only_on="gpu",
    ),
    Remedy("few_operations", "cyclic reduction, doubling, and all observations as one Gaussian", form="few_operations"),
    Remedy("fewest_operations", "the mix with the fewest device operations", form="fewest_operations"),
    Remedy("least_arithmetic", "the mix with the least arithmetic", form="least_arithmetic"),
    Remedy("vectorized_chains", "four chains as one vectorized program", chain_method=ChainMethod.VECTORIZED),
    Remedy(
        "parallel_chains",
        "four chains on as many CPU devices (numpyro.set_host_device_count)",
        chain_method=ChainMethod.PARALLEL,
        only_on="cpu",
    ),
)
"""Each is tried on every device that it can work on."""

MIXES = ("fewest_operations", "least_arithmetic")
"""The forms that the sampler is also run with."""
