"""Normal: the proposal that a family learns; Points: the draws in logarithms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import croupier as cr
from croupier.importance import Normal, Points


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_the_density_of_a_normal_is_scipys(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = np.tril(rng.normal(size=(m, m)), -1) + np.diag(rng.uniform(0.3, 2, m))
    normal = Normal(rng.normal(size=m), root)
    x = rng.normal(size=(7, m))
    wanted = stats.multivariate_normal(normal.mean, root @ root.T).logpdf(x)
    assert normal.logpdf(x) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_points_of_a_normal_have_its_mean_and_covariance() -> None:
    root = np.array([[1.0, 0.0], [0.5, 2.0]])
    x = Normal([1.0, -3.0], root).sample(np.random.default_rng(7), 100_000)
    z = (x.mean(axis=0) - [1, -3]) / np.sqrt(np.diag(root @ root.T) / len(x))
    assert np.abs(z).max() < 4
    assert np.cov(x.T) == pytest.approx(root @ root.T, abs=4 * 4 * np.sqrt(2 / len(x)))


def test_deviations_may_be_one_number_or_one_each() -> None:
    assert (Normal([0.0, 1.0], 2.0).root == 2 * np.eye(2)).all()
    assert (Normal([0.0, 1.0], [1.0, 3.0]).root == np.diag([1.0, 3.0])).all()
    assert len(Normal(0.0)) == 1


@pytest.mark.parametrize(
    ("mean", "root"),
    [
        ([0.0, np.nan], 1.0),
        ([[0.0]], 1.0),
        ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]]),
        ([0.0, 0.0], [1.0, 2.0, 3.0]),
        ([0.0, 0.0], 0.0),
        (0.0, -1.0),
        (0.0, np.inf),
    ],
)
def test_what_is_no_normal_is_refused(mean: object, root: object) -> None:
    with pytest.raises(cr.PlanError, match="a normal proposal"):
        Normal(mean, root)


def test_values_of_points_survive_densities_that_no_double_can_hold() -> None:
    shape = np.array([-5000.0, -np.inf, -5001.0])
    points = Points(
        shape, np.array([1.0, 0, -1]), shape, np.full((3, 1), -5000.0), np.empty((3, 0))
    )
    assert points.values(0) == pytest.approx([1.0, 0.0, -np.exp(-1)])
