"""Reads what a user gives as `over=`, `prior=` or a proposal: one list of forms for every door."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from croupier.checks import count_of
from croupier.errors import PlanError
from croupier.spaces.axes import Axes, axis_of, is_axis
from croupier.spaces.base import Need, Space
from croupier.spaces.given import FromCube, FromNormals, Sampled
from croupier.spaces.vectors import (
    Nataf,
    NormalVector,
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

_OURS: Final = (Axes, NormalVector, Nataf, FromCube, FromNormals, Sampled)


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
    if isinstance(given, _OURS):
        return given
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
    if is_axis(given):
        return Axes((axis_of(given, f"axis 0 of {argument}=", WAYS),))
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | dict):
        axes = tuple(axis_of(one, f"axis {j} of {argument}=", WAYS) for j, one in enumerate(given))
        if not axes:
            raise PlanError(f"{argument}= has no axes: {WAYS}")
        return independent_normals(axes) or Axes(axes)
    if hasattr(given, "fit") and callable(given):
        axis_of(given, f"axis 0 of {argument}=", WAYS)  # a distribution without parameters
    why = ", which has no inverse (ppf)" if hasattr(given, "rvs") else ""
    if callable(given) and not why:
        why = f", a function (the function comes first, {argument}= second)"
    raise PlanError(f"{argument}= cannot be {given!r:.80}{why}: {WAYS}")


def _pair(first: Any, second: Any, argument: str, dimension: int | None) -> Space:
    """Return what two functions mean: a transform if there is a dimension, a sample otherwise."""
    if dimension is not None:
        return FromCube(first, count_of("dimension", dimension), second, argument)
    if second is None:
        raise PlanError(
            f"{argument}= is a transform of the cube: give dimension=, the number of coordinates "
            "of u"
        )
    rng = np.random.default_rng(0)
    try:
        shape = np.shape(first(rng, 2))
    except Exception as error:
        raise PlanError(
            f"{argument}= is a pair of functions, (sample(rng, size), logpdf(points)), but the "
            f"first one raised {type(error).__name__}: {error}; for a transform of the cube with "
            "its log density, give dimension="
        ) from error
    if shape[:1] != (2,):
        raise PlanError(
            f"sample(rng, 2) in {argument}= returned an array of shape {shape}: return one row "
            "per point"
        )
    return Sampled(first, second, int(np.prod(shape[1:], dtype=int)), argument)


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def _function(thing: Any) -> bool:
    return callable(thing) and not hasattr(thing, "ppf") and not hasattr(thing, "icdf")
