"""Axes: independent coordinates, each between bounds or with a distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.spaces.base import Moved, Need
from croupier.spaces.given import Draws
from croupier.spaces.openturns import is_openturns, scipys

__all__ = ["Axes", "Axis", "Bounds", "Marginal", "axes_of", "is_axis", "marginals_of"]

#: What the older distributions of scipy.stats call their methods, and what the newer ones do.
_NEWER: Final = {"ppf": "icdf", "isf": "iccdf", "sf": "ccdf", "rvs": "sample"}

_LOG_ROOT: Final = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Bounds:
    """One axis between two bounds; an end may be infinite.

    An infinite end is mapped so that the weight grows like x^2: the integrals of functions with
    tails like 1/x^2 still have a finite variance.
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """The distance of the bounds."""
        return self.high - self.low

    def lacks(self, axis: int) -> Mapping[Need, str]:
        """Return what an infinite bound makes impossible."""
        if math.isfinite(self.width):
            return {}
        why = f"axis {axis} has an infinite bound: give a distribution"
        return dict.fromkeys(("normal", "density", "sample"), why)

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

    def from_normal(self, z: Floats) -> Floats:
        """Return points, from the nearer bound."""
        part = self.width * ndtr(-np.abs(z))
        return np.asarray(np.where(z > 0, self.high - part, self.low + part))

    def to_normal(self, x: Floats) -> Floats:
        """Return normal numbers, from the nearer bound."""
        below, beyond = (x - self.low) / self.width, (self.high - x) / self.width
        return np.asarray(np.where(below < beyond, ndtri(below), -ndtri(beyond)))

    def log_slope(self, z: Floats, x: Floats) -> Floats:
        """Return log dx/dz."""
        return np.asarray(math.log(self.width) - 0.5 * np.square(z) - _LOG_ROOT)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return uniform points."""
        return np.asarray(rng.uniform(self.low, self.high, size))

    def logpdf(self, x: Floats) -> Floats:
        """Return minus the log of the width between the bounds, -inf elsewhere."""
        return np.where((x >= self.low) & (x <= self.high), -math.log(self.width), -np.inf)


@dataclass(frozen=True)
class Marginal:
    """One axis with a frozen distribution of scipy.stats, of the older or the newer kind."""

    distribution: Any

    def __getattr__(self, name: str) -> Any:
        # Called only for what this class does not define: ppf, isf, cdf, sf, rvs.
        if name.startswith("__") or name == "distribution":
            raise AttributeError(name)
        return getattr(self.distribution, _NEWER.get(name, name), None) or getattr(
            self.distribution, name
        )

    @property
    def discrete(self) -> bool:
        """Whether the distribution has no density."""
        base = getattr(self.distribution, "dist", self.distribution)
        kinds = {kind.__name__ for kind in type(base).__mro__}
        return "DiscreteDistribution" in kinds or (
            hasattr(self.distribution, "logpmf") and not hasattr(base, "pdf")
        )

    def lacks(self, axis: int) -> Mapping[Need, str]:
        """Return what the distribution cannot do."""
        found: dict[Need, str] = {}
        needed: dict[Need, tuple[str, ...]] = {
            "normal": ("ppf", "isf", "cdf", "sf"), "density": ("logpdf",), "sample": ("rvs",)
        }  # fmt: skip
        for need, names in needed.items():
            if missing := [name for name in names if not hasattr(self, name)]:
                found[need] = f"the distribution of axis {axis} has no {', '.join(missing)}"
        if self.discrete:
            found["density"] = f"the distribution of axis {axis} is discrete, without a density"
        return found

    def place(self, u: Floats) -> tuple[Floats, Floats | float]:
        """Return the quantiles."""
        return np.asarray(self.ppf(u), dtype=float), 1.0

    def from_normal(self, z: Floats) -> Floats:
        """Return F^-1(Phi(z)), from the nearer tail, so that no digit is lost."""
        tail = ndtr(-np.abs(z))
        return np.asarray(np.where(z > 0, self._upper(tail), self.ppf(tail)))

    def to_normal(self, x: Floats) -> Floats:
        """Return Phi^-1(F(x)), from the nearer tail."""
        below, beyond = self.cdf(x), self.sf(x)
        return np.asarray(np.where(below < beyond, ndtri(below), -ndtri(beyond)))

    def log_slope(self, z: Floats, x: Floats) -> Floats:
        """Return log dx/dz = log phi(z)/f(x)."""
        return np.asarray(-0.5 * np.square(z) - _LOG_ROOT - self.logpdf(x))

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of the distribution."""
        return np.asarray(Draws(self.distribution)(rng, size), float)

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density."""
        return np.asarray(self.distribution.logpdf(x))

    def _upper(self, tail: Floats) -> Floats:
        """Return the quantiles of the upper tail.

        For counts, scipy takes them from 1 - tail, which is 1 below 1e-16: they are NaN, or the
        largest count. There, the least count whose own tail is small enough is looked for.
        """
        x = np.asarray(self.isf(tail), dtype=float)
        lost = (tail > 0) & (tail < 1e-12)
        if not self.discrete or not lost.any():
            return x
        wanted = tail[lost]
        low = np.full(wanted.shape, float(self.isf(1e-12)) - 1)  # sf(low) is above every wanted one
        step = 1.0
        while (self.sf(low + step) > wanted).any():
            step *= 2
        high = low + step
        while step > 1:
            step /= 2
            beyond = self.sf(low + step) > wanted
            low, high = np.where(beyond, low + step, low), np.where(beyond, high, low + step)
        x[lost] = high
        return x


Axis: TypeAlias = Bounds | Marginal


@dataclass(frozen=True)
class Axes:
    """Independent axes, each with bounds or with a distribution.

    >>> square = Axes((Bounds(0.0, 2.0), Bounds(1.0, 2.0)))
    >>> square.from_normal(np.zeros((1, 2))).tolist(), square.volume
    ([[1.0, 1.5]], 2.0)
    """

    axes: tuple[Axis, ...]
    rotation = None

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @cached_property
    def volume(self) -> float:
        """The volume of the bounds."""
        return math.prod(axis.width for axis in self.axes if isinstance(axis, Bounds))

    @cached_property
    def box(self) -> tuple[Floats, Floats] | None:
        """The bounds of all axes; None if one has a distribution."""
        ends = [(axis.low, axis.high) for axis in self.axes if isinstance(axis, Bounds)]
        if len(ends) < len(self.axes):
            return None
        low, high = np.array(ends).T
        return low, high

    @cached_property
    def lacks(self) -> Mapping[Need, str]:
        """What one of the axes cannot do."""
        found: dict[Need, str] = {}
        for j, axis in reversed([*enumerate(self.axes)]):
            found |= axis.lacks(j)
        return found

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

    def from_normal(self, z: Floats) -> Floats:
        """Return the points of normal points, axis by axis."""
        return np.column_stack([axis.from_normal(z[:, j]) for j, axis in enumerate(self.axes)])

    def to_normal(self, x: Floats) -> Floats:
        """Return the normal points of points, axis by axis."""
        return np.column_stack([axis.to_normal(x[:, j]) for j, axis in enumerate(self.axes)])

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Multiply by dx/dz."""
        if "density" in self.lacks:
            raise PlanError(f"gradient= needs a density: {self.lacks['density']}; leave it out")
        x = self.from_normal(z)
        slopes = [axis.log_slope(z[:, j], x[:, j]) for j, axis in enumerate(self.axes)]
        return np.asarray(gradient * np.exp(np.column_stack(slopes))[:, None])

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return a column of draws from each axis."""
        return np.column_stack([axis.sample(rng, size) for axis in self.axes])

    def logpdf(self, x: Floats) -> Floats:
        """Return the sum of the log densities."""
        if self.box is not None:
            inside = ((x >= self.box[0]) & (x <= self.box[1])).all(axis=1)
            return np.where(inside, -math.log(self.volume), -np.inf)
        columns = [axis.logpdf(x[:, j].copy()) for j, axis in enumerate(self.axes)]
        return np.asarray(np.sum([np.reshape(c, -1) for c in columns], axis=0))


# -- what a user may give for an axis


def is_axis(given: Any) -> bool:
    """Tell whether something is a pair of numbers, or a distribution of one variable."""
    if _has_inverse(given):
        return True
    try:
        return len(given) == 2 and all(np.ndim(end) == 0 and _number(end) for end in given)
    except TypeError:
        return False


def axes_of(given: Any, where: str, ways: str) -> list[Axis]:
    """Return the axis that bounds or a frozen distribution describe; `where` names it.

    norm([0, 0], [2, 1]) has two axes, and norm alone is norm(0, 1).
    """
    if _has_inverse(given):
        return [Marginal(scipys(one, where)) for one in _frozen(given, where)]
    if not is_axis(given):
        why = ", which has no inverse (ppf)" if hasattr(given, "rvs") else ""
        raise PlanError(f"{where} cannot be {given!r:.80}{why}: {ways}")
    low, high = (float(end) for end in given)
    if math.isnan(low) or math.isnan(high) or low == high:
        raise PlanError(f"{where} has bounds ({low:g}, {high:g}): give low < high")
    if low > high:
        raise PlanError(
            f"{where} has reversed bounds ({low:g}, {high:g}): give ({high:g}, {low:g}), "
            "and change the sign of the result if you want the reversed integral"
        )
    if low == math.inf or high == -math.inf:
        raise PlanError(f"{where} has bounds ({low:g}, {high:g}): it is empty")
    return [Bounds(low, high)]


def _frozen(given: Any, where: str) -> list[Any]:
    """Return distributions with parameters, each of one variable."""
    if isinstance(given, type):
        raise PlanError(f"{where} is a class, {given.__name__}: give a distribution, with ()")
    if callable(given) and hasattr(given, "fit"):  # a call freezes it
        if given.numargs:
            shapes = ", ".join(f"{shape.strip()}=..." for shape in given.shapes.split(","))
            raise PlanError(f"{where} has no parameters yet: freeze it, {given.name}({shapes})")
        given = given()
    if not hasattr(given, "dist"):
        return [given]
    values, names = [*given.args, *given.kwds.values()], list(given.kwds)
    if not any(map(np.ndim, values)):
        return [given]
    n = len(given.args)
    rows = zip(*map(np.ravel, np.broadcast_arrays(*values)), strict=True)
    return [given.dist(*row[:n], **dict(zip(names, row[n:], strict=True))) for row in rows]


def marginals_of(given: Sequence[Any], argument: str) -> Axes:
    """Return axes of distributions; bounds are uniform ones."""
    ways = "give frozen distributions of scipy.stats, or bounds (low, high)"
    found = (axes_of(one, f"{argument}[{k}]", ways) for k, one in enumerate(given))
    axes = Axes(tuple(chain.from_iterable(found)))
    if "normal" in axes.lacks:
        raise PlanError(f"{argument}: {axes.lacks['normal']}")
    return axes


def _has_inverse(given: Any) -> bool:
    return hasattr(given, "ppf") or hasattr(given, "icdf") or is_openturns(given)


def _number(end: Any) -> bool:
    return isinstance(end, int | float | np.integer | np.floating) and not isinstance(end, bool)
