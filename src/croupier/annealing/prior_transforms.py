"""A prior as nested samplers take it: a function from the unit cube to the parameters.

The coordinates of the prior are then those of the cube, where it is uniform, so no Jacobian is
needed: Z is the mean of the likelihood of transform(u) over the cube.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.annealing.priors import PriorLike, UniformPrior
from croupier.annealing.vectorised import LogLikelihood, tried
from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.seeds import stream

__all__ = ["OnCube", "from_cube"]


@dataclass(frozen=True)
class OnCube:
    """The log-likelihood at points of the unit cube, one point (d,) or many (chains, d)."""

    log_likelihood: LogLikelihood
    transform: Callable[[Any], Any]
    by_point: bool

    def __call__(self, points: Floats) -> Any:
        """Return what the user's function returns at the parameters."""
        return self.log_likelihood(self.parameters(points))

    def parameters(self, points: Floats) -> Any:
        """Return the parameters at points of the cube."""
        if points.ndim == 2 and self.by_point:
            return np.array([self.transform(point) for point in points], dtype=float)
        return self.transform(points)


def from_cube(
    log_likelihood: LogLikelihood, prior: PriorLike, transform: Any, dimensions: int | None
) -> tuple[LogLikelihood, PriorLike]:
    """Return log-likelihood and prior in the coordinates of the cube.

    >>> f, prior = from_cube(lambda x: -x.sum(axis=-1), None, lambda u: 10 * u - 5, 2)
    >>> float(f(np.full((1, 2), 0.75))[0]), prior.mean
    (-5.0, array([0.5, 0.5]))
    """
    if prior is not None:
        raise PlanError("prior and prior_transform are two priors: give one of them")
    if not callable(transform):
        raise PlanError(f"prior_transform must be a function of points, got {transform!r}")
    if not callable(log_likelihood):
        raise PlanError(f"log_likelihood must be a function of points, got {log_likelihood!r}")
    if dimensions is None:
        raise PlanError("prior_transform needs dimensions=, the number of coordinates of the cube")
    d = count_of("dimensions", dimensions)
    # A number of points that is not the number of coordinates.
    points = stream(0, 0, 0).random((3 if d != 3 else 4, d))
    alone = [tried(transform, point) for point in points]
    for _, trouble in alone:
        if trouble is not None:
            together, _ = tried(transform, points)
            if together is not None and together.ndim == 2 and len(together) == len(points):
                break  # it takes many points only
            raise PlanError(
                f"prior_transform cannot be called with a point of the unit cube of {d} "
                f"coordinates: {type(trouble).__name__}: {trouble}"
            ) from trouble
    by_point = _by_point(transform, points, [value for value, _ in alone])
    return OnCube(log_likelihood, transform, by_point), UniformPrior(np.zeros(d), np.ones(d))


def _by_point(transform: Any, points: Floats, alone: list[Any]) -> bool:
    """Return whether a transform takes one point only; many must give the same as each alone."""
    together, _ = tried(transform, points)
    if any(value is None for value in alone):
        return False
    rows = np.array(alone, dtype=float)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise PlanError(
            f"prior_transform returned {alone[0]!r} at the point {points[0]} of the unit cube: "
            "expected the parameters, a row of finite numbers"
        )
    same = together is not None and together.shape == rows.shape
    return not (same and np.allclose(together, rows, rtol=1e-9, atol=0))
