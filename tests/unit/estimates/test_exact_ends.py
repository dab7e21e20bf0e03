"""Exact ends: Clopper and Pearson for draws of 0 and 1, and an interval for draws all equal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

import croupier as cr
from tests.marks import slow

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def constant(value, name="c", bounds=(0, 1)):
    return cr.Arm(lambda rng, size: np.full(size, value), name=name, bounds=bounds)


def hits(count, name="h", bounds=(0, 1)):
    """Return an arm whose draws are at its upper bound `count` times, first of all."""
    left = [count]

    def draw(rng, size):
        now = min(size, left[0])
        left[0] -= now
        low, high = bounds
        return np.where(np.arange(size) < now, high, low)

    return cr.Arm(draw, name=name, bounds=bounds)


@pytest.mark.parametrize("count", [1, 3, 40, 97, 100])
def test_one_arm_of_draws_of_0_and_1_has_the_interval_of_clopper_and_pearson(count):
    result = cr.estimate([hits(count)], draws=100, rng=1)
    low = beta.ppf(0.025, count, 101 - count)
    high = beta.ppf(0.975, count + 1, 100 - count) if count < 100 else 1.0
    assert result.interval == pytest.approx((low, high), rel=1e-9)
    assert result.to_dict()["interval_kind"] == "clopper-pearson"
    wide = result.confidence_interval(0.99)
    assert wide[0] == pytest.approx(beta.ppf(0.005, count, 101 - count), rel=1e-9)
    assert not any("degrees of freedom" in warning for warning in result.warnings)


def test_draws_at_other_bounds_are_scaled():
    plain = cr.estimate([hits(3)], draws=100, rng=1).interval
    moved = cr.estimate([hits(3, bounds=(-1, 4))], draws=100, rng=1).interval
    assert np.array(moved) == pytest.approx(5 * np.array(plain) - 1)


def test_draws_between_the_bounds_have_the_interval_of_a_standard_error():
    arm = cr.Arm(lambda rng, size: rng.random(size), name="u", bounds=(0, 1))
    result = cr.estimate([arm], draws=1000, rng=1)
    assert result.to_dict()["interval_kind"] == "fixed-size"
    assert sum(result.interval) / 2 == pytest.approx(result.value)


def test_only_a_fixed_size_gives_clopper_pearson():
    result = cr.estimate([hits(3)], draws=100, rng=1, atol=1e-9)
    assert result.to_dict()["interval_kind"] == "many-looks"


def test_each_component_of_a_vector_has_its_own_ends():
    def draw(rng, size):
        return np.column_stack((rng.random(size) < 0.2, rng.random(size), np.zeros(size)))

    result = cr.estimate([cr.Arm(draw, name="v", bounds=(0, 1))], draws=200, rng=1)
    count = round(200 * result.value[0])
    assert result.interval[0][0] == pytest.approx(beta.ppf(0.025, count, 201 - count))
    assert result.interval[1][1] - result.value[1] == pytest.approx(
        result.value[1] - result.interval[0][1]
    )
    assert result.interval[1][2] == pytest.approx(1 - 0.025 ** (1 / 200))
    assert result.to_dict()["interval_kind"] == "fixed-size, clopper-pearson"


def test_zero_events_in_100_000_draws_have_a_finite_interval():
    result = cr.estimate([constant(0.0)], draws=1e5, rng=1)
    assert result.interval == (0.0, pytest.approx(1 - 0.025 ** (1 / 1e5), rel=1e-6))
    assert result.interval[1] == pytest.approx(3.69e-5, rel=1e-3)
    assert any("rests on the bounds" in warning for warning in result.warnings)
    assert "[0.0, 36.9]e-06" in result.summary()


@pytest.mark.parametrize("settings", [{}, {"atol": 1e-9}, {"anytime": True}])
def test_zero_events_of_two_arms_have_a_finite_interval(settings):
    arms = [constant(0.0, "a", (0, 1)), constant(0.0, "b", (0, 2))]
    result = cr.estimate(arms, draws=10_000, rng=1, **settings)
    low, high = result.interval
    n, m = (result.arms[name].draws for name in "ab")
    assert low == 0
    # What the two gamblers have won at the upper end is log(2/alpha).
    won = -n * math.log1p(-high) - m * math.log1p(-high / 2)
    assert won == pytest.approx(math.log(40), rel=1e-5)
    assert result.to_dict()["interval_kind"] == "never-varied"


def test_equal_draws_inside_of_their_bounds_are_between_two_ends():
    result = cr.estimate([constant(0.3, "a"), constant(0.3, "b")], draws=1000, rng=1)
    low, high = result.interval
    assert low == pytest.approx(0.3 * 0.025**0.001, rel=1e-5)
    assert high == pytest.approx(1 - 0.7 * 0.025**0.001, rel=1e-5)


def test_an_arm_without_bounds_says_nothing_about_an_event_that_was_not_seen():
    plain = cr.estimate({"a": lambda rng, size: np.zeros(size)}, draws=100, rng=1)
    assert plain.interval == (-math.inf, math.inf)


def test_zero_events_in_all_strata_have_one_joint_interval():
    arms = [constant(0.0, name) for name in "abcd"]
    result = cr.stratify(arms, [0.4, 0.3, 0.2, 0.1], draws=10_000, rng=1)
    n = np.array([row.draws for row in result.arms])
    low, high = result.interval
    assert low == 0
    assert high < 0.2 * sum(w * math.log(320) / k for w, k in zip([4, 3, 2, 1], n, strict=True))
    # No means with this weighted sum give zero events with more than the error probability.
    assert high >= max(
        w * (1 - 0.0125 ** (1 / k)) for w, k in zip([0.4, 0.3, 0.2, 0.1], n, strict=True)
    )


def test_strata_that_are_constant_at_both_ends_have_a_finite_interval():
    arms = [constant(0.0, "low"), constant(1.0, "high"), constant(0.5, "middle")]
    result = cr.stratify(arms, [0.5, 0.25, 0.25], draws=3000, rng=1)
    low, high = result.interval
    assert low < 0.375 < high
    assert high - low < 0.02


def test_an_interval_does_not_leave_the_bounds_of_the_target():
    arms = [hits(2, "a"), hits(1, "b")]
    low, high = cr.estimate(arms, draws=300, rng=1, policy="uniform").interval
    assert low == 0
    assert high < 0.05


@pytest.mark.parametrize("p", [0.1, *slow(0.003, 0.5)])
def test_clopper_pearson_covers_by_enumeration(p):
    n, covered = 60, 0.0
    for count in range(n + 1):
        low, high = cr.estimate([hits(count)], draws=n, rng=1).interval
        covered += binom.pmf(count, n, p) * (low <= p <= high)
    assert covered >= 0.95


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_draws_near_a_bound_are_not_taken_for_draws_at_it(shift):
    """Splitting returns draws such as 1e-10: they are no zeros, and their error is known."""

    def tiny(rng, size):
        return shift + (1 - 2 * shift) * 1e-10 * rng.exponential(size=size)

    result = cr.estimate([cr.Arm(tiny, name="tiny", bounds=(0, 1))], draws=200, rng=7)
    low, high = result.interval
    assert result.to_dict()["interval_kind"] == "fixed-size"
    assert high - low < 1e-10
