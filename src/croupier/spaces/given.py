"""Spaces that functions of the user describe: transforms, or a sample with its log density."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.functions.function import Function
from croupier.spaces.base import INSIDE, Moved, Need

__all__ = ["Draws", "FromCube", "FromNormals", "Sampled", "by_differences"]

#: The step of the central differences of a transform.
_DIFFERENCE: Final = 1e-5


def _rows(x: Any, n: int, what: str) -> Any:
    """Refuse an array that has not one row for each of n points."""
    x = np.asarray(x)
    if x.shape[:1] != (n,):
        raise PlanError(
            f"{what} returned an array of shape {x.shape} for {n} points: return one row per point"
        )
    return x


@dataclass(frozen=True)
class FromCube:
    """Points x = transform(u) of uniform u; with a log density of x, integrals are over dx."""

    transform: Function
    dimension: int
    log_density: Function | None = None
    argument: str = "over"
    rotation = None
    volume = 1.0

    @property
    def lacks(self) -> Mapping[Need, str]:
        """Without a log density, there is none."""
        why = "a transform of the cube has no density: give (transform, log_density)"
        return {} if self.log_density is not None else {"density": why}

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return the transformed points, and the weights 1/density."""
        x = self._points(moved.cube)
        return x, None if self.log_density is None else np.exp(-self.logpdf(x))

    def _points(self, u: Floats) -> Floats:
        return self.transform(u).reshape(len(u), -1)

    def from_normal(self, z: Floats) -> Floats:
        """Return the points of Phi(z)."""
        return self._points(Moved(None, z, None).cube)

    def to_normal(self, x: Floats) -> Floats:
        """Return the points: the inverse of the transform is not known, so they are normal."""
        return x

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Multiply by the Jacobian of the transform, which central differences give."""
        return by_differences(self.from_normal, z, gradient)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return the transforms of uniform points."""
        return self._points(np.clip(rng.random((size, self.dimension)), *INSIDE))

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density of the user."""
        assert self.log_density is not None
        return self.log_density(x)


@dataclass(frozen=True)
class FromNormals:
    """Points that a function of the user makes from standard normal points."""

    transform: Callable[[Floats], Any]
    dimension: int
    argument: str = "over"
    rotation = None
    volume = 1.0

    @property
    def lacks(self) -> Mapping[Need, str]:
        """There is no density."""
        return {"density": "a transform of normal numbers has no density"}

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return the points of points of the cube."""
        return self.from_normal(moved.normal), None

    def from_normal(self, z: Floats) -> Floats:
        """Return the points at standard normal points."""
        return np.asarray(
            _rows(self.transform(z.copy()), len(z), f"the transform in {self.argument}=")
        )

    def to_normal(self, x: Floats) -> Floats:
        """Return the points: the inverse of the transform is not known, so they are normal."""
        return x

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Multiply by the Jacobian of the transform, which central differences give."""
        return by_differences(self.from_normal, z, gradient)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return the transforms of normal points."""
        return self.from_normal(rng.standard_normal((size, self.dimension)))

    def logpdf(self, x: Floats) -> Floats:
        """Refuse: there is none."""
        raise PlanError(self.lacks["density"])


@dataclass(frozen=True)
class Sampled:
    """Two functions of the user: sample(rng, size) and the log density of points."""

    draw: Callable[[np.random.Generator, int], Any]
    log_density: Function
    dimension: int
    argument: str = "over"
    rotation = None
    volume = 1.0

    @property
    def lacks(self) -> Mapping[Need, str]:
        """A sample is no map."""
        why = (
            "(sample, logpdf) is no map from the cube: give distributions, or a transform of the "
            "cube with dimension="
        )
        return {"cube": why, "normal": why}

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Refuse: there is no map."""
        raise PlanError(self.lacks["cube"])

    def from_normal(self, z: Floats) -> Floats:
        """Refuse: there is no map."""
        raise PlanError(self.lacks["normal"])

    def to_normal(self, x: Floats) -> Floats:
        """Refuse: there is no map."""
        raise PlanError(self.lacks["normal"])

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Refuse: there is no map."""
        raise PlanError(self.lacks["normal"])

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return the user's draws."""
        what = f"the sample in {self.argument}="
        points = np.asarray(_rows(self.draw(rng, size), size, what), float)
        if points.size != size * self.dimension:
            raise PlanError(
                f"{what} returned an array of shape {points.shape}: return {(size, self.dimension)}"
            )
        return points.reshape(size, self.dimension)

    def logpdf(self, x: Floats) -> Floats:
        """Return the user's log density."""
        return self.log_density(x)


@dataclass(frozen=True)
class Draws:
    """The draws of a distribution with `rvs` or `sample`, as a function (rng, size)."""

    distribution: Any

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` draws; scipy drops the axis of one."""
        if hasattr(self.distribution, "rvs"):
            points = np.asarray(self.distribution.rvs(size=size, random_state=rng))
        else:
            points = np.asarray(self.distribution.sample(size, rng=rng))
        return points if points.shape[:1] == (size,) else points[None]


def by_differences(to_x: Callable[[Floats], Floats], z: Floats, gradient: Floats) -> Floats:
    """Return gradients (n, m, k) for x = to_x(z) as gradients (n, m, d) for z."""
    columns = []
    for k in range(z.shape[1]):
        away = np.zeros(z.shape[1])
        away[k] = _DIFFERENCE
        change = to_x(z + away) - to_x(z - away)
        columns.append(np.asarray(change, float).reshape(len(z), -1) / (2 * _DIFFERENCE))
    return np.asarray(np.einsum("nmk,nkd->nmd", gradient, np.stack(columns, axis=2)), float)
