"""Fits a mixture of normal distributions to weighted draws: EM, with shrunk covariances.

The number of components is the one with the least BIC (Schwarz, Annals of Statistics 6, 1978) on
the effective number of draws. A covariance from few draws is shrunk towards that of a linear limit
state: the variance of the draws along the mean, and one number across it.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.importance.points import log_mixture
from croupier.rare.components import Component

__all__ = ["HIGH", "Slope", "around", "fitted"]

#: How many components are tried.
_TRIED: Final = (1, 2, 3, 4, 6)

#: Above this dimension a component needs d/4 draws, and its direction is that of the regression.
HIGH: Final = 12

_LLOYD_STEPS: Final = 3
_EM_STEPS: Final = 25
_EM_ENOUGH: Final = 1e-3

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


class _Parts(NamedTuple):
    """A fit: shares (K,), components, and the number of parameters that it uses."""

    shares: Floats
    components: list[Component]
    parameters: float

    def joint(self, x: Floats) -> Floats:
        return np.column_stack([each.logpdf(x) for each in self.components])


def fitted(
    x: Floats, log_weight: Floats, rng: np.random.Generator, slope: Slope | None = None
) -> list[tuple[float, Component]]:
    """Return shares and components that are fitted to draws x (n, d) with weights.

    >>> rng = np.random.default_rng(7)
    >>> x = np.concatenate((rng.normal(4, 0.3, (60, 2)), rng.normal(-4, 0.3, (60, 2))))
    >>> [round(share, 1) for share, _ in fitted(x, np.zeros(120), rng)]
    [0.5, 0.5]
    """
    d = x.shape[1]
    w = np.exp(log_weight - log_weight.max())
    w /= w.sum()
    draws = 1 / float(np.square(w).sum())
    best, least, worse = None, math.inf, 0
    for K in _TRIED:
        if len(x) <= K or (d > HIGH and draws < K * d / 4):
            break
        found = math.inf
        for _ in range(1 if K == 1 or d > HIGH else 2):
            parts = _expectation_maximisation(x, w, K, rng)
            fit = float(w @ log_mixture(parts.joint(x), parts.shares))
            found_now = -2 * draws * fit + parts.parameters * math.log(max(draws, 2.0))
            found = min(found, found_now)
            if found_now < least:
                best, least = parts, found_now
        worse = 0 if found <= least else worse + 1
        if worse == 2:
            break
    if best is None:
        best = _of_responsibilities(x, w, np.ones((len(x), 1)))
    if d > HIGH and slope is not None:
        best = _turned(best, x, w, slope)
    return list(zip(best.shares.tolist(), best.components, strict=True))


def around(x: Floats, log_weight: Floats, designs: Floats) -> list[tuple[float, Component]]:
    """Return one component for each known design point (k, d), fitted to the draws nearest to it.

    >>> rng = np.random.default_rng(7)
    >>> x = rng.normal(size=(40, 20)) + 4 * np.eye(20)[0]
    >>> [share for share, _ in around(x, np.zeros(40), 4 * np.eye(20)[:2])]
    [1.0, 0.02]
    """
    w = np.exp(log_weight - log_weight.max())
    w /= w.sum()
    away = np.array([np.square(x - design).sum(axis=1) for design in designs])
    nearest = away.argmin(axis=0)
    found = []
    for k, design in enumerate(designs):
        v = w * (nearest == k)
        mass = float(v.sum())
        component = Component(design, np.array(1.0))
        if mass > 0 and _count(v) >= _FEWEST and np.linalg.norm(design) > 0:
            direction = design / np.linalg.norm(design)
            component = _along(x, v / mass, direction, v @ x / mass)
        found.append((max(mass, _LEAST_SHARE), component))
    return found


def _expectation_maximisation(x: Floats, w: Floats, K: int, rng: np.random.Generator) -> _Parts:
    nearest = _clusters(x, w, K, rng)
    parts = _of_responsibilities(x, w, np.eye(K)[nearest])
    before = -math.inf
    for _ in range(_EM_STEPS if K > 1 else 0):
        joint = parts.joint(x) + np.log(parts.shares)
        top = joint.max(axis=1, keepdims=True)
        each = np.exp(joint - top)
        total = each.sum(axis=1, keepdims=True)
        fit = float(w @ (top + np.log(total))[:, 0])
        if fit - before < _EM_ENOUGH:
            break
        before = fit
        parts = _of_responsibilities(x, w, each / total)
    return parts


def _clusters(x: Floats, w: Floats, K: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the nearest centre of every draw: k-means++ (Arthur and Vassilvitskii, SODA 2007)."""
    centres = [x[rng.choice(len(x), p=w)]]
    for _ in range(K - 1):
        away = np.min([np.square(x - c).sum(axis=1) for c in centres], axis=0) * w
        total = away.sum()
        p = away / total if total > 0 else w
        centres.append(x[rng.choice(len(x), p=p)])
    middle = np.array(centres)
    for step in range(_LLOYD_STEPS + 1):
        away = np.square(x[:, None] - middle).sum(axis=2)
        nearest = away.argmin(axis=1)
        if step == _LLOYD_STEPS:
            break
        for k in range(K):
            mass = w[nearest == k].sum()
            if mass > 0:
                middle[k] = w[nearest == k] @ x[nearest == k] / mass
    return np.asarray(nearest, np.intp)


def _of_responsibilities(x: Floats, w: Floats, r: Floats) -> _Parts:
    """Return the fit in which draw i belongs to component k with the responsibility r_ik."""
    d = x.shape[1]
    P = d * (d + 1) / 2
    shares, components, parameters = [], [], -1.0
    for k in range(r.shape[1]):
        v = w * r[:, k]
        mass = float(v.sum())
        if mass <= 1e-12 or (d > HIGH and _count(v) < d / 4):
            continue
        v = v / mass
        mean = v @ x
        away = x - mean
        S = (away * v[:, None]).T @ away
        draws = 1 / float(np.square(v).sum())
        shares.append(mass)
        components.append(Component(mean, _root(S, mean, draws)))
        parameters += 1 + d + P * draws / (P + draws)
    if not shares:
        return _of_responsibilities_of_one(x, w)
    total = np.array(shares)
    return _Parts(total / total.sum(), components, parameters)


def _of_responsibilities_of_one(x: Floats, w: Floats) -> _Parts:
    mean = w @ x
    return _Parts(np.ones(1), [Component(mean, np.array(1.0))], float(x.shape[1]))


def _count(v: Floats) -> float:
    return float(v.sum() ** 2 / np.square(v).sum())


def _root(S: Floats, mean: Floats, draws: float) -> Floats:
    """Return the root of a covariance S that is shrunk towards that of a linear limit state."""
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
    covariance = (1 - unit) * covariance + (unit * wide + _LEAST_WIDTH**2) * np.eye(d)
    return np.asarray(np.linalg.cholesky(covariance), float)


def _turned(parts: _Parts, x: Floats, w: Floats, slope: Slope) -> _Parts:
    """Turn the means to the direction in which g falls; the rest is shrunk (James and Stein)."""
    own = parts.joint(slope.x).argmax(axis=1)
    r = parts.joint(x) + np.log(parts.shares)
    r = np.exp(r - r.max(axis=1, keepdims=True))
    r /= r.sum(axis=1, keepdims=True)
    components = []
    for k, component in enumerate(parts.components):
        mine = own == k
        direction = _descent(slope.x[mine], slope.g[mine])
        if direction is None:
            components.append(component)
            continue
        v = w * r[:, k]
        components.append(_along(x, v / v.sum(), direction, component.mean))
    return parts._replace(components=components)


def _along(x: Floats, v: Floats, direction: Floats, mean: Floats) -> Component:
    """Return a component whose mean lies along a direction, fitted to draws with weights v."""
    draws = 1 / float(np.square(v).sum())
    along = float(direction @ mean)
    rest = mean - along * direction
    noise = (x.shape[1] - 1) / draws / max(float(rest @ rest), 1e-300)
    mean = along * direction + max(0.0, 1.0 - noise) * rest
    away = x - mean
    S = (away * v[:, None]).T @ away
    return Component(mean, _root(S, mean, draws))


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
