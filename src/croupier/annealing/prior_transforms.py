"""A prior as nested samplers take it: a function from the unit cube to the parameters.

The coordinates of the prior are then those of the cube, where it is uniform, so no Jacobian is
needed: Z is the mean of the likelihood of transform(u) over the cube.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from croupier.annealing.priors import PriorLike, UniformPrior
from croupier.annealing.vectorised import LogLikelihood, said, tried
from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.seeds import stream

__all__ = ["OnCube", "from_cube"]

#: How a transform takes its points.
Takes: TypeAlias = Literal["one", "many", "both"]

#: The cube without its faces: there, quantiles of most distributions are infinite.
_LOW: Final = 1e-300
_HIGH: Final = 1 - 2.0**-53

#: Points that are tried. A number that is hardly the number of parameters, so that coordinates and
#: points cannot be confused.
_POINTS: Final = 17


@dataclass(frozen=True)
class OnCube:
    """The log-likelihood at points of the unit cube, one point (d,) or many (chains, d)."""

    log_likelihood: LogLikelihood
    transform: Callable[[Any], Any]
    takes: Takes

    def __call__(self, points: Floats) -> Any:
        """Return what the user's function returns at the parameters."""
        return self.log_likelihood(self.parameters(points))

    def parameters(self, points: Floats) -> Any:
        """Return the parameters at points of the cube."""
        inside = np.clip(points, _LOW, _HIGH)
        if inside.ndim == 2 and self.takes == "one":
            found = np.array([self.transform(point) for point in inside], dtype=float)
        elif inside.ndim == 1 and self.takes == "many":
            found = np.asarray(self.transform(inside[None]), dtype=float)[0]
        else:
            found = np.asarray(self.transform(inside), dtype=float)
        if not np.isfinite(found).all():
            rows = np.atleast_2d(found)
            at = int(np.flatnonzero(~np.isfinite(rows).all(axis=-1))[0])
            raise ArmError(
                f"prior_transform returned {rows[at]} at the point {np.atleast_2d(points)[at]} of "
                "the unit cube: parameters must be finite",
                arm="evidence",
                value=rows[at],
            )
        return found


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
        raise PlanError(
            f"prior_transform must be a function of points, got {transform!r}; give distributions "
            "as prior="
        )
    if not callable(log_likelihood):
        raise PlanError(f"log_likelihood must be a function of points, got {log_likelihood!r}")
    if dimensions is None:
        raise PlanError("prior_transform needs dimensions=, the number of coordinates of the cube")
    d = count_of("dimensions", dimensions)
    points = stream(0, 0, 0).random((_POINTS + (d == _POINTS), d))
    takes = _takes(transform, points)
    return OnCube(log_likelihood, transform, takes), UniformPrior(np.zeros(d), np.ones(d))


def _takes(transform: Any, points: Floats) -> Takes:
    """Find out by calls how a transform takes its points; many must give the same as each alone."""
    together, _ = tried(transform, points)
    rows: Any = together if together is not None and together.ndim == 2 else None
    alone = [tried(transform, point) for point in points]
    trouble = next((each for _, each in alone if each is not None), None)
    if trouble is not None:
        if rows is not None and len(rows) == len(points):
            return _checked("many", points, rows)
        d = points.shape[1]
        raise PlanError(
            f"prior_transform {said(trouble)} at a point of the unit cube of {d} "
            f"coordinate{'s' * (d != 1)}; it must return the parameters as one row of numbers, in "
            f"the order in which log_likelihood reads them (is dimensions={d} right?)"
        ) from trouble
    if not np.array_equal(alone[0][0], tried(transform, points[0])[0], equal_nan=True):
        raise PlanError(
            "prior_transform returns different parameters at the same point: it must depend on the "
            "point alone; the random numbers are the point"
        )
    if any(value.shape != alone[0][0].shape for value, _ in alone):
        raise PlanError("prior_transform returns a different number of parameters at other points")
    each = np.array([value for value, _ in alone], dtype=float)
    same = rows is not None and rows.shape == each.shape
    return _checked("both" if same and np.allclose(rows, each, rtol=1e-9, atol=0) else "one",
                    points, each)  # fmt: skip


def _checked(takes: Takes, points: Floats, rows: Floats) -> Takes:
    """Refuse parameters that are no rows of finite numbers."""
    if rows.ndim != 2 or not np.isfinite(rows).all():
        at = 0 if rows.ndim != 2 else int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise PlanError(
            f"prior_transform returned {rows[at]} at the point {points[at]} of the unit cube: "
            "expected the parameters, a row of finite numbers"
        )
    d, number = points.shape[1], rows.shape[1]
    if number != d:
        raise PlanError(
            f"prior_transform returned {number} number{'s' * (number != 1)} at a point of the unit "
            f"cube of {d} coordinate{'s' * (d != 1)}: expected one parameter for each (is "
            f"dimensions={d} right?); compute what follows from them in log_likelihood"
        )
    return takes
