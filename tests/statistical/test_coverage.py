"""Intervals cover what they promise, under adaptive allocation.

Tolerances are four standard errors of a binomial share at the stated number of runs. The long
tables are in the benchmarks; these tests find what breaks.
"""

from __future__ import annotations

import math

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
QUICK = [
    "lognormal",
    *(pytest.param(family, marks=pytest.mark.slow) for family in ("normal", "equal")),
]


def covered(arms, runs, **settings):
    results = [cr.estimate(arms, rng=seed, progress=False, **settings) for seed in range(runs)]
    return np.mean([low <= 1.0 <= high for low, high in (r.interval for r in results)]), results


def slack(share, runs):
    return 4 * np.sqrt(share * (1 - share) / runs)


@pytest.mark.slow
@pytest.mark.parametrize("family", QUICK)
def test_a_fixed_size_interval_covers_about_95_percent(family):
    runs = 300
    share, _ = covered(FAMILIES[family], runs, draws=3000)
    assert 0.93 - slack(0.93, runs) <= share <= 0.965 + slack(0.965, runs)


#: The variance of the best arm of each family: an oracle plays only this arm.
BEST = {"normal": 1.0, "lognormal": math.expm1(0.25), "equal": 1.0}


def oracle_width(family, draws):
    """Return the half-width that an oracle has after so many draws of the best arm."""
    return 1.96 * math.sqrt(BEST[family] / draws)


@pytest.mark.parametrize("family", QUICK)
def test_a_tolerance_stop_covers_about_95_percent_and_costs_little_more_than_the_oracle(family):
    runs, draws = 150, 2000
    share, results = covered(FAMILIES[family], runs, draws=1e6, atol=oracle_width(family, draws))
    assert {result.stopped for result in results} == {"tolerance"}
    assert abs(share - 0.95) <= 0.015 + slack(0.95, runs)
    assert np.mean([result.draws for result in results]) <= 1.15 * draws


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_tolerance_stop_covers_over_many_runs(family):
    runs, draws = 1500, 4000
    share, results = covered(FAMILIES[family], runs, draws=1e6, atol=oracle_width(family, draws))
    assert abs(share - 0.95) <= 0.015 + slack(0.95, runs)
    assert np.mean([result.draws for result in results]) <= 1.10 * draws


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_an_anytime_stop_costs_at_most_2_6_of_the_oracle(family):
    runs, draws = 200, 4000
    width = oracle_width(family, draws)
    share, results = covered(FAMILIES[family], runs, draws=1e6, atol=width, anytime=True)
    assert share >= 0.95
    assert np.mean([result.draws for result in results]) <= 2.6 * draws


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"draws": 3000}, {"draws": 10**6, "rtol": 0.08}, {"draws": 6000, "rtol": 1e-6}],
    ids=["budget", "tolerance", "both"],
)
def test_an_anytime_interval_covers_at_every_look(settings):
    runs = 200
    missed = 0
    for seed in range(runs):
        outside = []

        def look(progress, outside=outside):
            outside.append(abs(progress.value - 1.0) > progress.half_width)

        arms = FAMILIES["lognormal"]
        cr.estimate(arms, anytime=True, callback=look, rng=seed, progress=False, **settings)
        missed += any(outside)
    assert missed / runs <= 0.05 + slack(0.05, runs)


def shifted(spread):
    return lambda rng, size: rng.normal(-1000.0 - spread**2 / 2, spread, size)


def vector(spreads):
    return lambda rng, size: rng.normal([1.0, 3.0], spreads, (size, 2))


STRATA = {
    f"{mean}": lambda rng, size, mean=mean, s=s: rng.normal(mean, s, size)
    for mean, s in ((1.0, 1.0), (2.0, 0.3), (5.0, 3.0))
}
WEIGHTS = (0.5, 0.3, 0.2)


def stop_of_logs(seed):
    result = cr.estimate(
        {"wide": shifted(0.8), "narrow": shifted(0.5)},
        draws=1e6, log=True, rtol=0.03, rng=seed, progress=False,
    )  # fmt: skip
    return result, [result.log_interval[0] <= -1000 <= result.log_interval[1]]


def stop_of_vectors(seed):
    arms = {"rough": vector([2.0, 3.0]), "fine": vector([1.0, 2.0])}
    result = cr.estimate(arms, draws=1e6, rtol=0.04, rng=seed, progress=False)
    low, high = result.interval
    return result, (low <= [1.0, 3.0]) & (high >= [1.0, 3.0])


def stop_of_strata(seed):
    result = cr.stratify(STRATA, WEIGHTS, draws=1e6, atol=0.04, rng=seed, progress=False)
    return result, [result.interval[0] <= 2.1 <= result.interval[1]]


def stop_of_a_mixture(seed):
    family = cr.importance.Family.tilted(lambda x: x[:, 0] > 3, shifts=[0, 1.5, 3, 4])
    result = family.estimate(draws=1e6, rtol=0.03, rng=seed, progress=False)
    return result, [result.interval[0] <= 0.0013498980316 <= result.interval[1]]


@pytest.mark.slow
@pytest.mark.parametrize("stop", [stop_of_logs, stop_of_vectors, stop_of_strata, stop_of_a_mixture])
def test_every_kind_of_run_covers_at_its_stop(stop):
    runs = 400
    results, held = zip(*(stop(seed) for seed in range(runs)), strict=True)
    assert {result.stopped for result in results} == {"tolerance"}
    share = np.mean(held, axis=0)
    assert (np.abs(share - 0.95) <= 0.015 + slack(0.95, runs)).all()


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_intervals_of_every_level_cover_over_many_runs(family, confidence):
    runs = 2000
    share, _ = covered(FAMILIES[family], runs, draws=10_000, confidence=confidence)
    assert abs(share - confidence) <= 0.01 + slack(confidence, runs)
