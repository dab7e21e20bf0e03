"""The reduction of theorem 2, both ways."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.plan import Plan
from croupier.policies import REGISTRY
from croupier.policies.base import group_of
from croupier.policies.bounded import Bandit
from croupier.theory.reduction import allocation_from, bandit_from

pytestmark = pytest.mark.filterwarnings("error", "ignore::croupier.CroupierWarning")

K, ROUNDS = 3, 300
#: The draws of each arm, non-negative, whoever asks for them: the j-th of arm k is TABLE[k, j].
TABLE = np.abs(np.random.default_rng(7).normal(0.5, [[0.1], [0.2], [0.4]], (K, ROUNDS))).clip(0, 1)


class Recorded:
    """Hands out the draws of the table, in the order of the pulls."""

    def __init__(self) -> None:
        self.pulls = [0] * K
        self.choices: list[int] = []

    def draw(self, arm: int) -> float:
        self.choices.append(arm)
        self.pulls[arm] += 1
        return float(TABLE[arm, self.pulls[arm] - 1])


def policy_of(name: str) -> Any:
    policy = REGISTRY[name].example()
    if isinstance(policy, Bandit):
        return replace(policy, bounds=(0, 1))
    return cr.policies.Fixed("arm 1") if name == "fixed" else policy


def played(policy: Any, rounds: int = ROUNDS) -> list[int]:
    """Return the arms that a policy plays on the table's draws."""
    table = cr.Allocator([f"arm {k}" for k in range(K)], policy=policy, batch="one", rng=7)
    recorded = Recorded()
    for _ in range(rounds):
        batch = table.ask()
        assert batch is not None
        table.tell(batch, [recorded.draw(int(batch.arm[-1]))])
    return recorded.choices


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_an_allocation_and_its_bandit_make_the_same_choices(name: str) -> None:
    policy = policy_of(name)
    assert group_of(policy) == 1
    bandit, recorded = bandit_from(policy, arms=K, rng=7), Recorded()
    for _ in range(ROUNDS):
        arm = bandit.choose()
        draw = recorded.draw(arm)
        bandit.learn(arm, -draw * draw)
    assert recorded.choices == played(policy)


class OtherUCB:
    """A bandit as other libraries have them: its own names, its own books, its own ties."""

    def __init__(self) -> None:
        self.rewards, self.counts = [0.0] * K, [0] * K

    def choice(self) -> int:
        total = sum(self.counts)

        def index(k: int) -> float:
            if not self.counts[k]:
                return math.inf
            bonus = math.sqrt(2 * math.log(total) / self.counts[k])
            return self.rewards[k] / self.counts[k] + bonus

        return max(range(K), key=index)

    def get_reward(self, arm: int, reward: float) -> None:
        self.rewards[arm] += reward
        self.counts[arm] += 1


def test_a_bandit_and_its_allocation_make_the_same_choices() -> None:
    bandit, recorded = OtherUCB(), Recorded()
    for _ in range(ROUNDS):
        arm = bandit.choice()
        draw = recorded.draw(arm)
        bandit.get_reward(arm, 1 - draw * draw)
    fresh = OtherUCB()
    policy = allocation_from(
        fresh, bounds=(0, 1), choose=OtherUCB.choice, learn=OtherUCB.get_reward
    )
    assert played(policy) == recorded.choices == played(cr.policies.UCB1(bounds=(0, 1)))
    assert fresh.counts == [0] * K  # a copy was played
    assert played(policy) == recorded.choices  # and the next run begins anew


def test_without_bounds_the_reward_is_minus_the_square() -> None:
    seen: list[float] = []

    class Only:
        def choose(self) -> int:
            return 0

        def learn(self, arm: int, reward: float) -> None:
            seen.append(reward)

    arms = {"a": lambda rng, n: np.full(n, -3.0)}
    cr.estimate(arms, draws=4, policy=allocation_from(Only()), batch="one", rng=7)
    assert seen == [-9.0] * 4


def test_a_bandit_drives_growing_batches_too() -> None:
    policy = allocation_from(
        OtherUCB(), bounds=(0, 1), choose=OtherUCB.choice, learn=OtherUCB.get_reward
    )
    arms = {f"arm {k}": lambda rng, n, k=k: rng.random(n) * (k + 1) / K for k in range(K)}
    result = cr.estimate(arms, draws=5000, policy=policy, rng=7)
    assert result.draws == 5000


def test_what_cannot_choose_or_learn_is_refused_with_the_way_out() -> None:
    with pytest.raises(cr.PlanError, match=r"no method 'choose'.*choose=lambda b: b.choice\(\)"):
        allocation_from(object())
    with pytest.raises(cr.PlanError, match=r"no method 'learn'.*learn=lambda"):
        allocation_from(object(), choose=lambda b: 0)


def test_a_bandit_has_rewards_that_are_numbers_and_not_positive() -> None:
    bandit = bandit_from("greedy", arms=2, rng=7)
    with pytest.raises(cr.PlanError, match="was not chosen"):
        bandit.learn(0, -1.0)
    arm = bandit.choose()
    assert bandit.choose() == arm  # asking twice changes nothing
    with pytest.raises(cr.PlanError, match=r"must not be positive, got 0\.5"):
        bandit.learn(arm, 0.5)
    with pytest.raises(cr.PlanError, match="was not chosen"):
        bandit.learn(1 - arm, -0.5)
    with pytest.raises(cr.PlanError, match="must not be positive, got nan"):
        bandit.learn(arm, math.nan)


def test_a_policy_of_pairs_is_no_bandit() -> None:
    with pytest.raises(cr.PlanError, match="several draws at once"):
        bandit_from(cr.policies.UCB1(payoff="variance", bounds=(0, 1)), arms=2)


def test_vectors_are_no_reward() -> None:
    policy = allocation_from(OtherUCB(), choose=OtherUCB.choice, learn=OtherUCB.get_reward)
    arms = {f"arm {k}": lambda rng, n: rng.random((n, 2)) for k in range(K)}
    with pytest.raises(cr.PlanError, match="draws are vectors"):
        cr.estimate(arms, draws=10, policy=policy)


# -- the reduction with costs


class OtherUCBOfTwo(OtherUCB):
    """The same bandit for two arms."""

    def choice(self) -> int:
        total = sum(self.counts)

        def index(k: int) -> float:
            if not self.counts[k]:
                return math.inf
            bonus = math.sqrt(2 * math.log(total) / self.counts[k])
            return self.rewards[k] / self.counts[k] + bonus

        return max(range(2), key=index)


#: The slow arm has 0.9 of the variance of the quick one and 10 times its cost: nine times the cost
#: times variance. Its second moment is the smaller one.
def slow(rng: np.random.Generator, size: int) -> cr.Draws:
    return cr.Draws(0.5 + 0.9**0.5 * (rng.integers(2, size=size) - 0.5), np.full(size, 10.0))


def quick(rng: np.random.Generator, size: int) -> cr.Draws:
    return cr.Draws(0.5 + (rng.integers(2, size=size) - 0.5), np.full(size, 1.0))


def shares(**settings: Any) -> dict[str, float]:
    policy = allocation_from(
        OtherUCBOfTwo(), choose=OtherUCBOfTwo.choice,
        learn=OtherUCB.get_reward, **settings,
    )  # fmt: skip
    arms = {"slow": slow, "quick": quick}
    result = cr.estimate(arms, cost=40_000, policy=policy, batch="one", rng=7)
    return {row.name: row.share for row in result.arms}


@pytest.mark.slow
def test_with_costs_another_library_leaves_the_arm_of_more_cost_times_variance() -> None:
    scaled = {"bounds": (0, 1), "cost_bounds": (0, 10)}
    assert shares(**scaled)["quick"] > 0.9
    assert shares(**scaled, payoff="cost-variance-triples")["quick"] > 0.85
    # The second moment alone ranks the arms by the wrong thing.
    assert shares(bounds=(0, 1), payoff="second-moment")["slow"] > 0.9


def smpybandits() -> tuple[Any, Any, Any]:
    pytest.importorskip("SMPyBandits", reason="make bench-speed installs it")
    from benchmarks.simulator import smpybandits_policies

    with np.errstate(all="ignore"):
        bandit = smpybandits_policies().UCB(2)
        bandit.startGame()
    return bandit, lambda b: int(b.choice()), lambda b, arm, reward: b.getReward(arm, reward)


def mabwiser() -> tuple[Any, Any, Any]:
    mab = pytest.importorskip("mabwiser.mab", reason="make bench-speed installs it")
    bandit = mab.MAB([0, 1], mab.LearningPolicy.UCB1(alpha=1.4), seed=7)
    bandit.fit([0, 1], [0.5, 0.5])
    return bandit, lambda b: int(b.predict()), lambda b, arm, reward: b.partial_fit([arm], [reward])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", [smpybandits, mabwiser])
def test_the_ucb1_of_other_libraries_leaves_the_arm_of_more_cost_times_variance(
    library: Callable[[], tuple[Any, Any, Any]],
) -> None:
    """Nine times the cost times variance: the quick arm gets most of the cost, the slow one not."""
    arms = {"slow": slow, "quick": quick}
    bandit, choose, learn = library()
    policy = allocation_from(bandit, bounds=(0, 1), cost_bounds=(0, 10), choose=choose, learn=learn)
    with np.errstate(all="ignore"):
        result = cr.estimate(arms, cost=40_000, policy=policy, batch="one", rng=7)
    assert result.arms["quick"].share > 0.85


@pytest.mark.parametrize(
    ("kind", "rewards"),
    [
        ("auto", [-4.0, -1.0]),
        ("second-moment", [-1.0, -9.0, -25.0, -16.0]),
        ("variance", [-2.0, -0.5]),
        ("cost-variance", [-4.0, -1.0]),
        ("cost-variance-triples", [-4.0]),
    ],
)
def test_rewards_without_bounds_are_those_of_the_paper(kind: Any, rewards: list[float]) -> None:
    policy: Any = allocation_from(OtherUCB(), payoff=kind, choose=OtherUCB.choice, learn=print)
    draws = cr.Draws(np.array([1.0, 3.0, 5.0, 4.0]), np.full(4, 2.0))
    plan = Plan(names=("a",), seed=7, unit="cost")
    made = policy.digest(plan, 0, draws, np.random.default_rng(7))
    assert made["rewards"].tolist() == rewards


def test_a_budget_of_seconds_is_paid_by_cost_times_variance() -> None:
    policy = allocation_from(OtherUCB(), choose=OtherUCB.choice, learn=OtherUCB.get_reward)
    assert [group_of(policy, unit) for unit in ("draws", "cost", "seconds")] == [1, 2, 2]


def test_costs_without_a_range_are_refused() -> None:
    with pytest.raises(cr.PlanError, match=r"range of the costs.*cost_bounds=\(low, high\)"):
        shares(bounds=(0, 1))
    with pytest.raises(cr.PlanError, match="scale nothing without bounds"):
        allocation_from(OtherUCB(), cost_bounds=(0, 1), choose=OtherUCB.choice, learn=print)
    with pytest.raises(cr.PlanError, match="payoff must be one of"):
        allocation_from(OtherUCB(), payoff="costs", choose=OtherUCB.choice, learn=print)  # type: ignore[arg-type]
