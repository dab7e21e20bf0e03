"""Vectors of dependent coordinates: normal ones, and given marginals with a Gaussian copula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal, turned
from croupier.errors import PlanError
from croupier.spaces.axes import Axes, Axis, Bounds, Marginal, marginals_of
from croupier.spaces.base import Moved, Need, Space

__all__ = [
    "Nataf",
    "NormalVector",
    "independent_normals",
    "normal_vector",
    "simplified",
    "standard_normal",
]


@dataclass(frozen=True, eq=False)
class NormalVector:
    """A normal vector, mean + root z: the root is a matrix, or a vector of deviations."""

    mean: Floats
    root: Floats
    rotation: Floats | None = None
    lacks: Mapping[Need, str] = field(default_factory=dict)
    volume = 1.0

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.mean)

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return the points of points of the cube."""
        return self.from_normal(moved.normal), None

    def from_normal(self, z: Floats) -> Floats:
        """Return mean + root z."""
        return np.asarray(self.mean + turned(z, self.root))

    def to_normal(self, x: Floats) -> Floats:
        """Return root^-1 (x - mean)."""
        left = x - self.mean
        if self.root.ndim == 1:
            return np.asarray(left / self.root)
        return np.asarray(np.linalg.solve(self.root, left.T).T, float)

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Multiply by the transpose of the root."""
        return np.asarray(gradient * self.root if self.root.ndim == 1 else gradient @ self.root)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return mean + root Z."""
        return self.from_normal(rng.standard_normal((size, self.dimension)))

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density of root^-1 (x - mean), less log|root|."""
        diagonal = self.root if self.root.ndim == 1 else self.root.diagonal()
        return np.asarray(log_standard_normal(self.to_normal(x)) - np.log(diagonal).sum())


def normal_vector(mean: Any, covariance: Any, argument: str) -> NormalVector:
    """Return the normal vector with this mean and covariance, which may be singular."""
    mean = np.atleast_1d(np.asarray(mean, dtype=float))
    covariance = np.atleast_2d(np.asarray(covariance, dtype=float))
    if covariance.shape != (len(mean), len(mean)):
        raise PlanError(
            f"the multivariate normal in {argument}= has {len(mean)} means and a covariance of "
            f"shape {covariance.shape}"
        )
    values, vectors = np.linalg.eigh(covariance)
    if values[0] < -1e-9 * values[-1]:
        raise PlanError(f"the covariance in {argument}= is not positive semidefinite")
    values = np.maximum(values, 0.0)[::-1]
    vectors = vectors[:, ::-1]
    components = vectors * np.sqrt(values)
    if values[-1] <= 1e-12 * values[0]:  # only the components are a root
        why = "its covariance is singular: give as many coordinates as it has degrees of freedom"
        lacks: dict[Need, str] = {"normal": why, "density": why}
        return NormalVector(mean, components, None, lacks)
    root = np.linalg.cholesky(covariance)
    if np.allclose(covariance, np.diag(np.diag(covariance)), rtol=0, atol=1e-12 * values[0]):
        return NormalVector(mean, root)
    return NormalVector(mean, root, np.linalg.solve(root, components))


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
    >>> space.from_normal(np.zeros((1, 2))).round(4).tolist()
    [[0.6931, 2.0]]
    """

    volume = 1.0

    def __init__(self, marginals: Sequence[Any], correlation: Any, of: str = "values") -> None:
        self.marginals = marginals_of(marginals, "marginals")
        self.dimension = d = self.marginals.dimension
        if of not in ("values", "normals"):
            raise PlanError(f"of must be 'values' or 'normals', got {of!r}")
        given = np.array(correlation, float)
        good = given.shape == (d, d) and np.allclose(given, given.T)
        if not good or not np.allclose(np.diag(given), 1.0) or np.abs(given).max() > 1:
            raise PlanError(
                f"correlation must be a symmetric matrix ({d}, {d}) with a diagonal of "
                f"1 and entries between -1 and 1, got {correlation!r:.200}"
            )
        self.correlation = given if of == "normals" else self._behind(given)
        try:
            self._normals = normal_vector(np.zeros(d), self.correlation, "correlation")
            np.linalg.cholesky(self.correlation)
        except (np.linalg.LinAlgError, PlanError):
            raise PlanError(
                "correlation is not positive definite for these marginals: no Gaussian copula has "
                f"it; its eigenvalues are {np.linalg.eigvalsh(self.correlation)}"
            ) from None
        self.rotation = self._normals.rotation
        self.lacks: Mapping[Need, str] = self.marginals.lacks

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        nodes, weights = np.polynomial.hermite_e.hermegauss(64)
        return nodes, weights / weights.sum()

    def _behind(self, given: Floats) -> Floats:
        """Return the correlation of the normal numbers that gives the variables theirs."""
        found = np.eye(self.dimension)
        for i in range(self.dimension):
            for j in range(i):
                found[i, j] = found[j, i] = self._behind_pair(i, j, float(given[i, j]))
        return found

    def _behind_pair(self, i: int, j: int, wanted: float) -> float:
        from scipy.optimize import brentq

        if wanted == 0:
            return 0.0
        z, w = self._nodes
        one, other = self.marginals.axes[i], self.marginals.axes[j]
        a = one.from_normal(z)
        mean, spread = w @ a, np.sqrt(w @ a**2 - (w @ a) ** 2)

        def gap(rho: float) -> float:
            second = rho * z[:, None] + np.sqrt(1 - rho * rho) * z
            b = other.from_normal(second)
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

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return the variables of points of the cube."""
        return self.from_normal(moved.normal), None

    def from_normal(self, z: Floats) -> Floats:
        """Return the variables at standard normal points."""
        return self.marginals.from_normal(self._normals.from_normal(z))

    def to_normal(self, x: Floats) -> Floats:
        """Return the standard normal points of variables."""
        return self._normals.to_normal(self.marginals.to_normal(x))

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Pass the marginals first, then the root of the correlation."""
        behind = self._normals.from_normal(z)
        return self._normals.pulled_back(z, self.marginals.pulled_back(behind, gradient))

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of the variables."""
        return self.from_normal(rng.standard_normal((size, self.dimension)))

    def logpdf(self, x: Floats) -> Floats:
        """Return the density of the marginals times that of the copula."""
        behind = self.marginals.to_normal(x)
        copula = self._normals.logpdf(behind) - log_standard_normal(behind)
        return np.asarray(self.marginals.logpdf(x) + copula)


def standard_normal(dimension: int) -> NormalVector:
    """Return independent standard normal numbers."""
    return NormalVector(np.zeros(dimension), np.ones(dimension))


def independent_normals(axes: Sequence[Any]) -> NormalVector | None:
    """Return axes that are all scipy's norm(...) as one vector, without scipy's overhead."""
    known: dict[int, tuple[float, float]] = {}
    for axis in axes:
        frozen: Any = axis.distribution if isinstance(axis, Marginal) else None
        if type(getattr(frozen, "dist", None)).__name__ != "norm_gen":
            return None
        if id(frozen) not in known:
            mean, deviation = np.asarray(frozen.mean()), np.asarray(frozen.std())
            if mean.ndim or deviation.ndim:
                return None
            known[id(frozen)] = float(mean), float(deviation)
    pairs = np.array([known[id(axis.distribution)] for axis in axes])
    return NormalVector(pairs[:, 0].copy(), pairs[:, 1].copy())


def simplified(space: Space) -> Space:
    """Return the same distribution with less work: scipy's normal and uniform ones are plain.

    Integrals over bounds are over dx, so this is for a distribution only.
    """
    if isinstance(space, NormalVector) and space.root.ndim == 2:
        diagonal = space.root.diagonal()
        if np.count_nonzero(space.root) == len(diagonal) and "density" not in space.lacks:
            return NormalVector(space.mean, diagonal.copy())
    if isinstance(space, Axes):
        return independent_normals(space.axes) or Axes(tuple(map(_as_bounds, space.axes)))
    return space


def _as_bounds(axis: Axis) -> Axis:
    """Return scipy's uniform(...) as bounds, and any other axis as it is."""
    frozen: Any = axis.distribution if isinstance(axis, Marginal) else None
    if type(getattr(frozen, "dist", None)).__name__ != "uniform_gen":
        return axis
    with np.errstate(invalid="ignore"):  # 0 times infinity
        low, high = map(float, frozen.support())
    return Bounds(low, high) if -np.inf < low < high < np.inf else axis
