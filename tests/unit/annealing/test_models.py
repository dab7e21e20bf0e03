"""Models that cannot be: the message says what is wrong, and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.models import model_of
from croupier.annealing.priors import as_prior

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

TWO = [st.norm(0, 1), st.norm(0, 1)]


def log_likelihood(x: np.ndarray) -> Any:
    return -0.5 * (x**2).sum(axis=1)


def noisy(x: np.ndarray, axis: int, noise: np.random.Generator) -> Any:
    total = -0.5 * (x**2).sum(axis=axis)
    return total + 0.1 * noise.standard_normal(np.shape(total))


# -- priors


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (st.dirichlet([1, 2, 3]), r"the 3 coordinates of the prior always sum to 1, so it has no "
         r"density in R\^3 .*: leave one coordinate out"),
        ([st.norm(0, 1), st.multivariate_normal([0, 0])], "item 1 of the list .* 2 coordinates"),
        ([st.norm(0, 1), st.dirichlet([1, 2, 3])], "item 1 of the list .* has 3 coordinates"),
        ({"a": st.norm(0, 1), "b": st.norm(0, 1)}, "a list, not a dict"),
        (st.poisson(3), "the prior, poisson, is discrete and has no density"),
        (st.poisson, "the prior, poisson, is discrete"),
        ([st.norm(0, 1), st.binom(5, 0.5)], "item 1 of the list .*, binom, is discrete"),
        (st.multinomial(3, [0.5, 0.5]), "the prior, multinomial, is discrete"),
        (st.gamma, r"the prior has no parameters yet: freeze it, st\.gamma\(a=\.\.\.\)"),
        ([st.norm(0, 1), st.beta], r"item 1 .* freeze it, st\.beta\(a=\.\.\., b=\.\.\.\)"),
    ],
)  # fmt: skip
def test_a_prior_that_is_no_density_is_refused_by_name(prior: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        model_of(log_likelihood, prior)


@pytest.mark.skipif(not hasattr(st, "Binomial"), reason="older scipy")
def test_a_discrete_prior_of_the_newer_kind_is_refused_too() -> None:
    with pytest.raises(cr.PlanError, match="the prior, Binomial, is discrete"):
        model_of(log_likelihood, st.Binomial(n=5, p=0.5))


def test_points_of_ones_own_on_a_simplex_are_refused() -> None:
    prior = (lambda rng, size: 7 * rng.dirichlet([1, 1], size), lambda x: np.zeros(len(x)))
    with pytest.raises(cr.PlanError, match="the 2 coordinates of the prior always sum to 7"):
        model_of(log_likelihood, prior)


def test_a_dirichlet_law_without_one_coordinate_is_a_prior() -> None:
    law = st.dirichlet([1, 2, 3])

    def logpdf(x: np.ndarray) -> Any:
        inside = (x > 0).all(axis=1) & (x.sum(axis=1) < 1)
        safe = np.where(inside[:, None], x, 1 / 3)
        return np.where(inside, law.logpdf(safe.T), -np.inf)

    prior = (lambda rng, size: law.rvs(size, random_state=rng)[:, :-1], logpdf)
    result = cr.evidence(lambda x: np.log(x[:, 0]), prior, draws=2000, rng=1)
    assert abs(result.log_value - np.log(1 / 6)) < 4 * result.log_stderr


def test_a_distribution_that_is_not_frozen_has_its_standard_parameters() -> None:
    points = np.linspace(-2, 2, 5)[:, None]
    frozen, bare = as_prior(st.norm(0, 1)), as_prior(st.norm)
    assert np.allclose(frozen.logpdf(points), bare.logpdf(points).ravel())


# -- likelihoods


@pytest.mark.parametrize("axis", [1, -1])
def test_noise_in_a_likelihood_is_named_as_such(axis: int) -> None:
    noise = np.random.default_rng(1)
    with pytest.raises(cr.ArmError, match="gives different values for the same points"):
        model_of(lambda x: noisy(x, axis, noise), TWO)


@pytest.mark.parametrize("vectorised", [None, True, False])
def test_a_likelihood_that_returns_none_did_not_raise(vectorised: bool | None) -> None:
    with pytest.raises(cr.ArmError, match="the log-likelihood returned None, not numbers: check"):
        model_of(lambda x: None, TWO, vectorised=vectorised).likelihood(np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("function", "vectorised"),
    [
        (lambda x: x[:, 0] + x[:, 2], None),
        (lambda x: x[:, 0] + x[:, 2], True),
        (lambda x: x[0] + x[2], None),
        (lambda x: x[0] + x[2], False),
        (lambda x: (x - np.zeros(3)).sum(axis=1), None),
    ],
)
def test_a_likelihood_of_more_coordinates_is_told_those_of_the_prior(
    function: Any, vectorised: bool | None
) -> None:
    with pytest.raises(cr.ArmError, match=r"raised \w+Error: .*; the prior has 2 coordinates$"):
        model_of(function, TWO, vectorised=vectorised).likelihood(np.zeros((4, 2)))


def test_other_errors_of_a_likelihood_say_nothing_of_coordinates() -> None:
    with pytest.raises(cr.ArmError, match=r"raised ZeroDivisionError: division by zero$"):
        model_of(lambda x: 1 / 0, TWO)


def test_a_likelihood_is_never_asked_for_no_points() -> None:
    def likelihood(theta: Any) -> Any:
        assert len(theta)
        return -0.5 * np.square(theta).sum(axis=1)

    model = model_of(likelihood, as_prior([st.norm(), st.norm()]), vectorised=True)
    assert model.values_at(np.empty((0, 2))).shape == (0,)
    assert model.values_at(np.zeros((1, 2))).tolist() == [0.0]
