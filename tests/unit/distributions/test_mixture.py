"""The mixture: densities, draws, plain form."""

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from croupier.distributions.mixture import Mixture


def mixture(d: int, k: int = 3, df: float | None = None) -> Mixture:
    rng = np.random.default_rng(d)
    roots = np.tril(rng.normal(size=(k, d, d))) / np.sqrt(d) + 2 * np.eye(d)
    return Mixture(rng.dirichlet(np.ones(k)), rng.normal(0, 3, (k, d)), roots, df)


@pytest.mark.parametrize("df", [None, 5.0])
@pytest.mark.parametrize("d", [1, 2, 10, 100])
def test_the_density_is_that_of_scipy(d: int, df: float | None) -> None:
    law = mixture(d, df=df)
    x = np.random.default_rng(7).normal(0, 3, (20, d))
    for k in range(3):
        scale = law.roots[k] @ law.roots[k].T
        known: Any = (
            stats.multivariate_normal(law.means[k], scale)
            if df is None
            else stats.multivariate_t(law.means[k], scale, df)
        )
        assert np.allclose(law.component_log_densities(x)[:, k], known.logpdf(x))
    both = (law.shares * np.exp(law.component_log_densities(x) + 3 * d)).sum(axis=1)
    assert np.allclose(law.log_density(x), np.log(both) - 3 * d)


def test_a_root_that_is_a_number_or_diagonal_gives_the_same_density() -> None:
    x = np.random.default_rng(7).normal(size=(5, 3))
    roots = np.array([2 * np.eye(3), np.diag([1.0, 2.0, 3.0])])
    law = Mixture([0.5, 0.5], np.ones((2, 3)), roots)
    for k, deviations in enumerate(([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])):
        known = stats.norm(1, deviations).logpdf(x).sum(axis=1)
        assert np.allclose(law.component_log_densities(x)[:, k], known)


def test_far_out_the_log_density_is_finite_and_responsibilities_sum_to_one() -> None:
    law = mixture(2)
    x = np.array([[1e6, -1e6], [1e150, 0.0]])
    assert np.isfinite(law.log_density(x)[0])
    assert law.responsibilities(x[:1]).sum() == pytest.approx(1.0)


def test_a_component_without_a_share_is_never_responsible() -> None:
    law = Mixture([1.0, 0.0], [[0.0], [5.0]], [[[1.0]], [[1.0]]])
    assert law.responsibilities(np.array([[5.0]])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("df", [None, 5.0])
def test_draws_have_the_mean_and_the_covariance_of_their_component(df: float | None) -> None:
    law = mixture(3, df=df)
    x, own = law.draw(np.random.default_rng(7), [0, 40_000, 20_000])
    assert np.bincount(own, minlength=3).tolist() == [0, 40_000, 20_000]
    wider = 1.0 if df is None else df / (df - 2)
    for k in (1, 2):
        covariance = wider * law.roots[k] @ law.roots[k].T
        error = np.sqrt(covariance.diagonal() / 20_000)
        assert (np.abs(x[own == k].mean(axis=0) - law.means[k]) < 4 * error).all()
        assert np.allclose(np.cov(x[own == k].T), covariance, atol=0.1 * covariance.max())


def test_as_many_draws_as_asked_for_come_from_the_components_by_share() -> None:
    law = mixture(2)
    x, own = law.draw(np.random.default_rng(7), 30_000)
    assert x.shape == (30_000, 2)
    expected = 30_000 * law.shares
    assert stats.chisquare(np.bincount(own, minlength=3), expected).pvalue > 1e-4


def test_points_are_placed_and_standardised_by_their_component() -> None:
    law, rng = mixture(4), np.random.default_rng(7)
    z, own = rng.normal(size=(10, 4)), rng.integers(0, 3, 10)
    x = law.placed(z, own)
    assert np.allclose(x[3], law.means[own[3]] + law.roots[own[3]] @ z[3])
    assert np.allclose(law.standardised(x, own), z)


@pytest.mark.parametrize("df", [None, 5.0])
def test_the_plain_form_is_exact_also_through_json(df: float | None) -> None:
    law = mixture(4, df=df).joined(Mixture([1.0], np.zeros((1, 4)), [0.1 * np.eye(4)], df), 0.3)
    plain = law.as_plain()
    lists = json.loads(json.dumps(plain, default=lambda array: array.tolist()))
    for again in (Mixture.of(plain), Mixture.of(lists)):
        assert again.df == df
        for name in ("shares", "means", "roots"):
            assert np.array_equal(getattr(again, name), getattr(law, name))
    assert plain["roots"][-1].ndim == 0  # a narrow root is one number


def test_a_part_and_a_join_keep_shares_that_sum_to_one() -> None:
    law = mixture(2)
    part = law.part([0, 2])
    assert part.shares.sum() == pytest.approx(1)
    assert np.array_equal(part.means, law.means[[0, 2]])
    both = law.joined(part, 0.25)
    assert both.shares[3:].sum() == pytest.approx(0.25)
    x = np.zeros((1, 2))
    parts = np.log(0.75) + law.log_density(x), np.log(0.25) + part.log_density(x)
    assert both.log_density(x) == pytest.approx(np.logaddexp(*parts))
    with pytest.raises(ValueError, match=r"df=\[None, 5\]"):
        law.joined(mixture(2, df=5), 0.5)


def test_widened_multiplies_the_covariance() -> None:
    law = mixture(2)
    wide = law.widened(4.0)
    assert np.allclose(wide.roots, 2 * law.roots)
