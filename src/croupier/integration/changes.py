"""Changes of variables: where the points of a net go, and the weight that this costs.

Every change maps uniform points to points u of the unit cube, with the weight jac = 1/density, so
that the mean of g(u) jac is the integral of g over the cube for every change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from scipy.special import ndtri

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import log_standard_normal
from croupier.spaces.base import INSIDE, Moved

__all__ = ["Change", "Identity", "NormalMixture", "Rotated", "Separable"]

#: The parts of `NormalMixture`: the standard normal, the fitted normal, and a wider one.
PARTS: Final = (0.1, 0.7, 0.2)
_WIDE: Final = 2.0


class Change(Protocol):
    """A change of variables."""

    @property
    def more(self) -> int:
        """How many coordinates it needs beside those of the cube."""

    def move(self, points: Floats) -> Moved:
        """Return where uniform points (n, d + more) go."""

    def density_at(self, at: Moved) -> Floats:
        """Return the density of its points at points of the cube: there, its jac is 1/density."""


def _uniform(at: Moved) -> Floats:
    return np.ones(len(at.cube if at.z is None else at.z))


@dataclass(frozen=True)
class Identity:
    """The points as they are."""

    more = 0

    def move(self, points: Floats) -> Moved:
        """Return the points."""
        return Moved(points, None, None)

    def density_at(self, at: Moved) -> Floats:
        """Return 1 for every point."""
        return _uniform(at)


class _Arrays:
    """Changes that are equal if all their arrays are."""

    more = 0

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Rotated(_Arrays):
    """Normal points, rotated: the first coordinates get the largest principal components."""

    rotation: Floats

    def move(self, points: Floats) -> Moved:
        """Return the rotated points."""
        return Moved(None, ndtri(points) @ self.rotation.T, None)

    def density_at(self, at: Moved) -> Floats:
        """Return 1 for every point: a rotation does not change the normal distribution."""
        return _uniform(at)


@dataclass(frozen=True, eq=False)
class Separable(_Arrays):
    """A density that is a product of continuous functions, linear between `edges` (d, B+1).

    `density` (d, B+1) has the values at the edges. Steps would cost a smooth integrand its fast
    convergence.
    """

    edges: Floats
    density: Floats

    def move(self, points: Floats) -> Moved:
        """Return the points of this density, and 1/density.

        In a bin of width w the density is r + (s - r) t for t from 0 to 1, so its distribution
        function is w (r t + (s - r) t^2/2), which is solved for t.
        """
        u, jac = np.empty_like(points), np.ones(len(points))
        for j, (edges, density) in enumerate(zip(self.edges, self.density, strict=True)):
            widths = np.diff(edges)
            below = np.concatenate(((0.0,), np.cumsum(widths * (density[1:] + density[:-1]) / 2)))
            y = points[:, j] * below[-1]
            at = np.clip(np.searchsorted(below, y, side="right") - 1, 0, len(widths) - 1)
            r, rise = density[at], np.diff(density)[at]
            c = (y - below[at]) / widths[at]
            t = 2 * c / (r + np.sqrt(np.maximum(r * r + 2 * rise * c, 0.0)))
            t = np.clip(t, 0.0, 1.0)
            u[:, j] = edges[at] + t * widths[at]
            jac *= below[-1] / (r + rise * t)
        return Moved(np.clip(u, *INSIDE), None, jac)

    def density_at(self, at: Moved) -> Floats:
        """Return the product of the densities of the axes."""
        u = at.cube
        found = np.ones(len(u))
        for j, (edges, density) in enumerate(zip(self.edges, self.density, strict=True)):
            total = (np.diff(edges) * (density[1:] + density[:-1]) / 2).sum()
            found *= np.interp(u[:, j], edges, density) / total
        return found


@dataclass(frozen=True, eq=False)
class NormalMixture(_Arrays):
    """The mixture .1 N(0, I) + .7 N(m, S) + .2 N(m, 4 S) of normal points, S = root root'.

    The last coordinate picks the part. The first part bounds the weights by 10 (a defensive
    mixture: Hesterberg, Technometrics 37, 1995).
    """

    mean: Floats
    root: Floats
    more = 1

    def move(self, points: Floats) -> Moved:
        """Return the points of the mixture, and phi/q."""
        z, pick = ndtri(points[:, :-1]), points[:, -1]
        first, second = pick < PARTS[0], pick < PARTS[0] + PARTS[1]
        scale = np.where(second, 1.0, _WIDE)
        z = np.where(first[:, None], z, self.mean + scale[:, None] * (z @ self.root.T))
        return Moved(None, z, 1 / self._relative_density(z))

    def density_at(self, at: Moved) -> Floats:
        """Return q/phi."""
        return self._relative_density(at.normal)

    def _relative_density(self, z: Floats) -> Floats:
        """Return the density of the mixture divided by that of N(0, I)."""
        roots = np.array([np.eye(len(self.mean)), self.root, _WIDE * self.root])
        means = np.array([np.zeros_like(self.mean), self.mean, self.mean])
        log_q = Mixture(np.array(PARTS), means, roots).log_density(z)
        return np.asarray(np.exp(np.minimum(log_q - log_standard_normal(z), 700.0)))
