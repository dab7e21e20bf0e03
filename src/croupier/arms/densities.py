"""Densities: distributions of points that can be drawn from and evaluated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.domain import Axes, Bounds, NormalDomain, domain_of
from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["Density", "density_of"]


@dataclass(frozen=True)
class Density:
    """Independent distributions, one for each axis, or one distribution of vectors.

    `volume` is the factor between the density and what is integrated: that of the bounds.
    """

    parts: tuple[Any, ...]
    dimension: int
    volume: float = 1.0

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return points (size, d)."""
        drawn = [np.asarray(part.rvs(size=size, random_state=rng), float) for part in self.parts]
        return np.column_stack([points.reshape(size, -1) for points in drawn])

    def log(self, x: Floats) -> Floats:
        """Return the log density at points (n, d)."""
        if len(self.parts) == self.dimension:
            columns = [part.logpdf(x[:, j].copy()) for j, part in enumerate(self.parts)]
            return np.asarray(np.sum([np.reshape(c, -1) for c in columns], axis=0))
        return np.asarray(self.parts[0].logpdf(x.copy())).reshape(-1)


def density_of(argument: str, law: Any) -> Density:
    """Return the density of finite bounds, of distributions, or of a multivariate normal."""
    domain = domain_of(law)
    if isinstance(domain, NormalDomain):
        return Density((law,), domain.dimension)
    if not isinstance(domain, Axes):
        raise PlanError(f"{argument} must be bounds or distributions with a density, got functions")
    parts, volume = [], 1.0
    for j, axis in enumerate(domain.axes):
        if isinstance(axis, Bounds):
            width = axis.high - axis.low
            if not math.isfinite(width):
                raise PlanError(
                    f"axis {j} of {argument} has an infinite bound: give a distribution"
                )
            from scipy import stats

            parts.append(stats.uniform(axis.low, width))
            volume *= width
        elif not hasattr(axis.distribution, "logpdf"):
            raise PlanError(f"axis {j} of {argument} is a distribution without a density (logpdf)")
        else:
            parts.append(axis.distribution)
    return Density(tuple(parts), domain.dimension, volume)
