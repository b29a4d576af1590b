"""`python -m sphinx_jaxdevice.benchmark`."""

from .command import benchmark

benchmark(prog_name="python -m sphinx_jaxdevice.benchmark")
