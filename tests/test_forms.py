from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

jax = pytest.importorskip("jax")
pytest.importorskip("numpyro")

from jax.test_util import check_grads  # noqa: E402
from numpyro.infer.util import log_density  # noqa: E402

from sphinx_jaxdevice.benchmark import model  # noqa: E402
from sphinx_jaxdevice.benchmark.forms import FORMS, small_matrices  # noqa: E402
from sphinx_jaxdevice.benchmark.forms.compact import compact  # noqa: E402
from sphinx_jaxdevice.benchmark.remedies import REFERENCE, REMEDIES  # noqa: E402

OTHERS = [name for name in FORMS if name != REFERENCE]
Floats = NDArray[np.float64]


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX's signature
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def points() -> Floats:
    """Return the start point and two near it, each parameter up to 5 % away."""
    start = np.array([model.START[name] for name in model.PARAMETERS])
    near = start * np.random.default_rng(1).uniform(0.95, 1.05, (3, len(start)))
    near[0] = start
    return np.minimum(near, [0.999 if name == "theta" else np.inf for name in model.PARAMETERS])


def both(form: str, points: Floats) -> tuple[Floats, Floats]:
    """Return values (points,) and gradients (points, 18) of a form."""
    observations = model.load_observations()
    computed = jax.jit(jax.vmap(jax.value_and_grad(lambda point: FORMS[form](point, observations))))
    values, slopes = computed(points)
    return np.asarray(values), np.asarray(slopes)


@pytest.fixture(scope="module")
def reference(points: Floats) -> tuple[Floats, Floats]:
    """Return values and gradients of the reference form."""
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX's signature
    return both(REFERENCE, points)


def test_every_remedy_has_its_form_and_every_form_its_remedy() -> None:
    """The names of the forms are those of the remedies."""
    assert set(FORMS) == {remedy.form for remedy in REMEDIES}


@pytest.mark.parametrize("form", OTHERS)
def test_form_has_the_value_and_the_gradient_of_the_reference(
    form: str, points: Floats, reference: tuple[Floats, Floats]
) -> None:
    """At the start point and near it a form agrees to 1e-8 in value and to 1e-7 relative in each slope, also in a batch."""
    values, slopes = both(form, points)

    assert np.abs(values - reference[0]).max() < 1e-8
    assert np.abs(slopes / reference[1] - 1).max() < 1e-7


@pytest.mark.parametrize("form", ["fewest_operations", "least_arithmetic"])
def test_mix_takes_a_mapping_and_observations_that_are_traced(form: str) -> None:
    """A mix is computed inside a compiled NumPyro model whose observations are an argument."""
    values = {name: jax.numpy.asarray(value) for name, value in model.START.items()}
    observations = model.load_observations()
    joint = jax.jit(lambda given: log_density(model.sargent_surico, (given,), {"log_likelihood": FORMS[form]}, values)[0])
    expected, _ = log_density(model.sargent_surico, (observations,), {}, values)

    assert float(joint(observations)) == pytest.approx(float(expected), abs=1e-8)


@pytest.mark.parametrize("form", OTHERS)
def test_form_in_single_precision_is_near(form: str) -> None:
    """In single precision a form computes in single precision and is right to a tenth or so."""
    jax.config.update("jax_enable_x64", False)  # noqa: FBT003 - JAX's signature
    value = jax.jit(FORMS[form])(dict(model.START), model.load_observations())

    assert value.dtype == np.float32
    assert float(value) == pytest.approx(-778.75, abs=1.0)


def test_seven_states_have_the_covariance_that_the_eleven_have() -> None:
    """The compact state space is the reference's, less the states that it does not need."""
    named = model.named(dict(model.START))
    whole = model.state_space(named)
    kept = [*range(4), model.E, model.A, model.CHI]

    small = compact(named)

    covariance = model.stationary_covariance(whole)[np.ix_(kept, kept)]
    np.testing.assert_allclose(small.covariance, covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(small.transition, whole.transition[np.ix_(kept, kept)], atol=1e-12)


def test_written_out_algebra_is_that_of_the_library() -> None:
    """Inverse, determinant, elimination, Cholesky factor and substitution agree with NumPy's."""
    generator = np.random.default_rng(0)
    some = jax.numpy.asarray(generator.normal(size=(5, 4, 4)))
    square = jax.numpy.asarray(generator.normal(size=(6, 6)) + 6 * np.eye(6))
    right = jax.numpy.asarray(generator.normal(size=(6, 3)))
    positive = square @ square.T

    inverse = small_matrices.inverse(some)
    factor = small_matrices.cholesky(positive)

    np.testing.assert_allclose(inverse.matrix, np.linalg.inv(some), rtol=1e-9)
    np.testing.assert_allclose(inverse.log_determinant, np.linalg.slogdet(some)[1], atol=1e-11)
    np.testing.assert_allclose(small_matrices.determinant(some), np.linalg.det(some), rtol=1e-10)
    np.testing.assert_allclose(small_matrices.solution(square, right), np.linalg.solve(square, right), rtol=1e-10)
    np.testing.assert_allclose(factor, np.linalg.cholesky(positive), atol=1e-11)
    np.testing.assert_allclose(small_matrices.triangular_solution(factor, right), np.linalg.solve(factor, right), rtol=1e-8)


def test_written_derivatives_are_those_of_finite_differences() -> None:
    """The rules of the inverse, its determinant and the elimination agree with differences."""
    generator = np.random.default_rng(0)
    matrix = generator.normal(size=(4, 4)) + 3 * np.eye(4)
    right = generator.normal(size=(4, 2))

    def of_inverse(given: Any) -> Any:
        found = small_matrices.inverse(given)
        return (found.matrix**2).sum() + found.log_determinant

    check_grads(of_inverse, (matrix,), order=1, modes=["rev"])
    check_grads(small_matrices.solution, (matrix, right), order=1, modes=["rev"])
