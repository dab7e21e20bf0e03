"""Slice sampling by coordinates: it leaves a law as it is, and finds known conditionals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.slices import slice_sample

pytestmark = pytest.mark.filterwarnings("error")


def p_value(values: np.ndarray, law: Any) -> float:
    return float(st.kstest(values, law.cdf).pvalue)


@pytest.mark.parametrize(
    ("law", "width", "limit"),
    [
        (st.norm(0, 1), 2.0, 64),
        (st.norm(0, 1), 0.1, 64),  # steps out many times
        (st.norm(0, 1), 0.3, 3),  # the limit binds
        (st.norm(0, 1), 50.0, 1),  # only shrinks
        (st.expon(), 1.0, 64),
        (st.beta(0.5, 2), 0.5, 64),
        (st.uniform(2, 3), 1.0, 8),
        (st.t(2), 2.0, 64),
    ],
)
def test_a_sweep_from_the_exact_law_leaves_it_as_it_is(law: Any, width: float, limit: int) -> None:
    rng = np.random.default_rng(11)
    start = law.rvs(size=(4000, 1), random_state=rng)
    moved = slice_sample(
        lambda x: law.logpdf(x[:, 0]), start, rng, width=width, limit=limit, sweeps=2
    )
    assert p_value(moved[:, 0], law) > 1e-4
    assert (moved != start).all()


def test_a_single_point_finds_the_law_of_a_mixture_of_two_modes() -> None:
    rng = np.random.default_rng(12)

    def log_density(x: np.ndarray) -> Any:
        return np.logaddexp(-0.5 * (x[:, 0] + 2) ** 2, np.log(2) - 0.5 * (x[:, 0] - 2) ** 2)

    start = np.full((4000, 1), 5.0)
    moved = slice_sample(log_density, start, rng, width=3.0, sweeps=25)[:, 0]
    share = (moved > 0).mean()
    expected = (st.norm.sf(0, -2) + 2 * st.norm.sf(0, 2)) / 3
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)


def test_each_coordinate_is_drawn_from_its_conditional() -> None:
    # One coordinate of a normal law with correlation r is N(r y, 1 - r^2), given the other: after
    # enough moves of the first alone, whatever it started from.
    r, y = 0.9, 1.5
    rng = np.random.default_rng(13)
    start = np.full((4000, 1), 8.0)

    def conditional(x: np.ndarray) -> Any:
        return -(x[:, 0] ** 2 - 2 * r * x[:, 0] * y + y**2) / (2 * (1 - r**2))

    moved = slice_sample(conditional, start, rng, width=1.0, sweeps=20)[:, 0]
    assert p_value(moved, st.norm(r * y, np.sqrt(1 - r**2))) > 1e-4


def test_a_correlated_normal_law_stays_correlated() -> None:
    rng = np.random.default_rng(14)
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    precision = np.linalg.inv(covariance)
    start = rng.multivariate_normal([0, 0], covariance, 8000)
    moved = slice_sample(
        lambda x: -0.5 * np.einsum("ij,jk,ik->i", x, precision, x), start, rng, width=[1.0, 2.0]
    )
    products = moved[:, 0] * moved[:, 1]
    assert abs(products.mean() - 0.8) < 4 * products.std() / np.sqrt(8000)
    assert p_value(moved[:, 1], st.norm(0, 1)) > 1e-4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0.0}, "width must be above 0"),
        ({"width": [1.0, 2.0, 3.0]}, "one for each of 2"),
        ({"limit": 0}, "limit must be a whole number"),
        ({"sweeps": 0}, "sweeps must be a whole number"),
        ({"points": np.zeros(3)}, r"\(chains, d\)"),
        ({"log_density": lambda x: x}, "one number for each of 5 points"),
        ({"log_density": lambda x: np.full(len(x), np.nan)}, "finite or -inf"),
        ({"log_density": lambda x: np.full(len(x), -np.inf)}, "must all have a density above 0"),
    ],
)
def test_wrong_use_is_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "log_density": lambda x: -0.5 * (x**2).sum(axis=1),
        "points": np.zeros((5, 2)),
        "rng": np.random.default_rng(0),
        **change,
    }
    with pytest.raises(cr.PlanError, match=message):
        slice_sample(**arguments)
