"""The benchmark model: a small new Keynesian model with money, its likelihood and its priors.

Economics: Sargent and Surico, "Two Illustrations of the Quantity Theory of Money: Breakdowns and Revivals", American Economic
Review 101 (2011). Priors and the start point are those of its Table 2.

Data: 96 quarters of the United States, 1960 to 1983, in percent a quarter: 100 times the log difference of M1, of the consumer
price index and of real GDP, and the three-month bill rate divided by 4. They are derived from the public-domain macro data set
that the package statsmodels ships; the paper used M2 and the GDP deflator.

The module neither switches double precision on nor starts a JAX backend: that is the caller's (`jax.config.update(
"jax_enable_x64", True)` before the first array). In single precision the likelihood is right to about four digits.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import partial
from importlib import resources
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import lax
from jax.typing import ArrayLike
from numpy.typing import NDArray

DATA = "us_quarterly_1960_1983.csv"
OBSERVABLES = ("money_growth", "inflation", "interest_rate", "output_growth")
"""Columns of the observations, in the order of the likelihood's measurement equation."""

PARAMETERS = (
    *("theta", "alpha_pi", "kappa", "alpha_x", "sigma", "xi", "gamma", "phi_pi", "phi_x", "rho_m"),
    *("rho_e", "rho_a", "rho_chi", "sig_e", "sig_a", "sig_chi", "sig_z", "sig_m"),
)
"""Names of the 18 parameters, in the order of Table 2."""

START: Mapping[str, float] = dict(
    zip(
        PARAMETERS,
        (
            *(0.9901, 0.8815, 0.0324, 0.4775, 0.0997, 3.0319, 3.8128, 0.2312, -0.1971, 0.7428),
            *(0.5645, 0.9241, 0.5024, 1.0922, 0.7226, 0.2388, 1.5845, 1.1457),
        ),
        strict=True,
    )
)
"""Where estimation starts: the posterior means of Table 2."""

TAU = 4.0
"""Scale of the markup shock in the Phillips curve; fixed."""
ITERATIONS = 60
"""Iterations of the fixed point of the solution."""

# Positions in the state y = (pi, x, dm, R, e, a, chi, z, u), and of the two lags that the state space adds.
PI, X, DM, R, E, A, CHI, Z, U = range(9)
STATES, SHOCKS = 9, 5
LAGGED_X, LAGGED_A = STATES, STATES + 1
"""Positions of last quarter's x and a in the state space."""

Array = jax.Array


class Equations(NamedTuple):
    """Coefficients of the equations by row and state: floats, and arrays of no dimension where they depend on parameters."""

    lead: list[list[Any]]
    present: list[list[Any]]
    lag: list[list[Any]]
    shock: list[list[Any]]


class Structure(NamedTuple):
    """Matrices of F_A E y(+1) + F_B y + F_C y(-1) + F_E eps = 0; 9 x 9, the last one 9 x 5."""

    lead: Array
    present: Array
    lag: Array
    shock: Array


class StateSpace(NamedTuple):
    """s = transition s(-1) + loading eps with unit shocks, observed as measurement s; 11 x 11, 11 x 5, 4 x 11."""

    transition: Array
    loading: Array
    measurement: Array


def load_observations() -> NDArray[np.float64]:
    """Return the observations, (96, 4) in the order of `OBSERVABLES`, percent a quarter, each column less its mean."""
    with resources.files(__package__).joinpath(DATA).open(encoding="utf8") as file:
        rows = [[float(row[name]) for name in OBSERVABLES] for row in csv.DictReader(file)]
    observations: NDArray[np.float64] = np.array(rows, dtype=np.float64)
    observations -= observations.mean(axis=0)
    return observations


def equations(p: Mapping[str, Any]) -> Equations:
    """Return the model's equations at parameters: Phillips curve, IS curve, money demand, money rule, five shocks."""
    lead, present, lag = (np.zeros((STATES, STATES)).tolist() for _ in range(3))
    shock = np.zeros((STATES, SHOCKS)).tolist()
    # Phillips curve: pi = theta (1 - alpha_pi) E pi(+1) + theta alpha_pi pi(-1) + kappa x - e / tau.
    lead[0][PI] = -p["theta"] * (1 - p["alpha_pi"])
    lag[0][PI] = -p["theta"] * p["alpha_pi"]
    present[0][PI], present[0][X], present[0][E] = 1.0, -p["kappa"], 1 / TAU
    # IS curve: x = (1 - alpha_x) E x(+1) + alpha_x x(-1) - sigma (R - E pi(+1)) + sigma (1 - xi) (1 - rho_a) a.
    lead[1][X], lead[1][PI], lag[1][X] = -(1 - p["alpha_x"]), -p["sigma"], -p["alpha_x"]
    present[1][X], present[1][R] = 1.0, p["sigma"]
    present[1][A] = -p["sigma"] * (1 - p["xi"]) * (1 - p["rho_a"])
    # Money demand in growth rates: dm = pi + z + (dx / sigma - dR + dchi - da) / gamma.
    present[2][DM], present[2][PI], present[2][Z] = 1.0, -1.0, -1.0
    for state, weight in ((X, 1 / p["sigma"]), (R, -1.0), (CHI, 1.0), (A, -1.0)):
        present[2][state] = -weight / p["gamma"]
        lag[2][state] = weight / p["gamma"]
    # Money rule: dm = rho_m dm(-1) + (1 - rho_m) (phi_pi pi + phi_x x) + u.
    present[3][DM], present[3][U], lag[3][DM] = 1.0, -1.0, -p["rho_m"]
    present[3][PI], present[3][X] = -(1 - p["rho_m"]) * p["phi_pi"], -(1 - p["rho_m"]) * p["phi_x"]
    # Shocks: three autoregressions, then white noise in technology growth and money policy.
    for row, state, persistence in ((4, E, p["rho_e"]), (5, A, p["rho_a"]), (6, CHI, p["rho_chi"]), (7, Z, 0.0), (8, U, 0.0)):
        present[row][state], lag[row][state], shock[row][row - 4] = 1.0, -persistence, -1.0
    return Equations(lead, present, lag, shock)


def structure(p: Mapping[str, Any]) -> Structure:
    """Return the model's equations at parameters as matrices."""
    return Structure(*(_matrix(rows) for rows in equations(p)))


def _matrix(rows: list[list[Any]]) -> Array:
    return jnp.stack([jnp.stack([jnp.asarray(value, dtype=float) for value in row]) for row in rows])


def deviations(p: Mapping[str, Any]) -> Array:
    """Return the standard deviations of the five shocks."""
    return jnp.stack([p["sig_e"], p["sig_a"], p["sig_chi"], p["sig_z"], p["sig_m"]])


class Algebra(NamedTuple):
    """The small solves, which a form of the likelihood may replace."""

    solve: Callable[[Array, Array], Array] = jnp.linalg.solve
    """X with A X = B."""
    cholesky: Callable[[Array], Array] = jnp.linalg.cholesky
    """The lower Cholesky factor."""
    solve_triangular: Callable[[Array, Array], Array] = partial(jax.scipy.linalg.solve_triangular, lower=True)
    """X with L X = B for a lower triangular L."""


LIBRARY = Algebra()
"""The small solves by library calls, as in the reference form."""


def solve(system: Structure, algebra: Algebra = LIBRARY, unroll: int = 1) -> Array:
    """Return G (9 x 9) of the solution y = G y(-1) + Theta eps, in the reference form.

    Iterates G <- -(F_A G + F_B)^-1 F_C from G = 0 sixty times, `unroll` of them in each step of the compiled loop.
    """

    def step(solution: Array, _: None) -> tuple[Array, None]:
        return -algebra.solve(system.lead @ solution + system.present, system.lag), None

    return lax.scan(step, jnp.zeros_like(system.lag), None, length=ITERATIONS, unroll=unroll)[0]


def state_space(p: Mapping[str, Any], solve: Callable[[Structure], Array] = solve, algebra: Algebra = LIBRARY) -> StateSpace:
    """Return the state space of dimension 11: the nine states, then last quarter's x and a.

    Observed are dm, pi, R and output growth dy = x - x(-1) + xi (a - a(-1)) + z, without measurement error. `solve` returns G;
    then Theta = -(F_A G + F_B)^-1 F_E.
    """
    system = structure(p)
    solution = solve(system)
    impact = -algebra.solve(system.lead @ solution + system.present, system.shock)
    transition = jnp.zeros((STATES + 2, STATES + 2)).at[:STATES, :STATES].set(solution)
    transition = transition.at[LAGGED_X, X].set(1.0).at[LAGGED_A, A].set(1.0)
    loading = jnp.concatenate([impact * deviations(p), jnp.zeros((2, SHOCKS))])
    measurement = jnp.zeros((len(OBSERVABLES), STATES + 2)).at[0, DM].set(1.0).at[1, PI].set(1.0).at[2, R].set(1.0)
    measurement = measurement.at[3, X].set(1.0).at[3, LAGGED_X].set(-1.0).at[3, Z].set(1.0)
    measurement = measurement.at[3, A].set(p["xi"]).at[3, LAGGED_A].set(-p["xi"])
    return StateSpace(transition, loading, measurement)


def stationary_covariance(model: StateSpace) -> Array:
    """Return the covariance of the state in the long run, 11 x 11, from vec(P) = (I - A kron A)^-1 vec(B B')."""
    size = model.transition.shape[0]
    shocks = model.loading @ model.loading.T
    system = jnp.eye(size * size) - jnp.kron(model.transition, model.transition)
    covariance: Array = jnp.linalg.solve(system, shocks.reshape(-1)).reshape(size, size)
    return covariance


def kalman_filter(
    model: StateSpace, covariance: Array, observations: Array, algebra: Algebra = LIBRARY, unroll: int = 1
) -> Array:
    """Return the log-likelihood of observations (quarters x 4) by the Kalman filter, from state 0 and a covariance."""
    transition, measurement = model.transition, model.measurement
    shocks = model.loading @ model.loading.T
    constant = len(OBSERVABLES) * jnp.log(2 * jnp.pi)

    def step(carried: tuple[Array, Array], observed: Array) -> tuple[tuple[Array, Array], Array]:
        mean = transition @ carried[0]
        variance = transition @ carried[1] @ transition.T + shocks
        root = algebra.cholesky(measurement @ variance @ measurement.T)
        innovation = algebra.solve_triangular(root, observed - measurement @ mean)
        gain = algebra.solve_triangular(root, measurement @ variance)
        density = -0.5 * (constant + innovation @ innovation) - jnp.log(jnp.diag(root)).sum()
        return (mean + gain.T @ innovation, variance - gain.T @ gain), density

    start = (jnp.zeros(transition.shape[0], covariance.dtype), covariance)
    return lax.scan(step, start, observations, unroll=unroll)[1].sum()


Parameters = Mapping[str, Any] | ArrayLike
"""A mapping from name to value, or an array (18,) in the order of `PARAMETERS`."""


def named(parameters: Parameters) -> dict[str, Array]:
    """Return the parameters by name, as floating-point arrays of no dimension."""
    if not isinstance(parameters, Mapping):
        values = jnp.asarray(parameters)
        parameters = {name: values[place] for place, name in enumerate(PARAMETERS)}
    return {name: jnp.asarray(parameters[name], dtype=float) for name in PARAMETERS}


def log_likelihood(parameters: Parameters, observations: ArrayLike) -> Array:
    """Return the log-likelihood, a scalar that can be differentiated, in the reference form.

    `observations` are (quarters, 4) as from `load_observations`. Parameters without a stationary solution give NaN or a
    nonsensical value; `sargent_surico` turns what is not finite into a rejection.
    """
    model = state_space(named(parameters))
    return kalman_filter(model, stationary_covariance(model), jnp.asarray(observations, dtype=float))


def priors() -> dict[str, dist.Distribution]:
    """Return the prior of each parameter, from the families, means and standard deviations of Table 2."""
    return {
        "theta": _beta(0.99, 0.005),
        "alpha_pi": _beta(0.5, 0.2),
        "kappa": _gamma(0.3, 0.1),
        "alpha_x": _beta(0.5, 0.2),
        "sigma": _gamma(0.1, 0.05),
        "xi": _gamma(2.0, 1.0),
        "gamma": _gamma(4.0, 1.0),
        "phi_pi": dist.Normal(0.0, 0.5),
        "phi_x": dist.Normal(0.0, 0.5),
        "rho_m": _beta(0.5, 0.05),
        **{name: _beta(0.5, 0.1) for name in ("rho_e", "rho_a", "rho_chi")},
        **{name: _inverse_gamma(0.3, 1.0) for name in ("sig_e", "sig_a", "sig_chi", "sig_z", "sig_m")},
    }


def _beta(mean: float, deviation: float) -> dist.Distribution:
    """Return the Beta distribution of a mean and standard deviation, with nu = m (1 - m) / s^2 - 1."""
    nu = mean * (1 - mean) / deviation**2 - 1
    return dist.Beta(mean * nu, (1 - mean) * nu)


def _gamma(mean: float, deviation: float) -> dist.Distribution:
    """Return the Gamma distribution of a mean and standard deviation: shape m^2 / s^2, rate m / s^2."""
    return dist.Gamma(mean**2 / deviation**2, mean / deviation**2)


def _inverse_gamma(mean: float, deviation: float) -> dist.Distribution:
    """Return the inverse Gamma distribution of a mean and standard deviation: shape m^2 / s^2 + 2, scale m (shape - 1)."""
    shape = mean**2 / deviation**2 + 2
    return dist.InverseGamma(shape, mean * (shape - 1))


def sargent_surico(observations: ArrayLike, log_likelihood: Callable[[Parameters, ArrayLike], Array] = log_likelihood) -> None:
    """Sample the parameters from their priors and weigh them by the likelihood: the NumPyro model.

    `log_likelihood` may be one of the other forms of `sphinx_jaxdevice.benchmark.forms`.

    Where the likelihood is not finite, as for parameters without a stationary solution, the factor is minus infinity: NUTS
    rejects the point and counts a divergence.
    """
    drawn = {name: numpyro.sample(name, prior) for name, prior in priors().items()}
    value = log_likelihood(drawn, observations)
    numpyro.factor("log_likelihood", jnp.where(jnp.isfinite(value), value, -jnp.inf))
