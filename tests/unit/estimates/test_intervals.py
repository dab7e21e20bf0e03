"""Intervals: their multipliers against the formulas, and when a run may stop on them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from croupier import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.intervals import (
    Anytime,
    FixedSize,
    ManyLooks,
    bernoulli_kl,
    half_width,
    kl_confidence,
    kl_variance_interval,
    normal_quantile,
)


def pooled(df=1000.0, draws=10_000.0, weights=(1.0,), varies=True, variance=1.0):
    one = np.ones(1)
    return Pooled(
        0 * one,
        variance * one,
        df * one,
        np.array([varies]),
        np.asarray(weights)[:, None],
        draws,
    )


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("df", [30.0, 100.0, 10_000.0])
def test_a_fixed_size_multiplier_is_students_quantile(confidence, df):
    exact = stats.t.ppf((1 + confidence) / 2, df)
    assert FixedSize().multiplier(pooled(df), confidence)[0] == pytest.approx(exact, rel=0.02)


def test_a_fixed_size_interval_never_stops_a_run():
    assert not FixedSize().ready(pooled(1e9))


def test_many_looks_halve_the_error_probability():
    multiplier = ManyLooks().multiplier(pooled(1e9), 0.95)[0]
    assert multiplier == pytest.approx(stats.norm.ppf(1 - 0.05 / 4))
    assert multiplier == pytest.approx(2.2414, abs=1e-4)


@pytest.mark.parametrize("df", [1.0, 3.0, 10.0, 100.0, 1e6])
def test_many_looks_are_never_narrower_than_a_fixed_size(df):
    state = pooled(df)
    assert ManyLooks().multiplier(state, 0.95) >= FixedSize().multiplier(state, 0.95)


@pytest.mark.parametrize(
    ("df", "weights", "ready"),
    [
        (99, (1.0,), False),
        (101, (1.0,), True),
        (101, (0.1,) * 10, False),  # ten equal arms: 20/sum w^2 = 200
        (201, (0.1,) * 10, True),
    ],
)
def test_many_looks_wait_until_the_variance_is_known(df, weights, ready):
    assert ManyLooks().ready(pooled(df, weights=weights)) is ready


def test_no_interval_is_ready_while_nothing_varies():
    state = pooled(1e9, varies=False, variance=0.0)
    for interval in (FixedSize(), ManyLooks(), Anytime(rho2=1e-3)):
        assert not interval.ready(state)
        assert half_width(interval, state, 0.95)[0] == np.inf


def test_an_anytime_interval_is_infinite_before_its_first_look():
    assert half_width(Anytime(), pooled(), 0.95)[0] == np.inf
    assert not Anytime().ready(pooled())


def test_the_first_look_with_fifty_df_fixes_rho_where_the_interval_is_tightest():
    interval = Anytime().look(pooled(49), 0.95)
    assert interval.rho2 is None
    interval = interval.look(pooled(51, draws=500.0), 0.95)
    assert interval.rho2 == pytest.approx(8.2 / 500, rel=0.01)
    assert interval.multiplier(pooled(51, draws=500.0), 0.95)[0] == pytest.approx(3.035, abs=1e-3)
    assert interval.look(pooled(1e6, draws=1e6), 0.95) == interval


@pytest.mark.parametrize("draws", [10.0, 100.0, 1e4, 1e7])
def test_an_anytime_interval_is_nowhere_tighter_than_where_it_was_fixed(draws):
    interval = Anytime().look(pooled(60, draws=500.0), 0.95)
    assert interval.multiplier(pooled(60, draws=draws), 0.95)[0] >= 3.0349


def test_the_confidence_sequence_holds_at_all_times_for_a_random_walk():
    """Equation 6 of Waudby-Smith et al. on normal draws with a known variance: miss <= alpha."""
    rng = np.random.default_rng(1)
    runs, steps, alpha = 2000, 2000, 0.1
    walks = np.cumsum(rng.normal(size=(runs, steps)), axis=1)
    n = np.arange(1, steps + 1)
    interval = Anytime(rho2=0.01)
    multipliers = [interval.multiplier(pooled(draws=float(k)), 1 - alpha)[0] for k in n]
    missed = (np.abs(walks / n) > np.array(multipliers) / np.sqrt(n)).any(axis=1).mean()
    assert missed <= alpha + 4 * np.sqrt(alpha * (1 - alpha) / runs)
    assert missed > 0.01  # and the test can fail


@pytest.mark.parametrize("probability", [1e-6, 0.2, 0.5, 0.975, 1 - 1e-9])
def test_normal_quantiles_are_scipys(probability):
    assert normal_quantile(probability) == pytest.approx(stats.norm.ppf(probability), abs=1e-9)


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


@pytest.mark.parametrize("pairs", [1, 30, 10_000, 10**9])
@pytest.mark.parametrize("mean", [1e-30, 2e-9, 1e-4, 0.1, 0.25, 0.4, 0.5 - 1e-7, 0.5 - 2.0**-53])
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
