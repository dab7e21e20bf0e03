"""Policies on the variance itself: no range needed, costs welcome.

`VarianceThompson` is the default of croupier, `VarianceLCB` its deterministic sibling. Both play
the arm with the smallest cost times variance that is still plausible, and share the guards:
a shared mean, arms that have not varied yet, a floor.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.policies.base import (
    MOST_SCORES,
    Choice,
    LedgerOnly,
    Play,
    Random,
    first_draws,
    objective_weights,
    price_of,
    smallest,
)
from croupier.policies.indices import (
    least_draws,
    log_variance_bound,
    price_draw,
    shared_mean_guard,
    variance_draw,
)

__all__ = [
    "FLOOR_AHEAD",
    "MOST_DECISIONS",
    "VarianceLCB",
    "VarianceThompson",
]

#: Decisions that MOST_SCORES scores may stand for.
MOST_DECISIONS: Final = 8

#: Draws that the floor may buy ahead, as a share of all draws: they save many small batches.
FLOOR_AHEAD: Final = 0.02


@dataclass(frozen=True)
class _ByVariance(LedgerOnly, ABC):
    """What the two policies share: the draws that no score decides come first."""

    floor: float = 0.5

    def __post_init__(self) -> None:
        positive("floor", self.floor, zero=True)

    def start(self, plan: Plan) -> Plan:
        return plan

    def choose(self, state: Plan, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if (forced := _forced(self.floor, state, ledger, pending)) is not None:
            return forced
        belief = _believe(state, ledger)
        if (short := _short(self.floor, state, ledger, pending, belief)) is not None:
            return short
        return self._preferred(state, ledger, belief, rng)

    @abstractmethod
    def _preferred(self, plan: Plan, ledger: Ledger, belief: _Belief, rng: Random) -> Choice:
        """Return the arm with the smallest score."""


@dataclass(frozen=True)
class VarianceThompson(_ByVariance):
    """The default: Thompson sampling on cost times variance; no range needed.

    Draws each arm's variance from its posterior, df V/chi2_df with the effective df of the
    ledger, and plays the smallest cost times variance; reported costs have a posterior of their
    own. `floor`: every arm gets at least ``floor * sqrt(t/K)`` draws, fewer if they are expensive.
    An arm that would be the best without the guard for the shared mean gets more, so that the doubt
    is tested by draws; see `indices.least_draws`.
    """

    name: ClassVar[str] = "variance-thompson"

    def _preferred(self, plan: Plan, ledger: Ledger, belief: _Belief, rng: Random) -> Choice:
        random = rng()
        # Several posterior draws at once: as many as name one arm are decisions in one batch.
        shape = (_in_a_row(plan, ledger), len(ledger), 1)
        chi2 = random.chisquare(belief.df, shape[:2])
        score = variance_draw(belief.variance, belief.df[:, None], chi2[..., None])
        if not ledger.varies:
            doubt = np.abs(random.standard_normal(shape))
            patience = random.standard_exponential(shape)
            score = np.where(belief.flat, belief.unseen(ledger, doubt, patience), score)
        scores = belief.weighed(score)
        if plan.unit != "draws":  # there, every draw costs 1
            scores = price_of(plan, ledger) * scores
        if plan.unit == "cost":
            scores = price_draw(scores, ledger.price_error, random.standard_normal(shape[:2]))
        if len(scores) == 1:
            return _several(scores[0], chi2[0], belief.df, random)
        # One of the arms that were named, each with the same chance: an arm that is named more
        # often gets more by the size of its batch, not by being chosen more often as well.
        named = [smallest(row) for row in scores]
        distinct = list(dict.fromkeys(named))
        arm = distinct[int(random.random() * len(distinct))]
        return Play(arm, decisions=named.count(arm))


@dataclass(frozen=True)
class VarianceLCB(_ByVariance):
    """Deterministic sibling of the default: a lower confidence bound on the log-variance."""

    name: ClassVar[str] = "variance-lcb"

    def _preferred(self, plan: Plan, ledger: Ledger, belief: _Belief, rng: Random) -> Choice:
        total = ledger.draws
        score = log_variance_bound(belief.variance, belief.df[:, None], total)
        if not ledger.varies:
            score = np.where(belief.flat, belief.unseen(ledger, 0.8, math.log(total)), score)
        return smallest(price_of(plan, ledger) * belief.weighed(score))


class _Belief(NamedTuple):
    """What the ledger says about the variances, after the guards; (K, d) unless said otherwise."""

    variance: Floats
    seen: Floats  # the same before the guards
    flat: np.ndarray
    df: Floats  # (K,)
    precision: Floats  # (d,), A = sum n/V over the arms that vary
    centre: Floats  # (d,), M/A
    objective: Floats  # (d,)

    def weighed(self, score: Floats) -> Floats:
        """Return one score per arm: the components by their weights in the objective."""
        one: Floats = score[..., 0] if score.shape[-1] == 1 else score @ self.objective
        return one

    def unseen(self, ledger: Ledger, doubt: Floats | float, patience: Floats | float) -> Floats:
        """Return n B^2/patience, the score of an arm that has shown no variation in n draws.

        It may simply not have seen its rare event: B = |x - M/A| + doubt/sqrt(A) is how far off
        the others say it could be. An arm that varies in other components is alive, and exact
        in this one as far as anybody can tell: it counts as the worst of the others at most.
        """
        known = np.maximum(self.precision, np.finfo(float).tiny)
        off = np.abs(ledger.mean - self.centre) + doubt / np.sqrt(known)
        # Where no arm varies there is nothing to compare with.
        off = np.where(self.precision > 0, off, 0.0)
        score = ledger.count[:, None] * np.square(off) / patience
        if self.flat.shape[1] == 1:
            return score
        worst = np.where(self.flat, 0.0, self.variance).max(axis=0)
        alive = ~self.flat.all(axis=1, keepdims=True)
        return np.where(alive, np.minimum(score, worst), score)


def _in_a_row(plan: Plan, ledger: Ledger) -> int:
    """Return how many decisions may be made at once: what is out stays within a quarter or so.

    Among very many arms one decision is costly enough.
    """
    return max(1, min(MOST_DECISIONS // plan.width, MOST_SCORES // len(ledger)))


def _several(
    scores: Floats, chi2: Floats, df: Floats, random: np.random.Generator
) -> int | list[Play]:
    """Return the arm with the smallest score; of very many arms, several.

    MOST_SCORES scores may stand for MOST_DECISIONS decisions, as they do among few arms. Among the
    m best arms, m decisions draw chi2 again. The arm that is named most often doubles at most, and
    the others grow less, the less often they are named.
    """
    best, times_most = smallest(scores), len(scores) // MOST_SCORES
    if times_most < 2:
        return best
    m = MOST_DECISIONS * times_most
    arms = scores.argpartition(m)[:m]
    again = (scores * chi2)[arms] / random.chisquare(df[arms], (m, m))
    named, times = np.unique(arms[again.argmin(axis=1)], return_counts=True)
    order = (-times).argsort(kind="stable")
    return [Play(int(named[k]), growth=float(times[k] / times.max())) for k in order]


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
    return _Belief(variance, s2, s2 == 0, df, precision, centre, objective)


def _forced(floor: float, plan: Plan, ledger: Ledger, pending: Floats) -> Choice | None:
    """Return the draws that no score decides: the first draws, the floor, or the only arm."""
    if (first := first_draws(plan, ledger, pending)) is not None:
        return first
    if len(ledger) == 1:
        return 0
    if not ledger.varies and not ledger.moments[1].any():
        # Nothing varies: there is nothing to prefer.
        return int((ledger.count + pending).argmin())
    least = floor * math.sqrt(ledger.draws / len(ledger))
    if ledger.fewest < least:
        return _missing(np.full(len(ledger), least), least, plan, ledger, pending)
    return None


def _short(
    floor: float, plan: Plan, ledger: Ledger, pending: Floats, belief: _Belief
) -> Choice | None:
    """Return what is missing to the least number of draws that an arm must have, if any is."""
    even = ledger.draws / len(ledger)
    plain = floor * math.sqrt(even)
    if ledger.fewest >= plain and not (belief.variance > belief.seen).any():
        return None
    price = price_of(plan, ledger)
    variance, guarded = belief.weighed(belief.seen), belief.weighed(belief.variance)
    best = float(np.where(variance > 0, price * guarded, math.inf).min())
    least = least_draws(plain, even, ledger.count, variance, guarded, price, best)
    return _missing(least, plain, plan, ledger, pending)


def _missing(
    least: Floats, plain: float, plan: Plan, ledger: Ledger, pending: Floats
) -> Play | None:
    """Return a batch for the arm with the fewest draws of those that have less than their least.

    The plain floor is bought ahead: that saves many small batches.
    """
    draws = ledger.count + pending
    # By the root of its price only: an expensive arm that was unlucky at first must get its chance.
    discount = np.sqrt(np.minimum(1.0, ledger.spent / ledger.draws / price_of(plan, ledger)))
    below = draws < least * discount
    if not below.any():
        return None
    arm = int(np.where(below, draws, np.inf).argmin())
    ahead = min(3 * plain, FLOOR_AHEAD * ledger.draws / len(ledger)) if least[arm] == plain else 0.0
    missing = (float(least[arm]) + ahead) * float(discount[arm]) - float(draws[arm])
    return Play(arm, int(missing) + 1, growth=3)
