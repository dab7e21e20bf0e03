"""Intervals of a variance: by divergence, from pairs of draws in [0, 1].

`kl_variance_interval` is the interval of a variance, or of cost times variance (paper, appendix D),
and `kl_variance_intersection` what all intervals so far have in common; `kl_confidence` says how
often they hold at all times at once; `bernoulli_kl` is the divergence that they use.
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

__all__ = ["bernoulli_kl", "kl_confidence", "kl_variance_intersection", "kl_variance_interval"]

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
    """Return p log(p/q) for q = p + gap. The gap keeps all digits if q is close to p."""
    return np.where(p < _TINY, 0.0, -p * np.log1p(gap / p))


def kl_variance_interval(mean: ArrayLike, pairs: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """Return both ends of {v : kl(2 mean, 2 v) <= delta/pairs}, elementwise.

    This is the interval of a variance, or of cost times variance (paper, appendix D). There are t
    pairs of draws Y, and costs Q that are independent of the draws, all in [0, 1]. `mean` is
    vbar = 1/(2t) sum_s Q_s (Y_2s - Y_2s-1)^2. For the variance alone, all Q are 1. `kl_confidence`
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
    low = np.exp(-_above(1 - p, p, level))  # low is as far below p as 1 - low is above 1 - p
    return low / 2, high / 2


def kl_variance_intersection(
    mean: ArrayLike, pairs: ArrayLike, delta: float
) -> tuple[Floats, Floats]:
    """Return what the intervals of `kl_variance_interval` have in common, after each of them.

    Paper, appendix D, corollary: the running maximum of the low ends and the running minimum of the
    high ends, along the last axis, which is in the order of time. All intervals hold at once with
    the probability `kl_confidence`, so the last intersection does too. It is empty, low > high, if
    some interval does not hold.

    >>> low, high = kl_variance_intersection([0.1, 0.05, 0.1], [100, 200, 300], delta=10)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0325, 0.0325, 0.0555], [0.205, 0.11, 0.11])
    """
    low, high = kl_variance_interval(mean, pairs, delta)
    if low.ndim == 0:
        raise PlanError("mean or pairs must be an array: one interval has no others to meet")
    return np.maximum.accumulate(low, axis=-1), np.minimum.accumulate(high, axis=-1)


def kl_confidence(delta: float, pairs: float) -> float:
    """Return how probable it is, at least, that `kl_variance_interval` holds for 1, ..., n pairs.

    The intervals hold at once with at least the probability 1 - 2e ceil(delta log n) e^-delta
    (Garivier 2013, equation 5). If this is negative, 0 is returned.

    >>> round(kl_confidence(10, 10_000), 3), kl_confidence(3, 10_000)
    (0.977, 0.0)
    """
    delta, n = positive("delta", delta), count_of("pairs", pairs)
    # The proof divides the times into this many slices. A single time is one slice, not zero.
    slices = max(1, math.ceil(delta * math.log(n)))
    return max(0.0, 1 - 2 * math.e * slices * math.exp(-delta))


def _above(p: Floats, rest: Floats, level: Floats) -> Floats:
    """Return w = -log(1 - q) of the q >= p with kl(p, q) = level; `rest` is 1 - p.

    The equation is that of `policies.indices.kl_ucb`, which needs only 1 - p. Here p is also known
    to all its digits, so that an end close to p or to 0 has all its digits too. The excess is a sum
    of terms in the gap q - p. The gap is computed on the side where it does not cancel. The slope
    is gap/q. Newton's method starts on the right and comes down to the root without overshooting.
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
