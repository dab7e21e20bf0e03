"""A smooth surface through noisy logarithms: what points of a box say about their neighbours.

A Gaussian process with a squared-exponential kernel (Rasmussen and Williams, Gaussian Processes for
Machine Learning, 2006, chapters 2 and 5). The noise of every point is known. One length per
parameter is chosen from a few by the marginal likelihood, so a parameter that does not matter gets
the longest one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from croupier.data.draws import Floats

__all__ = ["Surface", "lengths_for"]

#: The lengths of the kernel to choose from, for a box with sides of length 1.
_LENGTHS: Final = {1: (0.1, 0.2, 0.4, 0.8, 1.6), 2: (0.15, 0.4, 1.0, 3.0), 3: (0.3, 0.8, 3.0)}
_FEW: Final = (0.4, 2.0)

#: What the surface does not explain: its values are right to about 3 %.
_MISFIT: Final = 1e-3

#: What is added to a covariance before its root is taken, in units of the surface's variance.
_JITTER: Final = 1e-7

#: The level of the surface is unknown: its prior variance, in units of the surface's.
_LEVEL: Final = 25.0


@cache
def lengths_for(dimensions: int) -> Floats:
    """Return the combinations of lengths that are tried, one row each.

    >>> lengths_for(1).ravel()
    array([0.1, 0.2, 0.4, 0.8, 1.6])
    """
    each = _LENGTHS.get(dimensions, _FEW)
    return np.array(list(itertools.product(each, repeat=dimensions)))


def _kernel(a: Floats, b: Floats, lengths: Floats) -> Floats:
    """Return exp(-|a - b|^2/2), in units of the lengths, and what the unknown level adds."""
    a, b = a / lengths, b / lengths
    # By the binomial formula: a product of matrices is much faster than all differences.
    near = a @ b.T - 0.5 * (a * a).sum(axis=1)[:, None] - 0.5 * (b * b).sum(axis=1)
    return np.asarray(np.exp(np.minimum(near, 0.0)) + _LEVEL)


@dataclass(frozen=True, eq=False)
class Surface:
    """The posterior of a smooth function, from values with known noise at some points.

    >>> x = np.linspace(0, 1, 5)[:, None]
    >>> surface = Surface.fit(x, np.square(x[:, 0] - 0.3), np.full(5, 1e-4))
    >>> mean, covariance = surface.at(np.array([[0.3], [0.9]]))
    >>> bool(abs(mean[0]) < 0.02), bool(abs(mean[1] - 0.36) < 0.02)
    (True, True)
    """

    points: Floats
    values: Floats
    noise: Floats
    lengths: Floats
    scale: float
    whiten: Floats  # the inverse of the root of the covariance of the values
    whitened: Floats

    @classmethod
    def fit(
        cls, points: Floats, values: Floats, noise: Floats, lengths: Floats | None = None
    ) -> Surface:
        """Return the surface, with given lengths or with the most likely ones."""
        middle = float(np.median(values))
        scale = 0.3 + float(np.square(values - middle).mean())
        if lengths is None:
            tried = lengths_for(points.shape[1])
            unlikely = [_unlikely(points, values, noise, scale, one) for one in tried]
            lengths = tried[int(np.argmin(unlikely))]
        root = _root(points, noise, scale, lengths)
        whiten: Floats = np.linalg.inv(root).astype(float)
        return cls(points, values, noise, lengths, scale, whiten, whiten @ values)

    def at(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the covariance of the surface at other points."""
        cross = self.whiten @ (self.scale * _kernel(self.points, points, self.lengths))
        covariance = self.scale * _kernel(points, points, self.lengths) - cross.T @ cross
        return cross.T @ self.whitened, covariance

    def roughly(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the standard deviation at other points, each by itself."""
        cross = self.whiten @ (self.scale * _kernel(self.points, points, self.lengths))
        variance = self.scale * (1 + _LEVEL) - np.square(cross).sum(axis=0)
        return cross.T @ self.whitened, np.sqrt(np.maximum(variance, 0.0))

    def left_out(self) -> tuple[Floats, Floats]:
        """Return the mean and the standard deviation at each own point, without its own value.

        Rasmussen and Williams 2006, equation 5.12: y_i - [C^-1 y]_i/[C^-1]_ii and 1/[C^-1]_ii, with
        the covariance C of the values. The latter includes the noise of the value.
        """
        variance = 1 / np.square(self.whiten).sum(axis=0)
        mean = self.values - (self.whiten.T @ self.whitened) * variance
        return mean, np.sqrt(np.maximum(variance - self.noise - _MISFIT, 0.0))

    def drawn(self, points: Floats, random: np.random.Generator) -> Floats:
        """Return one draw of the surface at other points, all at once."""
        mean, covariance = self.at(points)
        # Points that are close together have nearly the same row: the root needs a little more.
        covariance[np.diag_indices_from(covariance)] += _JITTER * self.scale
        root = np.linalg.cholesky(covariance)
        return np.asarray(mean + root @ random.standard_normal(len(mean)))


def _root(points: Floats, noise: Floats, scale: float, lengths: Floats) -> Floats:
    """Return the root of the covariance of values with this noise: lower triangular."""
    covariance = scale * _kernel(points, points, lengths)
    covariance[np.diag_indices_from(covariance)] += noise + _MISFIT
    root: Floats = np.linalg.cholesky(covariance).astype(float)
    return root


def _unlikely(
    points: Floats, values: Floats, noise: Floats, scale: float, lengths: Floats
) -> float:
    """Return minus the log of the marginal likelihood of some lengths, up to a constant."""
    root = _root(points, noise, scale, lengths)
    whitened = np.linalg.solve(root, values)
    return float(whitened @ whitened / 2 + np.log(np.diag(root)).sum())
