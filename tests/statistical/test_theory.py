"""Theory against simulation: identities, renewal bounds, and what the KL interval covers.

Means are compared within four standard errors, shares within four of a binomial share.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from croupier.estimates.variance_intervals import kl_confidence, kl_variance_interval
from croupier.theory import (
    ScaledBernoulli,
    cost_regret,
    normalised_mse,
    regret_from_counts,
    renewal_bounds,
    ucb1_bound,
)


def z_score(values, expected=0.0):
    return (values.mean() - expected) / (values.std(ddof=1) / np.sqrt(values.size))


def adaptive(score, draws, runs, rng):
    """Play two scaled Bernoullis, always the one of least score(payoff sums, counts, round).

    Return the draws of each arm and the sum of all draws, per run.
    """
    scales = np.array([1.0, 0.4])
    counts, payoffs, total = np.zeros((runs, 2)), np.zeros((runs, 2)), np.zeros(runs)
    rows = np.arange(runs)
    for t in range(1, draws + 1):
        arm = np.full(runs, t - 1) if t <= 2 else score(payoffs, counts, t).argmin(axis=1)
        x = 0.5 + scales[arm] * (rng.integers(0, 2, runs) - 0.5)
        counts[rows, arm] += 1
        payoffs[rows, arm] += 1 - x * x
        total += x
    return counts, total


def greedy(payoffs, counts, t):
    return -payoffs / counts


def ucb1(payoffs, counts, t):
    return -(payoffs / counts + np.sqrt(2 * np.log(t) / counts))


def test_the_regret_identity_holds_for_choices_that_depend_on_the_draws():
    draws, runs = 40, 50_000
    v = np.array([0.25, 0.04])
    counts, total = adaptive(greedy, draws, runs, np.random.default_rng(1))
    squared = draws**2 * (np.square(total / draws - 0.5) - v.min() / draws)
    identity = regret_from_counts(counts, v)
    assert abs(z_score(squared - identity)) < 4
    assert abs(z_score(draws * np.square(total / draws - 0.5) - normalised_mse(counts, v))) < 4
    assert identity.std() < squared.std() / 2  # and the counts have less noise
    assert z_score(identity) > 100  # a regret of 0 would be told from this one


def test_the_regret_of_ucb1_is_below_its_bound():
    draws, runs = 3000, 200
    arms = [ScaledBernoulli(1.0), ScaledBernoulli(0.4)]
    counts, _ = adaptive(ucb1, draws, runs, np.random.default_rng(2))
    regret = regret_from_counts(counts, [arm.variance for arm in arms])
    assert 0 < regret.mean() < ucb1_bound(arms, draws)


def test_the_regret_at_a_budget_is_that_of_squared_errors():
    """Arms in turn, costs independent of values: then the formula of the counts is exact."""
    budget, runs, rounds = 60.0, 50_000, 150
    rng = np.random.default_rng(3)
    v, delta = np.array([1.0, 4.0]), np.array([2.0, 0.4])
    turn = np.arange(rounds) % 2
    finished = np.cumsum(rng.exponential(delta[turn], (runs, rounds)), axis=1) <= budget
    assert not finished[:, -1].any()
    x = rng.normal(0.0, np.sqrt(v[turn]), (runs, rounds))
    counts = np.stack([(finished & (turn == k)).sum(axis=1) for k in (0, 1)], axis=1)
    squared = np.square((x * finished).sum(axis=1) / counts.sum(axis=1))
    from_errors = budget**2 * (squared - (v * delta).min() / budget)
    assert abs(z_score(from_errors - cost_regret(budget, counts, v, delta))) < 4


def exponential_above(b):
    return (1 + b) * np.exp(-b)


def lognormal_above(b):
    return stats.norm.cdf(0.5 - np.log(b))  # mu = -1/2 and sigma = 1: the mean is 1


@pytest.mark.parametrize("budget", [0.5, 5.0, 50.0])
@pytest.mark.parametrize(
    ("draw", "above"),
    [
        (lambda rng, size: rng.exponential(1.0, size), exponential_above),
        (lambda rng, size: rng.lognormal(-0.5, 1.0, size), lognormal_above),
    ],
    ids=["exponential", "lognormal"],
)
def test_the_mean_number_of_rounds_is_within_the_renewal_bounds(draw, above, budget):
    rng = np.random.default_rng(4)
    costs = draw(rng, (20_000, int(3 * budget) + 60))
    spent = np.cumsum(costs, axis=1)
    assert (spent[:, -1] > budget).all()
    rounds = (spent <= budget).sum(axis=1) + 1.0
    caps = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
    low, high = renewal_bounds(budget, 1.0, caps, above(caps))
    assert z_score(rounds, low) > -4
    assert z_score(rounds, high.min()) < 4
    if above is exponential_above:
        assert abs(z_score(rounds, budget + 1)) < 4  # a Poisson number, and the one under way


def beta(rng, shape):
    return rng.beta(0.5, 1.0, shape)


def coin(rng, shape):
    return (rng.random(shape) < 0.02).astype(float)


def two_points(rng, shape):
    return 0.25 + 0.5 * rng.integers(0, 2, shape)


#: Draws, whether costs are random (uniform: E Q = 1/2), and the variance or cost times variance.
FAMILIES = {
    "two-points": (two_points, False, 0.0625),
    "beta": (beta, False, 4 / 45),
    "rare-coin": (coin, False, 0.0196),
    "beta-with-costs": (beta, True, 2 / 45),
}


def missed(family, delta, pairs, runs, seed):
    """Return the share of runs in which an interval at any t <= pairs misses."""
    draw, costly, v = FAMILIES[family]
    rng, t, at_once = np.random.default_rng(seed), np.arange(1, pairs + 1), 50
    misses = 0
    for _ in range(runs // at_once):
        y = draw(rng, (2, at_once, pairs))
        q = rng.random((at_once, pairs)) if costly else 1.0
        vbar = np.cumsum(q * np.square(y[1] - y[0]), axis=1) / (2 * t)
        low, high = kl_variance_interval(vbar, t, delta)
        misses += int(((v < low) | (v > high)).any(axis=1).sum())
    return misses / runs


def assert_covers(family, delta, pairs, runs):
    promised = 1 - kl_confidence(delta, pairs)
    assert 0 < promised < 1
    slack = 4 * np.sqrt(promised * (1 - promised) / runs)
    assert missed(family, delta, pairs, runs, seed=5) <= promised + slack


# For a coin the squared difference is a coin too: there the interval has the least to spare.
@pytest.mark.slow
def test_kl_intervals_of_all_times_cover_together_as_promised():
    assert_covers("rare-coin", delta=10, pairs=10_000, runs=1000)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_kl_intervals_cover_as_promised_for_every_family(family):
    assert_covers(family, delta=10, pairs=10_000, runs=1000)


def test_kl_intervals_of_a_level_that_promises_nothing_do_miss():
    assert kl_confidence(1.5, 1000) == 0
    assert missed("rare-coin", delta=1.5, pairs=1000, runs=200, seed=6) > 0.05
