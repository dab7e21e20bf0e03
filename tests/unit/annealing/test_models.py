"""Models that cannot be: the message says what is wrong, and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.models import model_of
from croupier.spaces.axes import Axes
from croupier.spaces.vectors import NormalVector

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
        ([st.norm(0, 1), st.multivariate_normal([0, 0])], r"axis 1 of prior= .* inverse \(ppf\)"),
        ([st.norm(0, 1), st.dirichlet([1, 2, 3])], r"axis 1 of prior= .* no inverse \(ppf\)"),
        ({"a": st.norm(0, 1), "b": st.norm(0, 1)}, "a list, not a dict"),
        (st.multinomial(3, [0.5, 0.5]), r"no inverse \(ppf\) and no density \(logpdf\)"),
        (st.gamma, r"axis 0 of prior= has no parameters yet: freeze it, gamma\(a=\.\.\.\)"),
        ([st.norm(0, 1), st.beta], r"axis 1 .* freeze it, beta\(a=\.\.\., b=\.\.\.\)"),
        ((0, np.inf), "axis 0 has an infinite bound"),
    ],
)  # fmt: skip
def test_a_prior_that_is_no_density_is_refused_by_name(prior: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        model_of(log_likelihood, prior)


@pytest.mark.parametrize("prior", [st.poisson(2), [st.uniform(0, 1), st.poisson(2)]])
def test_a_discrete_prior_is_the_image_of_normal_numbers(prior: Any) -> None:
    model = model_of(lambda x: -(x**2).sum(axis=1), prior)
    assert model.normal
    k = np.arange(30)
    truth = np.log((st.poisson(2).pmf(k) * np.exp(-(k**2.0))).sum())
    if model.dimensions == 2:
        truth += np.log(np.sqrt(np.pi) * (st.norm.cdf(np.sqrt(2)) - 0.5))
    result = cr.evidence(lambda x: -(x**2).sum(axis=1), prior, draws=4000, rng=3)
    assert abs(result.log_value - truth) < 4 * result.log_stderr


def test_points_of_ones_own_on_a_simplex_are_refused() -> None:
    prior = (lambda rng, size: 7 * rng.dirichlet([1, 1], size), lambda x: np.zeros(len(x)))
    with pytest.raises(cr.PlanError, match="the 2 coordinates of the prior always sum to 7"):
        model_of(log_likelihood, prior)


def test_a_dirichlet_distribution_without_one_coordinate_is_a_prior() -> None:
    dirichlet = st.dirichlet([1, 2, 3])

    def logpdf(x: np.ndarray) -> Any:
        inside = (x > 0).all(axis=1) & (x.sum(axis=1) < 1)
        safe = np.where(inside[:, None], x, 1 / 3)
        return np.where(inside, dirichlet.logpdf(safe.T), -np.inf)

    prior = (lambda rng, size: dirichlet.rvs(size, random_state=rng)[:, :-1], logpdf)
    result = cr.evidence(lambda x: np.log(x[:, 0]), prior, draws=2000, rng=1)
    assert abs(result.log_value - np.log(1 / 6)) < 4 * result.log_stderr


def test_a_distribution_that_is_not_frozen_has_its_standard_parameters() -> None:
    points = np.linspace(-2, 2, 5)[:, None]
    frozen, bare = (model_of(log_likelihood, prior) for prior in (st.norm(0, 1), st.norm))
    assert np.allclose(frozen.log_prior(points), bare.log_prior(points))


def test_scipys_overhead_is_left_out_and_the_distribution_is_the_same() -> None:
    points = np.random.default_rng(3).normal(size=(20, 2))
    correlated = st.multivariate_normal([1, 2], [[2.0, 0.5], [0.5, 1.0]])
    for prior in (correlated, st.multivariate_normal([1, 2], [2.0, 1.0])):
        model = model_of(log_likelihood, prior)
        assert isinstance(model.space, NormalVector)
        assert np.allclose(model.log_prior(points), prior.logpdf(points))
        assert np.allclose(model.spread, np.sqrt(np.diag(prior.cov)))
        sample = model.start(np.random.default_rng(4), 20000)
        assert np.allclose(np.cov(sample.T), prior.cov, atol=0.1)
    box = [st.uniform(-1, 2), st.uniform(0, 5)]
    model = model_of(log_likelihood, box)
    assert isinstance(model.space, Axes)
    assert model.space.box is not None
    assert np.allclose(model.spread, [2 / 2.698, 5 / 2.698], rtol=1e-3)
    each = box[0].logpdf(points[:, 0]) + box[1].logpdf(points[:, 1])
    assert np.isneginf(each).any()
    assert np.allclose(model.log_prior(points), each)


@pytest.mark.parametrize(
    "prior", [[st.uniform(-1, 4)] * 2, st.beta(0.5, 2), st.cauchy(3, 2), [(0, 1), st.gamma(0.3)]]
)
def test_a_prior_with_bounds_or_heavy_tails_moves_in_normal_numbers(prior: Any) -> None:
    model = model_of(log_likelihood, prior).in_normals()
    z = model.start(np.random.default_rng(4), 4000)
    assert np.allclose(model.log_prior(z), st.norm.logpdf(z).sum(axis=1))
    x, own = model.users(z), model_of(log_likelihood, prior).start(np.random.default_rng(5), 4000)
    for column, other in zip(x.T, own.T, strict=True):
        assert st.ks_2samp(column, other).pvalue > 1e-4
    assert np.isfinite(model.users(np.full((1, model.dimensions), -500.0))).all()


def test_the_likelihood_and_errors_are_in_the_users_coordinates() -> None:
    def bad(x: np.ndarray) -> Any:
        assert ((x > 2) & (x < 3)).all()
        return np.where(x[:, 0] > 2.5, np.nan, 0.0)

    model = model_of(bad, st.uniform(2, 1), vectorised=True).in_normals()
    with pytest.raises(cr.ArmError, match=r"log_likelihood is nan at the point \(2\.[5-9]"):
        model.likelihood(model.start(np.random.default_rng(6), 100))


# -- likelihoods


@pytest.mark.parametrize("axis", [1, -1])
def test_noise_in_a_likelihood_is_named_as_such(axis: int) -> None:
    noise = np.random.default_rng(1)
    with pytest.raises(cr.ArmError, match="gives different values for the same points"):
        model_of(lambda x: noisy(x, axis, noise), TWO)


@pytest.mark.parametrize("vectorised", [None, True, False])
def test_a_likelihood_that_returns_none_did_not_raise(vectorised: bool | None) -> None:
    with pytest.raises(cr.PlanError, match="returned None, not numbers: check"):
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
    with pytest.raises(cr.PlanError, match=r"raised \w+Error: .*; the points have 2 coordinates$"):
        model_of(function, TWO, vectorised=vectorised).likelihood(np.zeros((4, 2)))


def test_a_likelihood_is_never_asked_for_no_points() -> None:
    def likelihood(theta: Any) -> Any:
        assert len(theta)
        return -0.5 * np.square(theta).sum(axis=1)

    model = model_of(likelihood, [st.norm(), st.norm()], vectorised=True)
    assert model.likelihood(np.empty((0, 2))).shape == (0,)
    assert model.likelihood(np.zeros((1, 2))).tolist() == [0.0]
