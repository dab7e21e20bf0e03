"""Fits a mixture of normal distributions to weighted draws: EM, with shrunk covariances.

The number of components is the one with the least BIC (Schwarz, Annals of Statistics 6, 1978) on
the effective number of draws. A covariance from few draws is shrunk towards that of a linear limit
state: the variance of the draws along the mean, and one number across it.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.fit import bic, fit, nearest_centres
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import root_of
from croupier.distributions.weights import effective_size, normalised

__all__ = ["HIGH", "Slope", "around", "fitted", "parted"]

#: How many components are tried, beside one.
_TRIED: Final = (2, 3, 4, 6)

#: Above this dimension a component needs d/4 draws, and its direction is that of the regression.
HIGH: Final = 12

_EM_STEPS: Final = 25

#: No component is narrower than this, in any direction.
_LEAST_WIDTH: Final = 0.02

#: A component around a design point keeps this share, and the width 1 below so many draws.
_LEAST_SHARE: Final = 0.02
_FEWEST: Final = 3.0

#: Across the mean, a variance of 1 counts as much as this many draws.
_PRIOR: Final = 10.0


class Slope(NamedTuple):
    """Recent draws and the limit state there: its slope is the direction of a component."""

    x: Floats
    g: Floats


def fitted(
    x: Floats, log_weight: Floats, rng: np.random.Generator, slope: Slope | None = None
) -> Mixture:
    """Return a mixture that is fitted to draws x (n, d) with weights.

    >>> rng = np.random.default_rng(7)
    >>> x = np.concatenate((rng.normal(4, 0.3, (60, 2)), rng.normal(-4, 0.3, (60, 2))))
    >>> fitted(x, np.zeros(120), rng).shares.round(1).tolist()
    [0.5, 0.5]
    """
    d, w = x.shape[1], normalised(log_weight)
    draws, P = float(effective_size(w)), d * (d + 1) / 2

    def criterion(mixture: Mixture) -> float:
        own = draws * mixture.shares
        return bic(mixture, x, w, float((P * own / (P + own)).sum()))

    best = fit(x, w, np.ones((len(x), 1)), shrink=_shrunk)
    least, worse = criterion(best), 0
    for K in _TRIED:
        if len(x) <= K or (d > HIGH and draws < K * d / 4):
            break
        found = math.inf
        for _ in range(1 if d > HIGH else 2):
            mixture = parted(x, w, K, rng)
            found = min(found, now := criterion(mixture))
            if now < least:
                best, least = mixture, now
        worse = 0 if found <= least else worse + 1
        if worse == 2:
            break
    return best if d <= HIGH or slope is None else _turned(best, x, w, slope)


def parted(x: Floats, w: Floats, K: int, rng: np.random.Generator) -> Mixture:
    """Return at most K components that EM fits to draws x (n, d) with weights w."""
    start = np.eye(K)[nearest_centres(x, w, K, rng)]
    return fit(x, w, start, steps=_EM_STEPS, shrink=_shrunk)


def around(x: Floats, log_weight: Floats, designs: Floats) -> Mixture:
    """Return one component for each known design point (k, d), fitted to the draws nearest to it.

    >>> rng = np.random.default_rng(7)
    >>> x = rng.normal(size=(40, 20)) + 4 * np.eye(20)[0]
    >>> around(x, np.zeros(40), 4 * np.eye(20)[:2]).shares.round(2).tolist()
    [0.98, 0.02]
    """
    w = normalised(log_weight)
    away = np.array([np.square(x - design).sum(axis=1) for design in designs])
    nearest = away.argmin(axis=0)
    shares, found = [], []
    for k, design in enumerate(designs):
        v = w * (nearest == k)
        mass, size = float(v.sum()), float(np.linalg.norm(design))
        component = Mixture.normal(design)
        if effective_size(v) >= _FEWEST and size > 0:
            component = _along(x, v / mass, design / size, v @ x / mass)
        shares.append(max(mass, _LEAST_SHARE))
        found.append(component)
    return Mixture.mixed(found, np.array(shares) / sum(shares))


def _shrunk(S: Floats, mean: Floats, draws: float) -> Floats:
    """Return a covariance S that is shrunk towards that of a linear limit state."""
    d = len(mean)
    P = d * (d + 1) / 2
    away = float(np.linalg.norm(mean))
    along = across = 1.0
    u = mean / away if away > 0 else np.zeros(d)
    if draws > 1.5 and away > 0:
        along = float(u @ S @ u)
        found = (float(np.trace(S)) - along) / max(d - 1, 1) * draws / (draws - 1)
        # In high dimensions one number from d - 1 coordinates is well known.
        prior = _PRIOR if d <= HIGH else 0.0
        across = (draws * found + prior) / (draws + prior)
    T = across * np.eye(d) + (along - across) * np.outer(u, u)
    shrunk, unit = P / (P + draws), 2 / (2 + draws)
    covariance = (1 - shrunk) * S + shrunk * T
    wide = min(1.0, float(np.trace(covariance)) / d)  # a narrow component stays narrow
    return np.asarray((1 - unit) * covariance + (unit * wide + _LEAST_WIDTH**2) * np.eye(d))


def _turned(mixture: Mixture, x: Floats, w: Floats, slope: Slope) -> Mixture:
    """Turn the means to the direction in which g falls; the rest is shrunk (James and Stein)."""
    own = mixture.component_log_densities(slope.x).argmax(axis=1)
    r = mixture.responsibilities(x)
    components = []
    for k in range(len(mixture)):
        mine, component = own == k, mixture.part([k])
        direction = _descent(slope.x[mine], slope.g[mine])
        if direction is not None:
            v = w * r[:, k]
            component = _along(x, v / v.sum(), direction, mixture.means[k])
        components.append(component)
    return Mixture.mixed(components, mixture.shares)


def _along(x: Floats, v: Floats, direction: Floats, mean: Floats) -> Mixture:
    """Return a component whose mean lies along a direction, fitted to draws with weights v."""
    draws = float(effective_size(v))
    along = float(direction @ mean)
    rest = mean - along * direction
    noise = (x.shape[1] - 1) / draws / max(float(rest @ rest), 1e-300)
    mean = along * direction + max(0.0, 1.0 - noise) * rest
    away = x - mean
    S = (away * v[:, None]).T @ away
    return Mixture.normal(mean, root_of(_shrunk(S, mean, draws)))


def _descent(x: Floats, g: Floats) -> Floats | None:
    """Return the unit vector along which g falls, by a linear regression; None from too few."""
    known = np.isfinite(g)
    x, g = x[known], g[known]
    n, d = x.shape
    if n < d + 10:
        return None
    centred = x - x.mean(axis=0)
    slope = np.linalg.lstsq(centred, g - g.mean(), rcond=None)[0]
    size = float(np.linalg.norm(slope))
    return None if not size > 0 or not math.isfinite(size) else -slope / size
