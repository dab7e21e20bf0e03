"""Exact ends: intervals from the bounds alone, for draws of 0 and 1 and for draws all equal.

A standard error says little about an event that was seen a few times, and nothing about an event
that was not seen.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.estimates.betting import crossing
from croupier.estimates.few_hits import clopper_pearson_shares

__all__ = ["ExactEnds", "clopper_pearson", "never_varied", "range_of_target"]

#: How far counts from moments may be from whole numbers, relative to the number of draws.
_ROUNDING: Final = 1e-9

#: Replaces a mean of 0, so that its log is a number.
_TINY: Final = float(np.finfo(float).tiny)


class ExactEnds(NamedTuple):
    """Both ends of an interval, and the components for which they are known, (d,) each."""

    known: NDArray[np.bool_]
    low: Floats
    high: Floats


class _Arms(NamedTuple):
    """The arms with bounds that were drawn: their bounds (K,), draws (K,), scaled means (K, d)."""

    low: Floats
    reach: Floats
    draws: Floats
    mean: Floats
    m2: Floats

    @classmethod
    def of(cls, plan: Plan, ledger: Ledger) -> _Arms | None:
        arms = [k for k, known in enumerate(plan.bounds) if known is not None and ledger.count[k]]
        if not arms:
            return None
        low, high = np.array([plan.bounds[k] for k in arms], dtype=float).T
        reach = high - low
        mean = (ledger.scale.value_of(ledger.mean[arms]) - low[:, None]) / reach[:, None]
        with np.errstate(under="ignore"):
            unit = np.ldexp(1 / reach[:, None], ledger.exponent)
            m2 = ledger.moments[1, arms] * unit**2
        return cls(low, reach, ledger.count[arms], np.clip(mean, 0.0, 1.0), m2)


def range_of_target(plan: Plan) -> tuple[float, float]:
    """Return the range in which the target must lie, from the bounds of its arms."""
    weights = plan.settings.get("weights")
    known = [bounds for bounds in plan.bounds if bounds is not None]
    if not known or (weights is not None and len(known) < len(plan.bounds)):
        return -math.inf, math.inf
    low, high = np.array(known, dtype=float).T
    if weights is not None:
        return float(low @ weights), float(high @ weights)
    return float(low.max()), float(high.min())


def clopper_pearson(plan: Plan, ledger: Ledger, confidence: float) -> ExactEnds | None:
    """Return the interval of Clopper and Pearson (Biometrika 26, 1934), for one arm.

    The number of draws must not depend on the draws. The ends are known for the components in
    which every draw was at one of its two bounds. Draws inside of the bounds that were never seen
    do not matter: a coin with the probability y, tossed for every draw y, has the same mean, and
    shows the same as draws of 0 and 1.
    """
    if len(plan.names) > 1 or (arms := _Arms.of(plan, ledger)) is None:
        return None
    n, p = float(arms.draws[0]), arms.mean[0]
    hits = np.rint(n * p)
    allowed = _ROUNDING * n
    whole = np.abs(n * p - hits) <= allowed
    known = whole & (np.abs(arms.m2[0] - n * p * (1 - p)) <= allowed)
    # Draws of 1e-10 are no draws of 0: without a hit, or with nothing else, no draw may vary.
    known &= ((hits > 0) & (hits < n)) | (arms.m2[0] == 0)
    if not known.any():
        return None
    low, high = clopper_pearson_shares(hits, n, confidence)
    return ExactEnds(known, arms.low[0] + low * arms.reach[0], arms.low[0] + high * arms.reach[0])


def never_varied(plan: Plan, ledger: Ledger, confidence: float) -> ExactEnds | None:
    """Return the interval of draws in which no arm with bounds has varied; it holds at all times.

    For draws y in [0, 1] with the mean m, prod y/m and prod (1 - y)/(1 - m) are martingales that
    start at 1, under any allocation. Each reaches 2/alpha with a probability of at most alpha/2.
    So 0 events in n draws give m <= 1 - (alpha/2)^(1/n), as Clopper and Pearson do.
    """
    if (arms := _Arms.of(plan, ledger)) is None:
        return None
    known = np.asarray((arms.m2 == 0).all(axis=0))
    if not known.any():
        return None
    level = math.log(2 / (1 - confidence))
    weights = plan.settings.get("weights")
    if weights is None:
        low, high = _of_one_mean(plan, arms, level)
    elif len(arms.draws) == len(plan.names):
        low, high = _of_strata(arms, np.array(weights), level)
    else:
        return None
    return ExactEnds(known, low, high)


def _of_one_mean(plan: Plan, arms: _Arms, level: float) -> tuple[Floats, Floats]:
    first, last = range_of_target(plan)
    span, d = last - first, arms.mean.shape[1]
    if not span > 0:
        return np.full(d, -np.inf), np.full(d, np.inf)
    n = arms.draws[:, None]
    start, slope = ((first - arms.low) / arms.reach)[:, None], (span / arms.reach)[:, None]

    def wealth(t: Floats) -> Floats:
        above, below = t.reshape(2, d)
        m = np.array((start + slope * above, 1 - start - slope * (1 - below)))
        y = np.array((arms.mean, 1 - arms.mean))
        with np.errstate(divide="ignore"):
            won = n * (np.log(y) - np.log(np.maximum(m, _TINY)))  # -inf for a draw of 0
        return np.asarray(won.sum(axis=1).ravel())

    guess = np.clip((arms.low + arms.reach * arms.mean.T - first).mean(axis=1) / span, 0.0, 1.0)
    t = crossing(wealth, level, np.concatenate((guess, 1 - guess)))
    return first + t[:d] * span, last - t[d:] * span


def _of_strata(arms: _Arms, weights: Floats, level: float) -> tuple[Floats, Floats]:
    """Return what two bounds have in common, each with half of the error probability.

    One is the weighted sum of the intervals of all strata. The other bets on all strata together:
    with p_k = w_k times the range, sum p_k u_k is largest at 1 - u_k = min(1, nu n_k/p_k), where nu
    makes the wealth 2/alpha. It is tighter if all draws are at the same end of their bounds.
    """
    part, n = (weights * arms.reach)[:, None], arms.draws[:, None]
    ends = []
    for y in (arms.mean, 1 - arms.mean):  # the low ends of y, then those of 1 - y
        single = y * np.exp(-(level + math.log(2 * len(n))) / n)
        least = (part * single).sum(axis=0)
        if (y > 0).all():
            most = (part / n).max()

            def u(nu: Floats, most: float = most) -> Floats:
                return np.minimum(1.0, nu * most * n / part)

            def wealth(nu: Floats, y: Floats = y) -> Floats:
                with np.errstate(divide="ignore"):
                    return np.asarray((n * np.log(y / u(nu))).sum(axis=0))

            nu = crossing(wealth, level + math.log(2), np.ones(y.shape[1]))
            least = np.maximum(least, (part * u(nu)).sum(axis=0))
        ends.append(least)
    low = weights @ arms.low
    return low + ends[0], low + part.sum() - ends[1]
