"""Thompson sampling on many arms: those that are far behind are passed over by one toss.

A level separates the arms that may win from those that are far behind. Whether any of the latter
draws a belief below the level is one toss, with the product of their chances, which only change
when such an arm is drawn. If none does, and the best of the others is below the level, the decision
is made. Otherwise the missing beliefs come from the truncated posteriors. This is the law of the
plain kernel, `kernels.play_thompson`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.simulator.compiling import ZERO, compiled
from croupier.simulator.kernels import loss_of, note
from croupier.simulator.laws import draw
from croupier.simulator.randomness import beta, gamma_from, streams, uniform
from croupier.simulator.skip_ahead_thompson import beta_below, beta_front, beta_tail

__all__ = ["play_thompson_arms"]

#: The level is this many standard deviations above the least mean. It is chosen anew after 1/16 of
#: the decisions so far, and at least this many.
_AWAY: Final = 2.0
_LEAST: Final = 256

#: An arm is far behind if its belief is below the level with a smaller chance.
_FAR: Final = 0.2


@compiled
def _level_of(a: Any, b: Any) -> float:
    """Return a level above the arm with the least mean."""
    least, deviation = math.inf, 0.0
    for k in range(len(a)):
        nu = a[k] + b[k]
        mean = a[k] / nu
        if mean < least:
            least, deviation = mean, math.sqrt(mean * (1 - mean) / (nu + 1))
    return min(least + _AWAY * deviation, 1.0)


@compiled
def _none_below(far: Any, low: Any) -> float:
    """Return the chance that no arm that is far behind draws a belief below the level."""
    chance = 1.0
    for k in range(len(far)):
        if far[k]:
            chance *= 1 - low[k]
    return chance


@compiled
def _separate(a: Any, b: Any, level: float, far: Any, low: Any, front: Any) -> None:
    """Find the arms that are far behind, and their chances to be below the level."""
    for k in range(len(a)):
        far[k] = False
        if a[k] > level * (a[k] + b[k]):  # the mean is above the level
            low[k] = beta_below(a[k], b[k], level)
            if low[k] < _FAR:
                far[k], front[k] = True, beta_front(a[k], b[k], level)


@compiled
def _above(s: Any, a: Any, b: Any, level: float, far: Any, arm: int, least: float) -> int:
    """Return the arm to play if all that are far behind are above the level, and the rest too."""
    for k in range(len(a)):
        if far[k]:
            belief = beta(s, a[k], b[k])
            while belief < level:
                belief = beta(s, a[k], b[k])
            if belief < least:
                arm, least = k, belief
    return arm


@compiled
def _below(
    s: Any, a: Any, b: Any, level: float, far: Any, low: Any, none: float, arm: int, least: float
) -> int:
    """Return the arm to play if at least one that is far behind is below the level."""
    found = False
    left = uniform(s) * (1 - none)
    above = 1.0
    for k in range(len(a)):
        if not far[k]:
            continue
        if found:
            is_below = uniform(s) < low[k]
        else:
            # The first of them is k with the chance of all before k above, and k below.
            is_below = found = left < above * low[k]
            left -= above * low[k]
            above *= 1 - low[k]
        if is_below:
            belief = beta_tail(s, a[k], b[k], level)
            if belief < least:
                arm, least = k, belief
    return arm


@compiled
def play_thompson_arms(
    prior: Any, rules: Any, laws: Any, keys: Any, times: Any, pulls: Any, trouble: Any
) -> None:
    """Play Thompson sampling where every draw costs 1; the prior's parameters are at least 1."""
    arms = len(laws.parameters)
    horizon = int(times[-1])
    x, d = np.empty(1), np.ones(1)
    drawn = np.empty(arms, np.int64)
    a, b, low, front = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    far = np.empty(arms, np.bool_)
    shape, scale = np.empty((arms, 2)), np.empty((arms, 2))
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        own = s[arms]
        drawn[:] = 0
        a[:], b[:] = prior[1], prior[0]
        shape[:, 0], shape[:, 1] = prior[1] - 1 / 3, prior[0] - 1 / 3
        scale[:] = 1 / np.sqrt(9 * shape)
        far[:] = False
        mark, level, none, until = ZERO, 1.0, 1.0, ZERO
        for time in range(horizon):
            if time == until:
                until += max(_LEAST, time // 16)
                level = _level_of(a, b)
                _separate(a, b, level, far, low, front)
                none = _none_below(far, low)
            arm, least = ZERO, math.inf
            for k in range(arms):
                if not far[k]:
                    part = gamma_from(own, shape[k, 0], scale[k, 0])
                    belief = part / (part + gamma_from(own, shape[k, 1], scale[k, 1]))
                    if belief < least:
                        arm, least = k, belief
            if none < 1 and uniform(own) >= none:
                arm = _below(own, a, b, level, far, low, none, arm, least)
            elif least > level:
                arm = _above(own, a, b, level, far, arm, least)
            x[0], _ = draw(s[arm], arm, laws)
            drawn[arm] += 1
            while mark < len(times) and times[mark] <= time + 1:
                note(pulls[run, mark], drawn)
                mark += 1
            lost = uniform(own) < loss_of(x, d, rules, trouble[run], arm, time)
            if trouble[run, 0] > 0:
                break
            if far[arm]:
                # One toss more: DLMF 8.17.20 and 8.17.21.
                nu = a[arm] + b[arm]
                low[arm] += -front[arm] / a[arm] if lost else front[arm] / b[arm]
                low[arm] = min(max(low[arm], 0.0), 1.0)
                front[arm] *= level * nu / a[arm] if lost else (1 - level) * nu / b[arm]
                none = _none_below(far, low)
            side = 0 if lost else 1
            if lost:
                a[arm] += 1
            else:
                b[arm] += 1
            shape[arm, side] = (a[arm] if lost else b[arm]) - 1 / 3
            scale[arm, side] = 1 / math.sqrt(9 * shape[arm, side])
