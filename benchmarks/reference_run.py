"""Make the reference run once, 4 chains of 400 + 400 draws, and count its leapfrog steps and effective samples.

Both belong to the model and the sampler, not to the machine: `jaxdevice benchmark` multiplies the steps by what a step takes
where it runs. Writes `sphinx_jaxdevice/benchmark/reference_run.json`. Takes ten minutes or more on a CPU.

    python -m benchmarks.reference_run
"""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
from jax import random
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, init_to_value

from sphinx_jaxdevice.benchmark import model

FILE = Path(__file__).parent.parent / "sphinx_jaxdevice" / "benchmark" / "reference_run.json"
CHAINS, WARMUP, SAMPLES, DEPTH = 4, 400, 400, 8
SEED = 0


def main() -> None:
    """Run, count, write."""
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX's signature
    kernel = NUTS(
        model.sargent_surico,
        target_accept_prob=0.8,
        dense_mass=True,
        max_tree_depth=DEPTH,
        init_strategy=init_to_value(values=dict(model.START)),
    )
    # Vectorized chains draw what sequential ones draw, up to rounding, and take a fraction of the time.
    sampler = MCMC(
        kernel, num_warmup=WARMUP, num_samples=SAMPLES, num_chains=CHAINS, chain_method="vectorized", progress_bar=False
    )
    observations = model.load_observations()
    start = time.perf_counter()
    sampler.warmup(random.PRNGKey(SEED), observations, collect_warmup=True, extra_fields=("num_steps",))
    warmup = np.asarray(sampler.get_extra_fields(group_by_chain=True)["num_steps"])
    sampler.run(random.PRNGKey(SEED), observations, extra_fields=("num_steps", "diverging"))
    fields = sampler.get_extra_fields(group_by_chain=True)
    steps = np.concatenate([warmup, np.asarray(fields["num_steps"])], axis=1)
    effective = {
        name: float(effective_sample_size(np.asarray(draws)))
        for name, draws in sampler.get_samples(group_by_chain=True).items()
        if np.asarray(draws).ndim == 2  # chains and draws
    }
    told = {
        "chains": CHAINS,
        "warmup": WARMUP,
        "samples": SAMPLES,
        "max_tree_depth": DEPTH,
        "leapfrogs_by_chain": steps.sum(axis=1).tolist(),
        "leapfrogs_of_the_longest_chain_a_draw": int(steps.max(axis=0).sum()),
        "effective_samples": {name: round(value, 1) for name, value in effective.items()},
        "divergences": int(np.asarray(fields["diverging"]).sum()),
        "versions": {name: version(name) for name in ("jax", "numpyro")},
    }
    FILE.write_text(f"{json.dumps(told, indent=1)}\n", encoding="utf8")
    print(json.dumps(told, indent=1))
    print(f"{time.perf_counter() - start:.0f} s on {jax.devices()[0].device_kind}")


if __name__ == "__main__":
    main()
