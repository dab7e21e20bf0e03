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


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["scaled_bernoulli", "uniform", "truncated_normal"])
def test_the_shape_of_the_draws_does_not_turn_the_order(shape: str) -> None:
    """(.02, .06) at 2 10^4, 200 runs: Thompson < KL-UCB < UCB1, each by 4 standard errors."""
    problem = getattr(cr.simulator, shape)([0.02, 0.08])
    sim = cr.simulate(problem, ["thompson", "kl-ucb", "ucb1"], 200, 20_000, rng=2014)
    order = list(sim.values())
    for better, worse in pairwise(order):
        error = (better.stderr[-1] ** 2 + worse.stderr[-1] ** 2) ** 0.5
        assert worse.mean_regret[-1] - better.mean_regret[-1] > 4 * error


#: The cells of the 10 x 10 grid in which single runs of the default once stayed with the worse arm.
DOUBTED = [
    (0.025, 0.025), (0.0625, 0.0125), (0.0625, 0.025), (0.075, 0.0125), (0.1, 0.025),
    (0.1125, 0.0125), (0.1125, 0.05), (0.125, 0.0125), (0.125, 0.05),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("cell", DOUBTED)
def test_no_run_of_the_default_stays_with_the_worse_arm(cell: tuple[float, float]) -> None:
    """20 000 runs of 10^6 draws: none of them gives the worse arm more than 2 %."""
    problem = cr.simulator.scaled_bernoulli([cell[0], sum(cell)])
    sim = cr.simulate(problem, ["variance-thompson"], 20_000, 1_000_000, record=[1e6], rng=2014)
    assert sim["variance-thompson"].suboptimal.max() <= 20_000


@pytest.mark.slow
@pytest.mark.parametrize("cell", [(0.002, 0.2), (0.02, 0.2), (0.1, 0.125), (0.125, 0.075)])
def test_the_default_beats_the_four_where_arms_are_far_apart(cell: tuple[float, float]) -> None:
    """10^6 draws, 1000 runs: at most .8 of the regret of the best of the paper's four policies."""
    problem = cr.simulator.scaled_bernoulli([cell[0], sum(cell)])
    names = ["ucb1", "ucb-v", "kl-ucb", "thompson", "variance-thompson"]
    sim = cr.simulate(problem, names, 1000, 1_000_000, record=[1e6], rng=2014)
    regret = [sim[name].mean_regret[-1] for name in names]
    assert regret[-1] <= 0.8 * min(regret[:-1])
