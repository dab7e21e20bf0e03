"""Reads what a user gives as `over=`, `prior=` or a proposal: one list of forms for every door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import CroupierError, PlanError
from croupier.functions.function import Function, log_density_of, transform_of
from croupier.functions.read_function import enough_points, read_function
from croupier.spaces.axes import Axes, axes_of, is_axis
from croupier.spaces.base import Need, Space
from croupier.spaces.given import Draws, FromCube, FromNormals, Sampled
from croupier.spaces.vectors import (
    independent_normals,
    normal_vector,
    standard_normal,
)

__all__ = ["WAYS", "read_space"]

#: The largest dimension of points from the cube: nets were tried in no more.
MOST_DIMENSIONS: Final = 300

WAYS: Final = (
    "give a dimension (standard normal numbers), bounds (low, high), a frozen distribution of "
    "scipy.stats, a list of these, a frozen multivariate_normal, cr.rare.Nataf(marginals, "
    "correlation), (dimension, transform) with a transform of standard normal points, "
    "(transform, log_density or None) with dimension= and a transform of the unit cube, or "
    "(sample(rng, size), logpdf(points))"
)


def read_space(
    given: Any,
    *,
    argument: str = "over",
    needs: Sequence[Need] = (),
    dimension: int | None = None,
) -> Space:
    """Return the space that a user describes; refuse one that lacks what the door needs.

    >>> read_space((0, 1)).dimension, read_space([(0, 1), (0, float("inf"))]).dimension
    (1, 2)
    >>> read_space(3).dimension
    3
    """
    space = _read(given, argument, dimension)
    if dimension is not None and count_of("dimension", dimension) != space.dimension:
        axes = "axis" if space.dimension == 1 else "axes"
        raise PlanError(
            f"dimension={dimension}, but {argument}= has {space.dimension} {axes}: "
            "leave dimension out"
        )
    if "cube" in needs and space.dimension > MOST_DIMENSIONS:
        raise PlanError(
            f"{argument}= has {space.dimension} dimensions, and nets of points have at most "
            f"{MOST_DIMENSIONS}"
        )
    for need in needs:
        if need in space.lacks:
            raise PlanError(f"{argument}= cannot be used here: {space.lacks[need]}")
    return space


def _read(given: Any, argument: str, dimension: int | None) -> Space:
    if hasattr(given, "pulled_back"):  # a Space; isinstance takes ten times as long
        space: Space = given
        return space
    if _whole(given):
        if given < 1:
            raise PlanError(f"{argument} must be a dimension of at least 1, got {given}")
        try:
            return standard_normal(int(given))
        except (MemoryError, ValueError):
            raise PlanError(
                f"{argument} must be a dimension that fits into memory, got {given}"
            ) from None
    if isinstance(given, tuple | list) and len(given) == 2:
        first, second = given
        if _whole(first) and _function(second):
            return FromNormals(second, _read(first, argument, None).dimension, argument)
        if _function(first) and (second is None or _function(second)):
            return _pair(first, second, argument, dimension)
    if hasattr(given, "mean") and hasattr(given, "cov") and not callable(given.mean):
        return normal_vector(given.mean, given.cov, argument)
    if isinstance(given, Mapping):
        raise PlanError(
            f"{argument}= of several coordinates is a list, not a dict, as points have no names: "
            "give list(....values()), in the order in which the function reads its coordinates"
        )
    if is_axis(given):
        axes = axes_of(given, f"axis 0 of {argument}=", WAYS)
        return (len(axes) > 1 and independent_normals(axes)) or Axes(tuple(axes))
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        found = (axes_of(one, f"axis {j} of {argument}=", WAYS) for j, one in enumerate(given))
        axes = [*chain.from_iterable(found)]
        if not axes:
            raise PlanError(f"{argument}= has no axes: {WAYS}")
        return independent_normals(axes) or Axes(tuple(axes))
    sampled = hasattr(given, "rvs") or hasattr(given, "sample")
    if sampled and hasattr(given, "logpdf"):
        return _sampled(Draws(given), given.logpdf, argument)
    why = ", which has no inverse (ppf) and no density (logpdf)" if sampled else ""
    if callable(given) and not why:
        why = f", a function (the function comes first, {argument}= second)"
    raise PlanError(f"{argument}= cannot be {given!r:.80}{why}: {WAYS}")


def _pair(first: Any, second: Any, argument: str, dimension: int | None) -> Space:
    """Return what two functions mean: a transform if there is a dimension, a sample otherwise."""
    if dimension is not None:
        d = count_of("dimension", dimension)
        u = np.random.default_rng(0).random((enough_points(d), d))
        transform = read_function(first, [u], transform_of(argument))
        if second is not None:
            second = _density(second, transform(u).reshape(len(u), -1), argument)
        return FromCube(transform, d, second, argument)
    if second is None:
        raise PlanError(
            f"{argument}= is a transform of the cube: give dimension=, the number of coordinates "
            "of u"
        )
    return _sampled(first, second, argument)


def _sampled(draw: Any, log_density: Any, argument: str) -> Sampled:
    """Return a distribution that is known by its draws and its log density."""
    rng, points = np.random.default_rng(0), np.empty((0, 2))
    try:
        while len(points) < enough_points(points.shape[1]):
            wanted = len(points) + 2
            points = np.asarray(draw(rng, wanted), float)
            if points.shape[:1] != (wanted,):
                raise PlanError(
                    f"sample(rng, {wanted}) in {argument}= returned an array of shape "
                    f"{points.shape}: return one row per point"
                )
            points = points.reshape(wanted, -1)
    except CroupierError:
        raise
    except Exception as error:
        raise PlanError(
            f"{argument}= is a pair of functions, (sample(rng, size), logpdf(points)), but the "
            f"first one raised {type(error).__name__}: {error}; for a transform of the cube with "
            "its log density, give dimension="
        ) from error
    return Sampled(draw, _density(log_density, points, argument), points.shape[1], argument)


def _density(given: Any, points: Floats, argument: str) -> Function:
    """Return a log density with its way of being called: one number for each point."""
    found = read_function(given, [points], log_density_of(argument))
    if found.shape:
        raise PlanError(
            f"{found.role.name} returns {found.shape[0]} numbers at a point: return one"
        )
    return found


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def _function(thing: Any) -> bool:
    return callable(thing) and not hasattr(thing, "ppf") and not hasattr(thing, "icdf")
