"""The formulas of the policies, elementwise: numpy evaluates them on a live run."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from croupier.draws import Floats

__all__ = ["log_variance_bound", "price_draw", "shared_mean_guard", "variance_draw"]

_TINY: Final = float(np.finfo(float).tiny)

#: Up to so many variances the guard visits arm by arm; beyond, it sweeps over all of them until
#: none moves by much, at most so often.
_FEW: Final = 400
_SWEEPS: Final = 12
_STILL: Final = 0.3


def variance_draw(variance: Floats, df: Floats, chi2: Floats) -> Floats:
    """Return a draw of the variance's posterior: df s2 / chi2_df, the scaled inverse chi-square.

    Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.2, with the effective df.
    """
    return df * variance / chi2


def price_draw(score: Floats, error: Floats, normal: Floats) -> Floats:
    """Return the score with its price drawn: times exp(z e), e the price's relative error."""
    return np.asarray(score * np.exp(error * normal))


def log_variance_bound(variance: Floats, df: Floats, total: float) -> Floats:
    """Return a lower confidence bound: s2 exp(-z sqrt(2/df)), z = sqrt(log(t)/2)."""
    z = np.sqrt(np.log(total) / 2)
    return np.asarray(variance * np.exp(-z * np.sqrt(2 / df)))


def shared_mean_guard(
    count: Floats, mean: Floats, variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Raise the variance of an arm whose mean disagrees with those of more variable arms.

    All arms share one mean, so an arm that claims a small variance must agree with those that
    claim larger ones. Visiting arms in descending variance, with A = sum n/V and M = sum n x/V
    over those visited: D = |x - M/A| - 2/sqrt(A), V = max(s2, n max(D, 0)^2/4).

    Returns V (K, d), of no meaning for arms that have not varied, and, per component, the
    precision A and mean M/A of all arms that vary.
    """
    if variance.size > _FEW:
        return _swept(count, mean, variance)
    n, visited = count.tolist(), []
    for x, s2 in zip(mean.T.tolist(), variance.T.tolist(), strict=True):
        visited.append(visit(n, x, s2))
    v, a, m = zip(*visited, strict=True)
    return np.array(v).T, np.array(a), np.array(m)


def visit(n: list[float], x: list[float], s2: list[float]) -> tuple[list[float], float, float]:
    """Visit the arms of one component in descending variance; return V, A and M/A.

    >>> visit([100.0, 100.0], [0.0, 3.0], [1.0, 0.01])  # the second claims too much
    ([1.0, 196.0], 100.510, 0.01523)
    """
    v = list(s2)
    a = centre = 0.0
    for k in sorted(range(len(s2)), key=s2.__getitem__, reverse=True):
        variance = s2[k]
        if variance == 0:
            break
        off = x[k] - centre
        if a * off * off > 4:  # the first has nobody to agree with: a is zero
            d = abs(off) - 2 / math.sqrt(a)
            v[k] = variance = max(variance, n[k] * d * d / 4)
        weight = n[k] / variance
        a += weight
        centre += off * weight / a
    return v, a, centre


def _swept(count: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the same for many arms: all at once, again and again until it settles."""
    order = _descending(variance)
    # One component is indexed by rows, which is much faster than by pairs.
    rows = order[:, 0] if order.shape[1] == 1 else (order, np.arange(order.shape[1]))
    n, x, s2 = count[order], mean[rows], variance[rows]
    if not s2.all():  # arms that do not vary have no say
        n, s2 = np.where(s2 > 0, n, 0.0), np.where(s2 > 0, s2, 1.0)
    v = s2.copy()
    pair = 1 + 1j * x  # a cumulative sum of complex numbers is two in the time of one
    for _ in range(_SWEEPS):
        sums = (n / v * pair).cumsum(axis=0)
        a, m = np.maximum(sums.real, _TINY), sums.imag
        # An arm is compared with those visited before it; the first has nobody to agree with.
        d = np.abs(x[1:] - m[:-1] / a[:-1]) - 2 / np.sqrt(a[:-1])
        new = np.maximum(s2[1:], n[1:] * np.square(np.maximum(d, 0.0)) / 4)
        settled = (np.abs(new - v[1:]) <= _STILL * new).all()
        v[1:] = new
        if settled:
            break
    guarded = np.empty_like(v)
    guarded[rows] = v
    return guarded, np.where(n.any(axis=0), a[-1], 0.0), m[-1] / a[-1]


def _descending(variance: Floats) -> NDArray[np.intp]:
    """Return the order of descending variance to within 1 %, in linear time.

    The upper half of a float32 sorts like the number itself, and 16-bit keys sort by radix: ten
    times faster than an exact sort, which a run of 10 000 arms would feel.
    """
    keys = variance.astype(np.float32).view(np.uint32) >> np.uint32(16)
    return (~keys.astype(np.uint16)).argsort(axis=0, kind="stable")
