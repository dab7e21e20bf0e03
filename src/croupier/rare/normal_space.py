"""Spaces: how the variables of a limit state are made from independent standard normal numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["Nataf", "Space", "space_of"]

_ACCEPTED: Final = (
    "a dimension (an integer), a list of frozen distributions of scipy.stats, a frozen "
    "scipy.stats.multivariate_normal, croupier.rare.Nataf(marginals, correlation), or a pair "
    "(dimension, transform) with a function of standard normal points (n, dimension)"
)

#: The step of the central differences of a transform.
_DIFFERENCE: Final = 1e-5


class Space(Protocol):
    """The variables of a limit state as functions of `d` standard normal numbers."""

    @property
    def d(self) -> int:
        """How many standard normal numbers there are."""

    def to_user(self, z: Floats) -> Floats:
        """Return the variables (n, k) at standard normal points (n, d)."""

    def to_normal(self, x: Floats) -> Floats:
        """Return the standard normal points of variables (n, k)."""

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Return gradients (n, m, k) for the variables as gradients (n, m, d) for z: chain rule."""


@dataclass(frozen=True)
class StandardNormal:
    """The variables are the standard normal numbers."""

    d: int

    def to_user(self, z: Floats) -> Floats:
        """Return the points themselves."""
        return z

    def to_normal(self, x: Floats) -> Floats:
        """Return the points themselves."""
        return x

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Return the gradients themselves."""
        return gradient


@dataclass(frozen=True)
class Marginals:
    """Independent variables: each is a quantile of its distribution."""

    distributions: tuple[Any, ...]

    @property
    def d(self) -> int:
        """How many variables there are."""
        return len(self.distributions)

    def to_user(self, z: Floats) -> Floats:
        """Return F^-1(Phi(z)), from the nearer tail, so that no digit is lost."""
        from scipy.special import ndtr

        columns = []
        for column, each in zip(z.T, self.distributions, strict=True):
            upper = column > 0
            tail = ndtr(-np.abs(column))
            columns.append(np.where(upper, _isf(each, tail), each.ppf(tail)))
        return np.column_stack(columns)

    def to_normal(self, x: Floats) -> Floats:
        """Return Phi^-1(F(x)), from the nearer tail."""
        from scipy.special import ndtri

        columns = []
        for column, each in zip(x.T, self.distributions, strict=True):
            below, beyond = each.cdf(column), each.sf(column)
            columns.append(np.where(below < beyond, ndtri(below), -ndtri(beyond)))
        return np.column_stack(columns)

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Multiply by dx/dz = phi(z)/f(x)."""
        x, columns = self.to_user(z), []
        for k, each in enumerate(self.distributions):
            if not hasattr(each.dist, "pdf"):
                raise PlanError(
                    f"gradient= needs densities, but over[{k}] is discrete: leave it out"
                )
            log_phi = -0.5 * np.square(z[:, k]) - 0.5 * math.log(2 * math.pi)
            columns.append(np.exp(log_phi - each.logpdf(x[:, k])))
        return np.asarray(gradient * np.column_stack(columns)[:, None])


@dataclass(frozen=True, eq=False)
class NormalVector:
    """A normal vector: mean + root z, with a lower triangular root."""

    mean: Floats
    root: Floats

    @property
    def d(self) -> int:
        """How many variables there are."""
        return len(self.mean)

    def to_user(self, z: Floats) -> Floats:
        """Return mean + root z."""
        return np.asarray(self.mean + z @ self.root.T)

    def to_normal(self, x: Floats) -> Floats:
        """Return root^-1 (x - mean)."""
        return np.asarray(np.linalg.solve(self.root, (x - self.mean).T).T, float)

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Multiply by the transpose of the root."""
        return np.asarray(gradient @ self.root)


class Nataf:
    """Variables with given marginal distributions and a Gaussian copula.

    Args:
        marginals: Frozen distributions of scipy.stats, one for each variable.
        correlation: The correlation matrix (k, k) of the variables themselves.
        of: "values" if `correlation` is that of the variables (Nataf's transformation: Liu and Der
            Kiureghian, Probabilistic Engineering Mechanics 1, 1986); "normals" if it is that of
            the normal numbers behind them, the parameter of the copula.

    >>> from scipy.stats import expon, norm
    >>> space = Nataf([expon(), norm(2, 1)], [[1, 0.5], [0.5, 1]])
    >>> space.to_user(np.zeros((1, 2))).round(4).tolist()
    [[0.6931, 2.0]]
    """

    def __init__(self, marginals: Sequence[Any], correlation: Any, of: str = "values") -> None:
        self.marginals = _marginals(marginals)
        self.d = self.marginals.d
        if of not in ("values", "normals"):
            raise PlanError(f"of must be 'values' or 'normals', got {of!r}")
        given = np.array(correlation, float)
        good = given.shape == (self.d, self.d) and np.allclose(given, given.T)
        if not good or not np.allclose(np.diag(given), 1.0) or np.abs(given).max() > 1:
            raise PlanError(
                f"correlation must be a symmetric matrix ({self.d}, {self.d}) with a diagonal of "
                f"1 and entries between -1 and 1, got {correlation!r:.200}"
            )
        self.correlation = given if of == "normals" else self._behind(given)
        try:
            self._root = np.linalg.cholesky(self.correlation)
        except np.linalg.LinAlgError:
            raise PlanError(
                "correlation is not positive definite for these marginals: no Gaussian copula has "
                f"it; its eigenvalues are {np.linalg.eigvalsh(self.correlation)}"
            ) from None

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        nodes, weights = np.polynomial.hermite_e.hermegauss(64)
        return nodes, weights / weights.sum()

    def _behind(self, given: Floats) -> Floats:
        """Return the correlation of the normal numbers that gives the variables theirs."""
        found = np.eye(self.d)
        for i in range(self.d):
            for j in range(i):
                found[i, j] = found[j, i] = self._behind_pair(i, j, float(given[i, j]))
        return found

    def _behind_pair(self, i: int, j: int, wanted: float) -> float:
        from scipy.optimize import brentq

        if wanted == 0:
            return 0.0
        z, w = self._nodes
        one, other = (Marginals((self.marginals.distributions[k],)) for k in (i, j))
        a = one.to_user(z[:, None])[:, 0]
        mean, spread = w @ a, np.sqrt(w @ a**2 - (w @ a) ** 2)

        def gap(rho: float) -> float:
            second = rho * z[:, None] + np.sqrt(1 - rho * rho) * z
            b = other.to_user(second.reshape(-1, 1)).reshape(second.shape)
            centre = w @ b @ w
            width = np.sqrt(w @ b**2 @ w - centre**2)
            return float(((w * (a - mean)) @ (b - centre) @ w) / (spread * width) - wanted)

        if gap(-0.9999) > 0 or gap(0.9999) < 0:
            raise PlanError(
                f"correlation {wanted} of variables {j} and {i} is not possible for their "
                f"distributions: it lies between {gap(-0.9999) + wanted:.3f} and "
                f"{gap(0.9999) + wanted:.3f}"
            )
        return float(brentq(gap, -0.9999, 0.9999, xtol=1e-10))

    def to_user(self, z: Floats) -> Floats:
        """Return the variables at standard normal points."""
        return self.marginals.to_user(z @ self._root.T)

    def to_normal(self, x: Floats) -> Floats:
        """Return the standard normal points of variables."""
        return np.asarray(np.linalg.solve(self._root, self.marginals.to_normal(x).T).T, float)

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Pass the marginals first, then the root of the correlation."""
        return np.asarray(self.marginals.pulled_back(z @ self._root.T, gradient) @ self._root)


@dataclass(frozen=True)
class Transformed:
    """Variables that a function of the user makes from standard normal points."""

    d: int
    transform: Callable[[Floats], Any]

    def to_user(self, z: Floats) -> Floats:
        """Return the variables at standard normal points."""
        x = np.asarray(self.transform(z.copy()))
        if x.shape[:1] != (len(z),):
            raise PlanError(
                f"the transform was asked for {len(z)} points and returned the shape {x.shape}: "
                "return one row for each point"
            )
        return x

    def to_normal(self, x: Floats) -> Floats:
        """Return the points: the inverse of the transform is not known, so they are normal."""
        return x

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Multiply by the Jacobian of the transform, which central differences give."""
        columns = []
        for k in range(self.d):
            away = np.zeros(self.d)
            away[k] = _DIFFERENCE
            change = self.to_user(z + away) - self.to_user(z - away)
            columns.append(np.asarray(change, float).reshape(len(z), -1) / (2 * _DIFFERENCE))
        return np.asarray(np.einsum("nmk,nkd->nmd", gradient, np.stack(columns, axis=2)), float)


def space_of(over: Any) -> Space:
    """Return the space that `over` describes.

    >>> space_of(3).d
    3
    """
    if isinstance(over, int | np.integer) and not isinstance(over, bool | np.bool_):
        if over < 1:
            raise PlanError(f"over must be a dimension of at least 1, got {over}")
        try:
            np.empty(over)
        except (MemoryError, ValueError):
            raise PlanError(f"over must be a dimension that fits into memory, got {over}") from None
        return StandardNormal(int(over))
    if isinstance(over, StandardNormal | Marginals | NormalVector | Nataf | Transformed):
        return over
    if hasattr(over, "cov") and hasattr(over, "mean") and hasattr(over, "logpdf"):
        mean = np.array(over.mean, float, ndmin=1)
        try:
            return NormalVector(mean, np.linalg.cholesky(np.array(over.cov, float, ndmin=2)))
        except (np.linalg.LinAlgError, TypeError, ValueError) as error:
            raise PlanError(f"the covariance of over must be positive definite: {error}") from None
    if isinstance(over, tuple) and len(over) == 2 and callable(over[1]) and _whole(over[0]):
        return Transformed(space_of(over[0]).d, over[1])
    if isinstance(over, Sequence) and not isinstance(over, str) and len(over):
        return _marginals(over)
    raise PlanError(f"over must be {_ACCEPTED}; got {over!r:.200}")


def _isf(each: Any, tail: Floats) -> Floats:
    """Return the quantiles of the upper tail.

    For counts, scipy takes them from 1 - tail, which is 1 below 1e-16: they are NaN, or the
    largest count. There, the least count whose own tail is small enough is looked for.
    """
    x = np.asarray(each.isf(tail), dtype=float)
    if hasattr(each.dist, "pdf"):
        return x
    lost = (tail > 0) & (tail < 1e-12)
    if not lost.any():
        return x
    wanted = tail[lost]
    low = np.full(wanted.shape, float(each.isf(1e-12)) - 1)  # sf(low) is above every wanted tail
    step = 1.0
    while (each.sf(low + step) > wanted).any():
        step *= 2
    high = low + step
    while step > 1:
        step /= 2
        beyond = each.sf(low + step) > wanted
        low, high = np.where(beyond, low + step, low), np.where(beyond, high, low + step)
    x[lost] = high
    return x


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _marginals(given: Sequence[Any]) -> Marginals:
    for k, each in enumerate(given):
        lacking = [name for name in ("ppf", "isf", "cdf", "sf") if not hasattr(each, name)]
        if lacking or not hasattr(each, "args"):
            raise PlanError(
                f"over[{k}] is not a frozen distribution of scipy.stats, such as norm(2, 1); got "
                f"{each!r:.100}; over must be {_ACCEPTED}"
            )
    return Marginals(tuple(given))
