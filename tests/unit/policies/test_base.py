"""From a name to a policy and back, the opening, and the weights of components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import croupier as cr
from croupier import policies
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import describe, first_draws, group_of, objective_weights, smallest

PLAN = Plan(names=("a", "b", "c"), seed=7)


def ledger_of(count: list[int], d: int = 1, calls: list[float] | None = None) -> Ledger:
    """Return a ledger of arms told in single draws, or in one call that took so many seconds."""
    ledger = Ledger(len(count), measured=calls is not None)
    for arm, draws in enumerate(count):
        sizes, cost = ([1] * draws, 1.0) if calls is None else ([draws], calls[arm])
        for size in sizes:
            ledger.add(arm, told_of(size, cost, d))
    return ledger


def told_of(size: int, cost: float, d: int = 1) -> Told:
    """Return the moments of draws that are all zero."""
    still = (np.zeros(d), np.zeros(d, np.int64), np.zeros((4, d)))
    return Told(size, *still, cost=cost, cost_m2=0.0)


class Told(NamedTuple):
    size: int
    origin: np.ndarray
    exponent: np.ndarray
    moments: np.ndarray
    cost: float
    cost_m2: float


def test_auto_is_the_default_policy() -> None:
    assert policies.as_policy("auto") == policies.VarianceThompson()
    assert Plan(names=("a",), seed=0).policy["name"] == policies.VarianceThompson.name


def test_every_policy_is_registered_under_its_own_name() -> None:
    assert all(cls.name == name for name, cls in policies.REGISTRY.items())
    assert {"variance-thompson", "variance-lcb", "uniform", "fixed", "greedy"} <= set(
        policies.REGISTRY
    )
    assert "explore-then-commit" in policies.REGISTRY


def test_a_policy_object_is_taken_as_it_is() -> None:
    policy = policies.Fixed("b")
    assert policies.as_policy(policy) is policy


def test_a_description_is_a_name_with_parameters() -> None:
    assert describe(policies.Fixed("b")) == {"name": "fixed", "arm": "b"}
    assert policies.as_policy({"name": "fixed", "arm": "b"}) == policies.Fixed("b")


@pytest.mark.parametrize(
    "spec", ["nope", "", None, 3, {}, {"name": "nope"}, {"floor": 1}, ["auto"]]
)
def test_what_is_no_policy_is_refused_with_those_there_are(spec: Any) -> None:
    with pytest.raises(PlanError, match=r"^unknown policy .*; the policies are auto, ") as caught:
        policies.as_policy(spec)
    assert all(name in str(caught.value) for name in policies.REGISTRY)
    assert repr(spec) in str(caught.value)


class Bare:
    """As little as a policy can have."""

    name = "bare"

    def start(self, plan: Plan) -> int:
        return 0

    def choose(self, state: int, ledger: Ledger, pending: Any, rng: Any) -> int:
        return state

    def learn(self, state: int, ledger: Ledger, arm: int, extra: Any) -> int:
        return (arm + 1) % len(ledger)


def test_an_object_with_a_name_start_choose_and_learn_is_a_policy(arms: dict[str, Any]) -> None:
    policy = Bare()
    assert isinstance(policy, policies.Policy)
    assert policies.as_policy(policy) is policy
    result = cr.estimate(arms, draws=200, policy=policy, rng=7)
    assert result.plan.policy == {"name": "bare"}
    assert min(row.draws for row in result.arms) > 50


@pytest.mark.parametrize("lacking", ["name", "start", "choose", "learn"])
def test_a_policy_that_lacks_something_is_told_what(
    lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Bare, lacking)
    policy: Any = Bare()
    with pytest.raises(PlanError, match=rf"^policy <.*Bare.*> has no {lacking}: a policy needs "):
        policies.as_policy(policy)
    assert not isinstance(policy, policies.Policy)


def test_a_parameter_that_a_policy_does_not_have_is_refused() -> None:
    with pytest.raises(PlanError, match=r"greedy.*bogus"):
        policies.as_policy({"name": "greedy", "bogus": 1})


def test_a_class_in_place_of_a_policy_is_refused() -> None:
    with pytest.raises(PlanError, match="Uniform"):
        policies.as_policy(policies.Uniform)  # type: ignore[arg-type]


def test_the_smallest_score_wins_and_the_first_of_equals() -> None:
    assert smallest(np.array([3.0, 1.0, 1.0])) == 1
    assert smallest(np.array([np.inf, np.inf])) == 0
    with pytest.raises(PlanError, match="scored arm 1 NaN"):
        smallest(np.array([1.0, np.nan]))


def test_draws_come_one_at_a_time_without_a_group() -> None:
    assert group_of(policies.Uniform()) == 1


def test_the_opening_deals_first_draws_in_turn() -> None:
    none = np.zeros(3)
    assert first_draws(PLAN, ledger_of([0, 0, 0]), none) == (0, 1)
    assert first_draws(PLAN, ledger_of([1, 0, 0]), none) == (1, 1)
    assert first_draws(PLAN, ledger_of([1, 0, 0]), np.array([0.0, 1.0, 0.0])) == (2, 1)
    assert first_draws(PLAN, ledger_of([4, 4, 3]), none) == (2, 1)
    assert first_draws(PLAN, ledger_of([4, 4, 4]), none) is None
    assert first_draws(PLAN, ledger_of([4, 4, 3]), np.array([0.0, 0.0, 1.0])) is None


def test_the_opening_waits_for_two_told_draws() -> None:
    assert first_draws(PLAN, ledger_of([4, 4, 1]), np.array([0.0, 0.0, 3.0])) is not None
    assert first_draws(PLAN, ledger_of([4, 4, 2]), np.array([0.0, 0.0, 2.0])) is None


@pytest.mark.parametrize("unit", ["cost", "seconds"])
def test_an_expensive_arm_waits_with_its_third_draw(unit: str) -> None:
    plan = Plan(names=("cheap", "expensive"), seed=7, unit=unit, batch="one")
    none = np.zeros(2)
    ledger = Ledger(2, measured=unit == "seconds")
    for arm, price in [(0, 1.0), (1, 20.0)] * 2:
        assert first_draws(plan, ledger, none) == (arm, 1)  # two draws of every arm, at any price
        ledger.add(arm, told_of(1, cost=price))
    for spent in range(2, 160):  # its third draw costs 20, an eighth of 160
        assert first_draws(plan, ledger, none) == ((0, 1) if spent < 4 else None)
        ledger.add(0, told_of(1, cost=1.0))
    assert first_draws(plan, ledger, none) == (1, 1)


@pytest.mark.filterwarnings("ignore:the error bar rests on")
def test_a_small_budget_is_not_spent_on_the_first_draws_of_an_expensive_arm() -> None:
    """Four draws at a price of 20 are 80 of a budget of 100, and the arm is five times worse."""

    def arm(deviation: float, price: float) -> cr.Arm:
        def draw(rng: np.random.Generator, size: int) -> cr.Draws:
            return cr.Draws(rng.normal(1.0, deviation, size), np.full(size, price))

        return cr.Arm(draw, name=f"{price:g}")

    arms = [arm(1.0, 1.0), arm(0.5, 20.0)]
    expensive = [cr.estimate(arms, cost=100, rng=seed).arms["20"].draws for seed in range(30)]
    assert np.mean(expensive) < 3.8  # 3.3 in 400 runs; 4.7 if its third draw does not wait


def test_components_count_alike_whatever_their_unit() -> None:
    ledger = ledger_of([9, 9, 9], d=2)
    variance = np.array([[1.0, 1e6], [2.0, 2e6], [4.0, 9e6]])
    weights = objective_weights(PLAN, ledger, variance)
    assert weights.tolist() == [0.5, 0.5e-6]


def test_one_component_has_weight_one() -> None:
    assert objective_weights(PLAN, ledger_of([9, 9, 9]), np.zeros((3, 1))).tolist() == [1.0]


def test_a_component_in_which_nothing_varies_has_no_weight() -> None:
    variance = np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    weights = objective_weights(PLAN, ledger_of([9, 9, 9], d=2), variance)
    assert weights.tolist() == [0.5, 0.0]


def test_an_objective_is_in_the_units_of_the_user() -> None:
    plan = Plan(names=("a", "b"), seed=7, objective=(1.0, 1.0))
    ledger = ledger_of([9, 9], d=2)
    ledger.exponent = np.array([3, 5])
    weights = objective_weights(plan, ledger, np.ones((2, 2)))
    assert weights[1] / weights[0] == 2.0 ** (2 * (5 - 3))
