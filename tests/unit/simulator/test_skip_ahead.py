"""Skipping ahead changes no pull of an index policy, and not the law of Thompson sampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import croupier as cr
from croupier import simulator
from croupier.policies import KLUCB, MOSS, UCB1, UCBV, SubgaussianUCB
from croupier.simulator import kernels, skip_ahead
from croupier.simulator import skip_ahead_thompson as thinning

INDICES = [UCB1(), UCBV(), KLUCB(), MOSS(), MOSS(horizon=30_000), SubgaussianUCB(sigma=0.5)]

#: Figure 1's own ground: corners and the middle of its grid.
CELLS = [(0.0125, 0.0125), (0.0125, 0.125), (0.125, 0.0125), (0.125, 0.125), (0.0625, 0.0625)]


def both(problem: Any, policy: Any, runs: int, horizon: int, seed: int = 7) -> list[np.ndarray]:
    return [
        cr.simulate(problem, {"it": policy}, runs, horizon, rng=seed, skip=skip)["it"].pulls
        for skip in (True, False)
    ]


@pytest.mark.parametrize("policy", INDICES, ids=lambda policy: policy.name)
@pytest.mark.parametrize(
    "problem",
    [
        simulator.scaled_bernoulli([0.08, 0.18]),
        simulator.scaled_bernoulli([0.05, 0.0625]),
        simulator.scaled_bernoulli([0.1, 0.101]),
        simulator.scaled_bernoulli([0.005, 0.015]),
        simulator.two_valued([0.3137, 0.2], [0.7071, 0.4223], [0.05, 0.13337 / 0.2223]),
        simulator.two_valued([-0.9, -0.8], [-0.1, -0.2], bounds=(-1, 1)).within(-1, 0),
        simulator.scaled_bernoulli(np.linspace(0.05, 0.2, 16)),
    ],
    ids=repr,
)
def test_skipping_ahead_pulls_what_the_plain_kernel_pulls(problem: Any, policy: Any) -> None:
    skipped, plain = both(problem, policy, 4, 30_000)
    assert (skipped == plain).all()


@given(
    st.lists(st.integers(1, 1000), min_size=2, max_size=4, unique=True),
    st.sampled_from(INDICES),
    st.integers(5, 3000),
    st.integers(0, 2**32),
)
@settings(max_examples=60)
def test_skipping_ahead_is_exact_on_any_scaled_bernoulli_arms(
    numbers: list[int], policy: Any, horizon: int, seed: int
) -> None:
    # Irrational, so that no two sums of losses tie but for rounding.
    variances = [0.001 + 0.239 * math.modf(n * math.sqrt(2))[0] for n in numbers]
    skipped, plain = both(simulator.scaled_bernoulli(variances), policy, 2, horizon, seed)
    assert (skipped == plain).all()


def test_losses_that_fall_with_the_value_are_turned() -> None:
    # Draws below the range's low end: the larger value has the smaller loss.
    problem = simulator.two_valued([0.1, 0.3], [0.9, 0.7]).within(1.0, 2.0)
    skipped, plain = both(problem, UCB1(clip=True), 4, 5000)
    assert (skipped == plain).all()
    assert plain[:, -1].min() > 0


@pytest.mark.parametrize(
    "cell", [CELLS[0], *(pytest.param(cell, marks=pytest.mark.slow) for cell in CELLS[1:])]
)
def test_thompson_sampling_skips_ahead_in_law(cell: tuple[float, float]) -> None:
    problem = simulator.scaled_bernoulli([cell[0], sum(cell)])
    skipped, plain = both(problem, "thompson", 1500, 3000)
    middle = np.searchsorted(cr.simulate(problem, "uniform", 1, 3000).times, 300)
    for at in (middle, -1):
        test = stats.ks_2samp(skipped[:, at, 1], plain[:, at, 1])
        assert test.pvalue > 1e-3
        apart = skipped[:, at, 1].mean() - plain[:, at, 1].mean()
        error = math.sqrt((skipped[:, at, 1].var() + plain[:, at, 1].var()) / 1500)
        assert abs(apart / error) < 4


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ucb1", "ucb-v", "kl-ucb", "thompson"])
def test_skipping_ahead_keeps_the_law_of_2000_runs(policy: str) -> None:
    """Kolmogorov-Smirnov on other seeds; 20 tests in all, so p > 0.01/20."""
    for cell in CELLS:
        problem = simulator.scaled_bernoulli([cell[0], sum(cell)])
        skipped = cr.simulate(problem, policy, 2000, 20_000, rng=1)[policy].pulls
        plain = cr.simulate(problem, policy, 2000, 20_000, rng=2, skip=False)[policy].pulls
        test = stats.ks_2samp(skipped[:, -1, 1], plain[:, -1, 1])
        assert test.pvalue > 0.01 / 20, cell


def test_a_prior_that_is_not_log_concave_is_played_step_by_step() -> None:
    problem = simulator.scaled_bernoulli([0.08, 0.18])
    policy = cr.policies.Thompson(alpha=0.5, beta=0.5)
    skipped, plain = both(problem, policy, 5, 500)
    assert (skipped == plain).all()


def test_the_incomplete_beta_function_is_right_in_the_tails() -> None:
    rng = np.random.default_rng(5)
    for _ in range(2000):
        a, b = np.exp(rng.uniform(0, 13, 2))
        mean = a / (a + b)
        x = mean + 5 * rng.normal() * math.sqrt(mean * (1 - mean) / (a + b + 1))
        if 0 < x < 1 and (expected := special.betainc(a, b, x)) > 1e-200:
            assert thinning.beta_below(a, b, x) == pytest.approx(expected, rel=1e-7)
    assert thinning.beta_below(2.0, 3.0, 0.0) == 0
    assert thinning.beta_below(2.0, 3.0, 1.0) == 1


def test_the_threshold_of_kl_ucb_is_where_its_bound_is_the_rivals() -> None:
    for w in (0.01, 0.5, 3.0, 50.0):
        for level in (1e-7, 1e-3, 0.2, 5.0):
            x = skip_ahead.kl_threshold(w, level)
            if x > 1:
                assert w <= level
            else:
                assert kernels.kl_bound(x, level) == pytest.approx(w, rel=1e-6)
    assert skip_ahead.kl_threshold(math.inf, 1.0) < 0
