"""Skipping ahead: the same runs as those of `kernels`, many pulls at a time. Exact.

Index policies. Over a window of W pulls no rival's score falls below what it is at the end of the
window, when its bonus is largest, and the leader's own bonus is least at the count that it may
reach. So the leader is played as long as its mean loss stays below one threshold. Losses with two
values are tossed 64 at a time or more: if the leader would stay below the threshold even with all
the high losses first, the whole block is played; otherwise it is played toss by toss. Where
nothing is certain, one decision is made as the plain kernel makes it. An arm's draws come from its
own stream, so the pulls are those of the plain kernel, not only their law: all of them, unless two
arms tie but for rounding, as arms with the same two values do.

Thompson sampling. A level c separates the posteriors of the better arm and its rival. As long as
the rival's draw is above c and the better arm's below it, the better one is played; only the other
steps need a decision. Those of the rival come at geometric gaps, for its posterior stands still.
Those of the better arm are thinned: candidates come at geometric gaps with a probability that
bounds the true one while its mean stays below a threshold, and are accepted with the ratio. The
draws of a decision come from truncated posteriors. This is the law of the plain kernel.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.simulator.compiling import compiled
from croupier.simulator.kernels import (
    KL_UCB,
    OUT_OF_RANGE,
    SUBGAUSSIAN,
    UCB1,
    UCB_V,
    complain,
    kl_bound,
    kl_bound_again,
    kl_is_above,
    kl_slope,
    level_of,
    loss_of,
    raw_loss,
    score_of,
)
from croupier.simulator.laws import TWO_VALUES, chance_of, draw
from croupier.simulator.randomness import (
    beta,
    exponential,
    next_bits,
    ones_of,
    put_back,
    steps_to,
    streams,
    tosses,
    uniform,
)

__all__ = ["beta_below", "play_index_ahead", "play_thompson_ahead", "walk"]

#: Thresholds keep this distance: a decision that rounding might turn is left to the plain formula.
_MARGIN: Final = 1e-12

#: No block is longer than this.
_MOST_PULLS: Final = 1 << 16

#: With more events than this per step, Thompson sampling is played step by step, so many steps.
_DENSE: Final = 0.35
_STEPS: Final = 32

#: A level is looked at anew after so many events: until then the rival's posterior is updated.
_LEARNED: Final = 128

#: How far the level is from the better arm's mean, and the limit: in standard deviations, the
#: former times sqrt(2 log n).
_AWAY: Final = 0.85
_ROOM: Final = 0.5

_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE: Final = np.uint64(1)


# -- index policies


@compiled
def kl_threshold(w: float, level: float) -> float:
    """Return the mean loss below which KL-UCB's bound at this level is above 1 - exp(-w).

    Newton's method on kl(1 - x, 1 - exp(-w)) = level, from the right, where kl is convex in x.
    """
    if w == math.inf:
        return -1.0
    if w <= level:
        return 2.0
    least, log_q = math.exp(-w), math.log(-math.expm1(-w))
    x = min(1 - 1e-16, least + math.sqrt(level / 2))
    for _ in range(60):
        log_x, log_rest = math.log(x), math.log1p(-x)
        excess = x * (log_x + w) + (1 - x) * (log_rest - log_q) - level
        slope = (log_x + w) - (log_rest - log_q)
        if not (excess > 0 and slope > 0):
            break
        step = excess / slope
        x -= step
        if step < 1e-15:
            break
    return x


@compiled
def _certain(
    kind: int, policy: Any, tops: float, count: float, more: float, block: float, at: Any
) -> bool:
    """Will the leader lead throughout a block with `more` tops, in whatever order they come?

    `at` is: threshold, bottom, top - bottom, and for UCB-V the greatest count and the level.
    """
    most = (tops + more) / (count + more)
    if kind != UCB_V:
        return at[1] + at[2] * most < at[0]
    least = tops / (count + block - more)
    variance = at[2] * at[2] * min(most * (1 - most), least * (1 - least))
    return score_of(kind, policy, at[1] + at[2] * most, variance, at[3], at[4]) < at[0]


@compiled
def _safe_pulls(kind: int, policy: Any, tops: float, count: float, at: Any) -> int:
    """Return about how many pulls in a row will pass as one block: by the room that there is."""
    share = tops / count
    room = at[0] - at[1]
    if kind == UCB_V:
        variance = at[2] * at[2] * share * (1 - share)
        room = at[0] - score_of(kind, policy, at[1], variance, at[3], at[4])
    most = room / at[2] if at[2] > 0 else 1.0
    if most >= 1 or share == 0:
        return _MOST_PULLS
    return int(min(0.8 * count * (most - share) / (share * (1 - most)), _MOST_PULLS))


@compiled
def walk(
    kind: int,
    policy: Any,
    s: Any,
    chance: np.uint64,
    flip: np.uint64,
    tops: float,
    count: float,
    most: int,
    at: Any,
) -> tuple[int, float]:
    """Pull an arm of two values as long as it is certain to lead; return pulls and tops."""
    made = 0
    while made < most:
        left = most - made
        words = 0
        if left >= 128 and s[5] == 0:
            words = min(left >> 6, _safe_pulls(kind, policy, tops, count, at) >> 6)
        if words > 1:
            s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
            more = 0
            for _ in range(words):
                more += ones_of(tosses(s, chance) ^ flip)
            if _certain(kind, policy, tops, count, more, words << 6, at):
                tops += more
                count += words << 6
                made += words << 6
                continue
            s[0], s[1], s[2], s[3] = s0, s1, s2, s3
        bits, got = next_bits(s, chance, left)
        if flip:
            bits ^= _ALL if got == 64 else (_ONE << np.uint64(got)) - _ONE
        more = ones_of(bits)
        if _certain(kind, policy, tops, count, more, got, at):
            tops += more
            count += got
            made += got
            continue
        for j in range(got):
            tops += bits & _ONE
            bits >>= _ONE
            count += 1
            made += 1
            if not _certain(kind, policy, tops, count, 0, 0, at):
                rest = got - j - 1
                if rest:
                    if flip:
                        bits ^= (_ONE << np.uint64(rest)) - _ONE
                    put_back(s, bits, rest)
                return made, tops
    return made, tops


class Scores(NamedTuple):
    """What is known of the arms' scores without working them out, an array each.

    Of UCB1 and its like `bonus` is the bonus at level 1, which grows like the root of the level.
    Of KL-UCB it is the latest bound, at `level` (-1: none since the arm was pulled), with `slope`
    how fast kl grows there: the tangent is above the bound at any level.
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
def book(
    pulls: Any, times: Any, mark: int, drawn: Any, time: int, arm: int, made: int
) -> tuple[int, int]:
    """Write down the pulls at the recorded times on the way, pull; return mark and time."""
    while mark < len(times) and times[mark] <= time + made:
        pulls[mark] = drawn
        pulls[mark, arm] += int(times[mark]) - time
        mark += 1
    drawn[arm] += made
    return mark, time + made


@compiled
def play_index_ahead(
    kind: int,
    policy: Any,
    rules: Any,
    laws: Any,
    keys: Any,
    times: Any,
    pulls: Any,
    trouble: Any,
) -> None:
    """Play an index policy on second moments, where every draw costs 1."""
    arms = len(laws.parameters)
    horizon = int(times[-1])
    two = laws.law == TWO_VALUES
    x, d, at = np.empty(1), np.ones(1), np.empty(5)
    bottom, spread = np.zeros(arms), np.zeros(arms)
    chance, flip = np.zeros(arms, np.uint64), np.zeros(arms, np.uint64)
    for k in range(arms):
        if two:
            x[0] = laws.parameters[k, 0]
            low = raw_loss(x, d, rules)
            x[0] = laws.parameters[k, 1]
            high = raw_loss(x, d, rules)
            if max(low, high) > rules.most and not rules.clip:
                complain(trouble[0], OUT_OF_RANGE, k, 0, laws.parameters[k, int(high > low)])
                return
            low, high = min(low, rules.most), min(high, rules.most)
            chance[k] = chance_of(laws.parameters[k, 2])
            flip[k] = _ALL if high < low else np.uint64(0)
            bottom[k], spread[k] = min(low, high), abs(high - low)
    # Of two values `sums` counts the tops; of others the mean and the central sum are kept.
    drawn = np.empty(arms, np.int64)
    sums, m2, mean, variance = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    scores = Scores(np.empty(arms), np.empty(arms), np.empty(arms))
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        drawn[:] = 0
        sums[:] = 0
        mean[:] = 0
        m2[:] = 0
        scores.level[:] = -1
        mark = time = leader = first = 0
        other = -1
        reach = 1
        close = False
        while time < horizon:
            made = 0
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
                if certain and two:
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
                elif certain:
                    n, average, squares = float(drawn[leader]), mean[leader], m2[leader]
                    while made < window and certain:
                        x[0], _ = draw(s[leader], leader, laws)
                        loss = loss_of(x, d, rules, trouble[run], leader, time + made)
                        n += 1
                        made += 1
                        apart = loss - average
                        average += apart / n
                        squares += apart * apart * (n - 1) / n
                        if kind == UCB_V:
                            score = score_of(kind, policy, average, squares / n, most, now)
                            certain = score < rival
                        else:
                            certain = average < at[0]
                    mean[leader], m2[leader] = average, squares
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
                if two:
                    bits, _ = next_bits(s[arm], chance[arm], 1)
                    sums[arm] += (bits ^ flip[arm]) & _ONE
                else:
                    x[0], _ = draw(s[arm], arm, laws)
                    loss = loss_of(x, d, rules, trouble[run], arm, time)
                    apart = loss - mean[arm]
                    n = drawn[arm] + 1.0
                    mean[arm] += apart / n
                    m2[arm] += apart * apart * (n - 1) / n
            mark, time = book(pulls[run], times, mark, drawn, time, arm, made)
            scores.level[arm] = -1
            if kind in (UCB1, SUBGAUSSIAN):
                scores.bonus[arm] = -score_of(kind, policy, 0.0, 0.0, drawn[arm], 1.0)
            if two:
                top = sums[arm] / drawn[arm]
                mean[arm] = bottom[arm] + spread[arm] * top
                variance[arm] = spread[arm] * spread[arm] * top * (1 - top)
            else:
                variance[arm] = m2[arm] / drawn[arm]
            if trouble[run, 0] > 0:
                break


# -- Thompson sampling


@compiled
def _front(a: float, b: float, x: float) -> float:
    """Return x^a (1 - x)^b/B(a, b)."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta)


@compiled
def beta_below(a: float, b: float, x: float) -> float:
    """Return the probability that Beta(a, b) is below x: a continued fraction (DLMF 8.17.22)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    turned = x > (a + 1) / (a + b + 2)
    if turned:
        a, b, x = b, a, 1 - x
    tiny = 1e-300
    c = 1.0
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    fraction = d
    for m in range(1, 100_000):
        for odd in range(2):
            if odd == 0:
                term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            else:
                term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            d = 1 + term * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + term / c
            c = c if abs(c) > tiny else tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    below = _front(a, b, x) * fraction / a
    return 1 - below if turned else below


@compiled
def _beta_tail(s: Any, a: float, b: float, level: float) -> float:
    """Return a number from Beta(a, b), a and b at least 1, given that it is below a level.

    Below the mode the density is log-concave and grows: an exponential that touches its logarithm
    at the level is above it.
    """
    slope = (a - 1) / level - (b - 1) / (1 - level)
    if slope * level < 2:  # the level is no tail
        while True:
            x = beta(s, a, b)
            if x < level:
                return x
    while True:
        x = level - exponential(s) / slope
        if x <= 0:
            continue
        ratio = (a - 1) * math.log(x / level) + (b - 1) * math.log1p((level - x) / (1 - level))
        if -exponential(s) < ratio + slope * (level - x):
            return x


@compiled
def _beta_under(s: Any, a: float, b: float, level: float) -> float:
    """Return a number from Beta(a, b) given that it is below a level, which is likely."""
    while True:
        x = beta(s, a, b)
        if x < level:
            return x


@compiled
def _kl(p: float, q: float) -> float:
    """Return the divergence of two coins."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


@compiled
def play_thompson_ahead(prior: Any, chances: Any, keys: Any, times: Any, pulls: Any) -> None:
    """Play Thompson sampling on two arms; `chances` are their mean losses in [0, 1].

    A payoff is tossed to a win or a loss, so the posteriors follow tosses with the mean loss as
    their chance, whatever the law of the losses. The prior's alpha and beta are at least 1.
    """
    horizon = int(times[-1])
    at = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    drawn, lost = np.empty(2, np.int64), np.empty(2)
    chance = np.empty(2, np.uint64)
    nothing, unturned = np.zeros(3), np.uint64(0)
    for k in range(2):
        chance[k] = chance_of(chances[k])
    for run in range(len(keys)):
        s = streams(keys[run], 3)
        random = s[2]
        drawn[:] = 0
        lost[:] = 0
        mark = time = 0
        while time < horizon:
            a, b = lost + prior[1], drawn - lost + prior[0]
            better = 0 if a[0] * b[1] <= a[1] * b[0] else 1
            rival = 1 - better
            nu = a[better] + b[better]
            mean = a[better] / nu
            deviation = math.sqrt(mean * (1 - mean) / (nu + 1))
            # A level that the better arm exceeds about as rarely as its rival is tried, and a
            # limit to its mean up to which Chernoff's bound holds: exp(-nu kl(mean, level)).
            level = mean + _AWAY * math.sqrt(2 * math.log(nu + 10)) * deviation
            limit = mean + _ROOM * deviation
            low = bound = 1.0
            if level < 1:
                bound = math.exp(-nu * _kl(limit, level))
                if bound < _DENSE and a[rival] > level * (a[rival] + b[rival]):
                    low = beta_below(a[rival], b[rival], level)
            if low + bound > _DENSE:
                for _ in range(min(_STEPS, horizon - time)):
                    first = beta(random, lost[0] + prior[1], drawn[0] - lost[0] + prior[0])
                    second = beta(random, lost[1] + prior[1], drawn[1] - lost[1] + prior[0])
                    arm = 1 if second < first else 0
                    bits, _ = next_bits(s[arm], chance[arm], 1)
                    lost[arm] += bits
                    mark, time = book(pulls[run], times, mark, drawn, time, arm, 1)
                continue
            at[0] = limit
            front = _front(a[rival], b[rival], level)
            under, over = steps_to(random, low), steps_to(random, bound)
            end = time + int(nu / 4) + 1
            for _ in range(_LEARNED):
                quiet = min(under, over) - 1
                most = int(min(quiet, float(min(end, horizon) - time)))
                # The walk counts the prior as pulls: it is the posterior's mean that has a limit.
                now = drawn[better] + prior[0] + prior[1]
                made, loss = walk(
                    0,
                    nothing,
                    s[better],
                    chance[better],
                    unturned,
                    lost[better] + prior[1],
                    now,
                    most,
                    at,
                )
                lost[better] = loss - prior[1]
                mark, time = book(pulls[run], times, mark, drawn, time, better, made)
                # Where the limit was passed nothing is known of the next step; and gaps have no
                # memory.
                if made < quiet or time >= horizon or loss >= limit * (now + made):
                    break
                aa, bb = loss, now + made - loss
                tried = under <= over
                exceeds = False
                if over <= under:
                    above = beta_below(bb, aa, 1 - level)
                    exceeds = uniform(random) * bound < above
                arm = better
                if tried and exceeds:
                    arm = rival
                elif tried:
                    its = _beta_tail(random, a[rival], b[rival], level)
                    if its < _beta_under(random, aa, bb, level):
                        arm = rival
                elif exceeds:
                    mine = _beta_tail(random, bb, aa, 1 - level)
                    if _beta_under(random, b[rival], a[rival], 1 - level) > mine:
                        arm = rival
                bits, _ = next_bits(s[arm], chance[arm], 1)
                lost[arm] += bits
                mark, time = book(pulls[run], times, mark, drawn, time, arm, 1)
                if arm == rival:
                    # One toss more: DLMF 8.17.20 and 8.17.21.
                    toss, nu = bits > 0, a[rival] + b[rival]
                    if toss:
                        low -= front / a[rival]
                        front *= level * nu / a[rival]
                        a[rival] += 1
                    else:
                        low += front / b[rival]
                        front *= (1 - level) * nu / b[rival]
                        b[rival] += 1
                    tried = True
                if time >= min(end, horizon) or low + bound > _DENSE:
                    break
                if lost[better] + prior[1] >= limit * (drawn[better] + prior[0] + prior[1]):
                    break
                under = steps_to(random, low) if tried else under - quiet - 1
                over = steps_to(random, bound) if over - quiet <= 1 else over - quiet - 1
