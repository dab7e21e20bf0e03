"""Infinitely many arms: one function with parameters in a box, unbiased for every value of them."""

from __future__ import annotations

import inspect
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.base import Arm
from croupier.checks import Range, count_of
from croupier.data.draws import Draws
from croupier.errors import ArmError, CroupierWarning, PlanError, text_of

__all__ = ["Continuum", "continuum"]

#: How many values of each parameter are points, by the number of parameters.
_LEVELS: Final = {1: 65, 2: 21, 3: 9, 4: 6}

#: How many draws show whether a draw depends on a parameter.
_TRIED: Final = 4

#: Arguments of `estimate` that are easily given here.
_BUDGETS: Final = ("draws", "seconds", "cost", "rtol", "atol", "rng", "workers", "store")


@dataclass(frozen=True)
class _AtPoint:
    # A class and not a closure, so that the arm can be pickled.
    draw: Callable[..., Any]
    point: tuple[tuple[str, float | int], ...]

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        return self.draw(rng, size, **dict(self.point))


@dataclass(frozen=True, eq=False)
class Continuum(Mapping[str, Arm]):
    """The points of a box as arms, by their names, such as ``"drift=0.75"``; see `continuum`.

    `box` has the range of every parameter. `points` has the coordinates of each arm.
    """

    draw: Callable[..., Any]
    box: Mapping[str, Range]
    points: tuple[tuple[float | int, ...], ...]

    @property
    def settings(self) -> dict[str, Any]:
        """What the plan of a run records about the points."""
        box = {name: list(ends) for name, ends in self.box.items()}
        return {"box": box, "points": [list(point) for point in self.points]}

    def at(self, name: str) -> dict[str, float | int]:
        """Return the parameters of a point by its name.

        >>> def shifted(rng, size, drift):
        ...     return rng.normal(drift, 1.0, size) - drift
        >>> continuum(shifted, drift=(0, 2)).at("drift=0.5")
        {'drift': 0.5}
        """
        for point in self.points:
            if _name(self.box, point) == name:
                return dict(zip(self.box, point, strict=True))
        raise KeyError(f"{name!r} is not a point; the first is {next(iter(self))!r}")

    def __getitem__(self, name: str) -> Arm:
        point = tuple(self.at(name).items())
        return Arm(_AtPoint(self.draw, point), name=name)

    def __iter__(self) -> Iterator[str]:
        return (_name(self.box, point) for point in self.points)

    def __len__(self) -> int:
        return len(self.points)

    def items(self) -> Any:
        """Return the arms with their names."""
        return [
            (name, Arm(_AtPoint(self.draw, tuple(zip(self.box, point, strict=True))), name=name))
            for name, point in zip(self, self.points, strict=True)
        ]


def continuum(
    draw: Callable[..., Any],
    *unnamed: Any,
    levels: int | None = None,
    check: bool = True,
    **box: tuple[float, float] | range,
) -> Continuum:
    """Return the arms of one function with parameters: an estimator for every point of a box.

    Args:
        draw: ``draw(rng, size, drift=...)`` returns `size` values, or `Draws(values, costs)`. It
            must be unbiased for every value of its parameters.
        levels: How many values of each parameter are points, evenly spaced from end to end. By
            default 65, 21, 9 or 6, for one, two, three or four parameters.
        check: Draw 4 values at the corners of the box, with the same random numbers, to find a draw
            that is not finite, or that ignores a parameter.
        **box: One to four parameters by their names, each with its lowest and highest value, such
            as ``drift=(0, 2)``; or, for whole numbers, a range such as ``steps=range(1, 65)``.

    `estimate` learns which point has the smallest cost times variance while it draws, and every
    draw counts: see `policies.SmoothThompson`. The default policy, or any other policy of
    independent arms, can be given as ``policy=``.

    >>> import croupier as cr
    >>> def tilted(rng, size, drift):
    ...     z = rng.normal(drift, 1.0, size)
    ...     return (z > 3) * np.exp(-drift * z + drift**2 / 2)
    >>> result = cr.estimate(cr.continuum(tilted, drift=(0.0, 6.0)), draws=10_000, rng=7)
    >>> 0.00125 < result.value < 0.00145, result.leader
    (True, 'drift=3.3...')
    """
    if not callable(draw):
        raise PlanError(f"draw must be a function (rng, size, parameters), got {draw!r}")
    if unnamed:
        raise PlanError(
            "give the range of every parameter by the name that it has in draw, such as "
            f"continuum(draw, drift=(0, 2)), got {unnamed[0]!r} without a name"
        )
    if not 1 <= len(box) <= len(_LEVELS):
        raise PlanError(
            f"give one to {len(_LEVELS)} parameters with their ranges, such as drift=(0, 2), "
            f"got {len(box)}"
        )
    many = _LEVELS[len(box)] if levels is None else count_of("levels", levels)
    if many < 2:
        raise PlanError(f"levels must be at least 2, got {levels!r}")
    _check_parameters(draw, box)
    axes = [_axis(name, ends, many) for name, ends in box.items()]
    ranges = {name: (float(axis[0]), float(axis[-1])) for name, axis in zip(box, axes, strict=True)}
    made = Continuum(draw, ranges, tuple(itertools.product(*axes)))
    if check:
        _check(made)
    return made


def _check_parameters(draw: Callable[..., Any], box: Mapping[str, Any]) -> None:
    """Refuse parameters that the function does not have."""
    try:
        signature = inspect.signature(draw)
    except ValueError:
        return  # some compiled functions have none
    try:
        signature.bind(None, 1, **box)
    except TypeError as error:
        budgets = [name for name in box if name in _BUDGETS]
        other = f"; {', '.join(budgets)} goes to cr.estimate(cr.continuum(...), ...)"
        raise PlanError(
            f"draw{signature} cannot be called with (rng, size, {', '.join(box)}): {error}"
            f"{other if budgets else ''}"
        ) from None


def _axis(name: str, ends: Any, many: int) -> list[float | int]:
    """Return the values of a parameter that are points."""
    if isinstance(ends, range):
        if len(ends) < 2:
            raise PlanError(f"{name} must be a range of two or more whole numbers, got {ends!r}")
        at = np.unique(np.rint(np.linspace(0, len(ends) - 1, many)).astype(int))
        return sorted(ends[int(k)] for k in at)
    try:
        low, high = ends
        fine = math.isfinite(low) and math.isfinite(high) and low < high
    except (TypeError, ValueError):
        raise PlanError(f"{name} must be a range (low, high), got {ends!r}") from None
    if not fine:
        raise PlanError(f"{name} must be a range (low, high), finite and low < high, got {ends!r}")
    grid = np.linspace(low, high, many)
    # Without the last digits of floating point, so that names are short.
    digits = 4 - math.floor(math.log10(high - low))
    return [round(float(one), digits) for one in grid[:-1]] + [float(high)]


def _name(box: Mapping[str, Any], point: tuple[float | int, ...]) -> str:
    return ", ".join(f"{name}={value:.6g}" for name, value in zip(box, point, strict=True))


def _check(made: Continuum) -> None:
    """Refuse a draw that is not finite in a corner, and warn of a parameter without any effect."""
    low = made.points[0]
    start = _tried(made, low)
    # Equal draws say nothing: payoffs that are rare are all 0, whatever the parameters.
    telling = bool(np.any(start != start[:1]))
    for k, name in enumerate(made.box):
        values = sorted({point[k] for point in made.points})
        # Not the ends alone: a draw may depend on the distance from the middle.
        within, corner = (
            (*low[:k], value, *low[k + 1 :]) for value in (values[len(values) // 3], values[-1])
        )
        equal = [np.array_equal(_tried(made, point), start) for point in (within, corner)]
        if all(equal) and telling:
            warnings.warn(
                f"draw does not seem to depend on {name}: {_TRIED} draws at "
                f"{_name(made.box, low)} and at {_name(made.box, corner)} are equal",
                CroupierWarning,
                stacklevel=3,
            )
    _tried(made, made.points[-1])


def _tried(made: Continuum, point: tuple[float | int, ...]) -> Any:
    """Return a few draws at a point, always with the same random numbers."""
    name = _name(made.box, point)
    parameters = dict(zip(made.box, point, strict=True))
    try:
        values = made.draw(np.random.default_rng(0), _TRIED, **parameters)
    except Exception as error:
        raise ArmError(
            f"raised {type(error).__name__}: {text_of(error)}, at a corner of the box: make the "
            "box smaller, or the draw finite there",
            arm=name,
            value=error,
        ) from error
    if isinstance(values, Draws):
        values = values.values if values.log_values is None else values.log_values
    values = np.asarray(values, float)
    if np.isnan(values).any():
        raise ArmError(
            "returned NaN at a corner of the box: make the box smaller, or the draw finite there",
            arm=name,
            value=float("nan"),
        )
    return values
