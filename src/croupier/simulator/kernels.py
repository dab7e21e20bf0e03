"""The plain kernels: one decision after the other, as the policies themselves make them.

They are slow and simple, and everything in `skip_ahead` is measured by them. A kernel plays several
runs in one call and writes the pulls of every arm at the recorded times. The formulas are those of
`policies.indices`, compiled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from croupier.policies import indices
from croupier.simulator.compiling import ZERO, compiled, inlined, rebound
from croupier.simulator.kinds import (
    COST_VARIANCE,
    COST_VARIANCE_TRIPLES,
    KL_UCB,
    MOSS,
    NOT_A_NUMBER,
    OUT_OF_RANGE,
    SECOND_MOMENT,
    SUBGAUSSIAN,
    TIGHTEST,
    UCB1,
    UCB_V,
)
from croupier.simulator.randomness import beta, gamma_from, streams, uniform
from croupier.simulator.sampling import draw

__all__ = [
    "Rules",
    "complain",
    "is_outside",
    "kl_bound",
    "kl_bound_again",
    "kl_excess",
    "kl_is_above",
    "kl_slope",
    "level_of",
    "loss_of",
    "note",
    "play_index",
    "play_thompson",
    "raw_loss",
    "scaled_score",
    "score_of",
    "sum_draws",
]

_ucb1 = inlined(indices.ucb1)
_ucb_v = inlined(indices.ucb_v)
_moss = inlined(indices.moss)
_subgaussian = inlined(indices.subgaussian_ucb)
_kl_level = inlined(indices.kl_level)
kl_excess = inlined(indices.kl_excess)
kl_slope = inlined(indices.kl_slope)
_kl_start = inlined(indices.kl_start)
_kl_newton = rebound(inlined(indices.kl_newton), kl_excess=kl_excess, kl_slope=kl_slope)


@compiled
def kl_descent(loss: float, level: float, w: float) -> float:
    """Return w = -log(1 - q) of KL-UCB by the Newton steps of `indices.kl_ucb`, from above."""
    least, log_mean = -math.log(loss), math.log1p(-loss)
    for _ in range(indices.NEWTON_STEPS):
        lower = _kl_newton(loss, level, w, least, log_mean)
        if not lower < w:
            break
        w = lower
    return w


@compiled
def kl_bound(loss: float, level: float) -> float:
    """Return w of KL-UCB for one arm."""
    if loss <= 0:
        return math.inf
    if loss >= 1:
        return level
    start = _kl_start(loss, level, -math.log(loss), (1 - loss) * math.log1p(-loss))
    return kl_descent(loss, level, start)


@compiled
def kl_bound_again(loss: float, level: float, w: float, before: float) -> float:
    """Return w of KL-UCB at another level, from what it was at the one before.

    w is concave in the level, so that the tangent leads above it.
    """
    if not 0 < loss < 1 or w == math.inf:
        return kl_bound(loss, level)
    if level > before:
        slope = kl_slope(loss, w)
        if not slope > 0:
            return kl_bound(loss, level)
        w += (level - before) / slope
    return kl_descent(loss, level, w)


@compiled
def kl_is_above(loss: float, level: float, w: float) -> bool:
    """Is KL-UCB's bound at this level above 1 - exp(-w), by more than rounding?"""
    if w == math.inf:
        return False
    if loss <= 0 or -math.log(loss) > w:
        return True
    if loss >= 1:
        return level > w * (1 + 1e-12)
    log_q = math.log(-math.expm1(-w))
    excess = kl_excess(loss, level, w, -math.log(loss), math.log1p(-loss), log_q)
    return excess < -1e-12 * level


@compiled
def one_level(kind: int, p: Any, total: float) -> float:
    """Return what one index needs to know of the time."""
    if kind == KL_UCB:
        return float(_kl_level(total, p[0]))
    if kind == MOSS:
        return (p[0] if p[0] > 0 else total) / p[1]
    return math.log(total + p[1]) if kind == UCB1 else math.log(total)


@compiled
def level_of(kind: int, p: Any, total: float) -> float:
    """Return what an index needs to know of the time; the tightest of several, when to look."""
    return total * p[0] if kind == TIGHTEST else one_level(kind, p, total)


@compiled
def score_of(kind: int, p: Any, loss: float, variance: float, count: float, level: float) -> float:
    """Return the score of one arm: the smallest is played."""
    if kind != TIGHTEST:
        return one_score(kind, p, loss, variance, count, level)
    worst = -math.inf
    for i in range(int(p[0])):
        own, q = int(p[1 + 4 * i]), p[2 + 4 * i : 5 + 4 * i]
        score = one_score(own, q, loss, variance, count, one_level(own, q, level))
        worst = max(worst, math.exp(score) if own == KL_UCB else score)
    return worst


@compiled
def one_score(kind: int, p: Any, loss: float, variance: float, count: float, level: float) -> float:
    """Return the score of one arm by one index; that of KL-UCB is a logarithm."""
    if kind == UCB1:
        return _ucb1(loss, count, level, p[0])
    if kind == UCB_V:
        score = _ucb_v(loss, variance, count, level, p[0], p[1])
        return max(score, 0.0) if p[2] else score
    if kind == KL_UCB:
        return -kl_bound(loss, level / count)
    if kind == MOSS:
        return _moss(loss, count, level)
    if kind == SUBGAUSSIAN:
        return _subgaussian(loss, count, level, p[0], p[1])
    return count


class Rules(NamedTuple):
    """How a policy is paid: what, of how many draws, by which ranges; the most that a loss may be,
    and whether to clip it to that.

    Ranges, the smallest and the largest draw that is allowed, and the `factor` that makes losses
    comparable have one number per arm.
    """

    payoff: int
    group: int
    low: Any
    width: Any
    highest_cost: Any
    factor: Any
    smallest: Any
    largest: Any
    most: float
    clip: bool


@compiled
def raw_loss(x: Any, d: Any, rules: Any, arm: int) -> float:
    """Return the loss of one draw, pair or triple, scaled by the known ranges."""
    if rules.payoff == SECOND_MOMENT:
        part = (x[0] - rules.low[arm]) / rules.width[arm]
        return part * part
    part = (x[0] - x[1]) / rules.width[arm]
    loss = part * part
    if rules.payoff == COST_VARIANCE:
        loss *= (d[0] + d[1]) / 2 / rules.highest_cost[arm]
    elif rules.payoff == COST_VARIANCE_TRIPLES:
        loss *= d[2] / rules.highest_cost[arm]
    return loss


@compiled
def is_outside(x: float, rules: Any, arm: int) -> bool:
    """Is a draw outside of the range that the losses of its arm are scaled by?"""
    return not rules.smallest[arm] <= x <= rules.largest[arm]


@compiled
def scaled_score(kind: int, score: float, factor: float) -> float:
    """Return a score in the unit that all arms share; that of KL-UCB is a logarithm."""
    return score + math.log(factor) if kind == KL_UCB else factor * score


@compiled
def complain(trouble: Any, what: int, arm: int, time: float, value: float) -> None:
    """Write down what first went wrong in a run."""
    if trouble[0] == 0:
        trouble[0], trouble[1], trouble[2], trouble[3] = what, arm, time, value


@compiled
def loss_of(x: Any, d: Any, rules: Any, trouble: Any, arm: int, time: float) -> float:
    """Return the loss, clipped if the rules say so; complain of a loss out of range."""
    for i in range(rules.group):
        if is_outside(x[i], rules, arm):
            complain(trouble, OUT_OF_RANGE, arm, time, x[i])
    loss = raw_loss(x, d, rules, arm)
    if loss <= rules.most:
        return loss
    if not (rules.clip and loss > rules.most):
        complain(trouble, OUT_OF_RANGE, arm, time, x[0])
    return rules.most


@compiled
def note(pulls: Any, drawn: Any) -> None:
    """Write down the pulls of every arm: a loop is compiled in a tenth of the time of a slice."""
    for k in range(len(drawn)):
        pulls[k] = drawn[k]


@compiled
def play_index(
    kind: int,
    policy: Any,
    rules: Any,
    sampling: Any,
    keys: Any,
    times: Any,
    pulls: Any,
    trouble: Any,
) -> None:
    """Play an index policy; `pulls` has the shape (runs, times, arms)."""
    arms = len(sampling.parameters)
    horizon = times[-1]
    x, d = np.empty(3), np.empty(3)
    drawn = np.empty(arms, np.int64)
    count, mean, m2, scores = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        drawn[:] = 0
        count[:] = 0
        mean[:] = 0
        m2[:] = 0
        spent = total = 0.0
        mark = ZERO
        while spent < horizon and trouble[run, 0] == 0:
            if total < arms:
                arm = int(total)
            else:
                now = level_of(kind, policy, total)
                for k in range(arms):
                    score = score_of(kind, policy, mean[k], m2[k] / count[k], count[k], now)
                    scores[k] = scaled_score(kind, score, rules.factor[k])
                arm = ZERO
                for k in range(arms):
                    if scores[k] < scores[arm]:
                        arm = k
                    elif scores[k] != scores[k]:
                        complain(trouble[run], NOT_A_NUMBER, k, total, scores[k])
            for i in range(rules.group):
                x[i], d[i] = draw(s[arm], arm, sampling)
                while mark < len(times) and spent + d[i] > times[mark]:
                    note(pulls[run, mark], drawn)
                    mark += 1
                spent += d[i]
                drawn[arm] += 1
            loss = loss_of(x, d, rules, trouble[run], arm, total)
            apart = loss - mean[arm]
            before = count[arm]
            count[arm] = before + 1
            mean[arm] += apart / count[arm]
            m2[arm] += apart * apart * before / count[arm]
            total += 1
        while mark < len(times):
            note(pulls[run, mark], drawn)
            mark += 1


@compiled
def play_thompson(
    prior: Any,
    rules: Any,
    sampling: Any,
    keys: Any,
    times: Any,
    pulls: Any,
    trouble: Any,
    beliefs: Any,
) -> None:
    """Play Thompson sampling with a Beta posterior and tossed payoffs.

    `beliefs`, of shape (decisions, arms + 1) or empty, takes what one run drew from the
    posteriors and, in the last column, by which uniform number a payoff was tossed.
    """
    arms = len(sampling.parameters)
    horizon = times[-1]
    x, d = np.empty(3), np.empty(3)
    drawn = np.empty(arms, np.int64)
    wins, lost = np.empty(arms), np.empty(arms)
    # What the gamma numbers of a posterior need; only that of the arm that is drawn changes.
    steady = min(prior[0], prior[1]) >= 1
    shape, scale = np.empty((arms, 2)), np.empty((arms, 2))
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        own = s[arms]
        drawn[:] = 0
        wins[:] = 0
        lost[:] = 0
        shape[:, 0], shape[:, 1] = prior[1] - 1 / 3, prior[0] - 1 / 3
        scale[:] = 1 / np.sqrt(9 * shape)
        spent = 0.0
        total = mark = ZERO
        while spent < horizon and trouble[run, 0] == 0:
            arm, least = ZERO, math.inf
            for k in range(arms):
                if steady:
                    part = gamma_from(own, shape[k, 0], scale[k, 0])
                    belief = part / (part + gamma_from(own, shape[k, 1], scale[k, 1]))
                else:
                    belief = beta(own, lost[k] + prior[1], wins[k] + prior[0])
                if rules.factor[k] * belief < least:
                    arm, least = k, rules.factor[k] * belief
                if len(beliefs):
                    beliefs[total, k] = belief
            for i in range(rules.group):
                x[i], d[i] = draw(s[arm], arm, sampling)
                while mark < len(times) and spent + d[i] > times[mark]:
                    note(pulls[run, mark], drawn)
                    mark += 1
                spent += d[i]
                drawn[arm] += 1
            loss = loss_of(x, d, rules, trouble[run], arm, total)
            toss = uniform(own)
            if len(beliefs):
                beliefs[total, arms] = toss
            side = 1 if toss >= loss else 0
            if side:
                wins[arm] += 1
            else:
                lost[arm] += 1
            shape[arm, side] = (wins[arm] + prior[0] if side else lost[arm] + prior[1]) - 1 / 3
            scale[arm, side] = 1 / math.sqrt(9 * shape[arm, side])
            total += 1
        while mark < len(times):
            note(pulls[run, mark], drawn)
            mark += 1


@compiled
def sum_draws(sampling: Any, keys: Any, pulls: Any, sums: Any) -> None:
    """Draw again what runs have drawn, and write its sum at every time: shape (runs, times).

    The j-th draw of an arm is the same for every policy, so the pulls tell which they were.
    """
    arms = len(sampling.parameters)
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        sums[run] = 0
        for arm in range(arms):
            total, drawn = 0.0, ZERO
            for mark in range(pulls.shape[1]):
                while drawn < pulls[run, mark, arm]:
                    value, _ = draw(s[arm], arm, sampling)
                    total += value
                    drawn += 1
                sums[run, mark] += total
