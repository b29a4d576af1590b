"""The form with the fewest operations: what each quarter leaves open is integrated out of all quarters at once.

Nothing runs through time one quarter after the other. The unknowns are the state before the first quarter and one number for
each quarter, 7 + 96 of them; given these the observations are independent, and the integral is that of one Gaussian.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from sphinx_jaxdevice.benchmark.model import OBSERVABLES, Parameters, named

from .compact import STATES, Compact, compact, filtered
from .small_matrices import Array, applied, product


def log_likelihood(parameters: Parameters, observations: ArrayLike) -> Array:
    """Return the log-likelihood; arguments as for `model.log_likelihood`.

    With e the innovations that follow from the observations alone, A u what the unknowns u = (eta, v) take off them, and W the
    covariance of an innovation, -2 log p(o, u) = |e - A u|^2 by W^-1 + eta' P eta + v' v + constants. The state before the
    first quarter is P eta, so that P need not be inverted.
    """
    observed = jnp.asarray(observations, dtype=float)
    quarters = len(observed)
    system = compact(named(parameters))
    past = filtered(system)
    responses = _responses(system.past, past.transition, quarters)
    weights = product(responses, past.gain).transpose(2, 0, 1).reshape(-1, len(OBSERVABLES))
    innovations = observed - _delayed(observed).reshape(quarters, -1) @ weights
    effects = jnp.concatenate([product(responses, system.covariance), _delayed(applied(responses, past.open))], axis=-1)
    weighted = product(past.precision, effects)
    unknowns = STATES + quarters
    flat = (quarters * len(OBSERVABLES), unknowns)
    precision = effects.reshape(flat).T @ weighted.reshape(flat) + _prior_precision(system, quarters)
    score = innovations.reshape(-1) @ weighted.reshape(flat)
    misfit = (innovations * applied(past.precision, innovations)).sum()
    constant = quarters * (past.log_determinant + len(OBSERVABLES) * np.log(2 * np.pi))
    whole: Array = _integral(precision, system.covariance, score) - 0.5 * (misfit + constant)
    return whole


def _responses(past: Array, transition: Array, quarters: int) -> Array:
    """Return past transition^k for k = 0 ... quarters - 1 (quarters x 4 x 7), by doubling."""
    responses = past[None]
    while len(responses) < quarters:
        responses = jnp.concatenate([responses, product(responses, transition)])
        transition = product(transition, transition)
    return responses[:quarters]


def _delayed(series: Array) -> Array:
    """Return [t, :, s] = series[t - 1 - s], 0 where s >= t, of a series quarters x 4: quarters x 4 x quarters.

    Rows of a padded copy that is read one entry too short shift by one each: no gathering, whose derivative would scatter.
    """
    quarters, width = series.shape
    padded = jnp.concatenate([jnp.zeros((1, width), series.dtype), series, jnp.zeros((quarters, width), series.dtype)])
    length = len(padded)
    rows = jnp.broadcast_to(padded, (quarters, length, width)).reshape(quarters * length, width)
    shifted = rows[: quarters * (length - 1)].reshape(quarters, length - 1, width)[:, :quarters]
    return shifted.transpose(1, 2, 0)


def _prior_precision(system: Compact, quarters: int) -> Array:
    size = STATES + quarters
    ones = np.diag(np.concatenate([np.zeros(STATES), np.ones(quarters)]))
    return jnp.pad(system.covariance, (0, size - STATES)) + ones


@jax.custom_vjp
def _integral(precision: Array, covariance: Array, score: Array) -> Array:
    """Return score' precision^-1 score / 2 - log det precision / 2 + log det covariance / 2.

    One factor of both matrices, and its inverse, give the value and all slopes: the derivative of a Cholesky factor is avoided.
    """
    return _integral_forward(precision, covariance, score)[0]


def _integral_forward(precision: Array, covariance: Array, score: Array) -> tuple[Array, tuple[Array, Array]]:
    unknowns, states = len(precision), len(covariance)
    both = jnp.pad(precision, (0, states)) + jnp.pad(covariance, (unknowns, 0))
    factor = jnp.linalg.cholesky(both)
    inverted = lax.linalg.triangular_solve(factor, jnp.eye(unknowns + states, dtype=factor.dtype), left_side=True, lower=True)
    whitened = applied(inverted[:unknowns, :unknowns], score)
    signs = np.concatenate([np.ones(unknowns), -np.ones(states)])
    value = 0.5 * (whitened**2).sum() + (signs * jnp.log(jnp.diagonal(inverted))).sum()
    return value, (inverted, whitened)


def _integral_backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array, Array]:
    inverted, whitened = kept
    unknowns = len(whitened)
    mean = (inverted[:unknowns, :unknowns] * whitened[:, None]).sum(0)
    inverse = inverted.T @ inverted
    of_precision = -0.5 * slope * (mean[:, None] * mean + inverse[:unknowns, :unknowns])
    return of_precision, 0.5 * slope * inverse[unknowns:, unknowns:], slope * mean


_integral.defvjp(_integral_forward, _integral_backward)
