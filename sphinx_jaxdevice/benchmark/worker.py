"""The process of one configuration: a job on its standard input, what it measured as lines of JSON on its standard output.

Every line is written as soon as it is known, so that a process which is killed has told what it had measured. The lines:
`{"device": ...}`, `{"first_call": ...}`, `{"sample": [seconds, late]}`, `{"value": ...}`, `{"profile": ...}`, `{"done": true}`.

This is where the benchmark uses JAX; the process that starts it never does.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax import random
from numpyro.infer import MCMC, NUTS, init_to_value

from sphinx_jaxdevice.processes import end_with_parent

from .compilation import CompilationMeter
from .configurations import CHAINS, Configuration, Kind
from .device_profile import capture
from .forms import FORMS
from .job import Job
from .model import PARAMETERS, START, load_observations, sargent_surico
from .remedies import ChainMethod, Precision
from .timing import samples

PROFILED_CALLS = 3
"""Gradients in a trace: some 35,000 operations, which a trace holds easily."""
SPREAD = 1e-3
"""Points of a batch lie within this relative distance of the start point, so that all have a solution."""


def tell(**line: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure the job on standard input."""
    end_with_parent(signal.SIGKILL)
    job = Job.from_json(sys.stdin.read())
    configuration = job.configuration
    if configuration.chain_method is ChainMethod.PARALLEL:
        numpyro.set_host_device_count(CHAINS)
    jax.config.update("jax_enable_x64", configuration.dtype is Precision.FLOAT64)
    meter = CompilationMeter(jax.monitoring)
    device = jax.devices()[0]
    tell(device={"platform": device.platform, "kind": device.device_kind})
    {
        Kind.GRADIENT: measure_gradient,
        Kind.NUTS: measure_nuts,
        Kind.COMPILATION: measure_compilation,
        Kind.PROFILE: measure_profile,
    }[configuration.kind](job, meter)
    memory = device.memory_stats() or {}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    tell(memory={"process_peak": peak, "device_peak": memory.get("peak_bytes_in_use")})
    tell(done=True)


def gradient(configuration: Configuration) -> Callable[[], Any]:
    """Return a call that computes log-likelihood and gradient: arrays (batch,) and (batch, 18), or (), (18,) for one point."""
    form, observations = FORMS[configuration.form], jnp.asarray(load_observations(), float)
    computed = jax.value_and_grad(lambda point: form(point, observations))
    point = jnp.asarray([START[name] for name in PARAMETERS], float)
    if configuration.batch > 1:
        computed = jax.vmap(computed)
        factors = np.random.default_rng(0).uniform(1 - SPREAD, 1 + SPREAD, (configuration.batch, len(PARAMETERS)))
        factors[0] = 1.0
        point = point * jnp.asarray(factors, float)
    return partial(jax.jit(computed), point)


def measure_gradient(job: Job, meter: CompilationMeter) -> None:
    """Time gradients, and tell the log-likelihood at the start point with its gradient."""
    call = gradient(job.configuration)
    value, slope = first_call(call, meter)
    if job.configuration.batch > 1:
        value, slope = value[0], slope[0]
    tell(value={"log_likelihood": float(value), "gradient": [float(part) for part in slope]})
    sample(call, job)


def measure_profile(job: Job, meter: CompilationMeter) -> None:
    """Trace a few gradients, several times."""
    call = gradient(job.configuration)
    first_call(call, meter)
    deadline = time.perf_counter() + job.sampling
    for _ in range(job.largest_samples):
        profile = capture(call, PROFILED_CALLS)
        if profile is None:
            tell(fault="the profiler recorded no device operation")
            return
        tell(profile=asdict(profile))
        tell(sample=[profile.busy, 0.0])
        if time.perf_counter() > deadline:
            return


def sampler_of(form: str, **settings: Any) -> NUTS:
    """Return the sampler of the reference run with a form of the likelihood, started at the start point."""
    weighed = partial(sargent_surico, log_likelihood=FORMS[form])
    return NUTS(weighed, dense_mass=True, init_strategy=init_to_value(values=dict(START)), **settings)


def measure_nuts(job: Job, meter: CompilationMeter) -> None:
    """Time the sampler's compiled transition, every one with 2**depth - 1 leapfrog steps a chain.

    The step size is frozen and so small that no trajectory turns: every device does the same work.
    """
    frozen = {"step_size": 1e-4, "adapt_step_size": False, "adapt_mass_matrix": False}
    kernel = sampler_of(job.configuration.form, max_tree_depth=job.tree_depth, **frozen)
    observations = jnp.asarray(load_observations(), float)
    start = partial(kernel.init, num_warmup=0, init_params=None, model_args=(observations,), model_kwargs={})
    transition = partial(kernel.sample, model_args=(observations,), model_kwargs={})
    key = random.PRNGKey(0)
    match job.configuration.chain_method:
        case ChainMethod.PARALLEL:
            state = jax.pmap(start)(random.split(key, CHAINS))
            move = jax.pmap(transition)
        case ChainMethod.VECTORIZED:
            state = jax.jit(start)(random.split(key, CHAINS))  # NumPyro's kernel vectorizes itself where it gets several keys
            move = jax.jit(transition)
        case _:
            state = jax.jit(start)(key)
            move = jax.jit(transition)
    # As NumPy's arrays, because JAX's may be of weak types, which later states are not: that would compile twice.
    held = [jax.tree.map(np.asarray, state)]

    def call() -> Any:
        held[0] = move(held[0])
        return held[0].num_steps

    first_call(call, meter)
    jax.block_until_ready(call())  # in case the types of the first state still differ from those of later ones
    sample(call, job, expected=2**job.tree_depth - 1)


def measure_compilation(job: Job, meter: CompilationMeter) -> None:
    """Compile NumPyro's sampler chain by chain, as sequential chains do; a run is two transitions.

    The first chain comes with all that is compiled once, the second is what every further one costs, and the third is read
    from JAX's persistent cache, which is switched on before the second.
    """
    observations = jnp.asarray(load_observations(), float)

    def chain(seed: int) -> dict[str, float]:
        start = time.perf_counter()
        sampler = MCMC(sampler_of(job.configuration.form, max_tree_depth=1), num_warmup=1, num_samples=1, progress_bar=False)
        sampler.run(random.PRNGKey(seed), observations)
        jax.block_until_ready(sampler.get_samples())
        return {"seconds": time.perf_counter() - start, **meter.take()}

    tell(chain={"first": chain(0)})
    with TemporaryDirectory() as folder:
        # Without the thresholds JAX would keep only programs that took a second, and a sampler is many small ones.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.config.update("jax_compilation_cache_dir", folder)
        further = chain(1)
        tell(chain={"further": further})
        tell(sample=[further["total_s"], 0.0])
        tell(chain={"cached": chain(2)})


def first_call(call: Callable[[], Any], meter: CompilationMeter) -> Any:
    """Make the first call, which compiles, and tell how long it took and how much of that was which phase."""
    start = time.perf_counter()
    result = jax.block_until_ready(call())
    tell(first_call={"seconds": time.perf_counter() - start, "compilation": meter.take()})
    return result


def sample(call: Callable[[], Any], job: Job, expected: int | None = None) -> None:
    """Time calls until the time or the number of samples is reached; `expected` are the steps that every chain must do."""
    fetched: list[Any] = []

    def fetch(result: Any) -> None:
        fetched[:] = [np.asarray(leaf) for leaf in jax.tree.leaves(result)]

    deadline = time.perf_counter() + job.sampling
    for number, taken in enumerate(samples(call, jax.block_until_ready, fetch), start=1):
        if expected is not None and (fetched[0] != expected).any():
            tell(fault=f"a transition did {fetched[0].tolist()} leapfrog steps, not {expected}")
            return
        tell(sample=[taken.seconds, taken.late])
        if number >= job.largest_samples or (number >= job.smallest_samples and time.perf_counter() > deadline):
            return


if __name__ == "__main__":
    main()
