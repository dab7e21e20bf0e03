"""Intervals of a variance: exact ends, and what they promise."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from croupier import PlanError
from croupier.estimates.variance_intervals import (
    bernoulli_kl,
    kl_confidence,
    kl_variance_intersection,
    kl_variance_interval,
)
from tests.marks import slow


def exact_end(p, level, upper):
    """Return the q above (or below) p with kl(p, q) = level, by bisection with 60 digits."""
    with mpmath.workdps(60):
        near, level = mpmath.mpf(p) if upper else 1 - mpmath.mpf(p), mpmath.mpf(level)

        def beyond(w):
            q = -mpmath.expm1(-w)
            success = near * mpmath.log(near / q) if near > 0 else mpmath.mpf(0)
            return success + (1 - near) * (mpmath.log(1 - near) + w) > level

        low = -mpmath.log(1 - near)
        high = 2 * low + mpmath.mpf(10) ** -40
        while not beyond(high):
            high = 2 * high
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return -mpmath.expm1(-low) if upper else mpmath.exp(-low)


@pytest.mark.parametrize("pairs", [1, 10_000, *slow(30, 10**9)])
@pytest.mark.parametrize(
    "mean", [1e-30, 1.5e-17, 2e-9, 1e-4, 0.1, 0.25, 0.4, 0.5 - 1e-7, 0.5 - 2.0**-53]
)
def test_the_ends_of_a_kl_interval_are_exact_also_near_zero_and_one(mean, pairs):
    low, high = kl_variance_interval(mean, pairs, delta=10)
    p = 2 * mean
    assert float(high) == pytest.approx(float(exact_end(p, 10 / pairs, True)) / 2, rel=1e-11)
    exact = float(exact_end(p, 10 / pairs, False)) / 2
    assert float(low) == pytest.approx(exact, rel=1e-11, abs=1e-300)


def test_a_kl_interval_at_the_ends_of_the_range_is_a_formula():
    low, high = kl_variance_interval([0.0, 0.5], [40, 40], delta=10)
    assert low == pytest.approx([0.0, np.exp(-0.25) / 2])
    assert high == pytest.approx([-np.expm1(-0.25) / 2, 0.5])


def test_a_kl_interval_is_where_the_divergence_is_small():
    rng = np.random.default_rng(2)
    mean, v = rng.uniform(0, 0.5, (2, 20_000))
    pairs = rng.integers(1, 10_000, mean.size)
    low, high = kl_variance_interval(mean, pairs, delta=4)
    inside = bernoulli_kl(2 * mean, 2 * v) <= 4 / pairs
    assert ((low <= v) & (v <= high) == inside).all()
    assert (low <= mean).all()
    assert (mean <= high).all()
    assert 0.01 < inside.mean() < 0.99


def test_a_kl_interval_has_the_shape_of_its_arguments():
    low, high = kl_variance_interval(np.full((3, 1), 0.1), [10, 20], delta=5)
    assert low.shape == high.shape == (3, 2)
    assert (high[:, 0] > high[:, 1]).all()


def test_a_bernoulli_divergence_keeps_its_digits():
    p, q = 0.3, 0.3 + 1e-7
    with mpmath.workdps(40):
        a, b = mpmath.mpf(p), mpmath.mpf(q)
        exact = a * mpmath.log(a / b) + (1 - a) * mpmath.log((1 - a) / (1 - b))
    assert float(bernoulli_kl(p, q)) == pytest.approx(float(exact), rel=1e-8)
    np.testing.assert_array_equal(bernoulli_kl([0, 0, 1, 1, 0.5], [0, 1, 1, 0, 0.5])[[0, 2, 4]], 0)
    np.testing.assert_array_equal(bernoulli_kl([0, 1, 0.5, 0.5], [1, 0, 0, 1]), np.inf)


def test_what_a_kl_interval_promises():
    promised = 1 - 2 * np.e * 93 * np.exp(-10)  # ceil(10 log 10^4) = 93
    assert kl_confidence(10, 10_000) == pytest.approx(promised)
    assert kl_confidence(3, 10_000) == 0.0
    # One look is not certain either: the formula as printed would promise 1.
    assert kl_confidence(10, 1) == pytest.approx(1 - 2 * np.e * np.exp(-10))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kl_variance_interval(0.6, 10, 5), r"between 0 and 1/2, got 0.6: scale draws"),
        (lambda: kl_variance_interval([0.1, np.nan], 10, 5), "mean must lie"),
        (lambda: kl_variance_interval(0.1, 0, 5), "wait for the first pair"),
        (lambda: kl_variance_interval(0.1, np.inf, 5), "pairs must be"),
        (lambda: kl_variance_interval(0.1, 10, 0), "delta must be"),
        (lambda: kl_confidence(-1, 10), "delta must be"),
        (lambda: kl_confidence(10, 0), "pairs must be a whole number of at least 1"),
    ],
)
def test_a_kl_interval_refuses_what_it_cannot_use(call, words):
    with pytest.raises(PlanError, match=words):
        call()


def test_the_intersection_of_kl_intervals_is_that_of_the_corollary():
    """max over the times so far of the low ends, min of the high ends; and it holds."""
    rng = np.random.default_rng(5)
    first, second, costs = rng.random((3, 400, 300))
    pairs = np.arange(1, 301)
    means = np.cumsum(costs * (second - first) ** 2, axis=1) / (2 * pairs)
    low, high = kl_variance_interval(means, pairs, delta=8)
    below, above = kl_variance_intersection(means, pairs, delta=8)
    for run, time in [(0, 0), (3, 40), (7, 123), (399, 299)]:
        assert below[run, time] == max(low[run, : time + 1])
        assert above[run, time] == min(high[run, : time + 1])
    assert (above - below < high - low).any()  # it is not the interval itself
    truth = 1 / 24  # mean cost 1/2, variance 1/12
    holds = (below[:, -1] <= truth) & (truth <= above[:, -1])
    assert kl_confidence(8, 300) > 0.9
    assert holds.mean() >= kl_confidence(8, 300)


def test_one_interval_alone_has_no_intersection():
    with pytest.raises(PlanError, match="must be an array"):
        kl_variance_intersection(0.1, 100, delta=10)
