"""Guaranteed intervals hold at all times under the default policy, and are short.

A run holds at all times with a probability of at least 0.95. If it were exactly 0.95, the share of
200 runs would have a standard error of 0.015, and 1 of 1000 tests would find a share below 0.90.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import croupier as cr
from benchmarks.coverage import BOUNDED, once
from croupier.estimates.bet_sums import Horizon, told_in
from croupier.estimates.strata_bets import StrataBets

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")]

RUNS = 200
LEVEL = math.log(40)


@pytest.mark.parametrize("name", BOUNDED)
def test_the_interval_holds_at_every_look_and_is_short(name):
    """At 2000 draws the median ratio to the fixed-size interval is below 1.6 (1.7 if rare)."""
    found = np.array([once(name, 2000, 0, seed)[:3] for seed in range(RUNS)], dtype=float)
    end, always, ratio = found.T
    assert always.mean() >= 0.90
    assert end.mean() >= always.mean()
    assert np.nanmedian(ratio) < (1.7 if "event" in name else 1.6)


def strata():
    means, spreads = (0.05, 0.3, 0.6, 0.9), (2, 4, 20, 8)
    return [
        cr.Arm(
            lambda rng, size, m=m, a=a: rng.beta(a * m, a * (1 - m), size),
            name=f"stratum {m}",
            bounds=(0, 1),
        )
        for m, a in zip(means, spreads, strict=True)
    ]


WEIGHTS = [0.4, 0.3, 0.2, 0.1]
TRUE = 0.4 * 0.05 + 0.3 * 0.3 + 0.2 * 0.6 + 0.1 * 0.9


def test_the_interval_of_strata_holds_at_every_look_and_is_short():
    """Looks at every tenth batch; the half-width is below 2 fixed-size ones at 5000 draws."""
    held, ratios = 0, []
    for seed in range(RUNS):
        result = cr.stratify(strata(), WEIGHTS, draws=5000, rng=seed, interval="guaranteed")
        book = StrataBets([(0, 1)] * 4, WEIGHTS, LEVEL, 1, [Horizon(0, draws=5000)])
        good = True
        for number, batch in enumerate(told_in(result.history.rows())):
            book.add(batch)
            if number % 10 == 9:
                low, high = book.ends(LEVEL)
                good &= bool(low[0] <= TRUE <= high[0])
        held += good
        ratios.append((result.interval[1] - result.interval[0]) / (3.92 * result.stderr))
    assert held >= 0.90 * RUNS
    assert np.median(ratios) < 2


def test_both_components_of_a_vector_hold():
    def draw(rng, size):
        x = rng.random(size)
        return np.column_stack((x < 0.1, x**3))

    arms = [cr.Arm(draw, name=name, bounds=(0, 1)) for name in "ab"]
    held = np.zeros(2)
    for seed in range(RUNS):
        low, high = cr.estimate(arms, draws=500, rng=seed, interval="guaranteed").interval
        held += (low <= [0.1, 0.25]) & (high >= [0.1, 0.25])
    assert (held >= 0.90 * RUNS).all()


def test_zero_and_few_events_hold_by_default():
    """One arm and an event of 1/300 in 300 draws: Clopper and Pearson hold in 95 % of the runs."""
    arm = cr.Arm(lambda rng, size: rng.random(size) < 1 / 300, name="rare", bounds=(0, 1))
    held = 0
    for seed in range(RUNS):
        low, high = cr.estimate([arm], draws=300, rng=seed).interval
        assert 0 <= low < high < 0.1
        held += low <= 1 / 300 <= high
    assert held >= 0.90 * RUNS
