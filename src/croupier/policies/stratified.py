"""Policies for strata, which have known weights and means of their own: see `stratify`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from croupier.checks import fraction_of, positive
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import (
    Choice,
    Play,
    Random,
    objective_weights,
    opening,
    price_of,
    smallest,
)

__all__ = ["MCUCB", "Proportional", "deviation_bound", "published_bound", "unseen_deviation"]

#: A batch takes a stratum at most so far beyond what it should have had by now.
_AHEAD: Final = 0.125

_TINY: Final = float(np.finfo(float).tiny)


def deviation_bound(deviation: Floats, error: Floats, total: float) -> Floats:
    """Return an upper confidence bound: s exp(z e/2), z = sqrt(log(t)/2).

    e = sqrt(2/df) is the relative standard error of s^2: the other side of `VarianceLCB`.
    """
    return np.asarray(deviation * np.exp(math.sqrt(math.log(total) / 2) * error / 2))


def unseen_deviation(size: float, count: Floats) -> Floats:
    """Return the deviation that an event not seen yet would make: size sqrt(1/(n + 2)).

    Laplace's rule of succession: what has not happened in n draws has the chance 1/(n + 2).
    """
    return np.asarray(size / np.sqrt(count + 2))


def published_bound(deviation: Floats, count: Floats, bound: float, delta: float) -> Floats:
    """Return s + 2 b sqrt(log(2/delta)/T), for draws in a range of width b.

    Carpentier and Munos 2011, for bounded draws; delta should fall like a power of all draws.
    """
    return np.asarray(deviation + 2 * bound * np.sqrt(math.log(2 / delta) / count))


class _State(NamedTuple):
    plan: Plan
    weights: Floats


def _start(plan: Plan) -> _State:
    # Without weights, as in `estimate`, all strata are of one size.
    arms = len(plan.names)
    return _State(plan, np.array(plan.settings.get("weights") or [1 / arms] * arms))


def _most_behind(wanted: Floats, price: Floats, ledger: Ledger, pending: Floats) -> Choice:
    """Return the stratum that is most behind, if counts are to be like `wanted`."""
    T = ledger.count + pending
    arm = smallest(T / wanted)
    spent = ledger.spent + float(pending @ price)
    due = (1 + _AHEAD) * spent * float(wanted[arm]) / float(wanted @ price)
    return Play(arm, int(max(due - T[arm], 0)) + 1)


@dataclass(frozen=True)
class MCUCB:
    """For strata, see `stratify`: a draw where it could take most from the error of the whole.

    Carpentier and Munos (Finite time analysis of stratified sampling for Monte Carlo, NIPS 2011):
    plays the largest (w_k/T_k) s+_k, s+_k an upper confidence bound on the standard deviation;
    with costs, over the root of the cost per draw. By default the bound rests on the effective
    degrees of freedom, needs no range, and allows for an event that a stratum has not shown yet.
    With `bound`, a range that the draws are known to keep to, it is the published one, at `delta`.

    >>> MCUCB(bound=1.0)
    MCUCB(bound=1.0, delta=0.01)
    """

    name: ClassVar[str] = "mc-ucb"
    bound: float | None = None
    delta: float = 0.01

    def __post_init__(self) -> None:
        fraction_of("delta", self.delta)
        if self.bound is not None:
            positive("bound", self.bound)

    def start(self, plan: Plan) -> _State:
        if plan.log and self.bound is not None:
            raise PlanError(
                "bound is a range in the unit of the draws, and logs have no such unit: "
                "leave it out (MCUCB() needs none)"
            )
        return _start(plan)

    def choose(self, state: _State, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        plan, w = state
        if (first := opening(plan, ledger, pending)) is not None:
            return first
        s = self._deviation(plan, w, ledger)
        price = price_of(plan, ledger)
        return _most_behind(w * s / np.sqrt(price), price, ledger, pending)

    def _deviation(self, plan: Plan, w: Floats, ledger: Ledger) -> Floats:
        """Return s+ of every stratum, (K,), of all components by their weights."""
        s2 = ledger.variance
        objective = objective_weights(plan, ledger, s2)
        part = s2 * objective
        variance = part.sum(axis=1)
        s = np.sqrt(variance)
        if not s.any():
            return unseen_deviation(1.0, ledger.count)  # nothing to compare with: by weight alone
        if self.bound is not None:
            counts = objective > 0
            width = np.ldexp(self.bound, -ledger.exponent[counts]) * np.sqrt(objective[counts])
            return published_bound(s, ledger.count, math.hypot(*width), self.delta)
        # Components of one draw err together: their standard errors add up.
        error = (part * np.sqrt(2 / ledger.df)).sum(axis=1) / np.maximum(variance, _TINY)
        # An unseen event of the usual size keeps every stratum at about (w_k t)^(2/3) draws.
        unseen = unseen_deviation(float(w @ s), ledger.count)
        return np.maximum(deviation_bound(s, error, ledger.draws), unseen)

    def learn(self, state: _State, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> _State:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()


@dataclass(frozen=True)
class Proportional:
    """For strata, see `stratify`: counts in proportion to the weights, for any draws."""

    name: ClassVar[str] = "proportional"

    def start(self, plan: Plan) -> _State:
        return _start(plan)

    def choose(self, state: _State, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if (first := opening(state.plan, ledger, pending)) is not None:
            return first
        return _most_behind(state.weights, price_of(state.plan, ledger), ledger, pending)

    def learn(self, state: _State, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> _State:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()
