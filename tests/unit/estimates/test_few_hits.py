"""The gamma interval of Fay and Feuer, and where it replaces the normal one."""

import numpy as np
import pytest
from scipy import stats

from croupier.estimates.few_hits import FEW_HITS, FewHits, fay_feuer
from tests.marks import slow


@pytest.mark.parametrize("hits", [1, 3, 10, 40])
def test_equal_weights_give_the_exact_interval_of_a_poisson_mean(hits: int) -> None:
    weight = 1e-4
    low, high = fay_feuer(
        np.array([hits * weight]), np.array([hits * weight**2]), np.array([weight]), 0.95
    )
    assert low[0] == pytest.approx(weight * stats.gamma(hits).ppf(0.025), rel=1e-9)
    assert high[0] == pytest.approx(weight * stats.gamma(hits + 1).ppf(0.975), rel=1e-9)


def test_no_hit_gives_the_bound_of_zero_events() -> None:
    low, high = fay_feuer(np.zeros(1), np.zeros(1), np.array([1 / 1000]), 0.95)
    assert low[0] == 0
    assert high[0] == pytest.approx(-np.log(0.025) / 1000)


def test_many_hits_keep_the_given_interval_within_its_range() -> None:
    many = FewHits(np.array([0.9]), np.array([0.9**2 / 1000]), np.array([1e-3]), np.ones(1))
    assert many.hits[0] == pytest.approx(1000)
    assert np.array_equal(many.ends(np.array([0.8]), np.array([1.2]), 0.95), ([0.8], [1.0]))


def test_few_hits_replace_an_interval_that_reaches_below_zero() -> None:
    few = FewHits(np.array([5e-4]), np.array([5e-8]), np.array([1e-4]), np.ones(1))
    assert few.hits[0] == pytest.approx(5)
    assert FEW_HITS > 5
    low, high = few.ends(np.array([-1e-4]), np.array([1.1e-3]), 0.95)
    assert 0 < low[0] < 5e-4 < high[0] < 1


def test_nothing_known_gives_the_whole_range() -> None:
    nothing = FewHits(np.zeros(2), np.zeros(2), np.full(2, np.inf), np.ones(2))
    low, high = nothing.ends(np.full(2, -np.inf), np.full(2, np.inf), 0.95)
    assert low.tolist() == [0, 0]
    assert high.tolist() == [1, 1]


@pytest.mark.parametrize("expected", [2.0, 10.0, *slow(0.5, 5.0, 50.0)])
def test_the_interval_of_few_weighted_hits_covers(expected: float) -> None:
    """4000 samples of Poisson hits with weights between 0.5 and 1.5: at least 94 % cover."""
    rng, n, covered = np.random.default_rng(7), 10_000, 0
    for _ in range(4000):
        weight = rng.uniform(0.5, 1.5, rng.poisson(expected)) / n
        largest = weight.max() if len(weight) else 1.5 / n
        few = FewHits(
            np.array([weight.sum()]), np.array([np.square(weight).sum()]), np.array([largest]),
            np.ones(1),
        )  # fmt: skip
        half = 1.96 * np.sqrt(few.variance)
        low, high = few.ends(few.mean - half, few.mean + half, 0.95)
        covered += bool(low[0] <= expected / n <= high[0])
    assert covered / 4000 >= 0.94
