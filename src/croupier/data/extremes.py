"""How heavy a tail is: the most extreme draws of an arm, and a Pareto shape fitted to them.

A shape k above 1/2 means an infinite variance: the error bar of such an arm cannot be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats

__all__ = ["HEAVIEST", "HEAVY", "KEPT_OF_VECTORS", "Tail", "extremes_of", "pareto_shape"]

#: How many draws of each end an outcome carries, and how many times as many an arm keeps. There
#: are fewer for vectors: they have many components, and each of them takes time.
_KEPT_PER_BATCH: Final = 64
KEPT_OF_VECTORS: Final = 32
_KEPT_PER_ARM: Final = 4

#: Used instead of -inf, the log of zero.
_LARGEST_FLOAT: Final = float(np.finfo(float).max)

#: Fewer draws than this say nothing about a tail.
_LEAST_DRAWS: Final = 100

#: A larger Pareto shape means an infinite variance.
HEAVY: Final = 0.5

#: In a mean excess, a shape counts as at most this: at 1 the mean is infinite.
HEAVIEST: Final = 0.9


def extremes_of(values: Floats) -> Floats:
    """Return the lowest and the highest draws of each component: shape (at most 128, d)."""
    ends = _ends(values, 1)
    return ends.reshape(len(ends), -1)


def _kept(values: Floats) -> int:
    return _KEPT_PER_BATCH if values.size == len(values) else KEPT_OF_VECTORS


def _ends(values: Floats, times: int) -> Floats:
    kept = times * _kept(values)
    if len(values) <= 2 * kept:
        return values.copy()
    parted = np.partition(values, (kept - 1, len(values) - kept), axis=0)
    return np.concatenate((parted[:kept], parted[-kept:]))


class Tail:
    """The two ends of all inspected draws of an arm, merged from its outcomes."""

    def __init__(self) -> None:
        self._parts: list[Floats] = []
        self._incomplete: list[Floats] = []
        self._waiting = 0
        self._low: Floats | float = np.inf
        self._high: Floats | float = -np.inf
        self.inspected = 0

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Tail:
        """Return the tail with these ``vars``."""
        tail = cls()
        if vars(tail).keys() != state.keys():
            raise ValueError(f"not a tail: {', '.join(state)}")
        vars(tail).update(state)
        return tail

    def add(self, extremes: Floats, inspected: int) -> None:
        """Add the extremes of one outcome, chosen from `inspected` draws."""
        if len(extremes) < inspected:
            self._incomplete.append(extremes)
        self._parts.append(extremes)
        self._waiting += len(extremes)
        self.inspected += inspected
        if self._waiting > 4 * _KEPT_PER_ARM * _kept(extremes):
            self._mark_gaps()
            self._parts = [_ends(np.concatenate(self._parts), _KEPT_PER_ARM)]
            self._waiting = len(self._parts[0])
            self._incomplete.append(self._parts[0])
            self._mark_gaps()

    def _mark_gaps(self) -> None:
        # Draws between the two ends were left out: there the sample is not complete.
        if not self._incomplete:
            return
        kept = np.array(self._incomplete)
        half = kept.shape[1] // 2
        self._low = np.minimum(self._low, kept[:, :half].max(axis=1).min(axis=0))
        self._high = np.maximum(self._high, kept[:, half:].min(axis=1).max(axis=0))
        self._incomplete = []

    def ends(self) -> Floats:
        """Return the lowest and the highest inspected draw of each component, (2, d)."""
        values = np.concatenate(self._parts)
        return np.array((values.min(axis=0), values.max(axis=0)))

    def shape(self) -> Floats:
        """Return the Pareto shape of each component's heavier end; NaN if it is not known."""
        if self.inspected < _LEAST_DRAWS:
            return np.full(self._parts[0].shape[1] if self._parts else 1, np.nan)
        return self.fitted()[0]

    def fitted(self) -> tuple[Floats, Floats]:
        """Return the shape of each component's heavier end, and the mean excess of both ends.

        The excess is that over the largest draw, and below the smallest: one more draw is beyond
        the n draws so far with the chance 1/n at each end, so a mean of draws misses about
        excess/n. It is 0 if the shape is not known.
        """
        if self.inspected < _LEAST_DRAWS:
            unknown = np.full(self._parts[0].shape[1] if self._parts else 1, np.nan)
            return unknown, np.zeros_like(unknown)
        self._mark_gaps()
        values = np.concatenate(self._parts)
        above, below = self._above(values, self._high), self._above(-values, -self._low)
        return np.fmax(above[0], below[0]), above[1] + below[1]

    def shape_of_logs(self) -> Floats:
        """Return the shape of draws from their logs, in units of the largest draw."""
        if self.inspected < _LEAST_DRAWS:
            return self.shape()
        self._mark_gaps()
        logs = np.concatenate(self._parts)
        top = np.maximum(logs.max(axis=0), -_LARGEST_FLOAT)
        with np.errstate(under="ignore", over="ignore"):
            shape, _ = self._above(np.exp(logs - top), np.exp(self._high - top))
        return np.asarray(shape)  # the other end is bounded

    def error_of_shape(self, shape: float) -> float:
        """Return the standard error of a shape k, (1 + k)/sqrt(m) for m draws of the end.

        This is the asymptotic error of the most likely shape (Smith, Biometrika 72, 1985).
        """
        values = self._parts[0] if self._parts else np.empty((0, 1))
        return (1 + shape) / math.sqrt(max(self._length(values), 1))

    def _length(self, values: Floats) -> int:
        """Return how many draws an end has."""
        most = _KEPT_PER_ARM * _kept(values)
        return int(min(0.2 * self.inspected, 3 * math.sqrt(self.inspected), most))

    def _above(self, values: Floats, highest: Any) -> Floats:
        """Return the shape and the excess of each component's upper end, an array (2, d).

        The draws are complete from `highest` on.
        """
        tail = self._length(values)
        ends = zip(values.T, np.full(values.shape[1], highest), strict=True)
        return np.array([_pareto(np.sort(own[own >= high])[-tail:]) for own, high in ends]).T


def pareto_shape(largest: Floats) -> float:
    """Fit a generalised Pareto distribution to the exceedances over the smallest of `largest`.

    The estimator of Zhang and Stephens (Technometrics 51, 2009), with the weak prior at 1/2 of
    Vehtari et al. (Pareto smoothed importance sampling, JMLR 25, 2024, appendix C). NaN if fewer
    than 20 distinct exceedances are left.

    >>> quantiles = (np.arange(200) + 0.5) / 200
    >>> round(pareto_shape((1 - quantiles) ** -0.9), 1)  # a Pareto tail with k = 0.9
    0.9
    """
    return _pareto(largest)[0]


def _pareto(largest: Floats) -> tuple[float, float]:
    """Return the shape k of `pareto_shape`, and the mean excess over the largest of all.

    Over the level y the mean excess of a Pareto distribution is (sigma + k y)/(1 - k) (Davison and
    Smith, Journal of the Royal Statistical Society B 52, 1990, equation 3.1). k counts as at most
    0.9 there. It is 0 if the shape is not known.
    """
    x = np.sort(largest)
    x = x[1:] - x[:1]
    x = x[x > 0]
    n = len(x)
    if n < 20 or np.count_nonzero(x[1:] - x[:-1]) < 20:
        return float("nan"), 0.0
    top = float(x[-1])
    x = x / top  # scale-free: no power of the draws can overflow
    m = 30 + math.isqrt(n)
    theta = 1 + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * x[(n + 1) // 4])
    shapes = np.log1p(-theta[:, None] * x).sum(axis=1) / n
    # As theta goes to 0, -theta/shape goes to 1/mean(x): an exponential tail.
    rate = np.divide(-theta, shapes, out=np.full(m, n / x.sum()), where=shapes != 0)
    likelihood = n * (np.log(rate) - shapes - 1)
    weight = np.exp(likelihood - likelihood.max())
    theta_hat = float(theta @ weight / weight.sum())
    shape = float(np.log1p(-theta_hat * x).sum()) / n
    sigma = -shape / theta_hat if theta_hat else float(x.mean())
    k = (n * shape + 5.0) / (n + 10.0)
    excess = max(sigma + shape, 0.0) / (1 - min(k, HEAVIEST))
    return k, top * excess
