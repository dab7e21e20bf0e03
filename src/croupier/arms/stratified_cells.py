"""stratified: one point in every cell of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.evaluated import Evaluated, evaluated
from croupier.arms.ready_made import Known
from croupier.checks import count_of
from croupier.data.draws import Draws
from croupier.errors import PlanError

__all__ = ["stratified"]

#: A draw has at most this many points.
_MOST_POINTS: Final = 65_536


@dataclass(frozen=True)
class Cells:
    """Means over one uniform point in each cell of a grid over the first axes."""

    g: Evaluated
    cells: int
    axes: int

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        points = self.cells**self.axes
        u = rng.random((size, points, self.g.dimension))
        grid = np.indices((self.cells,) * self.axes).reshape(self.axes, points).T
        u[..., : self.axes] = (grid + u[..., : self.axes]) / self.cells
        return Draws(self.g.means(u), float(points))


def stratified(
    f: Callable[[Any], Any],
    over: Any,
    *,
    cells: int = 4,
    axes: int | None = None,
    dimension: int | None = None,
    name: str = "stratified",
) -> Arm:
    """Return the arm of stratified sampling: `cells` cells along each of the first `axes` axes.

    A draw is the mean over one point in every cell and costs cells^axes. By default all axes have
    cells, as far as a draw has at most 1024 points. `f` and `over` are those of
    `croupier.integrate`.
    """
    g, k = evaluated(f, over, dimension, name), count_of("cells", cells)
    if axes is None:
        axes = min(g.dimension, max(1, int(math.log(1024) / math.log(max(k, 2)))))
    axes = count_of("axes", axes)
    if axes > g.dimension or k**axes > _MOST_POINTS:
        raise PlanError(
            f"cells={k} and axes={axes} make {k**axes} points in {g.dimension} dimensions: use at "
            f"most {_MOST_POINTS} points, and not more axes than dimensions"
        )
    return Arm(Cells(g, k, axes), name)


def example() -> Known:
    """Return the integral of e^x from 0 to 1 with 8 cells."""
    arm = stratified(lambda x: np.exp(x[:, 0]), (0, 1), cells=8)
    return Known(arm, math.e - 1, cells_of_exp(8), 8)


def cells_of_exp(k: int) -> float:
    """Return the variance of the mean of e^x over one point in each of k cells of (0, 1)."""
    edges = np.arange(k + 1) / k
    mean, square = k * np.diff(np.exp(edges)), k / 2 * np.diff(np.exp(2 * edges))
    return float((square - mean**2).sum() / k**2)
