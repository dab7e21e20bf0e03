"""The answer of an epoch: fresh draws of one frozen mixture, weighted, with their error.

The estimate is the mean of the weighted failures y = p/q 1{g < 0}. The number of draws of each
component is fixed, so the components are strata, and only the variance within them counts
(Hesterberg, Technometrics 37, 1995). With few hits, the interval is that of Fay and Feuer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.central_moments import effective_df
from croupier.data.draws import Floats
from croupier.estimates.combiners import Pooled
from croupier.estimates.few_hits import FewHits
from croupier.importance.points import log_mixture
from croupier.rare.components import Frozen, log_normal

__all__ = ["Answer", "Epoch", "unknown"]


class Answer(NamedTuple):
    """The pooled estimate of all events, and what its draws say about the modes.

    `y` (n, e) are the weighted failures, `belongs` (n, C) the probability that a draw came from
    each component, `covariance` (e, e) the covariance of the estimates.
    """

    pooled: Pooled
    y: Floats
    belongs: Floats
    covariance: Floats


class Epoch:
    """The draws of one frozen mixture."""

    def __init__(self, mixture: Frozen, d: int, events: int) -> None:
        self.mixture = mixture
        self.x, self.events = np.empty((0, d)), np.empty((0, events))
        self.own: NDArray[np.int64] = np.empty(0, np.int64)
        self._log_q = np.empty((0, len(mixture.components)))
        self._known: Answer | None = None

    def __len__(self) -> int:
        return len(self.x)

    def copy(self) -> Epoch:
        """Return an epoch with the same draws, to which others can be added."""
        other = Epoch(self.mixture, self.x.shape[1], self.events.shape[1])
        vars(other).update(vars(self))
        return other

    def add(self, x: Floats, events: Floats, own: NDArray[np.int64]) -> None:
        """Add draws of the mixture."""
        self.x = np.concatenate((self.x, x))
        self.events = np.concatenate((self.events, events))
        self.own = np.concatenate((self.own, own))
        self._log_q = np.concatenate((self._log_q, self.mixture.densities(x)))
        self._known = None

    def answer(self) -> Answer:
        """Return the estimate from all draws so far."""
        if self._known is None:
            self._known = self._answered()
        return self._known

    def _answered(self) -> Answer:
        n, e = self.events.shape
        log_q = log_mixture(self._log_q, self.mixture.shares)
        weight = np.exp(log_normal(self.x) - log_q)
        y = weight[:, None] * (self.events < 0)
        H = np.exp(self._log_q - log_q[:, None])
        largest = y.max(axis=0) / n
        # Without a hit, the next one would have the weight of a nominal draw.
        nominal = n * float(self.mixture.shares[-3])
        largest = np.where(largest > 0, largest, 1 / nominal)
        few = FewHits(y.mean(axis=0), np.square(y).sum(axis=0) / n**2, largest, np.ones(e))
        left = self._within_components(y)
        free = max(n - len(np.unique(self.own)), 1)
        covariance = left.T @ left / free / n
        variance, df = np.diag(covariance).copy(), np.array([_df(u) for u in left.T])
        weights = np.repeat([[0.0], [1.0]], e, axis=1)
        pooled = Pooled(few.mean, variance, df, variance > 0, weights, float(n), few=few)
        return Answer(pooled, y, H * self.mixture.shares, covariance)

    def _within_components(self, y: Floats) -> Floats:
        """Return the distances of the draws from the mean of their own component."""
        left: Floats = y - y.mean(axis=0)
        for k in np.unique(self.own):
            mine = self.own == k
            if np.count_nonzero(mine) > 1:
                left[mine] = y[mine] - y[mine].mean(axis=0)
        return left


def _df(u: Floats) -> float:
    away = u - u.mean()
    m2, m4 = float(np.square(away).sum()), float(np.square(np.square(away)).sum())
    if len(u) < 2 or not m2 > 0:
        return 1.0
    # In units of the root mean square: the fourth power of a small number would underflow.
    scale = m2 / len(u)
    return max(float(effective_df(len(u), m2 / scale, m4 / scale**2)), 1.0)


def unknown(mean: Floats, draws: float) -> Pooled:
    """Return the estimate of a search: a value without an error, between 0 and 1."""
    e = len(mean)
    nothing, one = np.zeros(e), np.ones(e)
    few = FewHits(nothing, nothing, np.full(e, np.inf), one)
    weights = np.repeat([[1.0], [0.0]], e, axis=1)
    return Pooled(mean, nothing, one, np.zeros(e, np.bool_), weights, draws, few=few)
