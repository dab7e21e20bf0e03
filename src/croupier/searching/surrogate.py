"""Surrogate: a Gaussian process of an expensive function of standard normal points.

The function is a constant, a linear and a quadratic trend, and a Matern process (Rasmussen and
Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2, 4.2 and 5.4). It knows its
own error, which its leave-one-out predictions correct. Everything is a few hundred points: no call
takes more than some milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats

__all__ = ["Surrogate", "View", "surrogate_of"]

#: The variance of the constant: three times the spread of the values.
_CONSTANT: Final = 9.0

#: The medians and the widths of the log-normal priors: linear and quadratic trend, Matern process,
#: nugget, and the lengths in units of the root of the dimension.
_MEDIANS: Final = (0.5, 0.05, 0.5, 1e-6)
_LENGTH: Final = 2.0
_WIDTHS: Final = (2.0, 2.0, 1.5, 3.0)
_LENGTH_WIDTH: Final = 0.8

#: The hyperparameters stay within this factor of their medians, as logs.
_FARTHEST: Final = 7.0

#: A maximum is known well enough after so many steps; from an earlier one fewer will do.
_STEPS: Final = 25
_WARM_STEPS: Final = 12

#: Values farther from their median than so many quartile ranges would bend the process elsewhere.
_CLIP: Final = 12.0

#: From so many points on, the scale of the values does not change any more: later points crowd at
#: the limit, where a scale that is bent there looks likely and values far away look like outliers.
_SETTLED: Final = 40

#: The error is corrected by its leave-one-out predictions up to this factor.
MOST_DOUBT: Final = 3.0

#: A point whose variance is this small against the prior's is known.
_TINY: Final = 1e-12


class _Warp(NamedTuple):
    """The scale of the values: arcsinh(g/c), or g itself for an infinite c; then standardised."""

    c: float
    low: float
    high: float
    mean: float
    spread: float

    def __call__(self, g: Floats) -> Floats:
        t = self._bent(np.clip(g, self.low, self.high))
        return np.asarray((t - self.mean) / self.spread)

    def _bent(self, g: Floats) -> Floats:
        return np.asarray(np.arcsinh(g / self.c)) if np.isfinite(self.c) else g

    def log_slope(self, g: Floats) -> float:
        """Return the sum of the logs of the derivative: likelihoods of two scales compare by it."""
        g = np.clip(g, self.low, self.high)
        bent = -0.5 * np.log(self.c**2 + g * g) if np.isfinite(self.c) else np.zeros(len(g))
        return float(bent.sum() - len(g) * np.log(self.spread))

    @classmethod
    def of(cls, g: Floats, c: float) -> _Warp:
        known = g[np.isfinite(g)]
        first, middle, third = np.quantile(known, (0.25, 0.5, 0.75))
        reach = _CLIP * (third - first) if third > first else np.ptp(known)
        # The limit 0 is inside of the clipped range, so that no value changes its sign.
        low, high = min(middle - reach, -reach / _CLIP), max(middle + reach, reach / _CLIP)
        raw = cls(c, float(low), float(high), 0.0, 1.0)
        t = raw(g)
        return raw._replace(mean=float(t.mean()), spread=float(t.std()) or 1.0)


class _Matern(NamedTuple):
    """The kernel, with its hyperparameters; `nugget` is the variance of every single value."""

    linear: float
    square: float
    matern: float
    nugget: float
    lengths: Floats

    @classmethod
    def of(cls, logs: Floats) -> _Matern:
        linear, square, matern, nugget = np.exp(logs[:4]).tolist()
        return cls(linear, square, matern, nugget, np.exp(logs[4:]))

    def between(self, x: Floats, y: Floats) -> Floats:
        """Return the covariances (n, m) of the function at points (n, d) and (m, d)."""
        inner = x @ y.T
        r = _distances(x / self.lengths, y / self.lengths)
        rough = (1.0 + r + r * r / 3.0) * np.exp(-r)
        trend = _CONSTANT + inner * (self.linear + self.square / x.shape[1] * inner)
        return np.asarray(trend + self.matern * rough)

    def at(self, x: Floats) -> Floats:
        """Return the variances (n,) of values at points, with the nugget."""
        inner = np.square(x).sum(axis=1)
        trend = _CONSTANT + inner * (self.linear + self.square / x.shape[1] * inner)
        return np.asarray(trend + self.matern + self.nugget)


def _distances(x: Floats, y: Floats) -> Floats:
    """Return the root of 5 times the distances (n, m)."""
    squares = np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1) - 2.0 * (x @ y.T)
    return np.asarray(np.sqrt(5.0 * np.maximum(squares, 0.0)))


class _Posterior:
    """Minus the log posterior of the hyperparameters, and its gradient."""

    def __init__(self, x: Floats, y: Floats) -> None:
        self._x, self._y, self._squares = x, y, np.square(x)
        self._inner = x @ x.T
        d = x.shape[1]
        self.middle = np.log([*_MEDIANS, *[_LENGTH * np.sqrt(d)] * d])
        self._width = np.array([*_WIDTHS, *[_LENGTH_WIDTH] * d])

    def __call__(self, logs: Floats) -> tuple[float, Floats]:
        """Rasmussen and Williams, equations 5.8 and 5.9, with the priors."""
        from scipy.linalg import lapack

        k, (n, d) = _Matern.of(logs), self._x.shape
        r = _distances(self._x / k.lengths, self._x / k.lengths)
        decay = k.matern * np.exp(-r)
        rough, square = decay * (1.0 + r + r * r / 3.0), np.square(self._inner) / d
        covariance = _CONSTANT + k.linear * self._inner + k.square * square + rough
        covariance[np.diag_indices(n)] += k.nugget + _TINY * covariance.trace()
        root, failed = lapack.dpotrf(covariance, lower=True)
        away = (logs - self.middle) / self._width
        if failed:
            return 1e10, away
        inverse, _ = lapack.dpotri(root, lower=True)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        a = inverse @ self._y
        Q = np.outer(a, a) - inverse
        slopes = decay * (5.0 / 3.0) * (1.0 + r) * Q
        lengths = self._squares.T @ slopes.sum(axis=1) - ((slopes @ self._x) * self._x).sum(axis=0)
        gradient = 0.5 * np.array(
            [
                k.linear * np.vdot(Q, self._inner),
                k.square * np.vdot(Q, square),
                np.vdot(Q, rough),
                k.nugget * np.trace(Q),
                *(2.0 * lengths / k.lengths**2),
            ]
        )
        fit = 0.5 * self._y @ a + np.log(np.diag(root)).sum()
        return float(fit + 0.5 * away @ away), away / self._width - gradient


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A Gaussian process of values at points x (n, d): its prediction is below 0 where g is.

    `y` are the values on the scale of the `warp`, `logs` the logs of the hyperparameters; `kappa`
    corrects the error (see `doubt`).

    >>> rng = np.random.default_rng(7)
    >>> x = rng.normal(size=(30, 2))
    >>> found = surrogate_of(x, 3 - x[:, 0] + 0.1 * x[:, 1] ** 2)
    >>> h, s = found.predict(np.array([[4.0, 0.0], [2.0, 0.0]]))
    >>> bool(h[0] < -3 * s[0]), bool(h[1] > 3 * s[1])
    (True, True)
    """

    x: Floats
    y: Floats
    warp: _Warp
    logs: Floats
    kappa: float = 1.0

    @cached_property
    def kernel(self) -> _Matern:
        """The kernel with its hyperparameters."""
        return _Matern.of(self.logs)

    @cached_property
    def _root(self) -> Floats:
        covariance = self.kernel.between(self.x, self.x)
        tiny = _TINY * covariance.trace()
        covariance[np.diag_indices(len(self.x))] += self.kernel.nugget + tiny
        return np.asarray(np.linalg.cholesky(covariance))

    @cached_property
    def _limit(self) -> float:
        return float(self.warp(np.zeros(1))[0])

    @cached_property
    def _whitened(self) -> Floats:
        return _solved(self._root, self.y)

    def view(self, points: Floats) -> View:
        """Return points with what is known there: it can learn more points one by one."""
        V = _solved(self._root, self.kernel.between(self.x, points))
        h = V.T @ self._whitened - self._limit
        variance = self.kernel.at(points) - np.square(V).sum(axis=0)
        return View(self, points, V, h, np.maximum(variance, self.least_variance))

    @property
    def least_variance(self) -> float:
        """The variance of a value at a point that is known."""
        return max(0.5 * self.kernel.nugget, _TINY)

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the prediction minus the limit and its standard error, (n,) each."""
        parts = np.array_split(points, max(1, len(points) // 2000))
        views = [self.view(part) for part in parts]
        return np.concatenate([each.h for each in views]), np.concatenate([e.s for e in views])

    def chance(self, points: Floats) -> Floats:
        """Return the chance that the function is below 0 at points (n, d)."""
        return _chance(*self.predict(points))

    def doubt(self) -> float:
        """Return how large the leave-one-out errors are, in units of what was predicted.

        Rasmussen and Williams, equation 5.12. This is their root mean square, where points near the
        limit count more, or the largest of n relative to that of n normal numbers: at a jump most
        errors are small.
        """
        inverse = _solved(self._root, np.eye(len(self.x)))
        away = inverse.T @ self._whitened
        z = away / np.sqrt(np.square(inverse).sum(axis=0))
        near = 1.0 / (0.25 + np.abs(self.y - self._limit))
        largest = np.abs(z).max() / np.sqrt(2.0 * np.log(max(len(z), 2)))
        return float(max(np.sqrt(near @ np.square(z) / near.sum()), largest))

    def missed(self, x: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return by how many of its own errors it misses new values, and how much each counts.

        The errors are those before their correction; points near the limit count more.
        """
        h, s = self.predict(x)
        y = self.warp(values) - self._limit
        return (y - h) * self.kappa / s, 1.0 / (0.25 + np.abs(y))

    def doubted(self, kappa: float) -> Surrogate:
        """Return the process with an error that is at least so many times what it says."""
        kappa = max(self.kappa, min(kappa, MOST_DOUBT))
        return Surrogate(self.x, self.y, self.warp, self.logs, kappa)

    def noise(self) -> float:
        """Return the standard deviation of the nugget relative to that of all values."""
        return float(np.exp(0.5 * self.logs[3]))

    def with_points(self, x: Floats, values: Floats) -> Surrogate:
        """Return the process with more points, and with the same hyperparameters."""
        return self._with(x, self.warp(values))

    def imagining(self, x: Floats, h: Floats) -> Surrogate:
        """Return the process as if its predictions h at more points had come true."""
        return self._with(x, h + self._limit)

    def _with(self, x: Floats, y: Floats) -> Surrogate:
        x, y = np.concatenate((self.x, x)), np.concatenate((self.y, y))
        return Surrogate(x, y, self.warp, self.logs, self.kappa)

    def more_known(self, known: int, points: Floats, V: Floats) -> tuple[Floats, Floats]:
        """Return the rows of V of the points after the first `known`, and their whitened values."""
        right = self.kernel.between(self.x[known:], points) - self._root[known:, :known] @ V
        return _solved(self._root[known:, known:], right), self._whitened[known:]


class View:
    """Points (m, d) with the prediction h (m,) of a surrogate, its error, and how they covary."""

    def __init__(
        self, surrogate: Surrogate, points: Floats, V: Floats, h: Floats, variance: Floats
    ) -> None:
        self.surrogate, self.points = surrogate, points
        self.h, self._V, self._variance = h, V, variance

    @property
    def s(self) -> Floats:
        """The standard errors of values at the points."""
        return np.asarray(self.surrogate.kappa * np.sqrt(self._variance))

    @property
    def chance(self) -> Floats:
        """The chance of every point to be below 0."""
        return _chance(self.h, self.s)

    def learned(self, surrogate: Surrogate) -> View:
        """Return the same points, seen by a surrogate that has more points than this one."""
        rows, z = surrogate.more_known(len(self._V), self.points, self._V)
        variance = self._variance - np.square(rows).sum(axis=0)
        V = np.concatenate((self._V, rows))
        variance = np.maximum(variance, surrogate.least_variance)
        return View(surrogate, self.points, V, self.h + rows.T @ z, variance)

    def squared_correlation(self, some: NDArray[np.intp], others: NDArray[np.intp]) -> Floats:
        """Return the squared correlations (k, l) of values at some points and at others."""
        k = self.surrogate.kernel
        covariance = k.between(self.points[some], self.points[others])
        covariance -= self._V[:, some].T @ self._V[:, others]
        scale = self._variance[some][:, None] * self._variance[others]
        return np.asarray(np.clip(covariance**2 / scale, 0.0, 1.0))


def _chance(h: Floats, s: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(-h / s))


def _solved(root: Floats, right: Floats) -> Floats:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(root, right, lower=True, check_finite=False))


def surrogate_of(x: Floats, values: Floats, before: Surrogate | None = None) -> Surrogate:
    """Return the process whose hyperparameters fit best; `before` is where to begin.

    The scale of the values is the one of the largest likelihood: as they are, or arcsinh(g/c) with
    c their median size or the 15 % quantile of it.
    """
    if before is not None and len(x) >= _SETTLED:
        warps = [before.warp]
    else:
        sizes = np.abs(values[np.isfinite(values)])
        some = [c for c in np.quantile(sizes, (0.5, 0.15)).tolist() if c > 0]
        warps = [_Warp.of(values, c) for c in (np.inf, *some)]
    best, most = None, -np.inf
    for warp in warps:
        start = before.logs if before is not None and before.warp.c == warp.c else None
        logs, likelihood = _fitted(x, warp(values), start)
        likelihood += warp.log_slope(values)
        if best is None or likelihood > most:
            best, most = Surrogate(x, warp(values), warp, logs), likelihood
    assert best is not None
    kappa = float(np.clip(best.doubt(), 1.0, MOST_DOUBT))
    return Surrogate(best.x, best.y, best.warp, best.logs, kappa)


def _fitted(x: Floats, y: Floats, start: Floats | None) -> tuple[Floats, float]:
    from scipy.optimize import minimize

    posterior = _Posterior(x, y)
    middle = posterior.middle
    begin, steps = (middle, _STEPS) if start is None else (start, _WARM_STEPS)
    found = minimize(
        posterior,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=[(m - _FARTHEST, m + _FARTHEST) for m in middle],
        options={"maxiter": steps},
    )
    return np.asarray(found.x), -float(found.fun)
