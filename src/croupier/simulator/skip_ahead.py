"""Skipping ahead with index policies: the runs of `kernels`, many pulls at a time. Exact.

Over a window of W pulls no rival's score falls below what it is at the end of the window, when its
bonus is largest, and the leader's own bonus is least at the count that it may reach. So the leader
is played as long as its mean loss stays below one threshold. Draws have two values, as in the
paper's Figure 1, so losses are tossed many at a time, see `many_pulls`. Where nothing is certain,
one decision is made as the plain kernel makes it. An arm's draws come from its own stream, so the
pulls are those of the plain kernel, not only their distribution: all of them, unless two arms tie
but for rounding, as arms with the same two values do.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.simulator.compiling import ZERO, compiled
from croupier.simulator.kernels import (
    complain,
    is_outside,
    kl_bound,
    kl_bound_again,
    kl_excess,
    kl_is_above,
    kl_slope,
    level_of,
    raw_loss,
    score_of,
)
from croupier.simulator.kinds import KL_UCB, OUT_OF_RANGE, SUBGAUSSIAN, UCB1, UCB_V
from croupier.simulator.many_pulls import ALL, ONE, book, walk
from croupier.simulator.randomness import next_bits, streams
from croupier.simulator.sampling import chance_of

__all__ = ["kl_threshold", "play_index_ahead"]

#: Thresholds keep this distance: a decision that rounding might turn is left to the plain formula.
_MARGIN: Final = 1e-12


@compiled
def kl_threshold(w: float, level: float) -> float:
    """Return the mean loss below which KL-UCB's bound at this level is above 1 - exp(-w).

    This is the equation of `indices.kl_ucb`, kl(1 - x, 1 - exp(-w)) = level, solved for the other
    unknown: the loss x, w being known. Newton's method comes from the right, where kl is convex
    in x with slope log(x/(1 - q)) - log((1 - x)/q), q = 1 - exp(-w).
    """
    if w == math.inf:
        return -1.0
    if w <= level:
        return 2.0
    least, log_q = math.exp(-w), math.log(-math.expm1(-w))
    x = min(1 - 1e-16, least + math.sqrt(level / 2))
    for _ in range(60):
        log_x, log_rest = math.log(x), math.log1p(-x)
        excess = kl_excess(x, level, w, -log_x, log_rest, log_q)
        slope = (log_x + w) - (log_rest - log_q)
        if not (excess > 0 and slope > 0):
            break
        step = excess / slope
        x -= step
        if step < 1e-15:
            break
    return x


class Scores(NamedTuple):
    """What is known of the arms' scores without working them out, an array each.

    For UCB1 and its like, `bonus` is the bonus at level 1, which grows like the root of the level.
    For KL-UCB it is the latest bound, at `level` (-1: none since the arm was pulled), and `slope`
    says how fast kl grows there: the tangent is above the bound at any level.
    """

    bonus: Any
    level: Any
    slope: Any


@compiled
def _bound(arm: int, now: float, mean: Any, scores: Any) -> float:
    """Return KL-UCB's bound of an arm, from its latest if the arm was not pulled since."""
    before = scores.level[arm]
    if before < 0:
        w = kl_bound(mean[arm], now)
    else:
        w = kl_bound_again(mean[arm], now, scores.bonus[arm], before)
    scores.bonus[arm], scores.level[arm] = w, now
    scores.slope[arm] = kl_slope(mean[arm], w) if 0 < mean[arm] < 1 and w < math.inf else 0.0
    return w


@compiled
def _largest_bound(
    now: float, leader: int, first: int, drawn: Any, mean: Any, scores: Any
) -> tuple[int, float, float]:
    """Return the rival with KL-UCB's largest bound, the bound, and what the others' are at most.

    `first` was the largest before. Bounds are worked out only where the tangent leaves it open.
    """
    rival, best, second = -1, -math.inf, -math.inf
    if first != leader:
        rival, best = first, _bound(first, now / drawn[first], mean, scores)
    for k in range(len(drawn)):
        if k in (leader, first):
            continue
        level, before, slope = now / drawn[k], scores.level[k], scores.slope[k]
        if before >= 0 and slope > 0 and best < math.inf:
            most = scores.bonus[k] + (level - before) / slope
            if most < best - _MARGIN * (1 + best):
                second = max(second, most)
                continue
        w = _bound(k, level, mean, scores)
        if w > best:
            rival, best, second = k, w, best
        else:
            second = max(second, w)
    return rival, best, second


@compiled
def _choice(
    kind: int,
    policy: Any,
    now: float,
    leader: int,
    first: int,
    drawn: Any,
    mean: Any,
    variance: Any,
    scores: Any,
) -> int:
    """Return the arm that the plain kernel would choose."""
    arms = len(drawn)
    if kind == KL_UCB:
        # The leader is compared with the best rival's bound: its own need not be solved for.
        rival, best, second = _largest_bound(now, leader, first, drawn, mean, scores)
        if best < math.inf and second < best - _MARGIN * (1 + best):
            mine = now / drawn[leader]
            if kl_is_above(mean[leader], mine, best + _MARGIN * (1 + best)):
                return leader
            if not kl_is_above(mean[leader], mine * (1 + _MARGIN), best - _MARGIN * (1 + best)):
                return rival
    elif kind in (UCB1, SUBGAUSSIAN):
        root = math.sqrt(now)
        arm, least, next_least = -1, math.inf, math.inf
        for k in range(arms):
            score = mean[k] - scores.bonus[k] * root
            if score < least:
                arm, least, next_least = k, score, least
            elif score < next_least:
                next_least = score
        if next_least - least > _MARGIN * (1 + abs(least)):
            return arm
    arm, least = leader, math.inf
    for k in range(arms):
        score = score_of(kind, policy, mean[k], variance[k], drawn[k], now)
        if score < least:
            arm, least = k, score
    return arm


@compiled
def play_index_ahead(
    kind: int,
    policy: Any,
    rules: Any,
    sampling: Any,
    keys: Any,
    times: Any,
    pulls: Any,
    trouble: Any,
) -> None:
    """Play an index policy on second moments of two values, where every draw costs 1."""
    arms = len(sampling.parameters)
    horizon = int(times[-1])
    x, d, at = np.empty(1), np.ones(1), np.empty(5)
    bottom, spread = np.zeros(arms), np.zeros(arms)
    chance, flip = np.zeros(arms, np.uint64), np.zeros(arms, np.uint64)
    for k in range(arms):
        x[0] = sampling.parameters[k, 0]
        low = raw_loss(x, d, rules, k)
        x[0] = sampling.parameters[k, 1]
        high = raw_loss(x, d, rules, k)
        for one in sampling.parameters[k, :2]:
            if is_outside(one, rules, k):
                complain(trouble[0], OUT_OF_RANGE, k, ZERO, one)
                return
        low, high = min(low, rules.most), min(high, rules.most)
        chance[k] = chance_of(sampling.parameters[k, 2])
        flip[k] = ALL if high < low else np.uint64(0)
        bottom[k], spread[k] = min(low, high), abs(high - low)
    drawn = np.empty(arms, np.int64)  # `sums` counts the high values
    sums, mean, variance = np.empty(arms), np.empty(arms), np.empty(arms)
    scores = Scores(np.empty(arms), np.empty(arms), np.empty(arms))
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        drawn[:] = 0
        sums[:] = 0
        mean[:] = 0
        scores.level[:] = -1
        mark = time = leader = first = ZERO
        other = -1
        reach = 1
        close = False
        while time < horizon:
            made = ZERO
            arm = leader
            if time < arms:
                arm = time
            else:
                window = min(reach, horizon - time)
                now = level_of(kind, policy, float(time))
                then = now
                if window > 1 and not close:
                    then = level_of(kind, policy, float(time + window - 1))
                rival = math.inf
                if close:
                    rival = -math.inf
                elif kind == KL_UCB:
                    first, w, _ = _largest_bound(then, leader, first, drawn, mean, scores)
                    rival = -w
                elif kind in (UCB1, SUBGAUSSIAN):
                    root = math.sqrt(then)
                    for k in range(arms):
                        score = mean[k] - scores.bonus[k] * root
                        if k != leader and score < rival:
                            rival = score
                else:
                    for k in range(arms):
                        if k != leader:
                            score = score_of(kind, policy, mean[k], variance[k], drawn[k], then)
                            rival = min(rival, score)
                most = float(drawn[leader] + window - 1)
                rival -= _MARGIN * (1 + abs(rival))
                if close:
                    certain = False
                elif kind == UCB_V:
                    score = score_of(kind, policy, mean[leader], variance[leader], most, now)
                    certain, at[0] = score < rival, rival
                elif kind == KL_UCB:
                    certain = kl_is_above(mean[leader], now / most, -rival)
                    if certain:
                        at[0] = kl_threshold(-rival, now / most) - _MARGIN
                        certain = mean[leader] < at[0]
                else:
                    at[0] = rival - score_of(kind, policy, 0.0, 0.0, most, now)
                    certain = mean[leader] < at[0]
                if certain:
                    at[1], at[2], at[3], at[4] = bottom[leader], spread[leader], most, now
                    made, sums[leader] = walk(
                        kind,
                        policy,
                        s[leader],
                        chance[leader],
                        flip[leader],
                        sums[leader],
                        float(drawn[leader]),
                        window,
                        at,
                    )
                if made == window:
                    reach = 2 * window
                elif made > 0:
                    reach = made
                else:
                    # Nothing is certain: decide as the plain kernel does.
                    if not close:
                        reach = max(1, reach // 4)
                    arm = _choice(kind, policy, now, leader, first, drawn, mean, variance, scores)
                    # Twice in a row is a new leader.
                    if arm != leader and arm == other:
                        leader = arm
                    other = arm
                # A rival has come, and another may: the leader must be chosen again first.
                close = arm != leader
            if made == 0:
                made = 1
                bits, _ = next_bits(s[arm], chance[arm], 1)
                sums[arm] += (bits ^ flip[arm]) & ONE
            mark, time = book(pulls[run], times, mark, drawn, time, arm, made)
            scores.level[arm] = -1
            if kind in (UCB1, SUBGAUSSIAN):
                scores.bonus[arm] = -score_of(kind, policy, 0.0, 0.0, drawn[arm], 1.0)
            top = sums[arm] / drawn[arm]
            mean[arm] = bottom[arm] + spread[arm] * top
            variance[arm] = spread[arm] * spread[arm] * top * (1 - top)
