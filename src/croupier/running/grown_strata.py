"""Strata that grow: boxes that are halved where this takes most from the error.

Carpentier and Munos (NIPS 2012, "Minimax number of strata for online stratified sampling") ask how
fine strata should be. Here a pilot decides, by sample splitting: the boxes are grown on draws that
are used for nothing else (see `growing_boxes`), so the estimate from new draws is unbiased, given
the boxes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.integrand import integrand_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.functions.function import Function
from croupier.running.growing_boxes import Box, grown_boxes, parts_of
from croupier.spaces.axes import Axes
from croupier.spaces.base import INSIDE, Moved, Space
from croupier.spaces.read_space import read_space
from croupier.spaces.vectors import NormalVector

__all__ = ["Cell", "Grown", "grow"]

#: The pilot has at most this share of the draws, and at most so many.
PILOT: Final = 0.16
MOST_PILOT_DRAWS: Final = 20_000

#: There is at most one box for this many pilot draws, and at most so many boxes.
_PER_BOX: Final = 16
_BOXES: Final = 128


@dataclass(frozen=True)
class Cell:
    """One stratum: the function on the points whose probabilities lie in a box of [0, 1]^d."""

    function: Function
    space: Space
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

    def at(self, u: Floats) -> Floats:
        """Return the function at the points of some probabilities."""
        return self.function(self.space.place(Moved(np.clip(u, *INSIDE), None, None))[0])

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return draws of the stratum."""
        return self.at(self.points(rng, size))


class Grown(NamedTuple):
    """The strata, their weights, their best shares of the draws, and the draws of the pilot."""

    strata: tuple[Arm, ...]
    weights: tuple[float, ...]
    shares: tuple[float, ...]
    pilot: int


def grow(function: Callable[[Any], Any], over: Any, pilot: int, rng: np.random.Generator) -> Grown:
    """Grow strata for a function of points (size, d) on a product of distributions.

    `pilot` is the number of draws that may be used. Fewer are used if there is little to gain. If
    there is no clear gain at all, there is one stratum.
    """
    space = read_space(over, needs=("cube", "sample"))  # a sample: no infinite bounds
    d = space.dimension
    called = integrand_of(function, space)
    if called.shape:
        raise PlanError(
            f"f returns {called.shape[0]} numbers for each point: with splits='adaptive' it "
            "returns one"
        )
    whole = Cell(called, space, (0.0,) * d, (1.0,) * d)
    most = min(max(pilot // _PER_BOX, 2), _BOXES)
    boxes, used = grown_boxes(whole.at, d, pilot, most, rng)
    return _strata(called, space, boxes, used)


def _strata(function: Function, space: Space, boxes: list[Box], used: int) -> Grown:
    boxes = sorted(boxes, key=lambda box: tuple(box.low.tolist()))
    cells = [
        Cell(function, space, tuple(box.low.tolist()), tuple(box.high.tolist())) for box in boxes
    ]
    arms = tuple([Arm(cell, name=_name(k, cell)) for k, cell in enumerate(cells)])
    weights = np.array([cell.weight for cell in cells])
    parts = parts_of(boxes)
    shares = tuple((parts / parts.sum()).tolist())
    return Grown(arms, tuple((weights / weights.sum()).tolist()), shares, used)


def _name(k: int, cell: Cell) -> str:
    """Return a name that says where a stratum lies, such as ``"3: 0.2 < x1 < 0.5"``.

    If the coordinates depend on each other, it says where their probabilities u lie.
    """
    low, high, messages = np.array(cell.low), np.array(cell.high), []
    letter = "u"
    if isinstance(cell.space, Axes | NormalVector) and cell.space.rotation is None:
        letter = "x"
        ends = np.clip(np.stack((low, high)), *INSIDE)
        low, high = cell.space.place(Moved(ends, None, None))[0]
    for j in range(cell.space.dimension):
        start = f"{low[j]:.4g} < " if cell.low[j] > 0 else ""
        end = f" < {high[j]:.4g}" if cell.high[j] < 1 else ""
        if start or end:
            messages.append(f"{start}{letter}{j}{end}")
    return f"{k}: {', '.join(messages) or 'everything'}"
