"""Replications of rare events: coverage of limit states, splitting, modes in a mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import croupier as cr
from benchmarks.rare_problems import FIRST, Problem
from croupier.importance import Family

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")]

PROBLEMS = [p for p in FIRST if p.name in ("RP22", "RP57", "RP110", "RP111", "four-branch")]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_interval_of_a_limit_state_covers(problem: Problem) -> None:
    """40 runs at 95 %: more than 7 misses have a probability of 0.1 %."""
    value, missed = problem.value(), 0
    for seed in range(100, 140):
        result = cr.probability(
            problem.g, problem.over, draws=50_000, rtol=0.1, rng=seed, progress=False
        )
        low, high = result.interval
        missed += not low <= value <= high
    assert missed <= 7


def _walk(rng: np.random.Generator, x: Any) -> Any:
    return x + np.where(rng.random(len(x)) < 0.3, 1.0, -1.0)


def test_splitting_of_a_queue_that_overflows_once_in_a_billion_is_unbiased() -> None:
    arm = cr.splitting(_walk, lambda rng, n: np.ones(n), lambda x: np.where(x == 0, -np.inf, x), 25)
    result = cr.estimate([arm], draws=300, rng=7)
    assert abs(result.value - 8.424014477e-10) < 4 * result.stderr
    assert result.stderr < 0.06 * result.value


def test_a_mixture_does_not_starve_the_second_mode() -> None:
    """60 runs: with a pilot of 8 draws 19 intervals missed, now 6; 5 % would be 3."""

    def fails(x: Any) -> Any:
        return (x[:, 0] > 4.8) | (x[:, 1] < -(4.4 + 8 * x[:, 0] ** 2))

    def tongue(t: float) -> float:
        return float(norm.pdf(t) * norm.cdf(-(4.4 + 8 * t * t)))

    value = norm.sf(4.8) + 2 * quad(tongue, 0, 4)[0]
    missed = 0
    for seed in range(60):
        family = Family.tilted(fails, [[4.8, 0], [0, -4.4]])
        result = family.estimate(draws=60_000, rtol=0.1, rng=seed, progress=False)
        low, high = result.interval
        missed += not low <= value <= high
    assert missed <= 11
