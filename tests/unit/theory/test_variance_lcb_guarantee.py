"""The guarantee of docs/theory.md for lower bounds on variances: its steps, and simulated runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

import croupier as cr


def bound(ratio: float, draws: int, a: float, floor: float = 0.0, arms: int = 2) -> float:
    """Return the claim with the best x; `ratio` is e^ℓ, the floor is `floor` √(t/K)."""
    log_ratio, t = np.log(ratio), np.arange(1.0, draws + 1)
    least = floor * np.sqrt(t / arms)
    bounds = []
    for x in np.linspace(0.02, 0.98, 49) * log_ratio / 2:
        known = max(least[-1], a * np.log(draws) / (log_ratio - 2 * x) ** 2)
        worse_looked_good = 1 / np.expm1((np.expm1(-x) + x) / 2)
        best_looked_bad = (t ** (-a / 4) * np.exp(-np.maximum(least, 1) * x * x / 4)).sum()
        bounds.append(2 + known + worse_looked_good - best_looked_bad / np.expm1(-x * x / 4))
    return min(bounds)


def test_the_tails_of_a_sample_variance_are_below_what_the_proof_takes_them_for() -> None:
    d = np.array([1, 2, 3, 5, 10, 30, 100, 1000])[:, None]
    x = np.linspace(0.01, 3, 60)
    assert (chi2.cdf(d * np.exp(-x), d) <= np.exp(-d * (np.expm1(-x) + x) / 2)).all()
    assert (chi2.sf(d * np.exp(x), d) <= np.exp(-d * x * x / 4)).all()


def test_a_worse_arm_has_fewer_draws_in_the_simulator_than_the_bound() -> None:
    pytest.importorskip("numba")
    from croupier.simulator.randomness import normal

    # The mean is known to be 0, and |x| has the square of x: d_k is the number of draws.
    def arms(stream: object, arm: int) -> float:
        return abs(normal(stream)) * (4.0 if arm else 1.0)

    def lowest(loss: float, variance: float, count: float, time: float) -> float:
        return loss * math.exp(-math.sqrt(8 * math.log(time) / count))

    problem = cr.simulator.compiled_arms(
        arms, variances=[1.0, 16.0], mean=0.0, bounds=(0.0, 1000.0)
    )
    runs = cr.simulate(problem, lowest, runs=200, horizon=10_000, record=[10_000], rng=7)
    worse = runs["lowest"].pulls[:, 0, 1]
    allowed = bound(16, 10_000, 8)
    # Its standard error is 0.2: five of them are far from the bound.
    assert worse.mean() + 1.0 < allowed
    assert worse.max() < allowed


def test_variance_lcb_with_one_draw_per_decision_keeps_the_bound_of_its_floor() -> None:
    arms = {
        "best": lambda rng, size: rng.normal(0, 1, size),
        "worse": lambda rng, size: rng.normal(0, 4, size),
    }
    result = cr.estimate(arms, draws=2000, policy="variance-lcb", batch="one", rng=7)
    floor = 0.5 * math.sqrt(2000 / 2)
    assert floor <= result.arms["worse"].draws < floor + 5 < bound(16, 2000, 1, 0.5)
    pages = [bound(*case) for case in ((16, 10_000, 8), (16, 10_000, 1, 0.5), (4, 10_000, 8))]
    assert [round(one) for one in pages] == [62, 196, 241]  # as docs/theory.md says


def test_without_a_floor_a_narrow_bound_has_no_guarantee() -> None:
    grown = [bound(16, draws, 1) / bound(16, draws // 10, 1) for draws in (10_000, 100_000)]
    assert min(grown) > 4  # n^(3/4) makes it 5.6
    grown = [bound(16, draws, 8) / bound(16, draws // 10, 8) for draws in (10_000, 100_000)]
    assert max(grown) < 1.2
