"""Policies on the variance itself: no range needed, costs welcome.

`VarianceThompson` is the default of croupier, `VarianceLCB` its deterministic sibling. Both play
the arm with the smallest cost times variance that is still plausible, and share the guards:
a shared mean, arms that have not varied yet, a floor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from croupier.draws import Floats
from croupier.ledger import Ledger
from croupier.plan import Plan
from croupier.policies.base import Choice, Random, objective_weights, opening, smallest
from croupier.policies.indices import log_variance_bound, shared_mean_guard, variance_draw

__all__ = ["VarianceLCB", "VarianceThompson"]


@dataclass(frozen=True)
class VarianceThompson:
    """The default: Thompson sampling on cost times variance; no range needed.

    Draws each arm's variance from its posterior, df V/chi2_df with the effective df of the
    ledger, and plays the smallest cost times variance. `floor`: every arm gets at least
    ``floor * sqrt(t/K)`` draws, less if they are dear.
    """

    name: ClassVar[str] = "variance-thompson"
    floor: float = 0.5

    def start(self, plan: Plan) -> Plan:
        return plan

    def choose(self, state: Plan, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if (forced := _forced(self.floor, state, ledger, pending)) is not None:
            return forced
        belief = _believe(state, ledger)
        random = rng()
        chi2 = 2 * random.standard_gamma(belief.df / 2)[:, None]  # chisquare(df), but faster
        score = variance_draw(belief.variance, belief.df[:, None], chi2)
        if belief.flat.any():
            doubt = np.abs(random.standard_normal(len(ledger)))[:, None]
            patience = random.standard_exponential(len(ledger))[:, None]
            score = np.where(belief.flat, belief.unseen(ledger, doubt) / patience, score)
        return smallest(ledger.price * (score @ belief.objective))

    def learn(self, state: Plan, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> Plan:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()


@dataclass(frozen=True)
class VarianceLCB:
    """Deterministic sibling of the default: a lower confidence bound on the log-variance."""

    name: ClassVar[str] = "variance-lcb"
    floor: float = 0.5

    def start(self, plan: Plan) -> Plan:
        return plan

    def choose(self, state: Plan, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if (forced := _forced(self.floor, state, ledger, pending)) is not None:
            return forced
        belief = _believe(state, ledger)
        total = ledger.draws
        score = log_variance_bound(belief.variance, belief.df[:, None], total)
        if belief.flat.any():
            unseen = belief.unseen(ledger, np.full((len(ledger), 1), 0.8)) / np.log(total)
            score = np.where(belief.flat, unseen, score)
        return smallest(ledger.price * (score @ belief.objective))

    def learn(self, state: Plan, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> Plan:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()


class _Belief(NamedTuple):
    """What the ledger says of the variances, after the guards; (K, d) unless said otherwise."""

    variance: Floats
    flat: np.ndarray
    df: Floats  # (K,)
    precision: Floats  # (d,), A = sum n/V over the arms that vary
    centre: Floats  # (d,), M/A
    objective: Floats  # (d,)

    def unseen(self, ledger: Ledger, doubt: Floats) -> Floats:
        """Return n B^2, the score of an arm that has shown no variation in n draws.

        It may simply not have seen its rare event: B = |x - M/A| + doubt/sqrt(A) is how far off
        the others say it could be.
        """
        known = np.maximum(self.precision, np.finfo(float).tiny)
        off = np.abs(ledger.mean - self.centre) + doubt / np.sqrt(known)
        # Where no arm varies there is nothing to compare with.
        return ledger.count[:, None] * np.square(np.where(self.precision > 0, off, 0.0))


def _believe(plan: Plan, ledger: Ledger) -> _Belief:
    s2 = ledger.variance
    variance, precision, centre = shared_mean_guard(ledger.count, ledger.mean, s2)
    objective = objective_weights(plan, ledger, s2)
    df = ledger.df
    if s2.shape[1] == 1:
        df = df[:, 0]
    else:
        # Components of one draw err together: average their standard errors, not their squares.
        part = variance * objective
        share = part / np.maximum(part.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        df = 1 / np.square(np.maximum((share / np.sqrt(df)).sum(axis=1), 1e-8))
    return _Belief(variance, s2 == 0, df, precision, centre, objective)


def _forced(floor: float, plan: Plan, ledger: Ledger, pending: Floats) -> Choice | None:
    """Return the draws that no score decides: the opening, the floor, or the only arm."""
    if (first := opening(plan, ledger, pending)) is not None:
        return first
    if len(ledger) == 1:
        return 0
    draws = ledger.count + pending
    if not ledger.moments[1].any():
        return int(draws.argmin())  # nothing varies: there is nothing to prefer
    least = floor * math.sqrt(ledger.draws / len(ledger))
    if draws.min() < least:
        dear = np.minimum(1.0, ledger.spent / ledger.draws / ledger.price)
        missing = least * dear - draws
        if (missing > 0).any():
            arm = int(np.where(missing > 0, draws, np.inf).argmin())
            return arm, int(missing[arm]) + 1
    return None
