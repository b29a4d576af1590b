"""All observations as one Gaussian: 384 numbers with a block Toeplitz covariance and a single Cholesky factor."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sphinx_jaxdevice.benchmark.model import StateSpace

from .small_matrices import Array


def log_likelihood(model: StateSpace, covariance: Array, observations: Array) -> Array:
    """Return the log-likelihood of observations (quarters x 4) of a state space in its long run with a covariance."""
    quarters, width = observations.shape
    powers = model.measurement[None]  # measurement transition^k
    step = model.transition
    while len(powers) < quarters:
        powers = jnp.concatenate([powers, powers @ step])
        step = step @ step
    ahead = powers[:quarters] @ (covariance @ model.measurement.T)  # covariances of observations k quarters apart
    apart = np.subtract.outer(np.arange(quarters), np.arange(quarters))
    blocks = jnp.where((apart >= 0)[..., None, None], ahead[abs(apart)], ahead[abs(apart)].swapaxes(-1, -2))
    size = quarters * width
    return _log_density(blocks.transpose(0, 2, 1, 3).reshape(size, size), observations.reshape(-1))


@jax.custom_vjp
def _log_density(covariance: Array, values: Array) -> Array:
    """Return the log density of values under a normal distribution with mean 0.

    Its slope by the covariance S is (S^-1 v v' S^-1 - S^-1) / 2; the derivative of a Cholesky factor is avoided.
    """
    return _forward(covariance, values)[0]


def _forward(covariance: Array, values: Array) -> tuple[Array, tuple[Array, Array]]:
    factor = jnp.linalg.cholesky(covariance)
    identity = jnp.eye(len(values), dtype=factor.dtype)
    inverted = lax.linalg.triangular_solve(factor, identity, left_side=True, lower=True)
    whitened = inverted @ values
    constant = len(values) / 2 * np.log(2 * np.pi)
    return jnp.log(jnp.diagonal(inverted)).sum() - 0.5 * whitened @ whitened - constant, (inverted, whitened)


def _backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    inverted, whitened = kept
    weighted = inverted.T @ whitened
    return 0.5 * slope * (weighted[:, None] * weighted - inverted.T @ inverted), -slope * weighted


_log_density.defvjp(_forward, _backward)
