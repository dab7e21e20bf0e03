"""Fits of changes of variables to the evaluations so far."""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.fit import fit_normal
from croupier.distributions.weights import effective_size
from croupier.integration.changes import NormalMixture, Separable

__all__ = ["fit_normal_mixture", "fit_separable", "tempered"]

#: One bin for so many points, and the least and the largest number of bins of an axis.
_POINTS_PER_BIN: Final = 32
_BINS: Final = (8, 128)

#: How often VEGAS places the edges anew; each pass comes nearer to bins of equal contributions.
_PASSES: Final = 6


def tempered(size: Floats, jac: Floats, effective: float) -> Floats:
    """Return |f|^b for |f| = `size` and weights jac, with the largest b <= 1 that rests on enough.

    The few points that come nearest to a narrow peak have all of the weight |f| jac, and a fit to
    them goes where they are and nowhere else. Enough means so many effective points, or half of
    those that the weights jac alone have. Fits to |f|^b, with a b that grows as they come nearer,
    keep all peaks in sight (population Monte Carlo: Neal, Statistics and Computing 11, 2001).

    >>> tempered(np.array([1.0, 0.9, 0.8, 0.7]), np.ones(4), 30).tolist()
    [1.0, 0.9, 0.8, 0.7]
    >>> tempered(np.array([1.0, 1e-50]), np.ones(2), 30).round(2).tolist()
    [1.0, 0.0]
    """
    used = size > 0
    if not used.any():
        return size
    logs = np.log(size[used])
    logs -= logs.max()

    def effective_at(b: float) -> float:
        return float(effective_size(np.exp(b * logs) * jac[used]))

    enough = min(effective, effective_at(0.0) / 2)
    if effective_at(1.0) >= enough:
        return size
    from scipy.optimize import brentq

    found = np.zeros_like(size)
    found[used] = np.exp(brentq(lambda b: effective_at(b) - enough, 0.0, 1.0) * logs)
    return found


def fit_separable(u: Floats, size: Floats, jac: Floats) -> Separable | None:
    """Return the separable density of VEGAS for points u (n, d) with |g| = `size`.

    In every pass each axis gets bins of equal contributions to the integral of g^2/density,
    smoothed and damped (Lepage, Journal of Computational Physics 27, 1978, and 439, 2021, section
    2). The points come from any density with weights jac = 1/density. A part of min(.1, .5/d) of
    every axis stays uniform. None means that every value is 0.
    """
    d, bins = u.shape[1], int(np.clip(len(u) // _POINTS_PER_BIN, *_BINS))
    largest = float(size.max(initial=0.0))
    if not largest > 0:
        return None
    weight = np.square(size / largest) * jac
    used = weight > 0
    weight, columns = weight[used], np.ascontiguousarray(u[used].T)
    edges = np.tile(np.linspace(0.0, 1.0, bins + 1), (d, 1))
    shares = np.arange(bins + 1) / bins
    for _ in range(_PASSES):
        log_J, places = np.zeros(len(weight)), []
        for j in range(d):
            at = np.searchsorted(edges[j], columns[j], side="right") - 1
            at = np.clip(at, 0, bins - 1)
            log_J += np.log(bins * np.diff(edges[j]))[at]
            places.append(at)
        now = weight * np.exp(log_J - log_J.max())
        for j in range(d):
            h = _damped(np.bincount(places[j], now, bins).astype(float, copy=False))
            total = np.concatenate(((0.0,), np.cumsum(h)))
            edges[j, 1:-1] = np.interp(shares[1:-1] * total[-1], total, edges[j])
        edges = _increasing(edges)
    uniform = min(0.1, 0.5 / d)
    return Separable(edges, (1 - uniform) * _at_edges(edges) + uniform)


def _at_edges(edges: Floats) -> Floats:
    """Return a continuous density at the edges of bins of equal probability, with integral 1."""
    widths = np.diff(edges)
    bins = widths.shape[1]
    inner = 2 / (widths[:, 1:] + widths[:, :-1])
    density = np.column_stack((1 / widths[:, :1], inner, 1 / widths[:, -1:])) / bins
    total = (widths * (density[:, 1:] + density[:, :-1]) / 2).sum(axis=1, keepdims=True)
    return np.asarray(density / total)


def _damped(h: Floats) -> Floats:
    """Smooth a histogram twice by (1, 6, 1)/8, and damp it: ((h - 1)/log h)^(1/2), as vegas does.

    Without the root, bins where f is near 0 get so few points that the ratio has a heavy tail.
    """
    for _ in range(2):
        padded = np.concatenate((h[:1], h, h[-1:]))
        h = (padded[:-2] + 6 * h + padded[2:]) / 8
    h = np.clip(h / h.sum(), 1e-30, 1 - 1e-12)
    return np.asarray(np.sqrt((h - 1) / np.log(h)))


def _increasing(edges: Floats) -> Floats:
    """Keep a least width for every bin, so that no density is infinite."""
    widths = np.maximum(np.diff(edges), 1e-12)
    widths /= widths.sum(axis=1, keepdims=True)
    edges[:, 1:] = np.cumsum(widths, axis=1)
    edges[:, -1] = 1.0
    return edges


def fit_normal_mixture(z: Floats, size: Floats, jac: Floats) -> NormalMixture | None:
    """Return the normal mixture with the |g| jac-weighted moments of normal points z (n, d).

    None means that too few points have a weight.
    """
    found = fit_normal(z, size * jac)
    return None if found is None else NormalMixture(found.means[0], found.roots[0])
