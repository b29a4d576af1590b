"""The state space in its smallest form, and what the observations leave open in it.

Seven states y = (pi, x, dm, R, e, a, chi) suffice, because z and u are white noise and lagged x and a lie in y(-1). Five shocks
drive four observations, so that each quarter leaves one direction of the shocks open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from sphinx_jaxdevice.benchmark import model

from .doubling import fixed_point, long_run_covariance
from .small_matrices import Array, applied, determinant, inverse, product, transposed

DECIDED = 4
"""Variables that the equations determine: pi, x, dm, R; the others are shocks."""
PERSISTENT = 3
"""Shocks that are states: e, a, chi."""
STATES = DECIDED + PERSISTENT
OBSERVED = (model.DM, model.PI, model.R)
"""States that are observed as they are, in the order of the observations; the fourth observation is output growth."""
GROWTH = 3
"""Row of output growth, x - x(-1) + xi (a - a(-1)) + z, among the observations."""


class Compact(NamedTuple):
    """y = transition y(-1) + loading eps, observed as past y(-1) + impact eps; eps are five shocks of unit variance."""

    transition: Array
    """7 x 7."""
    loading: Array
    """7 x 5."""
    past: Array
    """4 x 7."""
    impact: Array
    """4 x 5."""
    covariance: Array
    """7 x 7, of y in the long run."""


def compact(p: Mapping[str, Any]) -> Compact:
    """Return the state space at parameters."""
    lead, present, lag, persistence, deviations, xi = _entries(p)
    # The equations of the decided variables n and the shocks s: lead E n(+1) + present (n, s) + lag (n, s)(-1) = 0.
    rates = jnp.concatenate([persistence, jnp.zeros(model.SHOCKS - PERSISTENT, persistence.dtype)])
    solution = fixed_point(_inverted, lead, present[:, :DECIDED], lag[:, :DECIDED])
    left = product(lead, solution) + present[:, :DECIDED]
    # n = solution n(-1) + now s + before s(-1). Each shock has a system of its own, since E s(+1) = rate s.
    inverses = inverse(left + jnp.concatenate([persistence, jnp.zeros(1, persistence.dtype)])[:, None, None] * lead).matrix
    before = -product(inverses[-1], lag[:, DECIDED:])
    right = -(product(lead, before) + present[:, DECIDED:])
    of_shock = np.minimum(np.arange(model.SHOCKS), PERSISTENT)
    now = applied(inverses[of_shock], transposed(right)).T

    shocks = jnp.concatenate([jnp.zeros((PERSISTENT, DECIDED), xi.dtype), jnp.diag(persistence)], axis=1)
    transition = jnp.concatenate([jnp.concatenate([solution, (now * rates + before)[:, :PERSISTENT]], axis=1), shocks])
    loading = jnp.concatenate([now, np.eye(PERSISTENT, model.SHOCKS)]) * deviations
    growth = _positions({GROWTH: model.X}) + xi * _positions({GROWTH: model.A})
    current = _positions(dict(enumerate(OBSERVED))) + growth
    past = product(current, transition) - growth
    impact = product(current, loading) + _positions({GROWTH: model.Z - DECIDED})[:, : model.SHOCKS] * deviations
    return Compact(transition, loading, past, impact, long_run_covariance(transition, product(loading, transposed(loading))))


def _inverted(matrix: Array) -> Array:
    return inverse(matrix).matrix


def _positions(ones: Mapping[int, int]) -> Array:
    """Return 4 x 7 zeros with ones at row: column."""
    matrix = np.zeros((len(model.OBSERVABLES), STATES))
    matrix[list(ones), list(ones.values())] = 1.0
    return jnp.asarray(matrix, dtype=float)


def _entries(p: Mapping[str, Any]) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return lead (4 x 4), present and lag (4 x 9), three persistences, five deviations and xi, of the model's equations.

    All values that depend on parameters are stacked once and put in place by one product with constants.
    """
    rows = model.equations(p)
    lists: Sequence[Iterable[Any]] = (
        [value for row in rows.lead[:DECIDED] for value in row[:DECIDED]],
        [value for row in rows.present[:DECIDED] for value in row],
        [value for row in rows.lag[:DECIDED] for value in row],
    )
    flat = [value for part in lists for value in part]
    varying = [place for place, value in enumerate(flat) if not isinstance(value, float)]
    values = jnp.stack([flat[place] for place in varying])
    selection = np.zeros((len(flat), len(varying)))
    selection[varying, np.arange(len(varying))] = 1.0
    constants = np.array([value if isinstance(value, float) else 0.0 for value in flat])
    filled = applied(jnp.asarray(selection, values.dtype), values) + constants
    sizes = np.cumsum([DECIDED * DECIDED, DECIDED * model.STATES])
    lead, present, lag = (part.reshape(DECIDED, -1) for part in jnp.split(filled, sizes))
    persistence = jnp.stack([p["rho_e"], p["rho_a"], p["rho_chi"]])
    return lead, present, lag, persistence, model.deviations(p), p["xi"]


class Filtered(NamedTuple):
    """The state given its past and the observations o: y = transition y(-1) + gain o + open v, v of unit variance.

    The innovation o - past y(-1) has the covariance `noise` and is independent of v.
    """

    transition: Array
    """7 x 7; the rows of the states that are observed are zero."""
    gain: Array
    """7 x 4."""
    open: Array
    """7."""
    noise: Array
    """4 x 4."""
    precision: Array
    """4 x 4, the inverse of `noise`."""
    log_determinant: Array
    """Natural logarithm of the determinant of `noise`."""


def filtered(system: Compact) -> Filtered:
    """Split each quarter's shocks into what the observations tell and the one direction that they leave open.

    The direction is orthogonal to the rows of the impact: its entries are the 4 x 4 minors of the impact, with alternating signs,
    whose squares add up to the determinant of impact impact' (Cauchy and Binet).
    """
    noise = product(system.impact, transposed(system.impact))
    precision, log_determinant = inverse(noise)
    without = np.array([[other for other in range(model.SHOCKS) if other != shock] for shock in range(model.SHOCKS)])
    minors = determinant(jnp.moveaxis(system.impact[:, without], 1, 0)) * np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    direction = minors / jnp.sqrt((minors**2).sum())
    gain = product(product(system.loading, transposed(system.impact)), precision)
    transition = system.transition - product(gain, system.past)
    return Filtered(transition, gain, applied(system.loading, direction), noise, precision, log_determinant)
