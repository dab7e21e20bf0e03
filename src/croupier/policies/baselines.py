"""Baselines, to compare with: uniform, one fixed arm, greedy, explore then commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import (
    Choice,
    LedgerOnly,
    Random,
    first_draws,
    objective_weights,
    price_of,
    smallest,
)

__all__ = ["ExploreThenCommit", "Fixed", "Greedy", "Uniform"]


@dataclass(frozen=True)
class Uniform(LedgerOnly):
    """Round robin: every arm gets the same number of draws."""

    name: ClassVar[str] = "uniform"

    def start(self, plan: Plan) -> Plan:
        return plan

    def choose(self, state: Plan, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        draws = ledger.count + pending
        arm, behind = int(draws.argmin()), int(draws.max() - draws.min())
        return (arm, behind) if behind else arm


@dataclass(frozen=True)
class Fixed(LedgerOnly):
    """One arm, all the time: what the run would be without a choice.

    >>> import croupier as cr
    >>> def naive(rng, size):
    ...     return rng.normal(1.0, 1.0, size)
    >>> def better(rng, size):
    ...     return rng.normal(1.0, 0.1, size)
    >>> arms = {"naive": naive, "better": better}
    >>> cr.estimate(arms, draws=100, policy=Fixed("naive"), rng=7).arms["better"].draws
    0
    """

    arm: str | None = None
    name: ClassVar[str] = "fixed"

    def start(self, plan: Plan) -> int:
        if self.arm is None:
            raise PlanError(
                f"policy 'fixed' needs its arm: policy=cr.policies.Fixed({plan.names[0]!r})"
            )
        if self.arm not in plan.names:
            raise PlanError(
                f"policy 'fixed' has no arm {self.arm!r}; the arms are {', '.join(plan.names)}"
            )
        return plan.names.index(self.arm)

    def choose(self, state: int, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls("a")


@dataclass(frozen=True)
class Greedy(LedgerOnly):
    """The arm that looks best so far, without a doubt: a trap when a rare event hides."""

    name: ClassVar[str] = "greedy"

    def start(self, plan: Plan) -> Plan:
        return plan

    def choose(self, state: Plan, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        first = first_draws(state, ledger, pending)
        return smallest(_cost_times_variance(state, ledger)) if first is None else first


class _Exploring(NamedTuple):
    plan: Plan
    committed: int | None = None


@dataclass(frozen=True)
class ExploreThenCommit:
    """`explore` draws from every arm, then the best of them for ever."""

    explore: int = 30
    name: ClassVar[str] = "explore-then-commit"

    def __post_init__(self) -> None:
        count_of("explore", self.explore)

    def start(self, plan: Plan) -> _Exploring:
        return _Exploring(plan)

    def choose(self, state: _Exploring, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if state.committed is not None:
            return state.committed
        if (first := first_draws(state.plan, ledger, pending)) is not None:
            return first
        draws = ledger.count + pending
        arm = int(draws.argmin())
        return arm, max(1, self.explore - int(draws[arm]))

    def learn(
        self, state: _Exploring, ledger: Ledger, arm: int, extra: Mapping[str, Any]
    ) -> _Exploring:
        if state.committed is None and ledger.count.min() >= max(self.explore, 2):
            best = smallest(_cost_times_variance(state.plan, ledger))
            return _Exploring(state.plan, best)
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()


def _cost_times_variance(plan: Plan, ledger: Ledger) -> Floats:
    variance = ledger.variance
    price = price_of(plan, ledger)
    score: Floats = price * (variance @ objective_weights(plan, ledger, variance))
    return np.asarray(score)
