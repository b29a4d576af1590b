"""A Kalman filter parallel in time, by an associative scan over the quarters.

Särkkä and García-Fernández, "Temporal Parallelization of Bayesian Smoothers", IEEE Transactions on Automatic Control 66 (2021).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sphinx_jaxdevice.benchmark.model import OBSERVABLES, StateSpace

from .small_matrices import Array, transposed


class Element(NamedTuple):
    """One quarter, or several: the state after it given the state s before and the observations, and what these tell of s."""

    transition: Array
    """The state after is normal with mean transition s + offset ..."""
    offset: Array
    covariance: Array
    """... and this covariance."""
    score: Array
    """The observations tell of s as a normal density with this precision times mean ..."""
    information: Array
    """... and this precision."""


def kalman_filter(model: StateSpace, covariance: Array, observations: Array) -> Array:
    """Return the log-likelihood of observations (quarters x 4), from state 0 and a covariance, as `model.kalman_filter`."""
    later = jax.vmap(lambda observed: _quarter(model, observed))(observations)
    first = _first_quarter(model, covariance, observations[0])
    elements = jax.tree.map(lambda all_, one: all_.at[0].set(one), later, first)
    states = lax.associative_scan(jax.vmap(_both), elements)
    means = jnp.concatenate([jnp.zeros_like(states.offset[:1]), states.offset[:-1]])
    variances = jnp.concatenate([covariance[None], states.covariance[:-1]])
    shocks = model.loading @ model.loading.T
    densities: Array = jax.vmap(lambda *given: _density(model, shocks, *given))(means, variances, observations)
    return densities.sum()


def _first_quarter(model: StateSpace, covariance: Array, observed: Array) -> Element:
    """Return the element of the first quarter: the state before it is integrated out."""
    predicted = model.transition @ covariance @ model.transition.T + model.loading @ model.loading.T
    sight = model.measurement @ predicted
    gain = jnp.linalg.solve(sight @ model.measurement.T, sight).T
    nothing = jnp.zeros_like(covariance)
    return Element(nothing, gain @ observed, predicted - gain @ sight, jnp.zeros_like(covariance[0]), nothing)


def _quarter(model: StateSpace, observed: Array) -> Element:
    shocks = model.loading @ model.loading.T
    sight = model.measurement @ shocks
    seen = model.measurement @ model.transition
    # One solve for the gain and for what the observations tell of the state before.
    solved = jnp.linalg.solve(sight @ model.measurement.T, jnp.concatenate([sight, seen, observed[:, None]], axis=1))
    size = len(shocks)
    gain, weighted, of_observed = solved[:, :size].T, solved[:, size:-1], solved[:, -1]
    return Element(
        model.transition - gain @ seen, gain @ observed, shocks - gain @ sight, seen.T @ of_observed, seen.T @ weighted
    )


def _both(earlier: Element, later: Element) -> Element:
    """Return the element of two neighbours."""
    size = len(earlier.offset)
    mixed = np.eye(size) + earlier.covariance @ later.information
    onward = jnp.linalg.solve(mixed.T, later.transition.T).T
    back = jnp.linalg.solve(mixed, earlier.transition).T
    return Element(
        onward @ earlier.transition,
        onward @ (earlier.offset + earlier.covariance @ later.score) + later.offset,
        onward @ earlier.covariance @ later.transition.T + later.covariance,
        back @ (later.score - later.information @ earlier.offset) + earlier.score,
        back @ later.information @ earlier.transition + earlier.information,
    )


def _density(model: StateSpace, shocks: Array, mean: Array, variance: Array, observed: Array) -> Array:
    predicted = model.transition @ variance @ transposed(model.transition) + shocks
    root = jnp.linalg.cholesky(model.measurement @ predicted @ model.measurement.T)
    innovation = jax.scipy.linalg.solve_triangular(root, observed - model.measurement @ model.transition @ mean, lower=True)
    constant = len(OBSERVABLES) * np.log(2 * np.pi)
    density: Array = -0.5 * (constant + innovation @ innovation) - jnp.log(jnp.diagonal(root)).sum()
    return density
