"""Spaces: what `over` accepts, there and back, and what it refuses."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from croupier.errors import PlanError
from croupier.rare import Nataf
from croupier.rare.normal_space import space_of

SPACES: dict[str, Any] = {
    "standard normal": 3,
    "marginals": [stats.expon(), stats.norm(2, 3), stats.gumbel_r(1, 2)],
    "a normal vector": stats.multivariate_normal([1, 2, 3], [[2, 1, 0], [1, 2, 0], [0, 0, 1]]),
    "a copula": Nataf(
        [stats.expon(), stats.norm(2, 3), stats.lognorm(0.5)],
        [[1, 0.5, 0.2], [0.5, 1, 0], [0.2, 0, 1]],
    ),
}


@pytest.mark.parametrize("over", SPACES.values(), ids=SPACES.keys())
def test_points_come_back_from_the_users_coordinates(over: Any) -> None:
    z = np.random.default_rng(7).normal(0, 2, (50, 3))
    space = space_of(over)
    assert space.d == 3
    assert np.allclose(space.to_normal(space.to_user(z)), z, atol=1e-6)


def test_both_tails_of_a_marginal_are_precise() -> None:
    space = space_of([stats.expon()])
    far = space.to_user(np.array([[-20.0], [20.0]]))[:, 0]
    assert far[0] == pytest.approx(stats.norm.cdf(-20), rel=1e-9)
    assert far[1] == pytest.approx(-stats.norm.logsf(20), rel=1e-9)


def test_nataf_gives_the_variables_their_correlation() -> None:
    space = Nataf([stats.expon(), stats.lognorm(1.0)], [[1, 0.4], [0.4, 1]])
    x = space.to_user(np.random.default_rng(7).normal(size=(400_000, 2)))
    assert np.corrcoef(x.T)[0, 1] == pytest.approx(0.4, abs=0.02)
    assert space.correlation[0, 1] > 0.45  # the normals behind them are more correlated
    given = Nataf([stats.expon(), stats.expon()], [[1, 0.4], [0.4, 1]], of="normals")
    assert given.correlation[0, 1] == 0.4


@pytest.mark.parametrize(
    ("over", "said"),
    [
        (0, "at least 1, got 0"),
        (True, "over must be a dimension"),
        (2.5, "over must be a dimension"),
        ("normal", "over must be a dimension"),
        ([], "over must be a dimension"),
        (np.zeros((10, 2)), "over must be a dimension"),
        ([stats.norm], r"over\[0\] is not a frozen distribution"),
        ([stats.norm(), lambda u: u], r"over\[1\] is not a frozen distribution"),
        (stats.norm, "over must be a dimension"),
    ],
)
def test_what_is_no_distribution_is_refused_with_what_is_accepted(over: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        space_of(over)


@pytest.mark.parametrize(
    ("correlation", "said"),
    [
        ([[1, 0.5]], r"symmetric matrix \(2, 2\)"),
        ([[1, 2], [2, 1]], "between -1 and 1"),
        ([[1, -0.9], [-0.9, 1]], "not possible for their distributions"),
    ],
)
def test_a_correlation_that_cannot_be_is_refused(correlation: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        Nataf([stats.expon(), stats.lognorm(2.0)], correlation)


@pytest.mark.parametrize("count", [stats.poisson(3), stats.binom(40, 0.1), stats.nbinom(2, 0.4)])
def test_counts_have_quantiles_in_the_far_tail(count: Any) -> None:
    z = np.array([7.0, 8.5, 10.0, 15.0])[:, None]
    x = space_of([count]).to_user(z)[:, 0]
    tail = stats.norm.sf(z[:, 0])
    assert (count.sf(x) <= tail * (1 + 1e-9)).all()
    assert (count.sf(x - 1) > tail * (1 - 1e-9)).all()
