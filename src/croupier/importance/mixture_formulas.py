"""The formulas of a mixture of proposals: weights, control variates, proportions, counts.

All draws are weighted by the mixture q = sum_j (c_j/n) q_j that they come from together
(the balance heuristic: Veach and Guibas, SIGGRAPH 1995). The densities H_j = q_j/q, whose mean
under q is 1, are control variates (Owen and Zhou, JASA 95, 2000). The remaining variance is far
smaller than the variance of any proposal by itself, and the proportions are learned from it.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.central_moments import effective_df
from croupier.data.draws import Floats
from croupier.distributions.weights import log_mixture

__all__ = [
    "Answer",
    "Ints",
    "Mixed",
    "answer",
    "apportioned",
    "controls",
    "first_counts",
    "folds_of",
    "mixed",
    "next_counts",
    "proportions",
    "ratio",
    "round_size",
]

Ints: TypeAlias = NDArray[np.int64]

_FOLDS: Final = 10

#: The ridge, times the number of draws. It is fixed: a tuned ridge gives too little coverage.
_RIDGE: Final = 0.01

#: A control that varies less than this is the constant 1.
_CONSTANT: Final = 1e-9

#: A ratio of densities whose logarithm is larger counts as infinite.
_LARGEST_LOG: Final = 300.0

#: The most draws of each proposal before the proportions are learned.
_PILOT: Final = 64

#: The part of the remaining variance that may come from what no draw has shown, times J.
_UNSEEN: Final = 0.3

#: No proposal gets fewer than this times sqrt(n/J) of n draws.
_FLOOR: Final = 0.5


class Mixed(NamedTuple):
    """Draws weighted by their mixture: y = f p/q in units of ``2**exponent``, H = q_j/q."""

    y: Floats
    H: Floats
    exponent: int
    log_mixture: Floats


class Answer(NamedTuple):
    """The mean, its standard error, and the effective degrees of freedom of this error."""

    mean: float
    stderr: float
    df: float


def mixed(log_size: Floats, sign: Floats, log_q: Floats, counts: Floats) -> Mixed:
    """Weight draws by the mixture of the proposals that they came from, `counts` of each.

    Everything is in logarithms up to the last step: |f p| and the densities may all be e^-2000.
    """
    mixture = log_mixture(log_q, counts / counts.sum())
    log_y = np.where(sign == 0, -np.inf, log_size - mixture)
    exponent = exponent_of(log_y)
    y = sign * np.exp(log_y - exponent * math.log(2))
    return Mixed(y, ratio(log_q, mixture[:, None]), exponent, mixture)


def ratio(log_q: Floats, mixture: Floats) -> Floats:
    """Return q_j/q, always finite, for a proposal that has no draws yet."""
    return np.asarray(np.exp(np.minimum(log_q - mixture, _LARGEST_LOG)))


def exponent_of(log_y: Floats) -> int:
    """Return the power of two that makes the largest of some numbers about 1."""
    largest = float(log_y.max(initial=-np.inf))
    return math.ceil(largest / math.log(2)) if math.isfinite(largest) else 0


def folds_of(own: Ints) -> Ints:
    """Divide draws into folds, so that each fold has its share of every proposal.

    >>> folds_of(np.array([0, 1, 0, 1, 1])).tolist()
    [0, 2, 1, 3, 4]
    """
    rank = np.empty(len(own), dtype=np.int64)
    rank[np.argsort(own, kind="stable")] = np.arange(len(own))
    return rank % _FOLDS


def controls(y: Floats, H: Floats, folds: Ints) -> Floats:
    """Subtract from y what the controls H_j - 1, whose mean is 0, explain.

    The coefficients of a fold come from the other folds: beta = (C + lambda I)^-1 z, where C and z
    are the covariances of the scaled controls with each other and with y, and lambda = .01/n. If y
    varies less without any controls, the result is y itself.
    """
    n = len(y)
    G = H - 1
    rms = np.sqrt(np.square(G).mean(axis=0))
    fit = (rms >= _CONSTANT) & np.isfinite(rms)
    if n < 3 or not fit.any():
        return y
    order = np.argsort(folds, kind="stable")
    ends = np.cumsum(np.bincount(folds))
    # Centred once over all, so that subtracting the sums of a fold loses no precision.
    X = np.column_stack((G[:, fit] / rms[fit], y))[order]
    centre = X.mean(axis=0)
    D = X - centre
    parts = np.split(D, ends[:-1])
    cross = np.array([part.T @ part for part in parts])
    sums = np.array([part.sum(axis=0) for part in parts])
    sizes = np.diff(ends, prepend=0)
    m = np.maximum(n - sizes, 1)[:, None, None]
    away = sums.sum(axis=0) - sums
    covariance = (cross.sum(axis=0) - cross) / m - away[:, :, None] * away[:, None, :] / m**2
    C, z = covariance[:, :-1, :-1], covariance[:, :-1, -1]
    values, vectors = np.linalg.eigh(C)
    along = np.einsum("fij,fi->fj", vectors, z)
    beta = np.einsum("fij,fj->fi", vectors, along / (values + _RIDGE / n))
    left = [
        part[:, -1] - (part[:, :-1] + centre[:-1]) @ own
        for part, own in zip(parts, beta, strict=True)
    ]
    u = np.empty(n)
    u[order] = np.concatenate(left) + centre[-1]
    return y if y.var() < u.var() else u


def answer(u: Floats) -> Answer:
    """Return the mean of what the controls leave, u (n,)."""
    n, mean = len(u), float(u.mean())
    if n < 2:
        return Answer(mean, math.nan, 1.0)
    r2 = np.square(u - mean)
    m2, m4 = float(r2.sum()), float(np.square(r2).sum())
    spread = math.sqrt(m2 / (n - 1) / n)
    df = float(effective_df(n, m2, m4)) if m2 > 0 else 1.0
    return Answer(mean, spread, max(df, 1.0))


def proportions(
    u: Floats, H: Floats, price: Floats | None = None, unseen: float = _UNSEEN
) -> Floats:
    """Return the proportions a that minimise the remaining variance times the cost.

    They start equal. Ten times: a_k <- a_k sqrt(mean(r^2 H_k/(H a)^2)/d_k), then normalise, where
    r = u - mean(u) and d_k is the cost of a draw. To r^2 is added what was not seen yet: a share
    `unseen`/J of it, shaped like the equal mixture. So a proposal without a hit is not starved.
    """
    J = H.shape[1]
    a = np.full(J, 1 / J)
    d = np.ones(J) if price is None else price
    r = np.abs(u - u.mean())
    if not r.max() > 0:
        return a
    squares = np.square(r / r.max())
    h2 = np.square(H.mean(axis=1))
    squares = squares + unseen / J * squares.mean() / h2.mean() * h2
    for _ in range(10):
        Ha = H @ a
        gain = (squares / np.square(np.where(Ha > 0, Ha, np.inf))) @ H / len(r)
        new = a * np.sqrt(gain / d)
        total = new.sum()
        if not 0 < total < np.inf:
            break
        a = new / total
    return a


def first_counts(J: int, draws: int | None) -> Ints:
    """Return the pilot: clip(n/(4J), 4, 64) draws from each of J proposals, at most n in all.

    A pilot of 8 starves a proposal that shows its use in one of 30 draws.
    """
    each = _PILOT if draws is None else min(max(draws // (4 * J), 4), _PILOT)
    if draws is None or each * J <= draws:
        return np.full(J, each)
    return apportioned(np.ones(J), draws)


def round_size(t: int, draws: int | None) -> int:
    """Return the draws of the next round: as many as before, or all if few would remain."""
    if draws is None:
        return max(t, 1)
    return draws - t if 2 * t > 0.75 * draws else max(t, 1)


def next_counts(a: Floats, counts: Floats, size: int) -> Ints:
    """Return the draws of the next round: up to a_j T of each, never below .5 sqrt(T/J)."""
    T, J = counts.sum() + size, len(a)
    target = np.maximum(a * T, _FLOOR * math.sqrt(T / J))
    target *= T / target.sum()
    missing = np.maximum(target - counts, 0.0)
    return apportioned(missing if missing.sum() > 0 else a, size)


def apportioned(weights: Floats, size: int) -> Ints:
    """Divide whole draws in proportion to weights, by the largest remainders.

    >>> apportioned(np.array([1.0, 1.0, 2.0]), 7).tolist()
    [2, 2, 3]
    """
    exact = weights * (size / weights.sum())
    whole = np.floor(exact).astype(np.int64)
    left = size - int(whole.sum())
    most = np.argsort(-(exact - whole), kind="stable")[:left]
    whole[most] += 1
    return np.asarray(whole)
