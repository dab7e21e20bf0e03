"""Payoffs: from draws to losses in [0, 1]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.draws import Draws
from croupier.policies import KLUCB, UCB1, Thompson
from croupier.policies.payoffs import Payoff, Terms, pair_payoff, payoff_of, triple_payoff

pytestmark = pytest.mark.filterwarnings("error", "ignore::croupier.CroupierWarning")


def plan_of(**changes: Any) -> cr.Plan:
    known = {"names": ("a", "b"), "seed": 7, "bounds": ((-1.0, 1.0), (0.0, 3.0))}
    return cr.Plan(**{**known, "policy": {"name": "ucb1"}, **changes})


def test_the_common_range_runs_from_the_lowest_to_the_highest_bound() -> None:
    payoff = Payoff.of(plan_of(), Terms())
    losses = payoff.losses(0, Draws(np.array([-1.0, 1.0, 3.0])))
    assert losses.tolist() == [0.0, 0.25, 1.0]  # ((x + 1)/4)^2
    assert payoff.factor.tolist() == [1.0, 1.0]


def test_per_arm_scaling_divides_by_each_arms_range_and_multiplies_it_back() -> None:
    payoff = Payoff.of(plan_of(), Terms(scaling="per-arm"))
    assert payoff.losses(0, Draws(np.array([0.0]))).tolist() == [0.25]  # ((x + 1)/2)^2
    assert payoff.losses(1, Draws(np.array([1.0]))).tolist() == [0.25]  # ((x + 1)/4)^2
    assert payoff.factor.tolist() == [0.25, 1.0]


def test_pairs_lose_the_square_of_their_difference() -> None:
    payoff = Payoff.of(plan_of(), Terms(kind="variance"))
    losses = payoff.losses(1, Draws(np.array([1.0, 2.5, 0.0, 3.0, 9.0])))
    assert losses.tolist() == [0.25, 1.0]  # the widest range is 3; the fifth draw is left over


def test_pairs_and_triples_are_weighted_by_their_costs() -> None:
    plan = plan_of(unit="cost", cost_bounds=((1.0, 4.0), (0.0, 10.0)))
    draws = Draws(np.array([0.0, 3.0, 1.0]), np.array([2.0, 4.0, 5.0]))
    assert Payoff.of(plan, Terms()).losses(1, draws).tolist() == [0.3]
    triples = Payoff.of(plan, Terms(kind="cost-variance-triples"))
    assert triples.losses(1, draws).tolist() == [0.5]
    own = Payoff.of(plan, Terms(scaling="per-arm"))
    assert own.factor == pytest.approx([(2 / 3) ** 2 * 0.4, 1.0])


def test_the_seconds_of_a_growing_batch_are_priced_by_decisions_not_by_losses() -> None:
    plan = plan_of(unit="seconds")  # no cost_bounds: they are not needed
    losses = Payoff.of(plan, Terms()).losses(1, Draws(np.array([0.0, 3.0]), 1.0))
    assert losses.tolist() == [1.0]


def test_measured_seconds_are_one_cost_for_all_draws_of_a_batch() -> None:
    plan = plan_of(unit="seconds", batch="one", cost_bounds=((0.0, 2.0),) * 2)
    losses = Payoff.of(plan, Terms()).losses(1, Draws(np.array([0.0, 3.0]), 1.0))
    assert losses.tolist() == [0.5]


def test_vectors_are_averaged_by_the_objective() -> None:
    draws = Draws(np.array([[3.0, -1.0], [1.0, 1.0]]))
    assert Payoff.of(plan_of(), Terms()).losses(1, draws).tolist() == [0.5, 0.25]
    weighted = Payoff.of(plan_of(objective=(3.0, 1.0)), Terms())
    assert weighted.losses(1, draws).tolist() == [0.75, 0.25]


def test_raw_payoffs_have_the_mean_that_the_paper_says() -> None:
    assert pair_payoff([0.0, 2.0]).tolist() == [-2.0]
    assert triple_payoff([0.0, 2.0, 7.0], [1.0, 1.0, 3.0]).tolist() == [-6.0]


@pytest.mark.parametrize("policy", [UCB1(), KLUCB(), Thompson()])
def test_without_a_range_the_error_says_how_to_give_one(policy: Any) -> None:
    arms = {"a": lambda rng, n: rng.random(n), "b": cr.Arm(lambda rng, n: rng.random(n))}
    with pytest.raises(cr.PlanError, match=r"missing for 'a', 'b'.*bounds=\(low, high\)"):
        cr.estimate(arms, draws=10, policy=policy)


def test_without_a_range_of_costs_the_error_says_how_to_give_one() -> None:
    arms = {"a": cr.Arm(lambda rng, n: cr.Draws(rng.random(n), 1.0), bounds=(0, 1))}
    with pytest.raises(cr.PlanError, match="cost_bounds"):
        cr.estimate(arms, cost=10, policy="ucb1")


def test_a_range_on_the_policy_serves_all_arms() -> None:
    arms = {"a": lambda rng, n: rng.random(n), "b": lambda rng, n: 0.5 + 0 * rng.random(n)}
    result = cr.estimate(arms, draws=2000, policy=UCB1(bounds=(0, 1)), rng=7)
    assert result.arms["b"].draws > result.arms["a"].draws


def test_a_payoff_outside_of_the_range_names_the_arm_the_ticket_and_the_draw() -> None:
    arms = {"a": lambda rng, n: np.full(n, 0.5), "wild": lambda rng, n: np.full(n, 1.5)}
    with pytest.raises(cr.ArmError, match=r"arm 'wild', ticket 1: returned 1.5.*clip=True") as seen:
        cr.estimate(arms, draws=100, policy=UCB1(bounds=(0, 1)), rng=7)
    assert seen.value.ticket == 1


def test_clipping_touches_payoffs_and_never_the_draws() -> None:
    wild = cr.Arm(lambda rng, n: np.full(n, 1.5), bounds=(0, 1))
    tame = cr.Arm(lambda rng, n: np.full(n, 0.5), bounds=(0, 1))
    policy = UCB1(clip=True)
    result = cr.estimate({"wild": wild, "tame": tame}, draws=100, policy=policy, combine="mean")
    assert result.arms["wild"].mean == 1.5
    assert result.value > 0.5
    with pytest.raises(cr.ArmError, match="outside of its bounds"):
        cr.estimate({"wild": wild, "tame": tame}, draws=100, policy="ucb1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"payoff": "fourth"}, "payoff must be one of 'auto'"),
        ({"scaling": "mine"}, "scaling must be one of"),
        ({"bounds": (1, 0)}, "bounds must be finite with low < high"),
        ({"cost_bounds": 3}, "cost_bounds must be a pair"),
        ({"clip": "yes"}, "clip must be True or False"),
    ],
)
def test_terms_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        UCB1(**settings)


def test_a_payoff_is_made_once_for_a_plan() -> None:
    plan = plan_of()
    assert payoff_of(plan, Terms()) is payoff_of(plan, Terms())
    assert payoff_of(plan, Terms(scaling="per-arm")) is not payoff_of(plan, Terms())


@pytest.mark.parametrize("value", [-0.1, 1.1])
@pytest.mark.parametrize("kind", ["second-moment", "variance"])
def test_draws_below_and_above_the_bounds_of_a_policy_are_refused(value: float, kind: Any) -> None:
    arms = {"a": lambda rng, n: np.full(n, value), "b": lambda rng, n: np.full(n, 0.5)}
    policy = UCB1(bounds=(0, 1), payoff=kind)
    with pytest.raises(cr.ArmError, match=rf"arm 'a'.*returned {value}, outside of the bounds"):
        cr.estimate(arms, draws=10, policy=policy, rng=7)
    cr.estimate(arms, draws=10, policy=UCB1(bounds=(0, 1), payoff=kind, clip=True), rng=7)


def test_single_draws_below_the_bounds_of_a_policy_are_refused_too() -> None:
    table = cr.Allocator(["a", "b"], policy=UCB1(bounds=(0, 1)), batch="one", rng=7)
    for value in (0.5, 0.5, 0.5):
        batch = table.ask()
        assert batch is not None
        table.tell(batch, [value])
    last = table.ask()
    assert last is not None
    with pytest.raises(cr.ArmError, match=r"returned -0\.1, outside of the bounds"):
        table.tell(last, [-0.1])


def test_the_time_of_ucb1_is_what_was_played_or_the_round_to_be_played() -> None:
    plan = plan_of(bounds=((0.0, 1.0), (0.0, 1.0)))
    bounds = []
    for time in ("played", "paper"):
        policy = UCB1(time=time)  # type: ignore[arg-type]
        state = policy.start(plan)
        for arm in (0, 1, 0):
            made = policy.digest(plan, arm, Draws(np.array([0.5])), np.random.default_rng(7))
            state = policy.learn(state, None, arm, made)  # type: ignore[arg-type]
        bounds.append(policy.shortfall(state)[1])
    assert bounds == pytest.approx([0.25 - (2 * np.log(t)) ** 0.5 for t in (3, 4)])
    with pytest.raises(cr.PlanError, match="time must be one of 'played', 'paper'"):
        UCB1(time="round")  # type: ignore[arg-type]
