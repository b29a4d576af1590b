"""Forms of the model's log-likelihood, by name: the same value to 1e-8, computed in other ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from sphinx_jaxdevice.benchmark import model
from sphinx_jaxdevice.benchmark.model import Algebra, Parameters, StateSpace, Structure, named

from . import doubling, one_gaussian, parallel_in_time, small_filter, small_matrices, toeplitz

LogLikelihood = Callable[[Parameters, ArrayLike], Array]
"""As `model.log_likelihood`."""

WRITTEN_OUT = Algebra(
    small_matrices.solution,
    small_matrices.cholesky,
    small_matrices.triangular_solution,
)


def _unrolled(unroll: int) -> LogLikelihood:
    """Return the reference form with so many steps in each round of its compiled loops."""

    def log_likelihood(parameters: Parameters, observations: ArrayLike) -> Array:
        system = model.state_space(named(parameters), partial(model.solve, unroll=unroll))
        return model.kalman_filter(system, model.stationary_covariance(system), _floats(observations), unroll=unroll)

    return log_likelihood


def _doubling(parameters: Parameters, observations: ArrayLike) -> Array:
    system = model.state_space(named(parameters), _fixed_point)
    return model.kalman_filter(system, model.stationary_covariance(system), _floats(observations))


def _associative_scan(parameters: Parameters, observations: ArrayLike) -> Array:
    system = model.state_space(named(parameters))
    return parallel_in_time.kalman_filter(system, model.stationary_covariance(system), _floats(observations))


def _plain_solves(parameters: Parameters, observations: ArrayLike) -> Array:
    """The long-run covariance by doubling: its 121 equations are too many to write out."""
    solve = partial(model.solve, algebra=WRITTEN_OUT)
    system = model.state_space(named(parameters), solve, WRITTEN_OUT)
    return model.kalman_filter(system, _long_run_covariance(system), _floats(observations), WRITTEN_OUT)


def _few_operations(parameters: Parameters, observations: ArrayLike) -> Array:
    system = model.state_space(named(parameters), _fixed_point)
    return toeplitz.log_likelihood(system, _long_run_covariance(system), _floats(observations))


def _fixed_point(system: Structure) -> Array:
    return doubling.fixed_point(jnp.linalg.inv, system.lead, system.present, system.lag)


def _long_run_covariance(system: StateSpace) -> Array:
    return doubling.long_run_covariance(system.transition, system.loading @ system.loading.T)


def _floats(observations: ArrayLike) -> Array:
    return jnp.asarray(observations, dtype=float)


FORMS: Mapping[str, LogLikelihood] = {
    "reference": model.log_likelihood,
    "unroll_4": _unrolled(4),
    "unroll_8": _unrolled(8),
    "unroll_16": _unrolled(16),
    "doubling": _doubling,
    "associative_scan": _associative_scan,
    "plain_solves": _plain_solves,
    "few_operations": _few_operations,
    "fewest_operations": one_gaussian.log_likelihood,
    "least_arithmetic": small_filter.log_likelihood,
}
"""The names are those of `remedies.REMEDIES`."""
