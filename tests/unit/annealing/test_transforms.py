"""Transforms: other coordinates, the same integral."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from croupier.annealing.models import model_of
from croupier.annealing.transforms import Chart, chart_of

INF = np.inf

#: Between two bounds, above one, below one, heavy tails, nothing.
EVERY = Chart(
    np.array([0.0, 1.0, -INF, -INF, -INF]),
    np.array([2.0, INF, 3.0, INF, INF]),
    np.array([False, False, False, True, False]),
    np.array([1.0, 3.0, 2.0, 5.0, 0.0]),
    np.array([1.0, 2.0, 1.0, 0.7, 1.0]),
)


def test_there_and_back() -> None:
    u = np.random.default_rng(1).standard_normal((1000, 5))
    x = EVERY.back(u)
    assert ((x > EVERY.low) & (x < EVERY.high)).all()
    assert np.allclose(EVERY.to(x), u, rtol=1e-6, atol=1e-6)
    assert (x[:, 4] == u[:, 4]).all()


def test_the_slope_is_the_derivative() -> None:
    u, h = np.random.default_rng(2).standard_normal((200, 5)), 1e-5
    slopes = (EVERY.back(u + h) - EVERY.back(u - h)) / (2 * h)
    assert np.allclose(EVERY.log_slope(u), np.log(slopes).sum(axis=1), atol=1e-6)


@pytest.mark.parametrize("far", [-60.0, 60.0])
def test_far_out_everything_is_finite_and_inside(far: float) -> None:
    u = np.full((1, 5), far)
    x = EVERY.back(u)
    assert ((x > EVERY.low) & (x < EVERY.high)).all()
    assert np.isfinite(EVERY.to(x)).all()
    assert np.isfinite(EVERY.log_slope(u)).all()
    assert np.isfinite(EVERY.to(np.clip(np.full((1, 5), far), EVERY.low, EVERY.high))).all()


def flat(x: np.ndarray) -> Any:
    return np.zeros(len(x))


@pytest.mark.parametrize(
    "prior",
    [
        [st.uniform(-1, 4)] * 2,
        [st.uniform(0, 1), st.norm(0, 1)],
        st.beta(0.5, 2),
        [st.expon(), st.gamma(0.3, loc=5)],
        st.lognorm(2),
        st.cauchy(3, 2),
        [st.gumbel_l(), st.weibull_max(2)],
    ],
)
def test_a_prior_has_the_mass_1_in_its_chart(prior: Any) -> None:
    model = model_of(flat, prior, vectorised=True).charted()
    assert model.chart is not None
    # Importance sampling with Student's law in u: mean 1, within 4 standard errors.
    rng, d = np.random.default_rng(3), model.dimensions
    u = 1.5 * rng.standard_t(5, (20_000, d))
    weights = np.exp(model.log_prior(u) - (st.t.logpdf(u / 1.5, 5) - np.log(1.5)).sum(axis=1))
    assert abs(weights.mean() - 1) < 4 * weights.std() / np.sqrt(len(weights))
    # Its own sample has the same law: E[t/prior] = 1, as far as t is not wider.
    own = model.start(rng, 20_000)
    q = st.norm.logpdf(own, 0, 0.5).sum(axis=1) - model.log_prior(own)
    assert abs(np.exp(q).mean() - 1) < 4 * np.exp(q).std() / np.sqrt(len(own))


def test_a_uniform_prior_is_normal_in_its_chart() -> None:
    model = model_of(flat, [st.uniform(-1, 4)] * 2, vectorised=True).charted()
    u = np.random.default_rng(4).standard_normal((50, 2))
    assert np.allclose(model.log_prior(u), st.norm.logpdf(u).sum(axis=1))


def test_normal_laws_need_no_chart_and_pairs_have_no_bounds() -> None:
    points = np.random.default_rng(5).standard_normal((200, 3))
    none = np.full(3, INF)
    assert chart_of(points, np.ones(3), -none, none) is None
    pair = (lambda rng, size: rng.random((size, 1)),
            lambda x: np.where((x[:, 0] > 0) & (x[:, 0] < 1), 0.0, -INF))  # fmt: skip
    for prior in ([st.norm(0, 1)] * 2, st.logistic(), pair):
        assert model_of(flat, prior, vectorised=True).charted().chart is None


def test_the_likelihood_and_errors_are_in_the_users_coordinates() -> None:
    from croupier.errors import ArmError

    def log_likelihood(x: np.ndarray) -> Any:
        assert ((x > 2) & (x < 3)).all()
        return np.where(x[:, 0] > 2.5, np.nan, 0.0)

    model = model_of(log_likelihood, st.uniform(2, 1), vectorised=True).charted()
    with pytest.raises(ArmError, match=r"is nan at \[2\.[5-9]"):
        model.likelihood(model.start(np.random.default_rng(6), 100))
