"""Strata that grow: boxes that are halved where this takes most from the error.

Carpentier and Munos (NIPS 2012, "Minimax number of strata for online stratified sampling") ask how
fine strata should be. Here a pilot decides, by sample splitting: the boxes are grown on draws that
are used for nothing else (see `growing_boxes`), so the estimate from new draws is unbiased, given
the boxes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.arms.base import Arm
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.running.growing_boxes import Box, grown_boxes, parts_of

__all__ = ["Cell", "Grown", "grow", "marginals_of"]

#: The pilot has at most this share of the draws, and at most so many.
PILOT: Final = 0.16
MOST: Final = 20_000

#: There is at most one box for this many pilot draws, and at most so many boxes.
_PER_BOX: Final = 16
_BOXES: Final = 128


@dataclass(frozen=True)
class Marginal:
    """One coordinate: its quantile function."""

    law: Any

    def __call__(self, u: Floats) -> Floats:
        """Return the quantiles of some probabilities."""
        return np.asarray(self.law.ppf(u), float)


@dataclass(frozen=True)
class Interval:
    """A coordinate that is uniform between two ends."""

    low: float
    high: float

    def __call__(self, u: Floats) -> Floats:
        """Return the quantiles of some probabilities."""
        return np.asarray(self.low + (self.high - self.low) * u)


def marginals_of(over: Any) -> tuple[Callable[[Floats], Floats], ...]:
    """Return the coordinates of a product: pairs (low, high), or distributions of scipy.

    >>> [float(one(np.array(0.5))) for one in marginals_of([(0, 2), (1, 3)])]
    [1.0, 2.0]
    """
    if isinstance(over, str) or not isinstance(over, Sequence) or not over:
        raise PlanError(
            "over must be a sequence with a pair (low, high) or a distribution of scipy.stats for "
            f"each coordinate, got {over!r}"
        )
    return tuple([_marginal(k, one) for k, one in enumerate(over)])


def _marginal(k: int, one: Any) -> Callable[[Floats], Floats]:
    if callable(getattr(one, "ppf", None)):
        return Marginal(one)
    try:
        low, high = (float(end) for end in one)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise PlanError(
            f"over[{k}] must be a pair (low, high), finite and low < high, or a distribution of "
            f"scipy.stats with one variable, got {one!r}"
            f"{'; for one coordinate give over=[(0, 1)]' if np.ndim(one) == 0 else ''}"
        )
    return Interval(low, high)


@dataclass(frozen=True)
class Cell:
    """One stratum: the function on the points whose probabilities lie in a box of [0, 1]^d."""

    function: Callable[[Floats], Any]
    marginals: tuple[Callable[[Floats], Floats], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def weight(self) -> float:
        """The probability of the stratum."""
        return math.prod(b - a for a, b in zip(self.low, self.high, strict=True))

    def points(self, rng: np.random.Generator, size: int) -> Floats:
        """Return probabilities in the box, uniformly."""
        low = np.array(self.low)
        return np.asarray(low + (np.array(self.high) - low) * rng.random((size, len(low))))

    def at(self, u: Floats) -> Any:
        """Return the function at the points of some probabilities."""
        x = [quantile(u[:, j]) for j, quantile in enumerate(self.marginals)]
        return self.function(np.column_stack(x))

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return draws of the stratum."""
        return self.at(self.points(rng, size))


class Grown(NamedTuple):
    """The strata, their weights, their best shares of the draws, and the draws of the pilot."""

    strata: tuple[Arm, ...]
    weights: tuple[float, ...]
    shares: tuple[float, ...]
    pilot: int


def grow(
    function: Callable[[Floats], Any], over: Any, pilot: int, rng: np.random.Generator
) -> Grown:
    """Grow strata for a function of points (size, d) on a product of distributions.

    `pilot` is the number of draws that may be used. Fewer are used if there is little to gain. If
    there is no clear gain at all, there is one stratum.
    """
    marginals = marginals_of(over)
    d = len(marginals)
    whole = Cell(function, marginals, (0.0,) * d, (1.0,) * d)
    most = min(max(pilot // _PER_BOX, 2), _BOXES)
    boxes, used = grown_boxes(lambda u: _values(whole, u), d, pilot, most, rng)
    return _strata(function, marginals, boxes, used)


def _values(whole: Cell, u: Floats) -> Floats:
    """Return the function at the points of some probabilities, one finite number for each."""
    y = np.asarray(whole.at(u), float)
    if y.shape != (len(u),):
        raise ArmError(
            f"returned the shape {y.shape} for {len(u)} points: with splits='adaptive' the "
            "function takes points of the shape (size, d) and returns one number for each",
            arm="pilot",
            value=y.shape,
        )
    if not np.isfinite(y).all():
        bad = int(np.flatnonzero(~np.isfinite(y))[0])
        at = [round(float(m(u[bad, j])), 6) for j, m in enumerate(whole.marginals)]
        raise ArmError(f"returned {y[bad]} at the point {at}", arm="pilot", value=float(y[bad]))
    return y


def _strata(
    function: Callable[[Floats], Any],
    marginals: tuple[Callable[[Floats], Floats], ...],
    boxes: list[Box],
    used: int,
) -> Grown:
    boxes = sorted(boxes, key=lambda box: tuple(box.low.tolist()))
    cells = [
        Cell(function, marginals, tuple(box.low.tolist()), tuple(box.high.tolist()))
        for box in boxes
    ]
    arms = tuple([Arm(cell, name=_name(k, cell)) for k, cell in enumerate(cells)])
    weights = np.array([cell.weight for cell in cells])
    parts = parts_of(boxes)
    shares = tuple((parts / parts.sum()).tolist())
    return Grown(arms, tuple((weights / weights.sum()).tolist()), shares, used)


def _name(k: int, cell: Cell) -> str:
    """Return a name that says where a stratum lies, such as ``"3: 0.2 < x1 < 0.5"``."""
    said = []
    for j, (quantile, low, high) in enumerate(
        zip(cell.marginals, cell.low, cell.high, strict=True)
    ):
        if low > 0 or high < 1:
            start = f"{float(quantile(np.array(low))):.4g} < " if low > 0 else ""
            end = f" < {float(quantile(np.array(high))):.4g}" if high < 1 else ""
            said.append(f"{start}x{j}{end}")
    return f"{k}: {', '.join(said) or 'everything'}"
