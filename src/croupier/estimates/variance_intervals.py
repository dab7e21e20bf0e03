"""Intervals of a variance: by divergence, from pairs of draws in [0, 1].

`kl_variance_interval` is the interval of a variance, or of cost times variance (paper, appendix D);
`kl_confidence` says how often it holds at all times at once; `bernoulli_kl` is the divergence that
both are about.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import count_of, positive
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.policies.indices import kl_start

__all__ = ["bernoulli_kl", "kl_confidence", "kl_variance_interval"]

_TINY: Final = float(np.finfo(float).tiny)


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> Floats:
    """Return kl(p, q) = p log(p/q) + (1 - p) log((1 - p)/(1 - q)), elementwise, in [0, inf].

    >>> bernoulli_kl([0.5, 0.0, 1.0], [0.25, 0.1, 0.0])
    array([0.1438, 0.1054, inf])
    """
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        success = _success(p, q - p)
        failure = np.where(p == 1, 0.0, -(1 - p) * np.log1p((p - q) / (1 - p)))
    return np.asarray(np.maximum(success + failure, 0.0))


def _success(p: Floats, gap: Floats) -> Floats:
    """Return p log(p/q), q = p + gap: a gap that is known keeps the digits of q close to p."""
    return np.where(p < _TINY, 0.0, -p * np.log1p(gap / p))


def kl_variance_interval(mean: ArrayLike, pairs: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """Return both ends of {v : kl(2 mean, 2 v) <= delta/pairs}, elementwise.

    The interval of a variance, or of cost times variance, by divergence (paper, appendix D).
    From t pairs of draws Y and costs Q, independent of them, all in [0, 1], `mean` is
    vbar = 1/(2t) sum_s Q_s (Y_2s - Y_2s-1)^2; all Q are 1 for the variance alone. `kl_confidence`
    says how often the intervals of all t hold at once.

    >>> low, high = kl_variance_interval([0.0, 0.1, 0.5], 100, delta=10)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0325, 0.4524], [0.0476, 0.205, 0.5])
    """
    vbar, t = np.asarray(mean, dtype=float), np.asarray(pairs, dtype=float)
    if not ((vbar >= 0) & (vbar <= 0.5)).all():
        raise PlanError(
            f"mean must lie between 0 and 1/2, got {mean!r}: scale draws and costs to [0, 1], "
            "and take half the mean of Q (Y - Y')^2"
        )
    if not ((t >= 1) & (t < np.inf)).all():
        raise PlanError(f"pairs must be at least 1, got {pairs!r}: wait for the first pair")
    p, level = np.broadcast_arrays(2 * vbar, positive("delta", delta) / t)
    high = -np.expm1(-_above(p, 1 - p, level))
    low = np.exp(-_above(1 - p, p, level))  # as far below p as its complement is above 1 - p
    return low / 2, high / 2


def kl_confidence(delta: float, pairs: float) -> float:
    """Return with what probability `kl_variance_interval` holds at all of 1, ..., n pairs at once.

    1 - 2e ceil(delta log n) e^-delta (Garivier 2013, equation 5), or 0 where that says nothing.

    >>> round(kl_confidence(10, 10_000), 3), kl_confidence(3, 10_000)
    (0.977, 0.0)
    """
    delta, n = positive("delta", delta), count_of("pairs", pairs)
    # The proof cuts the times into this many slices; a single time is one slice, not none.
    slices = max(1, math.ceil(delta * math.log(n)))
    return max(0.0, 1 - 2 * math.e * slices * math.exp(-delta))


def _above(p: Floats, rest: Floats, level: Floats) -> Floats:
    """Return w = -log(1 - q) of the q >= p with kl(p, q) = level; `rest` is 1 - p.

    The equation of `policies.indices.kl_ucb`, for which 1 - p is enough. Here p is known as well,
    to all its digits, and an end close to p or to 0 keeps its own: the excess is a sum of terms
    in the gap q - p, which is taken on the side where it does not cancel. The slope is gap/q.
    Newton's method starts on the right and comes down to the root without overshooting.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rest = np.where(p < 0.5, np.log1p(-p), np.log(rest))
        log_p = np.where(p < 0.5, np.log(p), np.log1p(-rest))
        w = kl_start(rest, level, -log_rest, np.where(p > 0, p * log_p, 0.0))
        going = np.asarray(rest > 0)
        for _ in range(100):
            q, beyond = -np.expm1(-w), np.exp(-w)
            gap = np.where(p < 0.5, q - p, rest - beyond)
            step = (_success(p, gap) + rest * (log_rest + w) - level) * q / gap
            going = going & (gap > 0) & (step > 1e-14 * w)
            if not going.any():
                break
            w = np.where(going, w - step, w)
    return np.asarray(np.where(rest > 0, np.maximum(w, -log_rest), np.inf))
