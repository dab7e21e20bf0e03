"""Strata: the estimate is right, its interval covers, and the allocation is near the optimum.

Shares have tolerances of four standard errors at the stated number of runs, unless said otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr
from tests.marks import slow

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def normal(mean, spread):
    return lambda rng, size: rng.normal(mean, spread, size)


def lognormal(mean, sigma):
    return lambda rng, size: mean * rng.lognormal(-sigma * sigma / 2, sigma, size)


def exponential(scale):
    return lambda rng, size: rng.exponential(scale, size)


WEIGHTS = [0.4, 0.3, 0.2, 0.1]
FAMILIES = {
    "normal": ([normal(0, 0.1), normal(1, 1), normal(5, 3), normal(-3, 0.5)], 1.0),
    "lognormal": (
        [lognormal(1, 0.25), lognormal(2, 0.5), lognormal(1, 1), lognormal(4, 0.75)],
        1.6,
    ),
}


def played(family, runs, **settings):
    arms = dict(zip("abcd", FAMILIES[family][0], strict=True))
    return [
        cr.stratify(arms, WEIGHTS, rng=seed, progress=False, **settings) for seed in range(runs)
    ]


def z_score(results, mu):
    values = np.array([result.value for result in results])
    return (values.mean() - mu) / (values.std(ddof=1) / np.sqrt(len(values)))


def coverage(results, mu):
    return np.mean([low <= mu <= high for low, high in (result.interval for result in results)])


def slack(share, runs):
    return 4 * np.sqrt(share * (1 - share) / runs)


@pytest.mark.slow
def test_the_estimate_of_symmetric_strata_is_unbiased_even_of_few_draws():
    assert abs(z_score(played("normal", 1000, draws=40), 1.0)) < 4


@pytest.mark.slow
def test_counts_that_follow_nothing_leave_skewed_strata_unbiased():
    assert abs(z_score(played("lognormal", 400, draws=40, policy="proportional"), 1.6)) < 4


@pytest.mark.slow
def test_counts_that_follow_earlier_epochs_leave_skewed_strata_unbiased():
    # Two epochs and a part of the third; without epochs the mean is 9 standard errors too low.
    assert abs(z_score(played("lognormal", 400, draws=50), 1.6)) < 4


@pytest.mark.parametrize("family", ["lognormal", *slow("normal")])
def test_the_interval_covers_about_95_percent(family):
    runs = 100
    share = coverage(played(family, runs, draws=1000), FAMILIES[family][1])
    assert 0.93 - slack(0.93, runs) <= share <= 0.97 + slack(0.97, runs)


#: Equal weights: the arms, the answer, and the draws. Without epochs, counts follow the deviations
#: of the same draws, and the coverage of skewed strata is about .2, .1, .75 and 0, in this order.
SKEWED = {
    "100 exponential strata, 20 draws each": ([exponential(1)] * 100, 2000),
    "100 exponential strata, 10 draws each": ([exponential(1)] * 100, 1000),
    "20 exponential strata, 20 draws each": ([exponential(1)] * 20, 400),
    "100 lognormal strata, 10 draws each": ([lognormal(1, 1)] * 100, 1000),
}


def equal(arms, draws, runs):
    named = {f"s{k}": arm for k, arm in enumerate(arms)}
    weights = np.full(len(arms), 1 / len(arms))
    return [
        cr.stratify(named, weights, draws=draws, rng=seed, progress=False) for seed in range(runs)
    ]


@pytest.mark.parametrize(
    ("case", "runs"),
    [
        pytest.param(name, 30, marks=() if name.startswith("20 ") else pytest.mark.slow)
        for name in SKEWED
    ],
    ids=str,
)
def test_the_interval_of_many_skewed_strata_covers(case, runs):
    arms, draws = SKEWED[case]
    results = equal(arms, draws, runs)
    assert coverage(results, 1.0) >= 0.93 - slack(0.93, runs)
    assert not any("skewed" in warning for result in results for warning in result.warnings)


SCALES = np.random.default_rng(5).uniform(0.5, 2.0, 100)
MANY = SKEWED | {
    "100 exponential strata, 100 draws each": ([exponential(1)] * 100, 10_000),
    "100 exponential strata, scales of .5 to 2": ([exponential(s) for s in SCALES], 1000),
    "50 normal strata, deviations of .1 to 3": (
        [normal(1, s) for s in (0.1, 0.3, 1, 2, 3)] * 10,
        1000,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", MANY)
def test_over_many_runs_the_intervals_of_many_strata_cover(case):
    runs = 400
    arms, draws = MANY[case]
    mu = SCALES.mean() if "scales" in case else 1.0
    results = equal(arms, draws, runs)
    share = coverage(results, mu)
    # Two standard errors below .93, above .97: one seed in 40 would fail at either end.
    assert 0.93 - slack(0.93, runs) / 2 <= share <= 0.97 + slack(0.97, runs) / 2
    assert abs(z_score(results, mu)) < 4


SIGMAS = np.array([0.1, 0.3, 1.0, 2.0, 3.0])
SIZES = np.full(5, 0.2)


def loss(policy, draws, runs):
    """Return n Var/(sum w sigma)^2 with the true sigmas, the mean over runs: 1 is the best."""
    arms = {f"s{k}": normal(k, sigma) for k, sigma in enumerate(SIGMAS)}
    losses = []
    for seed in range(runs):
        result = cr.stratify(arms, SIZES, draws=draws, policy=policy, rng=seed, progress=False)
        n = result.basis.ledger.for_estimate.count  # draws at equal weights, of the same variance
        losses.append(draws * (np.square(SIZES * SIGMAS) / n).sum() / (SIZES @ SIGMAS) ** 2)
    return np.mean(losses)


@pytest.mark.slow
def test_little_is_lost_against_the_optimal_static_allocation():
    proportional = (SIZES @ SIGMAS**2) / (SIZES @ SIGMAS) ** 2
    assert loss("proportional", 10_000, 2) == pytest.approx(proportional, rel=0.02)
    assert proportional > 1.6
    assert loss("mc-ucb", 1000, 20) <= 1.05
    assert loss("mc-ucb", 10_000, 20) <= 1.02


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_over_many_runs_intervals_cover_and_estimates_are_unbiased(family):
    results = played(family, 1000, draws=10_000)
    mu = FAMILIES[family][1]
    assert 0.93 <= coverage(results, mu) <= 0.97
    assert abs(z_score(results, mu)) < 4
