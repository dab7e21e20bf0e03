"""Skewed coordinates: they are inverted, are densities, and fit points with one long tail."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

from croupier.annealing.mixtures import Mixture, MixtureLevel, move
from croupier.annealing.models import model_of
from croupier.annealing.skewness import fit_skews, log_slope, skewed, straightened
from croupier.annealing.slices import Chains


def test_a_skewed_coordinate_is_inverted_exactly() -> None:
    y = np.random.default_rng(7).standard_normal((500, 3))
    e = np.array([-0.7, 0.0, 0.4])
    z = skewed(y, e)
    assert straightened(z, e) == pytest.approx(y, abs=1e-12)
    assert z[:, 1] == pytest.approx(y[:, 1])


def test_a_skewed_normal_coordinate_has_the_mean_0_and_the_variance_1() -> None:
    y = st.norm.ppf((np.arange(200_000) + 0.5) / 200_000)[:, None]
    z = skewed(y, np.array([-0.6]))
    assert z.mean() == pytest.approx(0, abs=1e-4)
    assert z.std() == pytest.approx(1, abs=1e-3)
    assert st.skew(z.ravel()) < -0.5


def test_the_slope_is_that_of_differences() -> None:
    z, e, h = np.linspace(-4, 4, 9)[:, None], np.array([-0.5]), 1e-6
    slope = (straightened(z + h, e) - straightened(z - h, e)) / (2 * h)
    assert log_slope(z, e) == pytest.approx(np.log(slope.ravel()), abs=1e-6)


def test_skews_are_fitted_to_points_and_zero_where_nothing_is_clear() -> None:
    rng = np.random.default_rng(7)
    z = skewed(rng.standard_normal((20_000, 2)), np.array([-0.5, 0.0]))
    e = fit_skews(z, np.full(20_000, 1 / 20_000))
    assert e[0] == pytest.approx(-0.5, abs=0.1)
    assert e[1] == 0
    assert not fit_skews(z[:100], np.full(100, 0.01)).any()  # too few points


def test_a_skewed_mixture_is_a_density_and_draws_from_it() -> None:
    """In one dimension: the integral is 1, and the share below 0 is that of the draws."""
    law = Mixture(
        np.array([0.3, 0.7]), np.array([[-2.0], [3.0]]), np.array([[[0.5]], [[1.5]]]), 8.0,
        separate=True, skews=np.array([[0.6], [-0.6]]),
    )  # fmt: skip
    x = np.linspace(-60, 60, 240_001)
    density = np.exp(law.log_density(x[:, None]))
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-4)
    points = law.sample(np.random.default_rng(7), 40_000)
    share = np.trapezoid(density[x <= 0], x[x <= 0])
    assert (points < 0).mean() == pytest.approx(share, abs=4 * 0.5 / 200)


def test_moves_about_a_skewed_law_leave_a_target_unchanged() -> None:
    """The target is N(0, 1), far from the law; 4000 chains that start there stay there."""
    model = model_of(lambda x: st.norm.logpdf(x).sum(axis=1), [st.uniform(-10, 20)] * 2)
    law = Mixture(
        np.ones(1), np.full((1, 2), 0.3), 0.9 * np.eye(2)[None], 12.0,
        separate=True, skews=np.array([[-0.5, 0.3]]),
    )  # fmt: skip
    rng = np.random.default_rng(7)
    points = rng.standard_normal((4000, 2))
    chains = Chains(points, *model.evaluate(points))
    for _ in range(10):
        move(rng, chains, 1.0, lambda x, _: model.evaluate(x), MixtureLevel(1.0, law, np.ones(1)))
    for column in chains.points.T:
        assert st.kstest(column, "norm").pvalue > 1e-3


def test_a_skewed_law_fits_loggamma_in_ten_dimensions() -> None:
    """The relative variance of weights without skews is 3 times as large, or more."""
    rng = np.random.default_rng(7)
    points = np.log(rng.standard_exponential((20_000, 10)))
    plain = Mixture(
        np.ones(1), points.mean(axis=0)[None], np.diag(points.std(axis=0))[None], 8.0,
        separate=True,
    )  # fmt: skip
    law = plain.skewed_like(points[:10_000], np.full(10_000, 1e-4))
    rest = points[10_000:]
    target = (rest - np.exp(rest)).sum(axis=1)
    excess = [np.exp(target - each.log_density(rest)).mean() - 1 for each in (plain, law)]
    assert excess[1] < excess[0] / 3
