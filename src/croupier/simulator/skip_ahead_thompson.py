"""Skipping ahead with Thompson sampling on two arms: the distribution of `kernels`, by thinning.

A level c separates the posteriors of the better arm and its rival. As long as
the rival's draw is above c and the better arm's below it, the better one is played; only the other
steps need a decision. The rival's come at geometric gaps, because its posterior stands still.
The better arm's are thinned: candidates come at geometric gaps with a probability that bounds the
true one while its mean stays below a threshold, and are accepted with the ratio. The
draws of a decision come from truncated posteriors. This is the distribution of the plain kernel.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.simulator.compiling import ZERO, compiled
from croupier.simulator.many_pulls import book, walk
from croupier.simulator.randomness import (
    beta,
    exponential,
    next_bits,
    steps_to,
    streams,
    uniform,
)
from croupier.simulator.sampling import chance_of

__all__ = ["beta_below", "beta_front", "beta_tail", "play_thompson_ahead"]

#: With more events than 0.35 per step, Thompson sampling is played step by step for 32 steps.
_DENSE: Final = 0.35
_STEPS: Final = 32

#: A level is chosen anew after this many events: until then the rival's posterior is updated.
_LEARNED: Final = 128

#: How far the level is from the better arm's mean, and the limit: in standard deviations, the
#: former times sqrt(2 log n).
_AWAY: Final = 0.85
_ROOM: Final = 0.5


@compiled
def beta_front(a: float, b: float, x: float) -> float:
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
    below = beta_front(a, b, x) * fraction / a
    return 1 - below if turned else below


@compiled
def beta_tail(s: Any, a: float, b: float, level: float) -> float:
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
    their chance, for any distribution of the losses. The prior's alpha and beta are at least 1.
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
        mark = time = ZERO
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
            front = beta_front(a[rival], b[rival], level)
            under, over = steps_to(random, low), steps_to(random, bound)
            end = time + int(nu / 4) + 1
            for _ in range(_LEARNED):
                quiet = min(under, over) - 1
                most = int(min(quiet, float(min(end, horizon) - time)))
                # The walk counts the prior as pulls: it is the posterior's mean that has a limit.
                now = drawn[better] + prior[0] + prior[1]
                made, loss = walk(
                    ZERO,
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
                    its = beta_tail(random, a[rival], b[rival], level)
                    if its < _beta_under(random, aa, bb, level):
                        arm = rival
                elif exceeds:
                    mine = beta_tail(random, bb, aa, 1 - level)
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
