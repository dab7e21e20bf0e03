"""The baselines do what their names say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.policies import ExploreThenCommit, Fixed, Greedy

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]


def normal(spread: float) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(1.0, spread, size)


ARMS = {"a": normal(1.0), "b": normal(0.1), "c": normal(0.5)}


@pytest.mark.parametrize("width", [1, 8])
def test_uniform_deals_the_same_to_every_arm(width: int) -> None:
    result = cr.estimate(ARMS, draws=30_000, rng=7, policy="uniform", width=width)
    draws = [row.draws for row in result.arms]
    assert max(draws) - min(draws) <= result.history.size.max()
    assert min(draws) > 0.9 * 10_000


def test_fixed_plays_one_arm_only() -> None:
    result = cr.estimate(ARMS, draws=1000, rng=7, policy=Fixed("c"))
    assert [row.draws for row in result.arms] == [0, 0, 1000]
    assert result.value == result.arms["c"].mean


def test_greedy_plays_the_best_so_far() -> None:
    result = cr.estimate(ARMS, draws=5000, rng=7, policy=Greedy())
    assert result.arms["b"].share > 0.99
    assert result.arms["a"].draws == 4


def test_greedy_falls_into_the_trap_of_a_rare_event() -> None:
    rare = {"rare": lambda rng, size: 1000.0 * (rng.random(size) < 0.001), "good": normal(0.5)}
    results = [cr.estimate(rare, draws=500, rng=seed, policy="greedy") for seed in range(10)]
    trapped = [result.arms["rare"].draws > 400 for result in results]
    assert sum(trapped) >= 5  # it has not varied yet: that looks perfect; 6 of 10 never see it


@pytest.mark.parametrize("explore", [2, 10, 30, 100])
@pytest.mark.parametrize("width", [1, 8])
def test_explore_then_commit_explores_and_commits(explore: int, width: int) -> None:
    policy = ExploreThenCommit(explore)
    result = cr.estimate(ARMS, draws=5000, rng=7, policy=policy, width=width)
    lost = [row.draws for row in result.arms if row.name != "b"]
    assert min(lost) >= explore
    assert max(lost) <= max(explore, 4) + 2 * width
    last = result.history.arm[-20:]
    assert (last == last[0]).all()


def test_explore_then_commit_never_commits_on_variances_that_it_does_not_know() -> None:
    # The first arm is the worst: to commit to it is to commit blindly.
    try:
        policy = ExploreThenCommit(1)
    except cr.PlanError as refused:
        assert "explore" in str(refused)  # noqa: PT017
        return
    chosen = [
        cr.estimate(ARMS, draws=1000, rng=seed, policy=policy).history.arm[-1] for seed in range(5)
    ]
    assert chosen.count(1) >= 3


@pytest.mark.parametrize("explore", [0, -1, 2.5, True, np.nan])
def test_explore_is_a_count(explore: Any) -> None:
    with pytest.raises(cr.PlanError, match=r"^explore must be a .*, got "):
        ExploreThenCommit(explore)


def test_costs_count_in_greedy_and_explore_then_commit() -> None:
    arms = {
        "cheap": lambda rng, size: cr.Draws(rng.normal(1.0, 1.0, size), 1.0),
        "dear": lambda rng, size: cr.Draws(rng.normal(1.0, 0.5, size), 50.0),
    }
    for policy in ("greedy", "explore-then-commit"):
        result = cr.estimate(arms, cost=20_000, rng=7, policy=policy)
        assert result.arms["cheap"].draws > 10_000, policy
