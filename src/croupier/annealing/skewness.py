"""Skewed coordinates: one tail longer than the other, by the sinh-arcsinh transformation.

With w = sinh(arcsinh(y) + e), a symmetric y becomes a skewed w (Jones and Pewsey, Biometrika 96,
2009, equation 2, with equal tails). w is then moved and scaled so that a normal y gives a z with
the mean 0 and the variance 1. The inverse is y = w cosh e - sqrt(1 + w^2) sinh e.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from croupier.data.draws import Floats

__all__ = ["fit_skews", "log_slope", "skewed", "straightened"]

#: E sqrt(1 + y^2) of a normal y.
_MEAN: Final = 1.3545308064813155

#: The skewness of the quantiles 0.1, 0.5 and 0.9 is this times tanh e, for a normal y.
_QUANTILE: Final = 1.2815515655446004
_BOWLEY: Final = (math.sqrt(1 + _QUANTILE**2) - 1) / _QUANTILE

#: The largest |e|; and how many standard errors a skewness must be away from 0, where the error is
#: about the third number over the root of the number of points.
MOST: Final = 0.8
CLEAR: Final = 4.0
_ERROR: Final = 1.6


def _moments(e: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of w for a normal y."""
    mean = _MEAN * np.sinh(e)
    return mean, np.sqrt(np.cosh(e) ** 2 + 2 * np.sinh(e) ** 2 - mean**2)


def skewed(y: Floats, e: Floats) -> Floats:
    """Return z for each y (m, d); e is (d,).

    >>> np.round(skewed(np.array([[-2.0], [0.0], [2.0]]), np.array([-0.5])).ravel(), 2).tolist()
    [-2.37, 0.16, 1.57]
    """
    mean, scale = _moments(e)
    w = y * np.cosh(e) + np.sqrt(1 + y * y) * np.sinh(e)
    return np.asarray((w - mean) / scale)


def straightened(z: Floats, e: Floats) -> Floats:
    """Return y for each z (m, d), the inverse of `skewed`."""
    mean, scale = _moments(e)
    w = mean + scale * z
    return np.asarray(w * np.cosh(e) - np.sqrt(1 + w * w) * np.sinh(e))


def log_slope(z: Floats, e: Floats) -> Floats:
    """Return log dy/dz, summed over the coordinates, (m,)."""
    mean, scale = _moments(e)
    w = mean + scale * z
    slope = scale * (np.cosh(e) - w * np.sinh(e) / np.sqrt(1 + w * w))
    return np.asarray(np.log(slope).sum(axis=1))


def fit_skews(z: Floats, weights: Floats) -> Floats:
    """Return e for each column of weighted points, 0 where it is not clearly skewed."""
    effective = weights.sum() ** 2 / (weights @ weights)
    order = np.argsort(z, axis=0)
    ranked = np.take_along_axis(z, order, axis=0)
    shares = np.cumsum(weights[order], axis=0) / weights.sum()
    low, middle, high = (
        np.take_along_axis(ranked, (shares < p).sum(axis=0, keepdims=True), axis=0)[0]
        for p in (0.1, 0.5, 0.9)
    )
    bowley = (high + low - 2 * middle) / np.maximum(high - low, 1e-300)
    e = np.arctanh(np.clip(bowley / _BOWLEY, -0.99, 0.99))
    clear = np.abs(bowley) > CLEAR * _ERROR / math.sqrt(effective)
    return np.asarray(np.where(clear, np.clip(e, -MOST, MOST), 0.0))
