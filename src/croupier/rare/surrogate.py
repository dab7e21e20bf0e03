"""Surrogate: a cheap model of a limit state, from what the search has evaluated.

It says how likely a point fails, m(x) = Phi(-h(x)/s), where h is a model of g and s its error. The
estimate uses it as a control (`rare.control`), so a poor surrogate costs precision, never a bias.
Every model has leave-one-out predictions in closed form. The model and s are those for which
these predictions have the least error.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.rare.gaps import squares_between

__all__ = ["Surrogate", "Training", "surrogate_of"]

#: Interpolation is for few dimensions: the points that are near, and some of all others.
_FEW_DIMENSIONS: Final = 6
_NEAR: Final = 400
_OTHERS: Final = 150
_RIDGES: Final = (1e-6, 1e-2, 1.0)

#: A polynomial needs this many draws for each of its coefficients.
_PER_COEFFICIENT: Final = 4
_FULL_SQUARES: Final = 12

#: The errors s that are tried, in units of the scale of g near the limit.
_ERRORS: Final = np.geomspace(0.01, 3.0, 18)

#: A surrogate that leaves more than this share of the variance is not worth its trouble.
_WORTHLESS: Final = 0.7

#: Below this scale a number is zero; values beyond are the same for a model.
_TINY: Final = 1e-300
_FAR: Final = 1e6


class Training(NamedTuple):
    """What a surrogate learns from: draws x (n, d) with g (n,) there, then more points.

    `counts` (n,) is p^2/(q r), for draws of r: with it, a mean over the draws is that of w^2 over
    draws of the mixture q. `near` (n,) is q/r, which says how important a draw is for q.
    `more` (k, d) are points that were evaluated but not drawn, with `more_g`.
    """

    x: Floats
    g: Floats
    counts: Floats
    near: Floats
    more: Floats
    more_g: Floats


class _Model(Protocol):
    """A model of g and its predictions of the training points, each left out once."""

    used: NDArray[np.intp]
    left_out: Floats

    def at(self, x: Floats) -> Floats: ...


class Surrogate(NamedTuple):
    """The model, its error, the share b of it that is used, and what it leaves of the variance.

    `left` is the variance with the control relative to that without, from draws that the model has
    not seen; `effective` is the effective number of draws that this rests on.
    """

    model: _Model
    error: float
    share: float
    left: float
    effective: float

    def chance(self, x: Floats) -> Floats:
        """Return b times the chance that each point fails, by the model."""
        return self.share * _chance(self.model.at(x), self.error)


def _chance(h: Floats, error: float) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(-h / error))


def surrogate_of(training: Training, importance: Floats) -> Surrogate | None:
    """Return the best surrogate, or None if none is good.

    `importance` (n + k,) says how near each point is to what the mixture draws.
    """
    scale = _scale(training)
    x = np.concatenate((training.x, training.more))
    raw = np.concatenate((training.g, training.more_g)) / scale
    known = np.flatnonzero(np.isfinite(raw))
    if len(known) < 10 * x.shape[1]:
        return None
    best: Surrogate | None = None
    for model in _models(x, np.clip(raw, -_FAR, _FAR), known, importance, training.near):
        found = _judged(model, training, x)
        if found is not None and (best is None or found.left < best.left):
            best = found
    return best if best is not None and best.left < _WORTHLESS else None


def _scale(training: Training) -> float:
    """Return the median size of g, where the mixture draws."""
    size = np.abs(training.g)
    order = np.argsort(size, kind="stable")
    reached = np.cumsum(training.near[order])
    middle = float(size[order[np.searchsorted(reached, reached[-1] / 2)]])
    if middle > 0 and np.isfinite(middle):
        return middle
    some = size[np.isfinite(size) & (size > 0)]
    return float(np.median(some)) if len(some) else 1.0


def _models(
    x: Floats, raw: Floats, known: NDArray[np.intp], importance: Floats, near: Floats
) -> list[_Model]:
    n, d = x.shape
    found: list[_Model] = []
    if d <= _FEW_DIMENSIONS:
        order = known[np.argsort(-importance[known], kind="stable")]
        others = order[_NEAR:]
        step = max(1, len(others) // _OTHERS)
        used = np.concatenate((order[:_NEAR], others[::step]))
        # A function that grows fast far away would hide what it does near zero.
        found += [_Splines(x, np.arcsinh(raw), used, ridge) for ridge in _RIDGES]
    weights = np.full(n, float(np.median(near)))
    weights[: len(near)] = np.minimum(near, 5 * float(np.median(near)) + _TINY)
    for features in (_linear, _squares, _products):
        size = {_linear: d + 1, _squares: 2 * d + 1, _products: (d + 1) * (d + 2) // 2}[features]
        if len(known) < _PER_COEFFICIENT * size or (features is _products and d > _FULL_SQUARES):
            continue
        found.append(_Polynomial(features, x, raw, known, weights))
    return found


def _judged(model: _Model, training: Training, x: Floats) -> Surrogate | None:
    """Return a model with the error and the share that leave the least, on left-out draws."""
    n = len(training.x)
    h = np.full(len(x), np.nan)
    h[model.used] = model.left_out
    unseen = np.flatnonzero(np.isnan(h[:n]))
    if len(unseen):
        h[unseen] = model.at(x[unseen])
    fails = (training.g < 0).astype(float)
    counts, total = training.counts, float(training.counts @ fails)
    if not np.isfinite(h[:n]).all() or not total > 0:
        return None
    best: Surrogate | None = None
    for error in _ERRORS:
        m = _chance(h[:n], float(error))
        size = float(counts @ (m * m))
        share = min(1.0, float(counts @ (fails * m)) / size) if size > 0 else 0.0
        terms = counts * np.square(fails - share * m)
        left = float(terms.sum()) / total
        if best is None or left < best.left:
            spread = float(np.square(terms).sum())
            effective = float(terms.sum()) ** 2 / spread if spread > 0 else 1.0
            best = Surrogate(model, float(error), share, left, effective)
    return best


# -- models


class _Splines:
    """Interpolation by cubic splines r^3 and a plane, with a small ridge (Duchon 1977).

    A prediction that leaves its point out is h_i - c_i/(A^-1)_ii (Rippa, Advances in Computational
    Mathematics 11, 1999).
    """

    def __init__(self, x: Floats, h: Floats, used: NDArray[np.intp], ridge: float) -> None:
        n, d = len(used), x.shape[1]
        self.used, self._x = used, x[used]
        plane = np.column_stack((np.ones(n), self._x))
        A = np.zeros((n + d + 1, n + d + 1))
        A[:n, :n] = self._cubes(self._x) + ridge * np.eye(n)
        A[:n, n:], A[n:, :n] = plane, plane.T
        A[n:, n:] = -1e-10 * np.eye(d + 1)
        try:
            inverse = np.linalg.inv(A)
            self._c = inverse[:, :n] @ h[used]
            self.left_out = h[used] - self._c[:n] / np.diag(inverse)[:n]
        except np.linalg.LinAlgError:  # two points are the same
            self._c, self.left_out = np.zeros(n + d + 1), np.full(n, np.inf)

    def _cubes(self, x: Floats) -> Floats:
        cubes = squares_between(x, self._x)
        cubes *= np.sqrt(cubes)
        return cubes

    def at(self, x: Floats) -> Floats:
        n = len(self._x)
        return np.asarray(self._cubes(x) @ self._c[:n] + self._c[n] + x @ self._c[n + 1 :])


def _linear(x: Floats) -> Floats:
    return np.column_stack((np.ones(len(x)), x))


def _squares(x: Floats) -> Floats:
    return np.column_stack((np.ones(len(x)), x, x * x))


def _products(x: Floats) -> Floats:
    first, second = np.triu_indices(x.shape[1])
    return np.column_stack((np.ones(len(x)), x, x[:, first] * x[:, second]))


class _Polynomial:
    """A weighted ridge regression on features; left-out predictions are h_i - e_i/(1 - H_ii)."""

    def __init__(
        self,
        features: _Features,
        x: Floats,
        h: Floats,
        used: NDArray[np.intp],
        weights: Floats,
    ) -> None:
        self.used, self._features = used, features
        F, v = features(x[used]), weights[used] / weights[used].mean()
        self._scale = np.sqrt((v @ np.square(F)) / len(used)) + 1e-12
        F = F / self._scale
        root = np.linalg.inv((F * v[:, None]).T @ F + 1e-6 * len(used) * np.eye(F.shape[1]))
        self._c = root @ (F.T @ (v * h[used]))
        leverage = np.minimum(((F @ root) * F).sum(axis=1) * v, 0.99)
        self.left_out = h[used] - (h[used] - F @ self._c) / (1 - leverage)

    def at(self, x: Floats) -> Floats:
        return np.asarray(self._features(x) / self._scale @ self._c)


class _Features(Protocol):
    def __call__(self, x: Floats) -> Floats: ...
