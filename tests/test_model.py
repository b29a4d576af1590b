from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

jax = pytest.importorskip("jax")
numpyro = pytest.importorskip("numpyro")

from sphinx_jaxdevice.benchmark import model  # noqa: E402

REFERENCE = -778.7534853919
"""Log-likelihood at the start point, double precision, from an independent implementation."""

# Mean and standard deviation of each prior, Table 2.
MOMENTS = {
    "theta": (0.99, 0.005),
    "alpha_pi": (0.5, 0.2),
    "kappa": (0.3, 0.1),
    "alpha_x": (0.5, 0.2),
    "sigma": (0.1, 0.05),
    "xi": (2, 1),
    "gamma": (4, 1),
    "phi_pi": (0, 0.5),
    "phi_x": (0, 0.5),
    "rho_m": (0.5, 0.05),
    **dict.fromkeys(("rho_e", "rho_a", "rho_chi"), (0.5, 0.1)),
    **dict.fromkeys(("sig_e", "sig_a", "sig_chi", "sig_z", "sig_m"), (0.3, 1.0)),
}


@pytest.fixture
def double() -> Iterator[None]:
    """Compute in double precision."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX's signature
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def start() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the start point as an array."""
    return np.array([model.START[name] for name in model.PARAMETERS])


def test_observations_are_96_quarters_of_four_series_without_their_means() -> None:
    """The data are (96, 4) in double precision, and each column's mean is zero."""
    observations = model.load_observations()

    assert observations.shape == (96, 4)
    assert observations.dtype == np.float64
    assert np.abs(observations.mean(axis=0)).max() < 1e-14


def test_eighteen_parameters_in_the_order_of_the_table() -> None:
    """Names, start point and priors list the same 18 parameters in one order."""
    assert len(model.PARAMETERS) == 18
    assert tuple(model.START) == tuple(model.priors()) == model.PARAMETERS == tuple(MOMENTS)


def test_likelihood_at_the_start_point_in_double_precision(double: None) -> None:
    """The log-likelihood agrees with the reference value to 1e-8, from a mapping and from an array."""
    observations = model.load_observations()

    assert float(jax.jit(model.log_likelihood)(dict(model.START), observations)) == pytest.approx(REFERENCE, abs=1e-8)


def test_array_and_mapping_mean_the_same(double: None, start: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    """An array in the order of PARAMETERS gives the value of the mapping."""
    observations = model.load_observations()

    assert float(model.log_likelihood(start, observations)) == pytest.approx(REFERENCE, abs=1e-8)


def test_likelihood_in_single_precision_is_near() -> None:
    """In single precision on a CPU the value is right to two decimals or so."""
    observations = model.load_observations().astype(np.float32)

    assert float(jax.jit(model.log_likelihood)(dict(model.START), observations)) == pytest.approx(-778.75, abs=0.1)


def test_gradient_agrees_with_finite_differences(double: None, start: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    """Each component of the gradient is that of central differences to 1e-4 relative."""
    observations = model.load_observations()
    value = jax.jit(model.log_likelihood)
    gradient = np.asarray(jax.jit(jax.grad(model.log_likelihood))(start, observations))

    for place in range(len(start)):
        step = np.zeros_like(start)
        step[place] = 1e-6 * max(1.0, abs(start[place]))
        difference = (value(start + step, observations) - value(start - step, observations)) / (2 * step[place])
        assert gradient[place] == pytest.approx(float(difference), rel=1e-4), model.PARAMETERS[place]


@pytest.mark.parametrize("name", model.PARAMETERS)
def test_prior_has_the_moments_of_the_table(name: str) -> None:
    """Each prior has the mean and the standard deviation of Table 2."""
    prior = model.priors()[name]
    mean, deviation = MOMENTS[name]

    assert float(prior.mean) == pytest.approx(mean, rel=1e-4, abs=1e-6)
    assert float(prior.variance) ** 0.5 == pytest.approx(deviation, rel=2e-3)


def test_model_weighs_the_priors_by_the_likelihood(double: None) -> None:
    """The joint log density of the NumPyro model is that of the priors plus the log-likelihood."""
    observations = model.load_observations()
    values = {name: jax.numpy.asarray(value) for name, value in model.START.items()}

    joint, _ = numpyro.infer.util.log_density(model.sargent_surico, (observations,), {}, values)

    expected = sum(float(prior.log_prob(values[name])) for name, prior in model.priors().items()) + REFERENCE
    assert float(joint) == pytest.approx(expected, abs=1e-6)


def test_value_that_is_not_finite_is_a_rejection(double: None) -> None:
    """Where the likelihood is no number the log density is minus infinity, which NUTS rejects."""
    values = {name: jax.numpy.asarray(value) for name, value in model.START.items()}
    observations = model.load_observations()
    observations[0, 0] = np.inf

    joint, _ = numpyro.infer.util.log_density(model.sargent_surico, (observations,), {}, values)

    assert float(joint) == -np.inf


def test_import_starts_no_backend_and_changes_no_precision() -> None:
    """Importing the model leaves JAX's backends unstarted and its precision as it was."""
    code = (
        "import jax, sphinx_jaxdevice.benchmark.model; from jax._src import xla_bridge; "
        "print(xla_bridge.backends_are_initialized(), jax.config.jax_enable_x64)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]
