"""The directions in which an integrand varies most, from its evaluations at normal points."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import ndtri

from croupier.data.draws import Floats
from croupier.distributions.weights import effective_size
from croupier.integration.changes import Rotated

__all__ = ["fit_turned"]

#: A turn is tried if functions of one coordinate leave at most this share of the variance that they
#: left before.
_LEFT: Final = 0.6

#: The values of a coordinate are put into so many bins.
_BINS: Final = 16


def fit_turned(z: Floats, values: Floats, jac: Floats) -> Rotated | None:
    """Return the rotation whose first coordinates are those along which f changes most.

    `values` (n, m) are f jac at normal points z (n, d), with the weights jac of the points. With
    b = E[f z] and H = E[f (z z' - I)], the quadratic part of f has the mean gradient b and the mean
    Hessian H (Stein's identity), so the expectation of its gradients' outer products is b b' + H^2.
    The eigenvectors of this matrix are the active directions (Constantine, Dow and Wang, SIAM
    Journal on Scientific Computing 36, 2014, equation 2.4; b alone: Imai and Tan, Journal of
    Computational Finance 10, 2006; H alone: Li, JASA 87, 1992). A net is most uniform in its first
    coordinates, so these get the first directions.

    A net is good at sums of functions of one coordinate. None means that f is such a sum already,
    or that the turn does not make it one.

    >>> rng = np.random.default_rng(7)
    >>> z = rng.standard_normal((2000, 4))
    >>> turned = fit_turned(z, np.exp(0.5 * z.sum(axis=1, keepdims=True)), np.ones(2000))
    >>> np.abs(turned.rotation[:, 0]).round(1).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    n, d = z.shape
    scale = np.abs(values).max(axis=0)
    values = values[:, scale > 0] / scale[scale > 0]
    total = np.zeros((d, d))
    for v in values.T:
        b = v @ z / n
        H = (z * v[:, None]).T @ z / n - v.mean() * np.eye(d)
        each = np.outer(b, b) + H @ H
        total += each / max(float(np.trace(each)), 1e-300)
    if not np.isfinite(total).all() or not np.trace(total) > 0:
        return None
    _, vectors = np.linalg.eigh(total)
    signs = np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)  # eigenvectors have no sign of their own
    rotation = np.ascontiguousarray((vectors * signs)[:, ::-1])
    f = values / jac[:, None]
    before = _explained(z, f, jac)
    if not 1 - _explained(z @ rotation, f, jac) < _LEFT * (1 - before):
        return None
    return Rotated(rotation)


def _explained(z: Floats, f: Floats, weight: Floats) -> float:
    """Return the share of the variance of f that sums of functions of one coordinate explain.

    A function of one coordinate is the mean of f in each of 16 bins; what bins explain by chance is
    subtracted. The mean over the components of f; NaN if one of them is constant.
    """
    share = weight / weight.sum()
    n = float(effective_size(share))
    away = f - share @ f
    variance = share @ np.square(away)
    if not (variance > 1e-20).all():
        return float("nan")
    edges = ndtri(np.arange(1, _BINS) / _BINS)
    total = np.zeros(f.shape[1])
    for column in z.T:
        at = np.searchsorted(edges, column)
        inside = np.bincount(at, share, _BINS)
        sums = np.array([np.bincount(at, share * one, _BINS) for one in away.T])
        between = (np.square(sums) / np.maximum(inside, 1e-300)).sum(axis=1) / variance
        chance = (1 - between) * (_BINS - 1) / max(n - _BINS, 1.0)
        total += np.maximum(between - chance, 0.0)
    return float(total.mean())
