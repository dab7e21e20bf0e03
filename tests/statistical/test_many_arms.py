"""Many arms with a few draws each: the error bar knows that nothing much is known."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import croupier as cr
from croupier.policies import variance

pytestmark = [
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
    pytest.mark.slow,
]


def normal(spread: float, rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, spread, size)


def covered(arms: int, each: int, runs: int, *, equal: bool) -> tuple[int, int]:
    """Return how many runs cover 1, and how many are off by more than 4 standard errors."""
    hits = misses = 0
    for seed in range(runs):
        spreads = np.random.default_rng(10**6 + seed).uniform(0.5, 1.5, arms)
        spreads = np.ones(arms) if equal else spreads
        named = {f"arm {k}": partial(normal, spread) for k, spread in enumerate(spreads)}
        result = cr.estimate(named, draws=arms * each, rng=seed)
        low, high = result.interval
        hits += low <= 1 <= high
        misses += abs(result.value - 1) > 4 * result.stderr
    return hits, misses


@pytest.mark.parametrize("equal", [True, False], ids=["equal", "unequal"])
@pytest.mark.parametrize("each", [2, 3, 5, 10])
def test_a_hundred_arms_with_few_draws_each_are_covered(each: int, equal: bool) -> None:
    """The weights were chosen by the noise of the variances: coverage was .84 at three each."""
    hits, misses = covered(100, each, 200, equal=equal)
    assert 180 <= hits <= 199  # 190 expected, with a standard error of 3.1
    assert misses == 0


@pytest.mark.parametrize("each", [2, 5])
def test_a_thousand_equal_arms_are_covered(each: int) -> None:
    """It was 20 of 30, and the errors were six times as large as claimed."""
    hits, misses = covered(1000, each, 30, equal=True)
    assert hits >= 26
    assert misses == 0


def test_of_six_thousand_arms_the_good_ones_are_found_with_few_scorings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every decision read all arms and named one: the time was quadratic, and I was 2.24."""
    K, scorings = 6000, []
    believe = variance._believe
    monkeypatch.setattr(variance, "_believe", lambda *each: scorings.append(1) or believe(*each))
    spreads = np.random.default_rng(0).uniform(0.5, 3, K)
    named = {f"arm {k}": partial(normal, spread) for k, spread in enumerate(spreads)}
    result = cr.estimate(named, draws=10 * K, rng=0)
    draws = np.array([row.draws for row in result.arms])
    assert draws.sum() / (np.square(spreads.min()) * (draws / np.square(spreads)).sum()) < 2.05
    scored = len(result.history) - 4 * K
    assert len(scorings) < scored / 4
    assert abs(result.value - 1) < 4 * result.stderr
