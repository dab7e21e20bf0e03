"""latin_hypercube: points that are stratified along every axis at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.evaluated import Evaluated, evaluated
from croupier.arms.ready_made import Known
from croupier.arms.stratified_cells import cells_of_exp
from croupier.checks import count_of
from croupier.data.draws import Draws

__all__ = ["latin_hypercube"]


@dataclass(frozen=True)
class Hypercubes:
    """Means over Latin hypercube samples."""

    g: Evaluated
    points: int

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        u = rng.random((size, self.points, self.g.dimension))
        cells = np.broadcast_to(np.arange(self.points)[:, None], u.shape)
        return Draws(self.g.means((rng.permuted(cells, axis=1) + u) / self.points), self._cost)

    @property
    def _cost(self) -> float:
        return float(self.points)


def latin_hypercube(
    f: Callable[[Any], Any],
    over: Any,
    *,
    points: int = 16,
    dimension: int | None = None,
    name: str = "latin_hypercube",
) -> Arm:
    """Return the arm of Latin hypercubes (McKay, Beckman and Conover, Technometrics 21, 1979).

    A draw is the mean over `points` points, one in each slice of every axis, and costs `points`. It
    removes what is a sum of functions of single coordinates. `f` and `over` are those of
    `croupier.integrate`.
    """
    g = evaluated(f, over, dimension, name)
    return Arm(Hypercubes(g, count_of("points", points)), name)


def example() -> Known:
    """Return the integral of e^x + e^y + e^z over the cube: each axis is stratified."""
    arm = latin_hypercube(lambda x: np.exp(x).sum(axis=1), [(0, 1)] * 3, points=8)
    return Known(arm, 3 * (math.e - 1), 3 * cells_of_exp(8), 8)
