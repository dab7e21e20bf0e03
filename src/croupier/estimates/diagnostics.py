"""Warnings: do the arms agree, and can the error bar be trusted?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from croupier.data.batch_moments import FLAT
from croupier.data.central_moments import FEW
from croupier.data.draws import Floats
from croupier.data.extremes import HEAVY, Tail
from croupier.data.ledger import Ledger
from croupier.data.log_scale import EMPTY
from croupier.data.plan import Plan
from croupier.estimates.combiners import Pooled
from croupier.estimates.intervals import normal_quantile
from croupier.estimates.skewed_ends import least_df
from croupier.policies.base import objective_weights

__all__ = ["CLEARLY", "MISALLOCATED", "agreement", "unnoticed", "warnings_of"]

#: Below this p-value, the arms do not disagree by chance.
CLEARLY = 1e-3

#: Fewer draws than this say nothing against another arm: without it, 1 of 200 right runs in seconds
#: warned that an arm with 2 draws is biased.
_SOME = 8

#: One draw that makes up this part of the estimated variance is too much.
_ONE_DRAW = 0.05

#: The normal quantile of a test at 5 %.
_Z = 1.645

#: An arm that is this many times more efficient than the leading one should have led, in a run
#: that spent this many times the price of its first draws.
MISALLOCATED = 3.0
_DECIDED = 100


def agreement(ledger: Ledger) -> tuple[Floats, int]:
    """Return the p-value, per component, that all arms share one mean, and the arm farthest off.

    Every arm that varies and whose variance is known (df >= 50) is compared with the leader by
    Welch's t with the effective degrees of freedom. The p-value is multiplied by the number of
    comparisons (Bonferroni). It is NaN if there is nothing to compare. The test finds gross errors,
    not small biases.
    """
    leader = ledger.leader
    p = np.full(ledger.mean.shape[1], np.nan)
    tested = _tested(ledger)
    if not tested.any():
        return p, leader
    s2, df, x = ledger.sample_variance, ledger.df, ledger.mean
    error = s2 / np.maximum(ledger.count, 1)[:, None]
    both = np.where(tested, error + error[leader], 1.0)
    t = np.where(tested, np.abs(x - x[leader]) / np.sqrt(both), 0.0)
    spread = np.square(error) / df + np.square(error[leader]) / df[leader]
    welch = np.square(both) / np.where(tested, spread, 1.0)
    tail = np.where(tested, _two_sided(t, welch), np.inf)
    comparisons = tested.sum(axis=0)
    known = comparisons > 0
    p[known] = np.minimum(1.0, tail.min(axis=0)[known] * comparisons[known])
    return p, int(tail.min(axis=1).argmin())


def _tested(ledger: Ledger) -> NDArray[np.bool_]:
    """Return which arms are compared with the leader, (K, d)."""
    leader = ledger.leader
    if _is_alone(leader, ledger):
        return np.zeros(ledger.mean.shape, dtype=bool)
    fit = (ledger.sample_variance > 0) & (ledger.df >= FEW)
    tested = fit & fit[leader]
    tested[leader] = False
    return np.asarray(tested)


def unnoticed(ledger: Ledger) -> Floats:
    """Return the bias of the leading arm that the test of agreement would not have noticed.

    If the leader alone is biased by more, some arm differs from it by more than z + 1 of their
    joint standard errors, where z is the limit of the test: then the arms disagree in 84 % of runs.
    It is NaN for a component in which no arm can be compared with the leader.
    """
    tested, leader = _tested(ledger), ledger.leader
    error = ledger.sample_variance / np.maximum(ledger.count, 1)[:, None]
    both = np.where(tested, error + error[leader], np.inf).min(axis=0)
    comparisons = tested.sum(axis=0) * tested.shape[1]
    z = np.array([normal_quantile(1 - CLEARLY / max(2 * m, 1)) for m in comparisons.tolist()])
    return np.where(comparisons > 0, (z + 1) * np.sqrt(np.where(comparisons > 0, both, 0)), np.nan)


def _is_alone(leader: int, ledger: Ledger) -> bool:
    return bool(ledger.count[leader] == ledger.draws)


def _two_sided(t: Floats, df: Floats) -> Floats:
    """Return P(|T| > t) for Student's t, by Wallace's normal score (Ann. Math. Stat. 30, 1959).

    The error is below 1 % for df >= 50. To import scipy would take a thousand times as long.
    """
    score = (8 * df + 1) / (8 * df + 3) * np.sqrt(df * np.log1p(np.square(t) / df))
    return np.asarray(np.vectorize(math.erfc, otypes=[float])(score / math.sqrt(2)))


def warnings_of(
    plan: Plan,
    ledger: Ledger,
    pooled: Pooled,
    tails: Mapping[int, Tail],
    *,
    exact: bool = False,
    one_estimator: bool = False,
) -> tuple[list[str], Floats]:
    """Return the warnings that a result carries, and the agreement of its arms.

    An `exact` interval does not rest on a standard error, so warnings about this are left out. With
    `one_estimator`, the arms are settings of one estimator.
    """
    warnings = []
    names, varies = plan.names, pooled.varies
    p, odd = agreement(ledger) if pooled.shared else (np.full(varies.shape, np.nan), 0)
    known = pooled.df if (everywhere := bool(varies.all())) else pooled.df[varies]
    if not everywhere:
        warnings.append(_nothing_varies(plan, ledger, pooled))
    if exact:
        known = known[:0]
    if known.size and (least := known.min()) < least_df(plan, pooled):
        warnings.append(
            f"the error bar rests on {least:.0f} effective degrees of freedom "
            "and may be too short: draw more"
        )
    if known.size and ledger.draws < 2 * len(names):
        warnings.append(
            f"{int(ledger.draws)} draws are too few to draw each of {len(names)} arms twice: "
            "which arm is best is a guess, and the error bar is not reliable; "
            f"give a budget of at least {10 * len(names)} draws"
        )
    weights = np.ones(varies.shape) if plan.objective is None else np.array(plan.objective)
    warnings.extend(_flat(names, ledger, pooled, weights))
    low = float(np.fmin.reduce(p)) * len(p)  # NaN, if nothing could be tested
    if low < CLEARLY:
        leader = names[ledger.leader]
        warnings.append(
            f"the arms disagree ({_shown(low)}): {names[odd]!r} and {leader!r} do not have the "
            "same mean, so at least one of them is biased, and the estimate may be biased too"
        )
    elif pooled.shared and (far := _far_off(ledger, _telling_side(plan, ledger, one_estimator))):
        warnings.append(
            f"far from the leading arm: {_listed(names, far)}; there are too few draws for a test, "
            "but that arm is biased or has not seen its tail: compare with policy='uniform'"
        )
    elif plan.audit and pooled.shared:  # other policies are not meant to leave a worse arm
        warnings.extend(_misallocated(plan, ledger))
    if not exact:
        warnings.extend(_heavy(plan, ledger, pooled, tails))
    return warnings, p


def _misallocated(plan: Plan, ledger: Ledger) -> list[str]:
    """Warn if another arm, whose variance is known, is far more efficient than the leading one.

    There must have been enough decisions: first draws are not decided on. The leading arm counts
    at its best price, because a machine that interrupts calls interrupts mostly those of the arm
    that gets the time.
    """
    if ledger.spent < _DECIDED * max(plan.first, plan.first_call) * ledger.price.sum():
        return []
    V = ledger.variance @ objective_weights(plan, ledger, ledger.variance)
    known = (V > 0) & (ledger.df.min(axis=1) >= FEW)
    most = ledger.leader
    if not known[most]:
        return []
    loss = np.where(known, ledger.price * V, np.inf)
    best = int(loss.argmin())
    if ledger.best_price(most) * V[most] <= MISALLOCATED * loss[best]:
        return []
    return [
        f"{plan.names[best]!r} has more than {MISALLOCATED:g} times the efficiency of "
        f"{plan.names[most]!r}, which got {ledger.cost[most] / ledger.spent:.0%} of the budget: "
        f"the answer is valid, but a run of {plan.names[best]!r} alone would be more precise"
    ]


def _nothing_varies(plan: Plan, ledger: Ledger, pooled: Pooled) -> str:
    draws, arms = int(ledger.draws), len(ledger)
    if ledger.count.max() < 2:
        return (
            f"{draws} draw{'s' * (draws != 1)} for {arms} arm{'s' * (arms != 1)}: no arm was drawn "
            "twice, so nothing is known about the error; give a larger budget"
        )
    if not pooled.shared and ledger.fewest < 2:
        return (
            f"{int((ledger.count < 2).sum())} of {arms} strata were not drawn twice, so nothing is "
            f"known about the error; give a budget of at least {10 * arms} draws"
        )

    flat = int((~pooled.varies).argmax())
    where = f" in component {flat}" if pooled.varies.any() else ""
    if ledger.exponent[flat] == EMPTY:
        return (
            f"no draw had a value above 0{where} (every log is -inf), so nothing is known about "
            "the answer or its error: the answer is 0, or every arm has missed the draws above 0"
        )
    what = f"no arm has varied{where}"
    if not plan.log and ledger.exponent[flat] != FLAT:
        what += " by more than rounding errors (if the spread is real, subtract a constant)"
    if not plan.log and any(plan.bounds):
        return (
            f"{what}, so the standard error is not known, and the interval rests on the bounds of "
            "the arms: either the answer is exact, or every arm has missed a rare event"
        )
    return (
        f"{what}, so nothing is known about the error: either the answer is exact, "
        "or every arm has missed a rare event"
    )


def _shown(p: float) -> str:
    return f"p = {p:.1g}" if p > 1e-99 else "p < 1e-99"


def _flat(names: Sequence[str], ledger: Ledger, pooled: Pooled, weights: Floats) -> list[str]:
    """Warn about arms that never varied, in all components or in one that has a weight.

    Arms that count for less than 5 % of the estimate together do not matter. A stratum always does.
    """
    still = (ledger.count > 1)[:, None] & (ledger.moments[1] == 0)
    if not still.any():
        return []
    found, varies = [], pooled.varies
    flat = _where(still.all(axis=1))
    matters = flat and (not pooled.shared or bool((pooled.weights[flat].sum(axis=0) >= 0.05).any()))
    if varies.any() and matters:
        found.append(
            f"never varied: {_listed(names, flat)}, in {int(ledger.count[flat].sum()):,} draws; "
            "there may be a rare event that was not seen yet"
        )
    alive = still & ~still.all(axis=1, keepdims=True)
    for j in _where(varies & (weights > 0) & alive.any(axis=0)):
        found.append(
            f"never varied in component {j}: {_listed(names, _where(alive[:, j]))}; "
            "if that arm is exact in this component, "
            "objective= with a weight of 0 leaves the component out of the allocation"
        )
    return found


def _telling_side(plan: Plan, ledger: Ledger, one_estimator: bool) -> Floats | None:
    """Return the sign of the differences from the leader that say something; None for both signs.

    In a run of logs the draws are never negative, and they are skewed. So an arm that has not seen
    its tail is far below the leader, and says nothing against it. The same holds for settings of
    one estimator: a bad setting of a proposal has not seen its tail, and is nearer to 0.
    """
    if plan.log:
        return np.ones(ledger.mean.shape[1])
    if one_estimator:
        return np.asarray(np.sign(ledger.scale.value_of(ledger.mean[ledger.leader])))
    return None


def _far_off(ledger: Ledger, side: Floats | None) -> list[int]:
    """Return the arms that are more than ten joint standard errors from the leader, on a side.

    With a few draws, that happens by chance: an arm is preferred because its draws are alike, and
    among many arms some are. So an arm needs 8 draws, and Welch's t must be clear as well.
    """
    leader = ledger.leader
    if _is_alone(leader, ledger):
        return []
    error = ledger.sample_variance / np.maximum(ledger.count, 1)[:, None]
    known = (error > 0) & (error[leader] > 0) & (ledger.count >= _SOME)[:, None]
    both = np.where(known, error + error[leader], 1.0)
    apart = ledger.mean - ledger.mean[leader]
    apart = np.abs(apart) if side is None else apart * side
    t = np.where(known, apart, 0.0) / np.sqrt(both)
    own, other = error / both, error[leader] / both  # their squares do not underflow together
    spread = np.square(own) / ledger.df + np.square(other) / ledger.df[leader]
    welch = 1 / np.where(known, spread, 1.0)
    far = (t > 10) & (len(ledger) * _two_sided(t, welch) < CLEARLY)
    return _where(np.asarray(far.any(axis=1)))


def _largest_part(plan: Plan, ledger: Ledger, pooled: Pooled, arm: int, tail: Tail) -> float:
    """Return the largest part of the estimated variance that one draw of an arm makes up.

    Draws with a finite variance make up little each. While the part is small, a heavy shape says
    that the draws differ by orders of magnitude, but not that the variance is unknown.
    """
    ends, scale = tail.ends(), ledger.scale
    with np.errstate(over="ignore", under="ignore"):
        if plan.log:
            draws = np.exp(ends - scale.exponent * math.log(2))
        else:
            draws = np.ldexp(ends - scale.origin, -scale.exponent)
        centre = pooled.mean if pooled.shared else ledger.mean[arm]
        one = pooled.weights[arm] / ledger.count[arm]
        parts = np.square(one * (draws - centre)).max(axis=0)
    known = pooled.variance > 0
    return float((parts[known] / pooled.variance[known]).max(initial=0.0))


def _heavy(plan: Plan, ledger: Ledger, pooled: Pooled, tails: Mapping[int, Tail]) -> list[str]:
    """Warn about arms that count in the estimate and whose variance looks infinite."""
    # The weight of a stratum says little about its part of the error, so all strata count.
    enough = (0.1 if pooled.shared else 0.0) * pooled.weights.max(axis=0)
    counted = [arm for arm in _where((pooled.weights >= enough).any(axis=1)) if arm in tails]
    counted = [
        arm
        for arm in counted
        if tails[arm].inspected
        and _largest_part(plan, ledger, pooled, arm, tails[arm]) >= _ONE_DRAW
    ]
    shapes = {}
    for arm in counted:
        shape = tails[arm].shape_of_logs() if plan.log else tails[arm].shape()
        shapes[arm] = float(np.fmax.reduce(shape))  # NaN, if nothing is known
    found = [
        arm for arm in counted if shapes[arm] > HEAVY + _by_chance(plan, tails[arm], shapes[arm])
    ]
    if not found:
        return []
    worst = max(shapes[arm] for arm in found)
    sure = "looks infinite" if worst > 0.7 else "may be infinite"
    return [
        f"the variance of {_listed(plan.names, found)} {sure}, or its largest draws have not been "
        f"seen yet (Pareto shape of the extreme draws {worst:.2f}, above 0.5): the error bar "
        "cannot be trusted"
    ]


def _by_chance(plan: Plan, tail: Tail, shape: float) -> float:
    """Return by how much a shape may be above its limit by chance.

    The weights of a run of logs often have shapes close to the limit, and half of the estimates of
    a shape are too high. So there the shape must be clearly above, by a test at 5 %.
    """
    return _Z * tail.error_of_shape(shape) if plan.log else 0.0


def _where(mask: np.ndarray) -> list[int]:
    found: list[int] = mask.nonzero()[0].tolist()
    return found


def _listed(names: Sequence[str], arms: Sequence[int]) -> str:
    shown = ", ".join(repr(names[k]) for k in arms[:3])
    return shown if len(arms) <= 3 else f"{shown} and {len(arms) - 3} more arms"
