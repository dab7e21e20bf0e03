"""Intervals: their multipliers against the formulas, and when a run may stop on them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from croupier.estimates.combiners import Pooled
from croupier.estimates.intervals import (
    Anytime,
    ExpectedEnd,
    FixedSize,
    ManyLooks,
    half_width,
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


@pytest.mark.parametrize(
    ("df", "confidence", "multiplier"),
    [
        (100, 0.95, 1.959964 + 0.023722 + 0.117598),
        (400, 0.95, 1.959964 + 0.005931 + 0.058799),
        (100, 0.99, 2.575829 + 0.049166 + 0.154550),
    ],
)
def test_many_looks_add_the_luck_of_the_stop_to_the_fixed_size(df, confidence, multiplier):
    assert ManyLooks().multiplier(pooled(df), confidence)[0] == pytest.approx(multiplier, abs=2e-6)


def test_many_looks_cost_nothing_in_the_limit_of_many_draws():
    many = ManyLooks().multiplier(pooled(1e9), 0.95)[0]
    assert many == pytest.approx(stats.norm.ppf(0.975), rel=1e-4)


@pytest.mark.parametrize("df", [1.0, 3.0, 10.0, 100.0, 1e6])
def test_many_looks_are_wider_than_a_fixed_size(df):
    state = pooled(df)
    assert ManyLooks().multiplier(state, 0.95) > FixedSize().multiplier(state, 0.95)


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


def tightest_at(horizon, draws=500.0):
    """Return after how many draws an interval with this horizon is tightest."""
    interval = Anytime().look(pooled(60, draws=draws), 0.95, horizon)
    sizes = np.geomspace(10, 1e9, 4000)
    return sizes[np.argmin([interval.multiplier(pooled(draws=float(n)), 0.95)[0] for n in sizes])]


@pytest.mark.parametrize(
    ("error", "budget", "draws"),
    [
        (1.0, 1e9, 500 * 3.035**2),  # the tolerance is reached when 3.035 errors are as wide
        (10.0, 1e6, 500 * 30.35**2),
        (10.0, 1e5, 2e4),  # the budget ends first: a fifth of it
        (np.inf, 1e5, 2e4),
        (0.01, 1e9, 500),  # the tolerance was reached before the first look
        (np.inf, 600, 500),
    ],
)
def test_an_anytime_interval_is_tightest_where_the_run_is_expected_to_stop(error, budget, draws):
    assert tightest_at(ExpectedEnd(error, budget)) == pytest.approx(draws, rel=0.01)


def test_an_anytime_interval_is_little_wider_at_the_end_of_its_budget():
    interval = Anytime().look(pooled(60, draws=500.0), 0.95, ExpectedEnd(np.inf, 1e6))
    assert interval.multiplier(pooled(draws=1e6), 0.95)[0] == pytest.approx(1.04 * 3.035, abs=1e-3)
    assert interval.multiplier(pooled(draws=1e4), 0.95)[0] < 5


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
