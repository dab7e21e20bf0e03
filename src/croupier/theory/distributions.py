"""Distributions of draws in [0, 1]: those that the bounds on the regret are for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from croupier.checks import positive, range_of, weights_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.theory.arrays import array_of

__all__ = ["Discrete", "Distribution", "ScaledBernoulli", "TruncatedNormal", "UniformDistribution"]

#: Nodes on either side of the centre, and the power that crowds them there.
_NODES: Final = 96
_CROWDED: Final = 3


class Distribution(ABC):
    """The distribution of a draw in [0, 1]: a quadrature rule, and the moments from it.

    A distribution of your own is a class with `support` and `nodes`.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the greatest value, or where all but e^-45 of the density is."""

    @abstractmethod
    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return points and weights, a row for each centre, that may have a logarithm there.

        The weights of a row sum to 1. Rows may be alike: then one row does for all.
        """

    def expected(self, function: Callable[[Floats], Floats]) -> float:
        """Return the mean of a smooth function of the draw."""
        points, weights = self.nodes(np.array([sum(self.support) / 2]))
        return float((weights * function(points)).sum())

    @property
    def mean(self) -> float:
        """The mean of a draw."""
        return self.expected(lambda x: x)

    @property
    def variance(self) -> float:
        """The variance of a draw."""
        mean = self.mean
        return self.expected(lambda x: np.square(x - mean))

    @property
    def payoff_mean(self) -> float:
        """The mean of the payoff 1 - X^2."""
        return self.expected(lambda x: 1 - x * x)

    @property
    def payoff_variance(self) -> float:
        """The variance of the payoff 1 - X^2."""
        mean = self.payoff_mean
        return self.expected(lambda x: np.square(1 - x * x - mean))


@dataclass(frozen=True)
class Discrete(Distribution):
    """Finitely many points of [0, 1], with weights that sum to 1.

    >>> Discrete([0, 0.5, 1], [0.25, 0.5, 0.25]).variance
    0.125
    """

    points: Sequence[float]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        weights = weights_of("weights", self.weights) or ()
        points = array_of("points", self.points)
        if points.shape != (len(weights),):
            raise PlanError(
                f"points and weights must be equally many, got {self.points!r} and {self.weights!r}"
            )
        for point in points:
            _within("points", float(point))
        if abs(sum(weights) - 1) > 1e-9:
            raise PlanError(f"weights must sum to 1, got {sum(weights)}: divide them by that")
        object.__setattr__(self, "points", tuple(points.tolist()))
        object.__setattr__(self, "weights", tuple(weight / sum(weights) for weight in weights))

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest of the points that have a weight."""
        points, _ = self.nodes(np.zeros(1))
        return float(points.min()), float(points.max())

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return the points that have a weight, for any centres."""
        weights = np.array(self.weights)
        return np.array(self.points)[None, weights > 0], weights[None, weights > 0]


@dataclass(frozen=True)
class ScaledBernoulli(Distribution):
    """The arms of the paper's Figure 1: mu + s (Z - 1/2), Z a fair coin; the variance is s^2/4.

    >>> ScaledBernoulli(0.5).variance
    0.0625
    """

    s: float
    mu: float = 0.5

    def __post_init__(self) -> None:
        positive("s", self.s)
        array_of("mu", self.mu)
        for point in self.support:
            _within("mu - s/2 and mu + s/2", point)

    @property
    def support(self) -> tuple[float, float]:
        """The two values."""
        return self.mu - self.s / 2, self.mu + self.s / 2

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return the two values, for any centres."""
        return np.array([self.support]), np.full((1, 2), 0.5)


@dataclass(frozen=True)
class UniformDistribution(Distribution):
    """Uniform on [low, high] within [0, 1].

    >>> round(12 * UniformDistribution(0.25, 0.75).variance, 12)
    0.25
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _range_within(self.low, self.high)

    @property
    def support(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return Gauss-Legendre nodes on either side of each centre."""
        return _around(centres, self.support, np.ones_like)


@dataclass(frozen=True)
class TruncatedNormal(Distribution):
    """Normal with mean mu and deviation sigma before it is cut to [low, high] within [0, 1].

    >>> arm = TruncatedNormal(0.5, 0.2)
    >>> round(arm.mean, 6), round(arm.variance, 6)
    (0.5, 0.03645)
    """

    mu: float
    sigma: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)
        if not np.isfinite(array_of("mu", self.mu)):
            raise PlanError(
                f"mu must be finite, got {self.mu!r}: for a flat density use UniformDistribution"
            )
        _range_within(self.low, self.high)

    @property
    def support(self) -> tuple[float, float]:
        """Both ends, or where the density is above e^-45 of its greatest."""
        peak = min(max(self.mu, self.low), self.high)
        off, wide = abs(peak - self.mu), 90 * self.sigma * self.sigma
        reach = wide / (math.sqrt(off * off + wide) + off)
        return max(self.low, peak - reach), min(self.high, peak + reach)

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return Gauss-Legendre nodes on either side of each centre, weighted by the density."""
        peak = min(max(self.mu, self.low), self.high)

        def density(x: Floats) -> Floats:
            exponent = (x - peak) * (x + peak - 2 * self.mu) / (2 * self.sigma * self.sigma)
            return np.asarray(np.exp(-exponent))

        return _around(centres, self.support, density)


@lru_cache
def _crowded() -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights for [0, 1] in y = z^3, crowded at 0."""
    z, w = np.polynomial.legendre.leggauss(_NODES)
    z, w = (z + 1) / 2, w / 2
    return z**_CROWDED, _CROWDED * z ** (_CROWDED - 1) * w


def _around(
    centres: Floats, support: tuple[float, float], density: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Return nodes and weights on either side of each centre, where a logarithm may be."""
    y, w = _crowded()
    centre = centres[:, None]
    sides = [end - centre for end in support]
    points = np.concatenate([centre + side * y for side in sides], axis=1)
    weights = np.concatenate([np.abs(side) * w for side in sides], axis=1) * density(points)
    return points, weights / weights.sum(axis=1, keepdims=True)


def _within(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise PlanError(
            f"{name} must lie in [0, 1], got {value!r}: rescale draws in [a, b] to (x - a)/(b - a)"
        )


def _range_within(low: float, high: float) -> None:
    range_of("(low, high)", (low, high))
    _within("low", low)
    _within("high", high)
