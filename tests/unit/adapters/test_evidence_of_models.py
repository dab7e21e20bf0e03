"""cr.evidence of a model object: log Z, named parameters, and what is refused."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from scipy.integrate import quad

import croupier as cr
from tests.unit.adapters.test_pymc_and_numpyro import schools_of_numpyro, schools_of_pymc
from tests.unit.adapters.test_stan_and_blocks import Scale


def rate_of(points: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(points, 50.0))  # a climb may step far out


class Rate:
    """A rate with the prior Gamma(2, 1) in its logarithm, and Poisson data 3 and 5."""

    names = ("rate",)
    dimension = 1

    def log_likelihood(self, points: np.ndarray) -> np.ndarray:
        return st.poisson.logpmf([3, 5], rate_of(points)).sum(axis=1)

    def log_prior(self, points: np.ndarray) -> np.ndarray:
        return st.gamma.logpdf(rate_of(points[:, 0]), 2) + points[:, 0]

    def gradient(self, points: np.ndarray) -> np.ndarray:
        return 8 - 2 * rate_of(points)

    def prior_gradient(self, points: np.ndarray) -> np.ndarray:
        return 2 - rate_of(points)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.log(rng.gamma(2, size=(size, 1)))

    def parameters(self, points: np.ndarray) -> Mapping[str, Any]:
        return {"rate": rate_of(points[:, 0])}


def test_a_model_object_gives_log_z_and_named_parameters() -> None:
    def joint(rate: float) -> float:
        return st.gamma.pdf(rate, 2) * st.poisson.pmf(3, rate) * st.poisson.pmf(5, rate)

    truth = np.log(quad(joint, 0, 40)[0])
    result = cr.evidence(Rate(), draws=5000, rng=1)
    assert abs(result.log_value - truth) < 4 * result.log_stderr
    assert result.log_stderr < 0.03
    draws = result.posterior(2000)
    assert abs(draws["rate"].mean() - 10 / 3) < 0.15  # the posterior is Gamma(10, 3)
    assert draws.to_dict()["rate"].shape == (1, 2000)
    assert draws.log_likelihood.shape == (2000,)


def test_a_model_of_stan_is_recognised() -> None:
    def joint(s: float) -> float:
        return float(np.exp(-s) * st.norm.pdf([1.0, -2.0], 0, s).prod())

    truth = np.log(quad(joint, 0, 60)[0])
    result = cr.evidence(Scale(), draws=5000, rng=1)
    assert abs(result.log_value - truth) < 4 * result.log_stderr
    assert result.posterior(100)["s"].min() > 0


@pytest.mark.parametrize("name", ["prior", "prior_transform", "gradient"])
def test_a_model_has_its_own_prior_and_gradient(name: str) -> None:
    with pytest.raises(cr.PlanError, match=f"leave out {name}="):
        cr.evidence(Rate(), **{name: st.norm(0, 1)}, draws=100)


@pytest.mark.parametrize("made", [schools_of_pymc, schools_of_numpyro])
def test_eight_schools_of_another_library(made: Any) -> None:
    # The truth: a grid of 801 x 801 points of mu and log tau, the effects integrated by hand.
    result = cr.evidence(made(), draws=10_000, rng=1)
    assert abs(result.log_value - -31.31135) < 4 * result.log_stderr
    assert result.log_stderr < 0.05
    assert result.posterior(500).parameters["effect"].shape == (500, 8)
