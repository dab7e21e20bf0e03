"""The reduction, both ways: a bandit that allocates draws, an allocation that plays a bandit.

Neufeld et al. (ICML 2014), theorem 2: feed a bandit the payoff -Y^2 of every draw and it allocates
draws with a regret, in n^2 (MSE - V*/n), that equals its own; feed an allocation sqrt(-reward) in
place of draws and it is a bandit. So any bandit of any library can drive `estimate`. Where draws
have costs, the payoff is that of the paper's section 5, minus cost times variance.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from croupier.checks import Range
from croupier.data.draws import Batch, Draws, Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan, Unit
from croupier.errors import PlanError
from croupier.policies import Policy, as_policy
from croupier.policies.base import Choice, Random, group_of
from croupier.policies.payoffs import Kind, Terms, pair_payoff, payoff_of, triple_payoff
from croupier.running.allocator import Allocator
from croupier.seeds import RandomLike

__all__ = ["BanditLike", "allocation_from", "bandit_from"]


class BanditLike(Protocol):
    """What can choose an arm and learn from its reward."""

    def choose(self) -> int:
        """Return the arm to play next, from 0."""

    def learn(self, arm: int, reward: float) -> None:
        """Take the reward that the arm has paid."""


def allocation_from(
    bandit: Any,
    *,
    payoff: Kind = "auto",
    bounds: Range | None = None,
    cost_bounds: Range | None = None,
    choose: Callable[[Any], int] | None = None,
    learn: Callable[[Any, int, float], None] | None = None,
) -> Policy:
    """Return a policy that deals draws as a bandit plays its arms: MC(B) of theorem 2.

    Args:
        bandit: Anything that can choose and learn. A copy of it is played, so that the same
            object can be given to several runs; a random one must be seeded to repeat itself.
        payoff: What a reward is made of. "second-moment" is -y^2 of every draw. "variance" is
            -(y1 - y2)^2/2 of every two draws. "cost-variance" is -(d1 + d2)(y1 - y2)^2/4, for costs
            d that are independent of the values, and "cost-variance-triples" is -d3 (y1 - y2)^2/2
            of every three draws, for any costs. "auto" is "second-moment" where every draw costs
            1, and "cost-variance" where the budget is a cost or seconds.
        bounds: The range of the draws, of all arms: then the rewards lie in [0, 1], as most bandits
            want them: 1 - ((y - low)/(high - low))^2, and 1 minus the scaled cost times variance.
            In a run with ``log=True`` they are the range of the logs, and needed.
        cost_bounds: The range of the costs, of all arms, if there are `bounds` and the arms do not
            have their own.
        choose: ``choose(bandit) -> arm``, if it is not called ``bandit.choose()``,
        learn: ``learn(bandit, arm, reward)``, if it is not ``bandit.learn(arm, reward)``.

    The bandit decides on what it was told, draw by draw: say ``batch="one"`` for its own order of
    events; otherwise a batch is one decision, and its draws are learned one after the other.

    >>> import croupier as cr
    >>> class RoundRobin:
    ...     turn = -1
    ...
    ...     def choose(self):
    ...         return (self.turn + 1) % 2
    ...
    ...     def learn(self, arm, reward):
    ...         self.turn = arm
    >>> arms = {"a": lambda rng, n: rng.random(n), "b": lambda rng, n: rng.random(n)}
    >>> policy = allocation_from(RoundRobin())
    >>> result = cr.estimate(arms, draws=100, policy=policy, batch="one", rng=7)
    >>> [row.draws for row in result.arms]
    [50, 50]
    """
    for verb, own in (("choose", choose), ("learn", learn)):
        if own is None and not callable(getattr(bandit, verb, None)):
            raise PlanError(
                f"{bandit!r} has no method {verb!r}: say how with {verb}=, such as "
                + (
                    "choose=lambda b: b.choice()"
                    if verb == "choose"
                    else "learn=lambda b, arm, reward: b.getReward(arm, reward)"
                )
            )
    terms = Terms(payoff, "common", bounds, cost_bounds).checked()
    if cost_bounds is not None and bounds is None:
        raise PlanError(
            f"cost_bounds={cost_bounds!r} scale nothing without bounds=(low, high) of the draws: "
            "give both, or neither"
        )
    return _Allocation(bandit, terms, choose or _choose, learn or _learn)


def _choose(bandit: BanditLike) -> int:
    return bandit.choose()


def _learn(bandit: BanditLike, arm: int, reward: float) -> None:
    bandit.learn(arm, reward)


class _Allocation:
    name: ClassVar[str] = "allocation-from"

    def __init__(
        self,
        bandit: Any,
        terms: Terms,
        choose: Callable[[Any], int],
        learn: Callable[[Any, int, float], None],
    ) -> None:
        self._bandit, self._terms = bandit, terms
        self._choose, self._learn = choose, learn

    def group(self, unit: Unit = "draws") -> int:
        """Return how many draws make one reward."""
        return self._terms.group_in(unit)

    def start(self, plan: Plan) -> Any:
        if self._terms.bounds is not None:
            payoff_of(plan, self._terms)  # refuses costs whose range is not known
        elif plan.log:
            raise PlanError(
                "the reward -y^2 of a draw that is given as its log may not fit a double: give "
                "allocation_from the bounds=(low, high) of the logs, low may be -inf"
            )
        return copy.deepcopy(self._bandit)

    def digest(
        self, plan: Plan, arm: int, draws: Draws, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        values = np.asarray(draws.log_values if plan.log else draws.values)
        if values.ndim > 1:
            raise PlanError("a bandit's reward is one number, but the draws are vectors")
        if self._terms.bounds is not None:
            return {"rewards": 1 - payoff_of(plan, self._terms).losses(arm, draws)}
        kind = self._terms.kind_in(plan.unit)
        if kind == "second-moment":
            return {"rewards": -values * values}
        costs = 1.0 if kind == "variance" or draws.costs is None else draws.costs
        triples = kind == "cost-variance-triples"
        return {"rewards": (triple_payoff if triples else pair_payoff)(values, costs)}

    def choose(self, state: Any, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        return int(self._choose(state))

    def learn(self, state: Any, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> Any:
        for reward in extra["rewards"].tolist():
            self._learn(state, arm, reward)
        return state


def bandit_from(
    policy: str | Policy = "auto", *, arms: int, rng: RandomLike = None, **settings: Any
) -> BanditLike:
    """Return a bandit that plays its arms as a policy deals draws: Bandit(A) of theorem 2.

    Rewards must not be positive (subtract the largest that is possible). The policy sees a draw of
    sqrt(-reward), so that the arm with the largest mean reward is the arm with the smallest second
    moment. `settings` are those of `Allocator`; the policy decides draw by draw. The means of such
    draws differ, so of a policy that believes in one mean for all arms (`variance-thompson`,
    `variance-lcb`) expect no regret bound.

    >>> bandit = bandit_from("variance-thompson", arms=2, rng=7)
    >>> for _ in range(100):
    ...     arm = bandit.choose()
    ...     bandit.learn(arm, -0.01 if arm else -1.0)
    """
    if group_of(as_policy(policy)) > 1:
        raise PlanError(f"{policy!r} learns from several draws at once, a bandit from one reward")
    names = [f"arm {k}" for k in range(arms)]
    return _FromAllocation(Allocator(names, rng=rng, policy=policy, batch="one", **settings))


class _FromAllocation:
    def __init__(self, table: Allocator) -> None:
        self._table = table
        self._batch: Batch | None = None

    def choose(self) -> int:
        if self._batch is None:
            self._batch = self._table.ask()
        assert self._batch is not None  # one at a time, and no budget
        return self._table.plan.names.index(self._batch.arm)

    def learn(self, arm: int, reward: float) -> None:
        if self._batch is None or arm != self.choose():
            raise PlanError(f"arm {arm} was not chosen: call choose() and play what it returns")
        if not reward <= 0:
            raise PlanError(f"a reward must not be positive, got {reward}: subtract its largest")
        batch, self._batch = self._batch, None
        self._table.tell(batch, [float(np.sqrt(-reward))])
