"""Intervals cover what they promise, under adaptive allocation.

Tolerances are four standard errors of a binomial share at the stated number of runs. The long
tables are in the benchmarks; these tests find what breaks.
"""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def normal(spread):
    return lambda rng, size: rng.normal(1.0, spread, size)


def lognormal(sigma):
    return lambda rng, size: rng.lognormal(-sigma * sigma / 2, sigma, size)


FAMILIES = {
    "normal": {"rough": normal(3.0), "middle": normal(1.5), "fine": normal(1.0)},
    "lognormal": {"rough": lognormal(1.0), "fine": lognormal(0.5)},
    "equal": {f"arm {k}": normal(1.0) for k in range(8)},
}


def covered(arms, runs, **settings):
    results = [cr.estimate(arms, rng=seed, progress=False, **settings) for seed in range(runs)]
    return np.mean([low <= 1.0 <= high for low, high in (r.interval for r in results)]), results


def slack(share, runs):
    return 4 * np.sqrt(share * (1 - share) / runs)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_fixed_size_interval_covers_about_95_percent(family):
    runs = 300
    share, _ = covered(FAMILIES[family], runs, draws=3000)
    assert 0.93 - slack(0.93, runs) <= share <= 0.965 + slack(0.965, runs)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_tolerance_stop_covers_at_least_94_percent(family):
    runs = 300
    share, results = covered(FAMILIES[family], runs, draws=1e6, rtol=0.05)
    assert {result.stopped for result in results} == {"tolerance"}
    assert share >= 0.94 - slack(0.94, runs)


def test_an_anytime_interval_covers_at_every_look():
    runs = 200
    missed = 0
    for seed in range(runs):
        outside = []

        def look(progress, outside=outside):
            outside.append(abs(progress.value - 1.0) > progress.half_width)

        arms = FAMILIES["lognormal"]
        cr.estimate(arms, draws=3000, anytime=True, callback=look, rng=seed, progress=False)
        missed += any(outside)
    assert missed / runs <= 0.05 + slack(0.05, runs)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_intervals_of_every_level_cover_over_many_runs(family, confidence):
    runs = 2000
    share, _ = covered(FAMILIES[family], runs, draws=10_000, confidence=confidence)
    assert abs(share - confidence) <= 0.01 + slack(confidence, runs)
