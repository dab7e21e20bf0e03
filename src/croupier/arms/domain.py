"""Domains: what `over` means, as a map from the unit cube with a weight.

The integral over bounds is the mean of f(x) times the volume; over a distribution it is the mean of
f(x) itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = [
    "INSIDE",
    "MOST",
    "Axes",
    "Bounds",
    "Domain",
    "Law",
    "Moved",
    "NormalDomain",
    "Transformed",
    "domain_of",
]

#: The largest dimension.
MOST: Final = 300

_WAYS: Final = (
    "give bounds (low, high), a frozen distribution of scipy.stats, a list of these, a frozen "
    "multivariate_normal, or a pair of functions with dimension="
)


#: The least and the largest coordinate of a point inside of the cube.
INSIDE: Final = (1e-300, 1 - 2.0**-53)


class Moved(NamedTuple):
    """Points of the cube, as u or as normal points z = Phi^-1(u), and their weights."""

    u: Floats | None
    z: Floats | None
    jac: Floats | None

    @property
    def cube(self) -> Floats:
        """The points as points of the open cube."""
        if self.u is not None:
            return self.u
        return np.asarray(np.clip(ndtr(self.z), *INSIDE))

    @property
    def normal(self) -> Floats:
        """The points as normal points."""
        return np.asarray(ndtri(self.u)) if self.z is None else self.z


class Domain(Protocol):
    """A domain of integration; `rotation` is that of its principal components, if it has some."""

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""

    @property
    def rotation(self) -> Floats | None:
        """The rotation of normal points that puts the largest principal components first."""

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return the points x (n, d) of points of the cube, and their weights (None: all 1)."""


@dataclass(frozen=True)
class Bounds:
    """One axis between two bounds; an end may be infinite.

    An infinite end is mapped so that the weight grows like x^2: the integrals of functions with
    tails like 1/x^2 still have a finite variance.
    """

    low: float
    high: float

    def place(self, u: Floats) -> tuple[Floats, Floats | float]:
        """Return points of the axis and the weight dx/du."""
        low, high = self.low, self.high
        if math.isfinite(low) and math.isfinite(high):
            return low + (high - low) * u, high - low
        if math.isfinite(low):
            return low + u / (1 - u), 1 / np.square(1 - u)
        if math.isfinite(high):
            return high - (1 - u) / u, 1 / np.square(u)
        x = np.tan(np.pi * (u - 0.5))
        return x, np.pi * (1 + np.square(x))


@dataclass(frozen=True)
class Law:
    """One axis with a distribution."""

    distribution: Any

    def place(self, u: Floats) -> tuple[Floats, Floats | float]:
        """Return the quantiles."""
        inverse = getattr(self.distribution, "ppf", None) or self.distribution.icdf
        return np.asarray(inverse(u), dtype=float), 1.0


@dataclass(frozen=True)
class Axes:
    """Independent axes, each with bounds or with a distribution."""

    axes: tuple[Bounds | Law, ...]
    rotation = None

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return len(self.axes)

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return points and their weights."""
        u = moved.cube
        x, constant, weight = np.empty_like(u), 1.0, None
        for j, axis in enumerate(self.axes):
            x[:, j], factor = axis.place(u[:, j])
            if isinstance(factor, float):
                constant *= factor
            else:
                weight = factor if weight is None else weight * factor
        if weight is None and constant == 1.0:
            return x, None
        return x, constant * (np.ones(len(u)) if weight is None else weight)


@dataclass(frozen=True, eq=False)
class NormalDomain:
    """The multivariate normal distribution with this mean and covariance root root'."""

    mean: Floats
    root: Floats
    rotation: Floats | None

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.mean)

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return points of the distribution."""
        return self.mean + moved.normal @ self.root.T, None


@dataclass(frozen=True)
class Transformed:
    """Points x = transform(u); with a log density of x, the integral is over dx."""

    transform: Callable[[Floats], Any]
    log_density: Callable[[Floats], Any] | None
    dimension: int
    rotation = None

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return the transformed points, and the weights 1/density."""
        u = moved.cube
        x = np.asarray(self.transform(u.copy()), dtype=float)
        if x.ndim == 1 and self.dimension == 1:
            x = x[:, None]
        if x.ndim != 2 or len(x) != len(u):
            raise PlanError(
                f"the transform in over= returned an array of shape {x.shape} for {len(u)} points: "
                "return one row per point"
            )
        if self.log_density is None:
            return x, None
        log_q = np.asarray(self.log_density(x.copy()), dtype=float).reshape(-1)
        if len(log_q) != len(u):
            raise PlanError(
                f"the log density in over= returned {len(log_q)} numbers for {len(u)} points: "
                "return one number per point"
            )
        return x, np.exp(-log_q)


def domain_of(over: Any, dimension: int | None = None) -> Domain:
    """Return the domain that `over` describes.

    >>> domain_of((0, 1)).dimension, domain_of([(0, 1), (0, float("inf"))]).dimension
    (1, 2)
    """
    if _functions(over):
        if dimension is None:
            raise PlanError(
                "over= is a pair of functions: give dimension=, the number of coordinates of u"
            )
        return Transformed(over[0], over[1], _checked(count_of("dimension", dimension)))
    domain: Domain
    if _normal(over):
        domain = _multivariate(over)
    elif _is_axis(over):
        domain = Axes((_axis(over, 0),))
    elif isinstance(over, Iterable) and not isinstance(over, str | bytes | dict):
        axes = tuple([_axis(each, j) for j, each in enumerate(over)])
        if not axes:
            raise PlanError(f"over= has no axes: {_WAYS}")
        domain = Axes(axes)
    else:
        raise PlanError(f"over= cannot be {over!r:.80}{_why_not(over)}: {_WAYS}")
    if dimension is not None and count_of("dimension", dimension) != domain.dimension:
        raise PlanError(
            f"dimension={dimension}, but over= has {domain.dimension} "
            f"ax{'i' if domain.dimension == 1 else 'e'}s: leave dimension out"
        )
    _checked(domain.dimension)
    return domain


def _checked(dimension: int) -> int:
    if dimension > MOST:
        raise PlanError(f"over= has {dimension} dimensions, and integrate takes at most {MOST}")
    return dimension


def _functions(over: Any) -> bool:
    pair = isinstance(over, tuple | list) and len(over) == 2
    return pair and _function(over[0]) and (over[1] is None or _function(over[1]))


def _function(thing: Any) -> bool:
    return callable(thing) and not _has_inverse(thing)


def _has_inverse(thing: Any) -> bool:
    return hasattr(thing, "ppf") or hasattr(thing, "icdf")


def _normal(over: Any) -> bool:
    return hasattr(over, "mean") and hasattr(over, "cov") and not callable(over.mean)


def _is_axis(over: Any) -> bool:
    if _has_inverse(over):
        return True
    try:
        return len(over) == 2 and all(np.ndim(end) == 0 and _number(end) for end in over)
    except TypeError:
        return False


def _number(end: Any) -> bool:
    return isinstance(end, int | float | np.integer | np.floating) and not isinstance(end, bool)


def _why_not(over: Any) -> str:
    if callable(over) and not hasattr(over, "rvs"):
        return ", a function (f is the first argument, over= the second)"
    return ", which has no inverse (ppf)" if hasattr(over, "rvs") else ""


def _axis(axis: Any, j: int) -> Bounds | Law:
    if _has_inverse(axis):
        if isinstance(axis, type) or not _frozen(axis):
            raise PlanError(
                f"axis {j} of over= is a distribution without parameters: freeze it, such as "
                "scipy.stats.norm(0, 1)"
            )
        return Law(axis)
    if not _is_axis(axis):
        raise PlanError(f"axis {j} of over= cannot be {axis!r:.80}{_why_not(axis)}: {_WAYS}")
    low, high = (float(end) for end in axis)
    if math.isnan(low) or math.isnan(high) or low == high:
        raise PlanError(f"axis {j} of over= has bounds ({low:g}, {high:g}): give low < high")
    if low > high:
        raise PlanError(
            f"axis {j} of over= has reversed bounds ({low:g}, {high:g}): give ({high:g}, {low:g}), "
            "and change the sign of the result if you want the reversed integral"
        )
    if low == math.inf or high == -math.inf:
        raise PlanError(f"axis {j} of over= has bounds ({low:g}, {high:g}): it is empty")
    return Bounds(low, high)


def _frozen(axis: Any) -> bool:
    # scipy's generic distributions are callable (a call freezes them); frozen ones are not.
    return not (callable(axis) and hasattr(axis, "fit"))


def _multivariate(law: Any) -> Domain:
    mean = np.atleast_1d(np.asarray(law.mean, dtype=float))
    covariance = np.atleast_2d(np.asarray(law.cov, dtype=float))
    if covariance.shape != (len(mean), len(mean)):
        raise PlanError(
            f"the multivariate normal in over= has {len(mean)} means and a covariance of shape "
            f"{covariance.shape}"
        )
    values, vectors = np.linalg.eigh(covariance)
    if values[0] < -1e-9 * values[-1]:
        raise PlanError("the covariance in over= is not positive semidefinite")
    values = np.maximum(values, 0.0)[::-1]
    vectors = vectors[:, ::-1]
    components = vectors * np.sqrt(values)
    if values[-1] <= 1e-12 * values[0]:
        return NormalDomain(mean, components, None)  # singular: only the components are a root
    root = np.linalg.cholesky(covariance)
    if np.allclose(covariance, np.diag(np.diag(covariance)), rtol=0, atol=1e-12 * values[0]):
        return NormalDomain(mean, root, None)
    return NormalDomain(mean, root, np.linalg.solve(root, components))
