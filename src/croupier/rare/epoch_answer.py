"""The answer of an epoch: fresh draws of one frozen mixture, weighted, with their error.

The estimate is the mean of the weighted failures y = p/q 1{g < 0}. The number of draws of each
component is fixed, and q has exactly these proportions, so the mean is unbiased (the balance
heuristic; Veach and Guibas, SIGGRAPH 1995). The components are strata, and only the variance
within them counts (Hesterberg, Technometrics 37, 1995). With few hits, the interval is that of Fay
and Feuer; below 200 effective hits it still is, with the variance within the components.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal
from croupier.distributions.weights import effective_size, log_mixture
from croupier.estimates.combiners import Pooled
from croupier.estimates.few_hits import FEW_HITS, FewHits
from croupier.rare.components import Frozen
from croupier.rare.control import LEAST_DF, Control, Controlled, df_of, within_components
from croupier.tables.aim import Aim

__all__ = ["Answer", "Epoch", "unknown"]

#: Below this many effective hits (a relative error of 7 %), weighted hits are still skewed: the
#: interval is a gamma interval.
_SKEWED: Final = 200.0
_TINY: Final = 1e-300


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
    """The draws of one frozen mixture, and the control that was frozen with it, if there is one."""

    def __init__(
        self, mixture: Frozen, d: int, events: int, control: Control | None = None
    ) -> None:
        self.mixture, self.control = mixture, control
        self.x, self.events = np.empty((0, d)), np.empty((0, events))
        self.own: NDArray[np.int64] = np.empty(0, np.int64)
        self._log_q = np.empty((0, len(mixture.mixture)))
        self._chance = np.empty(0)
        self._known: Answer | None = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of draws of each component."""
        return np.bincount(self.own, minlength=len(self.mixture.mixture))

    def copy(self) -> Epoch:
        """Return an epoch with the same draws, to which others can be added."""
        other = Epoch(self.mixture, self.x.shape[1], self.events.shape[1], self.control)
        vars(other).update(vars(self))
        return other

    def add(self, x: Floats, events: Floats, own: NDArray[np.int64]) -> None:
        """Add draws of the mixture."""
        self.x = np.concatenate((self.x, x))
        self.events = np.concatenate((self.events, events))
        self.own = np.concatenate((self.own, own))
        self._log_q = np.concatenate((self._log_q, self.mixture.mixture.component_log_densities(x)))
        if self.control is not None:
            self._chance = np.concatenate((self._chance, self.control.surrogate.chance(x)))
        self._known = None

    def known_enough(self, aim: Aim) -> bool:
        """Tell whether a control makes the error known well enough to stop."""
        return self.control is not None and bool(
            (aim.bound(self.answer().pooled.df) >= LEAST_DF).all()
        )

    def answer(self) -> Answer:
        """Return the estimate from all draws so far."""
        if self._known is None:
            self._known = self._answered()
        return self._known

    def _answered(self) -> Answer:
        n, e = self.events.shape
        drawn = self.counts / n  # not the shares: rounded counts would bias the mean
        log_q = log_mixture(self._log_q, drawn)
        weight = np.exp(log_standard_normal(self.x) - log_q)
        y = weight[:, None] * (self.events < 0)
        belongs = np.exp(self._log_q - log_q[:, None]) * drawn
        weights = np.repeat([[0.0], [1.0]], e, axis=1)
        if self.control is not None:
            found = self.control.estimate(self._chance, weight, self.events[:, 0] < 0, self.own)
            if found.mean > 0:
                return _controlled(found, weights, y, belongs)
        nominal = n * float(drawn[-3] or self.mixture.shares[-3])
        left = within_components(y, self.own)
        free = max(n - len(np.unique(self.own)), 1)
        covariance = left.T @ left / free / n
        variance, df = np.diag(covariance).copy(), np.array([df_of(u) for u in left.T])
        mean = np.minimum(y.mean(axis=0), 1.0)  # it only comes nearer to a probability
        few = FewHits(mean, np.square(y).sum(axis=0) / n**2, _next(y, nominal), np.ones(e))
        if self.mixture.plain:
            few = few._replace(plain=float(n))
        elif few.hits.min() >= FEW_HITS:  # counts of each component are fixed: they are not Poisson
            few = few._replace(variance=np.maximum(variance, _TINY), below=_SKEWED)
        pooled = Pooled(few.mean, variance, df, variance > 0, weights, float(n), few=few)
        return Answer(pooled, y, belongs, covariance)


def _next(y: Floats, nominal: float) -> Floats:
    """Return the largest part of the mean that one more hit could have, for the upper end.

    Without a hit, or with one, this is the weight of a nominal draw: a single draw far out may have
    a weight of 1e-9. If k hits have the same weight, it is about this weight. Otherwise, few of
    them carry the mean: they are worth h hits, and heavier ones may not have been seen. On the
    scale of logs, the part 1 - log h/log(k + 1) of the way to a nominal draw remains.
    """
    n, largest = len(y), y.max(axis=0)
    seen = largest > 0
    h = np.where(seen, effective_size(y, axis=0), 1.0)
    k = np.maximum(np.count_nonzero(y, axis=0), 1)
    known = np.log(np.where(seen, largest / n, 1 / nominal))
    left = 1 - np.log(h) / np.log(k + 1)
    return np.asarray(np.exp(known + np.maximum(-math.log(nominal) - known, 0.0) * left))


def _controlled(found: Controlled, weights: Floats, y: Floats, belongs: Floats) -> Answer:
    """Return the answer with a control: its hits are those of the same relative error."""
    mean, variance = np.array([min(found.mean, 1.0)]), np.array([found.variance])
    few = FewHits(mean, variance, y.max(axis=0) / len(y), np.ones(1))
    varies = np.ones(1, np.bool_)
    pooled = Pooled(mean, variance, np.array([found.df]), varies, weights, float(len(y)), few=few)
    return Answer(pooled, y, belongs, variance[:, None])


def unknown(mean: Floats, draws: float) -> Pooled:
    """Return the estimate of a search: a value without an error, between 0 and 1."""
    e = len(mean)
    nothing, one = np.zeros(e), np.ones(e)
    few = FewHits(nothing, nothing, np.full(e, np.inf), one)
    weights = np.repeat([[1.0], [0.0]], e, axis=1)
    return Pooled(mean, nothing, one, np.zeros(e, np.bool_), weights, draws, few=few)
