"""What is known of the paper's Figure 1: who wins where."""

from __future__ import annotations

from itertools import pairwise

import pytest

import croupier as cr


@pytest.mark.slow
def test_ucb_v_beats_thompson_sampling_where_both_variances_are_small() -> None:
    """(V1, extra) = (.005, .01) at 10^6, 400 runs; ahead by more than 3 standard errors."""
    problem = cr.simulator.scaled_bernoulli([0.005, 0.015])
    sim = cr.simulate(problem, ["ucb-v", "thompson"], 400, 1_000_000, rng=2014)
    ahead, behind = sim["ucb-v"], sim["thompson"]
    error = (ahead.stderr[-1] ** 2 + behind.stderr[-1] ** 2) ** 0.5
    assert behind.mean_regret[-1] - ahead.mean_regret[-1] > 3 * error


@pytest.mark.parametrize("shape", ["scaled_bernoulli", "uniform", "truncated_normal"])
def test_the_shape_of_the_draws_does_not_turn_the_order(shape: str) -> None:
    """(.02, .06) at 2 10^4, 200 runs: Thompson < KL-UCB < UCB1, each by 4 standard errors."""
    problem = getattr(cr.simulator, shape)([0.02, 0.08])
    sim = cr.simulate(problem, ["thompson", "kl-ucb", "ucb1"], 200, 20_000, rng=2014)
    order = list(sim.values())
    for better, worse in pairwise(order):
        error = (better.stderr[-1] ** 2 + worse.stderr[-1] ** 2) ** 0.5
        assert worse.mean_regret[-1] - better.mean_regret[-1] > 4 * error
