"""The form with the least arithmetic: a Kalman filter over the four states that the observations do not show.

Once a quarter is observed its pi, dm and R are known, so that only x, e, a and chi are left to filter, with 4 x 4 matrices.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from sphinx_jaxdevice.benchmark.model import DM, PI, Parameters, R, X, named

from .compact import DECIDED, OBSERVED, STATES, Compact, Filtered, compact, filtered
from .small_matrices import Array, applied, inverse, product, transposed

HIDDEN = np.array([X, *range(DECIDED, STATES)])
"""States that the observations do not show: x, e, a, chi."""
SHOWN = np.array([PI, DM, R])
"""States that they do."""
SHOWN_BY = np.array([OBSERVED.index(state) for state in SHOWN])
"""Observations that show them."""


def log_likelihood(parameters: Parameters, observations: ArrayLike) -> Array:
    """Return the log-likelihood; arguments as for `model.log_likelihood`."""
    observed = jnp.asarray(observations, dtype=float)
    system = compact(named(parameters))
    past = filtered(system)
    mean, variance, density = _first_quarter(system, past, observed[0])
    constant = observed.size / 2 * np.log(2 * np.pi)
    whole: Array = density + _later_quarters(system, past, observed, (mean, variance)) - constant
    return whole


def _first_quarter(system: Compact, past: Filtered, observed: Array) -> tuple[Array, Array, Array]:
    """Return mean and covariance of all states after the first quarter, and its log density without the constant."""
    seen = product(system.past, system.covariance)
    precision, log_determinant = inverse(product(seen, transposed(system.past)) + past.noise)
    weighted = applied(precision, observed)
    before = applied(transposed(seen), weighted)
    uncertain = system.covariance - product(product(transposed(seen), precision), seen)
    mean = applied(past.transition, before) + applied(past.gain, observed)
    variance = product(product(past.transition, uncertain), transposed(past.transition)) + past.open[:, None] * past.open
    return mean, variance, -0.5 * ((observed * weighted).sum() + log_determinant)


def _later_quarters(system: Compact, past: Filtered, observed: Array, first: tuple[Array, Array]) -> Array:
    """Return the log density of the quarters after the first, given it, without the constant."""
    known, now = observed[:-1, SHOWN_BY], observed[1:]
    innovations = now - applied(system.past[:, SHOWN], known)
    driven = applied(past.gain[HIDDEN], now) + applied(past.transition[np.ix_(HIDDEN, SHOWN)], known)
    sight, transition = system.past[:, HIDDEN], past.transition[np.ix_(HIDDEN, HIDDEN)]
    opened = past.open[HIDDEN][:, None] * past.open[HIDDEN]

    def step(carried: tuple[Array, Array], quarter: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        mean, variance = carried
        innovation, drive = quarter
        seen = product(sight, variance)
        precision, log_determinant = inverse(product(seen, sight.T) + past.noise)
        surprise = innovation - applied(sight, mean)
        weighted = applied(precision, surprise)
        mean = applied(transition, mean + applied(seen.T, weighted)) + drive
        variance = product(product(transition, variance - product(product(seen.T, precision), seen)), transition.T) + opened
        return (mean, variance), (surprise * weighted).sum() + log_determinant

    start = (first[0][HIDDEN], first[1][np.ix_(HIDDEN, HIDDEN)])
    return -0.5 * lax.scan(step, start, (innovations, driven))[1].sum()
