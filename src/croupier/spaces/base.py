"""Space: where the randomness of a problem lives, as a map from the cube or from normal numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from croupier.data.draws import Floats

__all__ = ["INSIDE", "Moved", "Need", "Space"]

#: The least and the largest coordinate of a point inside of the cube: quantiles at its faces are
#: infinite for most distributions.
INSIDE: Final = (1e-300, 1 - 2.0**-53)

#: What a door may need of a space: points from the cube, points from normal numbers and back, a
#: density, a sample.
Need: TypeAlias = Literal["cube", "normal", "density", "sample"]


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


class Space(Protocol):
    """Points x as functions of `dimension` independent numbers: uniform ones, or normal ones.

    Every space has all methods. `lacks` says why some of them cannot be called: the reader of a
    space refuses it at a door that needs them. `rotation` is that of the principal components, if
    it has some. Bounds are a uniform distribution, and integrals over them are `volume` times an
    expectation.
    """

    @property
    def dimension(self) -> int:
        """How many independent numbers make a point."""

    @property
    def rotation(self) -> Floats | None:
        """The rotation of normal points that puts the largest principal components first."""

    @property
    def volume(self) -> float:
        """The factor between an expectation and an integral over dx; 1 for distributions."""

    @property
    def lacks(self) -> Mapping[Need, str]:
        """Why something that a door may need is not possible; empty if all is."""

    def place(self, moved: Moved) -> tuple[Floats, Floats | None]:
        """Return the points x (n, d) of points of the cube, and their weights (None: all 1).

        The mean of weight times f(x) is the integral of f over bounds, its expectation otherwise.
        """

    def from_normal(self, z: Floats) -> Floats:
        """Return the points of standard normal points (n, dimension)."""

    def to_normal(self, x: Floats) -> Floats:
        """Return the standard normal points of points x."""

    def pulled_back(self, z: Floats, gradient: Floats) -> Floats:
        """Return gradients (n, m, k) for x as gradients (n, m, dimension) for z: chain rule."""

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return independent points (size, d)."""

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density at points (n, d)."""
