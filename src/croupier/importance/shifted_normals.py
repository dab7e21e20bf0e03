"""Families whose points are simulated from normal numbers, some of which are shifted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.importance.points import Normal
from croupier.importance.proposals import numbers_of

__all__ = [
    "Free",
    "Moved",
    "Space",
    "Tilt",
    "directions_of",
    "first_column",
    "names_of_shifts",
    "shifts_of",
]


@dataclass(frozen=True)
class Space:
    """Points of a simulation: one column with the integrand, then the statistic."""

    simulate: Callable[[np.random.Generator, int, Normal], tuple[Any, Any]]
    dimension: int

    def draw(self, rng: np.random.Generator, size: int, normal: Normal, name: str) -> Floats:
        """Simulate `size` points for a proposal, or raise an error that says what is wrong."""
        both: Any = self.simulate(rng, size, normal)
        if not isinstance(both, tuple) or len(both) != 2:
            message = f"simulate must return a pair (values, statistic), got {type(both).__name__}"
            raise ArmError(message, arm=name, value=both)
        value, statistic = numbers_of(both[0], size, name), np.asarray(both[1], float)
        if statistic.shape == (size,) and self.dimension == 1:
            statistic = statistic[:, None]
        if statistic.shape != (size, self.dimension):
            message = (
                f"simulate must return a statistic ({size}, {self.dimension}), "
                f"got an array of shape {statistic.shape}"
            )
            raise ArmError(message, arm=name, value=statistic)
        return np.column_stack((value, statistic))


@dataclass(frozen=True)
class Moved:
    """The simulation with its statistic drawn from a normal distribution."""

    space: Space
    normal: Normal
    name: str

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` points."""
        return self.space.draw(rng, size, self.normal, self.name)

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density at points."""
        return self.normal.logpdf(x[:, 1:])


@dataclass(frozen=True)
class Free:
    """A normal distribution of points of any shape."""

    normal: Normal
    shape: tuple[int, ...]

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` points."""
        return self.normal.sample(rng, size).reshape(size, *self.shape)

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density at points."""
        return self.normal.logpdf(x)


def first_column(x: Floats) -> Floats:
    """Return the integrand of points of a `Space`."""
    return x[:, 0]


@dataclass(frozen=True)
class Tilt:
    """Standard normal points that are moved in some directions."""

    f: Callable[[Floats], Any]
    directions: Floats | None

    def __call__(self, rng: np.random.Generator, size: int, normal: Normal) -> tuple[Any, Floats]:
        """Return the integrand at `size` points, and the coordinates that were moved."""
        if self.directions is None:
            x = normal.sample(rng, size)
            return self.f(x.copy()), x
        x = rng.standard_normal((size, len(self.directions)))
        along = x @ self.directions
        moved = normal.place(along)
        x += (moved - along) @ self.directions.T
        return self.f(x.copy()), moved


def shifts_of(given: Any) -> Floats:
    """Return the shifts of J proposals as (J, m)."""
    try:
        shifts = np.array(given, float)
    except (TypeError, ValueError):
        raise PlanError(f"shifts must be J numbers, or J points (J, m), got {given!r}") from None
    if shifts.ndim == 1:
        shifts = shifts[:, None]
    if shifts.ndim != 2 or 0 in shifts.shape or not np.isfinite(shifts).all():
        raise PlanError(f"shifts must be J finite numbers, or J points (J, m), got {given!r}")
    return shifts


def names_of_shifts(shifts: Floats) -> tuple[str, ...]:
    """Return names for proposals without names."""
    if shifts.shape[1] == 1:
        return tuple(f"shift={shift:g}" for shift in shifts[:, 0])
    return tuple(f"q{j}" for j in range(len(shifts)))


def directions_of(given: Any, m: int) -> Floats:
    """Return orthonormal directions as (d, m)."""
    try:
        columns = np.array(given, float)
    except (TypeError, ValueError):
        raise PlanError(f"directions must be numbers (d, {m}), got {given!r}") from None
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[1] != m:
        raise PlanError(f"directions must be (d, {m}), as many columns as a shift has numbers")
    if not np.allclose(columns.T @ columns, np.eye(m), atol=1e-9):
        raise PlanError("directions must have orthonormal columns: divide a single one by its norm")
    return columns
