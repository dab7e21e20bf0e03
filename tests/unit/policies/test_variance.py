"""The policies on the variance: who gets the draws, and who is never given up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.data.reduce_batch import chunks_of, outcome_of
from croupier.policies.base import MOST_SCORES, Choice, LedgerOnly, Play, first_draws
from croupier.policies.variance import _several

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

both = pytest.mark.parametrize("policy", ["variance-thompson", "variance-lcb"])


def normal(spread: float, mean: float = 1.0) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(mean, spread, size)


@both
@pytest.mark.parametrize("width", [1, 8])
def test_most_is_spent_on_the_best_arm(policy: str, width: int) -> None:
    arms = {"a": normal(1.0), "b": normal(0.3), "c": normal(0.1), "d": normal(0.5)}
    for seed in range(5):
        result = cr.estimate(arms, draws=10_000, rng=seed, policy=policy, width=width)
        assert result.arms["c"].share > 0.8


@both
def test_an_arm_that_is_worse_beyond_doubt_needs_few_draws(policy: str) -> None:
    arms = {"a": normal(10.0), "b": normal(0.01), "c": normal(5.0)}
    results = [
        cr.estimate(arms, draws=250_000, rng=seed, policy=policy, audit=0) for seed in range(5)
    ]
    for name in ("a", "c"):
        draws = [result.arms[name].draws for result in results]
        assert min(draws) >= 40  # 50 degrees of freedom, fewer draws if the tails are light
        assert np.median(draws) <= 250  # the plain floor is 144 draws, bought ahead as 577


@both
def test_an_arm_that_may_be_better_keeps_its_floor(policy: str) -> None:
    """One draw in 500 is 30: 100 draws do not say how large the variance of `jumps` is."""
    arms = {
        "jumps": lambda rng, size: np.where(rng.random(size) < 0.002, 30.0, rng.normal(1, 1, size)),
        "good": normal(0.5),
    }
    results = [
        cr.estimate(arms, draws=50_000, rng=seed, policy=policy, audit=0) for seed in range(5)
    ]
    floor = 0.5 * np.sqrt(50_000 / 2)
    draws = [result.arms["jumps"].draws for result in results]
    assert min(draws) >= 2 * np.log(50_000)
    assert max(draws) >= 0.9 * floor


@both
def test_a_doubt_about_the_better_arm_is_tested_by_draws(policy: str) -> None:
    """100 unlucky draws of the better arm: their mean is 4.4 standard errors off."""
    rng = np.random.default_rng(7)
    ledger = Ledger(2)
    plan = cr.Plan(names=("worse", "better"), seed=7)
    for arm, (spread, count) in enumerate([(1.2, 20_000), (1.0, 100)]):
        values = rng.standard_normal(count)
        values = spread * (values - values.mean()) / values.std(ddof=1)
        batch = cr.Batch(arm, plan.names[arm], count, 7)
        ledger.add(arm, outcome_of(plan, batch, chunks_of(batch, cr.Draws(values + 0.44 * arm))))
    chosen = cr.policies.as_policy(policy)
    play = chosen.choose(chosen.start(plan), ledger, np.zeros(2), lambda: rng)
    assert isinstance(play, Play)
    assert play.arm == 1
    # With z = 4.4, its variance counts as (4.4 - 2/sqrt(200/1.44))^2/4 = 4.5 times as large; the
    # test may have 20 100/2/4.5^2 = 500 draws, and 450 would settle the doubt.
    assert play.at_most is not None
    assert 300 <= play.at_most <= 400


@both
def test_dear_arms_have_a_lower_floor(policy: str) -> None:
    arms = {
        "cheap": lambda rng, size: cr.Draws(rng.normal(1.0, 0.1, size), 1.0),
        "dear": lambda rng, size: cr.Draws(rng.normal(1.0, 1.0, size), 100.0),
    }
    results = [cr.estimate(arms, cost=50_000, rng=seed, policy=policy) for seed in range(5)]
    draws = [result.arms["dear"].draws for result in results]
    assert np.median(draws) < 0.2 * 0.5 * np.sqrt(50_000 / 2)


@both
def test_an_arm_that_has_not_yet_seen_its_rare_event_is_not_trusted(policy: str) -> None:
    arms = {
        "rare": lambda rng, size: 10_000.0 * (rng.random(size) < 1e-4),
        "good": normal(0.5),
    }
    for seed in range(5):
        result = cr.estimate(arms, draws=2000, rng=seed, policy=policy)
        assert result.arms["good"].share > 0.8


@both
def test_costs_decide_between_arms_of_equal_variance(policy: str) -> None:
    arms = {
        "cheap": lambda rng, size: cr.Draws(rng.normal(1.0, 1.0, size), 1.0),
        "dear": lambda rng, size: cr.Draws(rng.normal(1.0, 1.0, size), 5.0),
    }
    result = cr.estimate(arms, cost=20_000, rng=7, policy=policy)
    assert result.arms["cheap"].share > 0.85


@both
def test_arms_that_never_vary_are_dealt_to_in_turn(policy: str) -> None:
    arms = {name: lambda rng, size: np.full(size, 2.5) for name in "abc"}
    result = cr.estimate(arms, draws=3000, rng=7, policy=policy)
    assert min(row.draws for row in result.arms) > 800


@both
def test_vectors_are_dealt_by_all_components_alike(policy: str) -> None:
    arms = {
        "first": lambda rng, size: rng.normal(1.0, [1.0, 1.0, 1.0], (size, 3)) * [1, 1e9, 1e-9],
        "better": lambda rng, size: rng.normal(1.0, [0.3, 0.3, 0.3], (size, 3)) * [1, 1e9, 1e-9],
    }
    assert cr.estimate(arms, draws=5000, rng=7, policy=policy).arms["better"].share > 0.9


@both
def test_a_tiny_variance_beside_none_is_no_trouble(policy: str) -> None:
    arms = {"big": normal(1.0, 0.0), "flat": lambda rng, size: np.zeros(size),
            "tiny": normal(1e-25, 0.0)}  # fmt: skip
    result = cr.estimate(arms, draws=1000, rng=7, policy=policy)
    assert result.draws == 1000
    assert np.isfinite(result.value)


def test_thompson_tosses_only_when_there_is_something_to_toss() -> None:
    policy = cr.policies.VarianceThompson()
    plan = cr.Plan(names=("a", "b"), seed=7)

    def never() -> np.random.Generator:
        raise AssertionError

    table = cr.Allocator(plan)
    state = policy.start(plan)
    assert policy.choose(state, table.ledger, np.zeros(2), never) == (0, 1)


# -- very many arms


def test_of_many_arms_one_scoring_names_several_by_how_often_they_are_drawn() -> None:
    K, random = 10 * MOST_SCORES, np.random.default_rng(7)
    scores, chi2, df = np.ones(K), np.ones(K), np.full(K, 4.0)
    plays = _several(scores, chi2, df, random)
    assert isinstance(plays, list)
    assert 20 < len({play.arm for play in plays}) == len(plays) <= 80
    assert plays[0].growth == 1 == max(play.growth for play in plays)
    scores[77] = 1e-9  # it is named by every draw
    assert _several(scores, chi2, df, random) == [Play(77, growth=1.0)]
    few = slice(0, 2 * MOST_SCORES - 1)
    assert _several(scores[few], chi2[few], df[few], random) == 77


def test_of_many_arms_several_get_their_first_draw_in_one_decision() -> None:
    K = 3 * MOST_SCORES
    ledger, pending = Ledger(K), np.zeros(K)
    plan = Plan(tuple(map(str, range(K))), 7)
    assert first_draws(plan, ledger, pending) == [Play(k, 1) for k in range(3)]
    pending[:2] = 1
    assert first_draws(plan, ledger, pending) == [Play(k, 1) for k in range(2, 5)]


class Listed(LedgerOnly):
    """Names all arms at every decision, for one draw each."""

    name = "listed"

    def __init__(self) -> None:
        self.spent: list[float] = []

    def start(self, plan: Plan) -> None:
        return None

    def choose(self, state: None, ledger: Ledger, pending: Any, rng: Any) -> Choice:
        self.spent.append(ledger.spent)
        return [Play(int(k), 1) for k in np.argsort(ledger.count + pending, kind="stable")]


@pytest.mark.parametrize("width", [1, 3])
def test_several_plays_of_a_decision_are_tickets_until_they_cost_what_one_buys(width: int) -> None:
    policy = Listed()
    arms = {str(k): normal(1.0) for k in range(100)}
    result = cr.estimate(arms, draws=3000, policy=policy, width=width, rng=7)
    assert len(result.history) == 3000
    assert [row.draws for row in result.arms] == [30] * 100
    spent = np.array([each for each in policy.spent if each >= 100])  # all prices are known
    bought = np.diff(spent)
    assert (bought <= spent[:-1] / 32 + width).all()
    assert bought.max() > 64
