"""Eight schools in PyMC and in NumPyro, beside the same densities by scipy."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.adapters.base import ModelObject

EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def needed(package: str, extra: str) -> Any:
    return pytest.importorskip(package, reason=f"no {package} here: pip install '.[{extra}]'")


def schools_of_pymc() -> ModelObject:
    pm = needed("pymc", "pymc")
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", 0, 1, shape=8)
        pm.Normal("y", pm.Deterministic("effect", mu + tau * theta), ERRORS, observed=EFFECTS)
    return cr.adapters.pymc(model)


def schools_of_numpyro() -> ModelObject:
    numpyro = pytest.importorskip(
        "numpyro", reason="NumPyro is not installed: pip install '.[jax]'"
    )
    dist = numpyro.distributions

    def model(errors: Any, y: Any = None) -> None:
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("schools", 8):
            theta = numpyro.sample("theta", dist.Normal(0, 1))
        numpyro.sample(
            "y", dist.Normal(numpyro.deterministic("effect", mu + tau * theta), errors), obs=y
        )

    return cr.adapters.numpyro(model, ERRORS, y=EFFECTS)


def log_likelihood(x: np.ndarray) -> np.ndarray:
    effects = x[:, :1] + np.exp(x[:, 1:2]) * x[:, 2:]
    return st.norm.logpdf(EFFECTS, effects, ERRORS).sum(axis=1)


def log_prior(x: np.ndarray) -> np.ndarray:
    tau = st.halfcauchy.logpdf(np.exp(x[:, 1]), scale=5) + x[:, 1]
    return st.norm.logpdf(x[:, 0], 0, 5) + tau + st.norm.logpdf(x[:, 2:]).sum(axis=1)


def by_differences(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    steps = 1e-5 * np.eye(x.shape[1])
    return np.stack([(f(x + step) - f(x - step)) / 2e-5 for step in steps], axis=1)


@pytest.fixture(scope="module", params=[schools_of_pymc, schools_of_numpyro])
def schools(request: pytest.FixtureRequest) -> ModelObject:
    model: ModelObject = request.param()
    return model


POINTS = np.random.default_rng(5).normal(size=(70, 10))


def test_densities_are_those_of_scipy(schools: ModelObject) -> None:
    np.testing.assert_allclose(schools.log_likelihood(POINTS), log_likelihood(POINTS), rtol=1e-9)
    np.testing.assert_allclose(schools.log_prior(POINTS), log_prior(POINTS), atol=1e-5)


def test_gradients_are_those_of_differences(schools: ModelObject) -> None:
    wanted = by_differences(log_likelihood, POINTS[:4]), by_differences(log_prior, POINTS[:4])
    np.testing.assert_allclose(schools.gradient(POINTS[:4]), wanted[0], atol=1e-5)
    np.testing.assert_allclose(schools.prior_gradient(POINTS[:4]), wanted[1], atol=1e-4)


def test_draws_of_the_prior_have_its_quantiles_and_belong_to_the_seed(schools: ModelObject) -> None:
    drawn = schools.sample(np.random.default_rng(3), 4000)
    assert drawn.shape == (4000, 10)
    assert np.median(np.exp(drawn[:, 1])) == pytest.approx(5, rel=0.1)  # 4 standard errors
    assert drawn[:, 0].std() == pytest.approx(5, rel=0.05)
    np.testing.assert_array_equal(drawn[:300], schools.sample(np.random.default_rng(3), 300))
    assert np.any(drawn[:300] != schools.sample(np.random.default_rng(4), 300))


def test_parameters_have_their_names_and_shapes(schools: ModelObject) -> None:
    assert schools.names[:3] == ("mu", "tau", "theta[0]")
    seen = schools.parameters(POINTS)
    np.testing.assert_allclose(seen["tau"], np.exp(POINTS[:, 1]))
    effects = POINTS[:, :1] + np.exp(POINTS[:, 1:2]) * POINTS[:, 2:]
    np.testing.assert_allclose(seen["effect"], effects)


def test_a_copy_for_another_process_is_the_same(schools: ModelObject) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    copy = pickle.loads(cloudpickle.dumps(schools))
    np.testing.assert_array_equal(copy.log_prior(POINTS), schools.log_prior(POINTS))


def test_models_without_data_or_with_discrete_parameters_are_refused_in_pymc() -> None:
    pm = needed("pymc", "pymc")
    with pm.Model() as bare:
        pm.Normal("mu", 0, 1)
    with pytest.raises(cr.PlanError, match="no observed variables"):
        cr.adapters.pymc(bare)
    with pm.Model() as counted:
        k = pm.Poisson("k", 3)
        pm.Normal("y", k, 1, observed=2.0)
    with pytest.raises(cr.PlanError, match="k of the PyMC model is discrete"):
        cr.adapters.pymc(counted)
    with pytest.raises(cr.PlanError, match=r"a pymc\.Model is needed, got int"):
        cr.adapters.pymc(3)


def test_models_without_data_or_with_discrete_sites_are_refused_in_numpyro() -> None:
    numpyro = pytest.importorskip(
        "numpyro", reason="NumPyro is not installed: pip install '.[jax]'"
    )
    dist = numpyro.distributions

    def bare() -> None:
        numpyro.sample("mu", dist.Normal(0, 1))

    def counted() -> None:
        k = numpyro.sample("k", dist.Poisson(3))
        numpyro.sample("y", dist.Normal(k, 1), obs=2.0)

    def part() -> None:
        mu = numpyro.sample("mu", dist.Normal(0, 1))
        with numpyro.plate("data", 10, subsample_size=5):
            numpyro.sample("y", dist.Normal(mu, 1), obs=np.zeros(5))

    with pytest.raises(cr.PlanError, match="no observed sites"):
        cr.adapters.numpyro(bare)
    with pytest.raises(cr.PlanError, match="site 'k' of the NumPyro model is discrete"):
        cr.adapters.numpyro(counted)
    with pytest.raises(cr.PlanError, match="takes a part of the data"):
        cr.adapters.numpyro(part)


def test_a_function_of_jax_takes_many_points_in_few_sizes_and_has_a_gradient() -> None:
    needed("jax", "jax")
    sizes = set()

    def one(x: Any) -> Any:
        return -((x - 3) ** 2).sum()

    f = cr.adapters.jax(one)
    for n in (1, 5, 17, 100, 1500):
        x = np.random.default_rng(n).normal(size=(n, 2))
        found = f(x)
        assert found.dtype == float
        np.testing.assert_allclose(found, -((x - 3) ** 2).sum(axis=1), rtol=1e-14)
        np.testing.assert_allclose(f.gradient(x), -2 * (x - 3), rtol=1e-14)
    compiled = f._compiled["value"]
    sizes.add(compiled._cache_size())
    assert sizes == {5}  # 16, 32, 128, 1024 and 512
