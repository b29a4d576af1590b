"""The solution and the long-run covariance by doubling: each step does what all steps before it did together.

Derivatives come from the equations that the results solve (implicit function theorem), not from the steps.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from .small_matrices import Array, product, transposed

REDUCTIONS = 8
"""Steps of cyclic reduction; as far as 2**8 iterations of the reference form, which does 60."""
SQUARINGS = 12
"""Steps of the long-run covariance; the quarters left out weigh 1e-10 where the largest root is 0.997."""

Inverter = Callable[[Array], Array]
"""Returns the inverse of a square matrix."""


def fixed_point(invert: Inverter, lead: Array, present: Array, lag: Array) -> Array:
    """Return the solution G of lead G G + present G + lag = 0 whose roots are the smallest; all n x n.

    Cyclic reduction: Bini, Latouche and Meini, "Numerical Methods for Structured Markov Chains" (2005), section 7.3.
    """
    return _fixed_point(invert, lead, present, lag)


def _reduced(invert: Inverter, lead: Array, present: Array, lag: Array) -> Array:
    outer, middle, settling = jnp.stack([lag, lead]), present, present
    for _ in range(REDUCTIONS):
        # products[i, j] = outer[i] middle^-1 outer[j]
        products = product(product(outer, invert(middle))[:, None], outer[None])
        middle = middle - products[0, 1] - products[1, 0]
        settling = settling - products[1, 0]
        outer = -jnp.stack([products[0, 0], products[1, 1]])
    return -product(invert(settling), lag)


_fixed_point = jax.custom_vjp(_reduced, nondiff_argnums=(0,))


def _fixed_point_forward(invert: Inverter, lead: Array, present: Array, lag: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    solution = _reduced(invert, lead, present, lag)
    return solution, (lead, present, solution)


def _fixed_point_backward(invert: Inverter, kept: tuple[Array, Array, Array], slope: Array) -> tuple[Array, Array, Array]:
    """Solve Y + K' Y G' = slope with K = (lead G + present)^-1 lead, by doubling of the series that it sums to."""
    lead, present, solution = kept
    inverted = invert(product(lead, solution) + present)
    powers = jnp.stack([transposed(product(inverted, lead)), transposed(solution)])
    total = slope - product(product(powers[0], slope), powers[1])
    for _ in range(REDUCTIONS - 1):
        powers = product(powers, powers)
        total = total + product(product(powers[0], total), powers[1])
    of_lag = -product(transposed(inverted), total)
    of_present = product(of_lag, transposed(solution))
    return product(of_present, transposed(solution)), of_present, of_lag


_fixed_point.defvjp(_fixed_point_forward, _fixed_point_backward)


@jax.custom_vjp
def long_run_covariance(transition: Array, shocks: Array) -> Array:
    """Return P = transition P transition' + shocks (n x n, shocks symmetric) by doubling (R. A. Smith, 1968)."""
    return _summed(transition, shocks)


def _summed(transition: Array, shocks: Array) -> Array:
    for _ in range(SQUARINGS):
        # One product moves the sum on and squares the transition.
        moved = product(transition, jnp.stack([shocks, transition]))
        shocks, transition = shocks + product(moved[0], transposed(transition)), moved[1]
    return shocks


def _covariance_forward(transition: Array, shocks: Array) -> tuple[Array, tuple[Array, Array]]:
    covariance = _summed(transition, shocks)
    return covariance, (transition, covariance)


def _covariance_backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    """The slope by the shocks solves the same equation with the transition transposed."""
    transition, covariance = kept
    of_shocks = _summed(transposed(transition), (slope + transposed(slope)) / 2)
    return 2 * product(product(of_shocks, transition), covariance), of_shocks


long_run_covariance.defvjp(_covariance_forward, _covariance_backward)
