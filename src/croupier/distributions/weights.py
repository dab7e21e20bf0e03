"""Weights of draws: sums of logarithms, the effective size, the Pareto shape, resampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.data.extremes import pareto_shape as shape_of_largest

__all__ = [
    "effective_size",
    "effective_size_of_logs",
    "log_mean_exp",
    "log_mixture",
    "log_sum_exp",
    "normalised",
    "pareto_shape",
    "systematic",
]


def log_sum_exp(logs: Any, axis: int = -1) -> Any:
    """Return log(sum(exp(logs))) along an axis; -inf where all are -inf, or where there is none.

    >>> float(log_sum_exp(np.log([1.0, 3.0]) - 2000).round(4))
    -1998.6137
    """
    logs = np.asarray(logs, float)
    top = logs.max(axis=axis, keepdims=True, initial=-np.inf)
    # Several times as fast as logaddexp. Where all are -inf, exp(-inf - 0) is 0.
    known = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.squeeze(known, axis) + np.log(np.exp(logs - known).sum(axis=axis))


def log_mean_exp(logs: Any, axis: int = -1) -> Any:
    """Return log(mean(exp(logs))) along an axis.

    >>> float(log_mean_exp(np.log([1.0, 3.0]) - 2000).round(4))
    -1999.3069
    """
    return log_sum_exp(logs, axis) - math.log(np.shape(logs)[axis])


def log_mixture(log_q: Floats, shares: Floats) -> Floats:
    """Return the log of sum_j shares_j q_j, (..., n), from log densities (..., n, J).

    >>> log_mixture(np.log([[1.0, 3.0]]) - 2000, np.array([0.5, 0.5])).round(4)
    array([-1999.3069])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(log_sum_exp(log_q + np.log(shares)[..., None, :]))


def normalised(logs: Any, axis: int = -1) -> Floats:
    """Return weights that sum to 1 along an axis, from their logarithms.

    >>> normalised([-1000.0, -1000.0]).tolist()
    [0.5, 0.5]
    """
    logs = np.asarray(logs, float)
    weights = np.exp(logs - logs.max(axis=axis, keepdims=True))
    return np.asarray(weights / weights.sum(axis=axis, keepdims=True))


def effective_size(weights: Any, axis: int = -1) -> Any:
    """Return (sum w)^2/sum w^2 along an axis (Kish 1965): how many equal draws count as much.

    0 where no weight is above 0.

    >>> float(effective_size([1.0, 1.0, 1e-9]).round(3))
    2.0
    """
    w = np.asarray(weights, float)
    top = w.max(axis=axis, keepdims=True, initial=0.0)
    w = w / np.where(top > 0, top, 1.0)  # no square overflows, and none is lost
    squares = np.square(w).sum(axis=axis)
    total = np.square(w.sum(axis=axis))
    return np.divide(total, squares, out=np.zeros_like(total), where=squares > 0)


def effective_size_of_logs(logs: Any) -> float:
    """Return the effective size of weights from their logarithms; 0 if there are none.

    >>> round(effective_size_of_logs(np.log([1.0, 1.0, 1e-9]) - 5000), 3)
    2.0
    """
    logs = np.asarray(logs, float)
    top = logs.max(initial=-np.inf)
    return 0.0 if top == -np.inf else float(effective_size(np.exp(logs - top)))


def pareto_shape(logs: Floats) -> float:
    """Return the shape k of the tail of weights, from their logarithms.

    The largest min(n/5, 3 sqrt(n)) of them are taken for the tail (Vehtari et al., Pareto smoothed
    importance sampling, JMLR 25, 2024). Above 0.7 an estimate is not to be trusted.
    NaN if fewer than 20 distinct ones are left.

    >>> uniform = (np.arange(2000) + 0.5) / 2000
    >>> round(pareto_shape(-0.9 * np.log(uniform)), 1)
    0.9
    """
    tail = int(min(0.2 * len(logs), 3 * math.sqrt(len(logs))))
    largest = np.sort(logs)[-tail - 1 :]
    return shape_of_largest(np.exp(largest - largest[-1])) if tail else math.nan


def systematic(rng: np.random.Generator, weights: Floats, size: int) -> NDArray[np.intp]:
    """Return `size` rows, in order: row i comes n w_i/sum(w) times, rounded down or up.

    Systematic resampling (Kitagawa, Journal of Computational and Graphical Statistics 5, 1996).

    >>> systematic(np.random.default_rng(7), np.array([0.5, 0.25, 0.25]), 4).tolist()
    [0, 0, 1, 2]
    """
    below = np.cumsum(weights)
    at = (rng.random() + np.arange(size)) / size * below[-1]
    rows = np.searchsorted(below, at, side="right")
    return np.asarray(np.minimum(rows, np.flatnonzero(weights)[-1]), np.intp)
