"""Points from normal numbers, and back."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from croupier.errors import PlanError
from croupier.rare import Nataf
from croupier.spaces.base import Moved
from croupier.spaces.read_space import read_space

SPACES: dict[str, Any] = {
    "standard normal": 3,
    "marginals": [stats.expon(), stats.norm(2, 3), stats.gumbel_r(1, 2)],
    "bounds": [(0, 2), (-1, 1), stats.Normal(mu=1.0, sigma=2.0)],
    "normals": [stats.norm(1, 2), stats.norm(0, 1), stats.norm(-3, 0.5)],
    "a normal vector": stats.multivariate_normal([1, 2, 3], [[2, 1, 0], [1, 2, 0], [0, 0, 1]]),
    "a copula": Nataf(
        [stats.expon(), stats.norm(2, 3), stats.lognorm(0.5)],
        [[1, 0.5, 0.2], [0.5, 1, 0], [0.2, 0, 1]],
    ),
}


@pytest.mark.parametrize("over", SPACES.values(), ids=SPACES.keys())
def test_points_come_back_from_the_users_coordinates(over: Any) -> None:
    z = np.random.default_rng(7).normal(0, 2, (50, 3))
    space = read_space(over)
    assert space.dimension == 3
    assert np.allclose(space.to_normal(space.from_normal(z)), z, atol=1e-6)


@pytest.mark.parametrize("over", SPACES.values(), ids=SPACES.keys())
def test_the_density_is_that_of_the_normal_points_and_gradients_follow_the_chain(over: Any) -> None:
    z = np.random.default_rng(7).normal(0, 1, (20, 3))
    space, step = read_space(over), 1e-6
    slopes = np.stack(
        [
            (space.from_normal(z + step * e) - space.from_normal(z - step * e)) / (2 * step)
            for e in np.eye(3)
        ],
        axis=2,
    )
    log_phi = stats.norm.logpdf(z).sum(axis=1)
    volume = np.linalg.slogdet(slopes)[1]
    assert np.allclose(space.logpdf(space.from_normal(z)), log_phi - volume, atol=1e-5)
    gradient = np.random.default_rng(8).normal(size=(20, 2, 3))
    pulled = np.einsum("nmk,nkd->nmd", gradient, slopes)
    assert np.allclose(space.pulled_back(z, gradient), pulled, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("over", SPACES.values(), ids=SPACES.keys())
def test_a_sample_and_the_cube_give_the_same_distribution(over: Any) -> None:
    space, rng = read_space(over), np.random.default_rng(7)
    drawn = space.sample(rng, 4000)
    placed, _ = space.place(Moved(rng.random((4000, 3)), None, None))
    for j in range(3):
        assert stats.ks_2samp(drawn[:, j], placed[:, j]).pvalue > 1e-4


def test_both_tails_of_a_marginal_are_precise() -> None:
    space = read_space([stats.expon()])
    far = space.from_normal(np.array([[-20.0], [20.0]]))[:, 0]
    assert far[0] == pytest.approx(stats.norm.cdf(-20), rel=1e-9)
    assert far[1] == pytest.approx(-stats.norm.logsf(20), rel=1e-9)


def test_nataf_gives_the_variables_their_correlation() -> None:
    space = Nataf([stats.expon(), stats.lognorm(1.0)], [[1, 0.4], [0.4, 1]])
    x = space.from_normal(np.random.default_rng(7).normal(size=(400_000, 2)))
    assert np.corrcoef(x.T)[0, 1] == pytest.approx(0.4, abs=0.02)
    assert space.correlation[0, 1] > 0.45  # the normals behind them are more correlated
    given = Nataf([stats.expon(), stats.expon()], [[1, 0.4], [0.4, 1]], of="normals")
    assert given.correlation[0, 1] == 0.4


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
    x = read_space([count]).from_normal(z)[:, 0]
    tail = stats.norm.sf(z[:, 0])
    assert (count.sf(x) <= tail * (1 + 1e-9)).all()
    assert (count.sf(x - 1) > tail * (1 - 1e-9)).all()
