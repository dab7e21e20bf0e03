"""Costs that are random, and larger where values are: weights, allocation, the deadline."""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr
from benchmarks.budgets import strong
from benchmarks.families import FAMILIES
from croupier.estimates.combiners import inverse_variance, mean, pool

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


@pytest.mark.slow
def test_at_a_deadline_all_draws_are_off_by_cov_over_cost_and_finished_ones_are_not():
    """Draw by draw, one arm: E[mean] - mu = Cov(X, D)/C, and about 0 of what was finished."""
    runs, budget = 800, 10.0
    started, finished = np.empty((2, runs))
    for seed in range(runs):
        result = cr.estimate({"strong": strong}, cost=budget, batch="one", rng=seed, progress=False)
        started[seed], finished[seed] = result.value, result.history.at(budget)
    bias, error = started.mean() - 1, started.std() / np.sqrt(runs)
    expected = 1 / budget  # Cov(1 + z, e^(z - 1/2)) = 1
    assert bias > 4 * error
    assert abs(bias - expected) < 0.3 * expected + 4 * error
    known = np.isfinite(finished)  # once in 300 runs, not even the first draw
    assert known.mean() > 0.98
    assert abs(finished[known].mean() - 1) < 4 * finished[known].std() / np.sqrt(runs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["costs-fixed", "costs-lognormal", "costs-correlated"])
def test_inverse_variance_weights_beat_plain_ones_by_a_fifth_where_draws_are_equal(name):
    family, runs = FAMILIES[name], 100
    errors = np.empty((2, runs))
    for seed in range(runs):
        result = cr.estimate(family.named(), cost=1_000, policy="uniform", rng=seed, progress=False)
        ledger = result.basis.ledger
        values = (
            ledger.scale.value_of(pool(ledger, one).mean)[0] for one in (inverse_variance, mean)
        )
        errors[:, seed] = np.square(np.array([*values]) - family.mean)
    gain = 0.8 * errors[1] - errors[0]  # on the same draws
    assert gain.mean() > 3 * gain.std() / np.sqrt(runs)


def test_correlated_costs_are_dealt_as_well_as_independent_ones():
    family, runs = FAMILIES["costs-correlated"], 20
    shares = []
    for seed in range(runs):
        result = cr.estimate(family.named(), cost=10_000, rng=seed, progress=False)
        shares.append(
            float(family.share(np.array([row.draws for row in result.arms]), result.cost))
        )
    assert np.mean(shares) < 1.13 + 2 * np.std(shares) / np.sqrt(runs)
