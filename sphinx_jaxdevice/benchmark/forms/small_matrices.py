"""Algebra of small matrices written out in elementary operations, which XLA fuses; a library call would be an operation each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array

PAIRS = tuple(combinations(range(4), 2))
"""Columns of the 2 x 2 minors of four columns."""


def transposed(matrix: Array) -> Array:
    """Return (..., n, m) of (..., m, n)."""
    return jnp.swapaxes(matrix, -1, -2)


def product(left: Array, right: Array) -> Array:
    """Return the matrix product (..., m, n) of (..., m, k) and (..., k, n) as multiplications and a sum."""
    return (left[..., :, :, None] * right[..., None, :, :]).sum(-2)


def applied(matrix: Array, vector: Array) -> Array:
    """Return the vector (..., m) that a matrix (..., m, n) makes of a vector (..., n)."""
    return (matrix * vector[..., None, :]).sum(-1)


def _minors(upper: Sequence[Array], lower: Sequence[Array]) -> list[Array]:
    """Return the six 2 x 2 minors of two rows of four."""
    return [upper[i] * lower[j] - upper[j] * lower[i] for i, j in PAIRS]


def _rows(matrix: Array) -> list[list[Array]]:
    return [[matrix[..., i, j] for j in range(4)] for i in range(4)]


def _laplace(top: Sequence[Array], bottom: Sequence[Array]) -> Array:
    """Return the determinant from the minors of the upper two rows and of the lower two (Laplace's expansion)."""
    signs = (1, -1, 1, 1, -1, 1)
    return jnp.stack([sign * left * right for sign, left, right in zip(signs, top, reversed(bottom), strict=True)]).sum(0)


def determinant(matrix: Array) -> Array:
    """Return the determinant (...) of 4 x 4 matrices (..., 4, 4)."""
    rows = _rows(matrix)
    return _laplace(_minors(*rows[:2]), _minors(*rows[2:]))


def _adjugate(rows: Sequence[Sequence[Array]], top: Sequence[Array], bottom: Sequence[Array]) -> Array:
    """Return the adjugate (..., 4, 4): each entry is three products of an entry and a minor of the two rows across."""
    across = ((1, bottom), (0, bottom), (3, top), (2, top))
    entries = []
    for row in range(4):
        others = [column for column in range(4) if column != row]
        line = []
        for column, (beside, minors) in enumerate(across):
            i, j, k = others
            of = dict(zip(PAIRS, minors, strict=True))
            value = rows[beside][i] * of[j, k] - rows[beside][j] * of[i, k] + rows[beside][k] * of[i, j]
            line.append(-value if (row + column) % 2 else value)
        entries.append(jnp.stack(line, -1))
    return jnp.stack(entries, -2)


class Inverse(NamedTuple):
    """Inverse (..., 4, 4) and natural logarithm of the absolute determinant (...)."""

    matrix: Array
    log_determinant: Array


@jax.custom_vjp
def inverse(matrix: Array) -> Inverse:
    """Return the inverse of 4 x 4 matrices by Cramer's rule; not finite where one is singular.

    Its derivative is written down (d X = -X dA X, d log det A = tr X dA): that of the expansion would be far longer to compile.
    """
    rows = _rows(matrix)
    top, bottom = _minors(*rows[:2]), _minors(*rows[2:])
    size = _laplace(top, bottom)
    return Inverse(_adjugate(rows, top, bottom) / size[..., None, None], jnp.log(jnp.abs(size)))


def _inverse_forward(matrix: Array) -> tuple[Inverse, Array]:
    result = inverse(matrix)
    return result, result.matrix


def _inverse_backward(inverted: Array, slope: Inverse) -> tuple[Array]:
    turned = transposed(inverted)
    return (turned * slope.log_determinant[..., None, None] - product(product(turned, slope.matrix), turned),)


inverse.defvjp(_inverse_forward, _inverse_backward)


@jax.custom_vjp
def solution(matrix: Array, right: Array) -> Array:
    """Return X (n x m) with matrix X = right by Gauss and Jordan's elimination in n steps, without exchange of rows.

    Not finite where a pivot is zero. No pivot of the model's matrices is small.
    """
    size = matrix.shape[0]
    work = jnp.concatenate([matrix, right], axis=1)
    for place in range(size):
        pivot = work[place] / work[place, place]
        others = jnp.where(np.arange(size) == place, 0.0, work[:, place])
        work = jnp.where((np.arange(size) == place)[:, None], pivot, work - others[:, None] * pivot)
    return work[:, size:]


def _solution_forward(matrix: Array, right: Array) -> tuple[Array, tuple[Array, Array]]:
    result = solution(matrix, right)
    return result, (matrix, result)


def _solution_backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    matrix, result = kept
    of_right = solution(matrix.T, slope)
    return -product(of_right, result.T), of_right


solution.defvjp(_solution_forward, _solution_backward)


def cholesky(matrix: Array) -> Array:
    """Return the lower Cholesky factor of a positive definite matrix (n x n); NaN where it is none."""
    size = matrix.shape[0]
    factor = jnp.zeros_like(matrix)
    for place in range(size):
        column = matrix[:, place]
        column = jnp.where(np.arange(size) >= place, column / jnp.sqrt(column[place]), 0.0)
        factor = factor.at[:, place].set(column)
        matrix = matrix - column[:, None] * column
    return factor


def triangular_solution(factor: Array, right: Array) -> Array:
    """Return X (n x m) with factor X = right for a lower triangular factor (n x n), by forward substitution."""
    rows: list[Array] = []
    for place in range(factor.shape[0]):
        known = sum((factor[place, before] * row for before, row in enumerate(rows)), jnp.zeros_like(right[place]))
        rows.append((right[place] - known) / factor[place, place])
    return jnp.stack(rows)
