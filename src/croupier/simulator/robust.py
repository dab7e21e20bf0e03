"""The kernel of robust UCB: all losses of an arm are kept, and looked at again at every decision.

A decision takes time in proportion to the losses so far, so a run takes time in proportion to the
square of its draws. The formulas are those of `policies.indices`, compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from croupier.policies import indices
from croupier.simulator.compiling import ZERO, compiled, inlined
from croupier.simulator.kernels import loss_of, note
from croupier.simulator.randomness import streams
from croupier.simulator.sampling import draw

__all__ = ["play_robust"]

_width = inlined(indices.robust_width)
_truncated_mean = inlined(indices.truncated_mean)
_median_of_means = inlined(indices.median_of_means)
_catoni_mean = inlined(indices.catoni_mean)


@compiled
def robust_score(losses: Any, level: float, mean: str, moment: float, eps: float) -> float:
    """Return the lower bound on an arm's mean loss: the smallest is played."""
    width = _width(float(len(losses)), level, moment, eps, mean)
    if math.isinf(width):
        return -math.inf
    if mean == "truncated":
        return float(_truncated_mean(losses, level, moment, eps) - width)
    if mean == "median-of-means":
        return float(_median_of_means(losses, level) - width)
    return float(_catoni_mean(losses, level, moment) - width)


@compiled
def play_robust(
    mean: str,
    moment: float,
    eps: float,
    rules: Any,
    sampling: Any,
    keys: Any,
    times: Any,
    pulls: Any,
    trouble: Any,
) -> None:
    """Play robust UCB; `pulls` has the shape (runs, times, arms)."""
    arms = len(sampling.parameters)
    horizon = times[-1]
    x, d = np.empty(3), np.empty(3)
    drawn, count = np.empty(arms, np.int64), np.empty(arms, np.int64)
    kept = np.empty((arms, 1024))
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        drawn[:] = 0
        count[:] = 0
        spent = 0.0
        mark = total = ZERO
        while spent < horizon and trouble[run, 0] == 0:
            arm, least = total, math.inf
            if total >= arms:
                level = 2 * math.log(max(float(total), 2.0))  # delta = 1/t^2
                arm = ZERO
                for k in range(arms):
                    score = robust_score(kept[k, : count[k]], level, mean, moment, eps)
                    if rules.factor[k] * score < least:
                        arm, least = k, rules.factor[k] * score
            for i in range(rules.group):
                x[i], d[i] = draw(s[arm], arm, sampling)
                while mark < len(times) and spent + d[i] > times[mark]:
                    note(pulls[run, mark], drawn)
                    mark += 1
                spent += d[i]
                drawn[arm] += 1
            if count[arm] == kept.shape[1]:
                kept = np.concatenate((kept, np.empty_like(kept)), axis=1)
            kept[arm, count[arm]] = loss_of(x, d, rules, trouble[run], arm, float(total))
            count[arm] += 1
            total += 1
        while mark < len(times):
            note(pulls[run, mark], drawn)
            mark += 1
