"""Coordinates: the standard normal numbers behind a prior, or its own coordinates, scaled.

The search works where the prior is standard normal: its steps, its neighbours and its mixtures then
have a scale. A prior that is known by a sample and a density only is scaled by its quartiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from croupier.annealing.models import Model, placed
from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal
from croupier.seeds import stream
from croupier.spaces.axes import Axes, Axis, Bounds
from croupier.spaces.base import Space

__all__ = ["Coordinates", "coordinates_of"]

#: Points that find the scale of a prior which is known by its sample, from a stream of their own.
_POINTS: Final = 500
_SEED: Final = 0x7370
_SCALE: Final = 3


class Coordinates(Protocol):
    """The coordinates z of a search, and the user's coordinates x."""

    @property
    def bounded(self) -> tuple[bool, ...]:
        """Which coordinates lie between two bounds."""

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return z of independent points of the prior."""

    def place(self, z: Floats) -> Floats:
        """Return x."""

    def log_prior(self, z: Floats) -> Floats:
        """Return the log density of the prior for z."""

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats | None:
        """Return the gradient of log prior + log likelihood for z; None if it is not known."""


@dataclass(frozen=True)
class Normals:
    """A prior that is a function of independent standard normal numbers."""

    space: Space
    bounded: tuple[bool, ...]

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return normal numbers."""
        return rng.standard_normal((size, self.space.dimension))

    def place(self, z: Floats) -> Floats:
        """Return the points of normal numbers."""
        return placed(self.space, z)

    def log_prior(self, z: Floats) -> Floats:
        """Return -|z|^2/2 - (d/2) log(2 pi)."""
        return log_standard_normal(z)

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats | None:
        """Return dx/dz gradient - z."""
        return np.asarray(self.space.pulled_back(z, gradient[:, None])[:, 0] - z)


@dataclass(frozen=True)
class Scaled:
    """A prior in its own coordinates, about its median and in units of its spread."""

    model: Model
    centre: Floats
    spread: Floats
    prior_gradient: Callable[[Floats], Floats] | None = None

    @property
    def bounded(self) -> tuple[bool, ...]:
        """Bounds are not known."""
        return (False,) * len(self.centre)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return points of the user's sample."""
        return np.asarray((self.model.start(rng, size) - self.centre) / self.spread)

    def place(self, z: Floats) -> Floats:
        """Return centre + spread z."""
        return np.asarray(self.centre + self.spread * z)

    def log_prior(self, z: Floats) -> Floats:
        """Return the user's log density, with the Jacobian."""
        return np.asarray(self.model.log_prior(self.place(z)) + np.log(self.spread).sum())

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats | None:
        """Return the sum of both gradients, scaled; None if that of the prior is not known."""
        if self.prior_gradient is None:
            return None
        return np.asarray(self.spread * (gradient + self.prior_gradient(self.place(z))))


def coordinates_of(
    model: Model, prior_gradient: Callable[[Floats], Floats] | None = None
) -> Coordinates:
    """Return the coordinates of a model's prior; its gradient matters if it has no quantiles."""
    space = model.space
    if "normal" not in space.lacks:
        axes = space.axes if isinstance(space, Axes) else ()
        return Normals(space, tuple(map(_bounded, axes)) or (False,) * space.dimension)
    points = model.start(stream(_SEED, _SCALE, 0), _POINTS)
    return Scaled(model, np.median(points, axis=0), model.spread, prior_gradient)


def _bounded(axis: Axis) -> bool:
    if isinstance(axis, Bounds):
        return True
    support = getattr(axis.distribution, "support", None)
    return support is not None and bool(np.isfinite(support()).all())
