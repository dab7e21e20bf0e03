"""Hierarchical optimistic optimisation over a box: the arms are points, and a tree halves the box.

Bubeck, Munos, Stoltz and Szepesvári, *X-armed bandits* (JMLR 12, 2011): a cell of the box is worth
its mean payoff plus what may be hidden by noise and by its size. A cell is divided only when its
noise is smaller than its size, as in the high-confidence tree of Azar, Lazaric and Brunskill
(*Online stochastic optimization under correlated bandit feedback*, ICML 2014).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import Choice, Play, Random
from croupier.policies.smooth import FIRST, known_losses, points_in

__all__ = ["HierarchicalOptimistic"]


class _Cell(NamedTuple):
    """A cell of the tree: its points, the one nearest to its middle, its depth and its halves."""

    points: NDArray[np.intp]
    middle: int
    depth: int
    halves: tuple[_Cell, ...]


class _Tree(NamedTuple):
    plan: Plan
    root: _Cell
    dimensions: int


class _Seen(NamedTuple):
    """What is known of the points, and the width of a bound in standard errors."""

    draws: Floats  # told, per point; 0 where nothing is known yet
    out: Floats  # asked and not told
    loss: Floats  # cost times variance
    noise: Floats  # of its log
    wide: float


@dataclass(frozen=True)
class HierarchicalOptimistic:
    """Divides a box where log(cost times variance) may be lowest; `smooth-thompson` is better.

    `nu`: how much log(cost times variance) may change over the whole box, `rho`: which part of
    this is left after a cell is halved; 2^(-1/d) in d dimensions, if left out. `points` are as
    those of `SmoothThompson`. The bound of a cell is log(mean loss) - z e - nu rho^depth, with
    z = sqrt(log(t)/2) as in `variance-lcb` and e the standard error of the log; the bound of a
    divided cell is at least the lower one of its halves (X-armed bandits, equations 3 and 4, with
    losses for payoffs). A cell is divided when z e <= nu rho^depth.
    """

    name: ClassVar[str] = "hoo"
    nu: float = 1.0
    rho: float | None = None
    points: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        positive("nu", self.nu)
        if self.rho is not None and not 0 < self.rho < 1:
            raise PlanError(f"rho must be between 0 and 1, got {self.rho!r}")
        if self.points is not None:
            object.__setattr__(self, "points", tuple(tuple(map(float, p)) for p in self.points))

    def start(self, plan: Plan) -> _Tree:
        points = points_in(plan, self.points)
        sides = np.column_stack((points.min(axis=0), points.max(axis=0)))
        return _Tree(plan, _cell(points, np.arange(len(points)), sides, 0), points.shape[1])

    def choose(self, state: _Tree, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        known = known_losses(state.plan, ledger)
        if known is None:  # nothing varies, or nothing is known yet
            return self._open(state.root, ledger.count + pending)
        opened, logs, noise = known
        draws, loss, error = np.zeros((3, len(ledger)))
        draws[opened], loss[opened], error[opened] = ledger.count[opened], np.exp(logs), noise
        seen = _Seen(draws, pending, loss, error, math.sqrt(math.log(ledger.draws) / 2))
        cell = state.root
        while cell.halves and self._divided(state, cell, seen):
            cell = min(cell.halves, key=lambda half: self._bound(state, half, seen))
        return _draw(cell.middle, ledger.count + pending)

    def learn(self, state: _Tree, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> _Tree:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()

    def _size(self, state: _Tree, cell: _Cell) -> float:
        rho = 2 ** (-1 / state.dimensions) if self.rho is None else self.rho
        return float(self.nu * rho**cell.depth)

    def _divided(self, state: _Tree, cell: _Cell, seen: _Seen) -> bool:
        _, error = _mean_loss(cell, seen)
        return seen.wide * error <= self._size(state, cell)

    def _bound(self, state: _Tree, cell: _Cell, seen: _Seen) -> float:
        if not seen.draws[cell.points].any():
            # Nobody knows: it comes first, unless its draws are under way.
            return math.inf if seen.out[cell.points].any() else -math.inf
        mean, error = _mean_loss(cell, seen)
        own = mean - seen.wide * error - self._size(state, cell)
        if cell.halves and self._divided(state, cell, seen):
            return max(own, min(self._bound(state, half, seen) for half in cell.halves))
        return own

    def _open(self, root: _Cell, draws: Floats) -> Choice:
        """Return the middle of the largest cell that has no draws, or the point with the fewest."""
        row = [root]
        while row:
            for cell in row:
                if draws[cell.middle] < FIRST:
                    return _draw(cell.middle, draws)
            row = [half for cell in row for half in cell.halves]
        return int(draws.argmin())


def _draw(arm: int, draws: Floats) -> Choice:
    return Play(arm, FIRST, growth=FIRST) if draws[arm] < FIRST else arm


def _cell(points: Floats, inside: NDArray[np.intp], sides: Floats, depth: int) -> _Cell:
    """Return the tree of the points inside a box, which is halved across its longest side."""
    centre = sides.mean(axis=1)
    own = points[inside]
    middle = int(inside[np.square(own - centre).sum(axis=1).argmin()])
    if len(inside) == 1:
        return _Cell(inside, middle, depth, ())
    long = int((sides[:, 1] - sides[:, 0]).argmax())
    low = own[:, long] <= centre[long]
    if low.all() or not low.any():  # all on one side: the box is smaller than it looked
        return _cell(points, inside, np.column_stack((own.min(axis=0), own.max(axis=0))), depth)
    left, right = sides.copy(), sides.copy()
    left[long, 1] = right[long, 0] = centre[long]
    halves = (
        _cell(points, inside[low], left, depth + 1),
        _cell(points, inside[~low], right, depth + 1),
    )
    return _Cell(inside, middle, depth, halves)


def _mean_loss(cell: _Cell, seen: _Seen) -> tuple[float, float]:
    """Return the log of the mean loss of the draws in a cell, and its standard error."""
    draws = seen.draws[cell.points]
    total = float(draws.sum())
    if total == 0:
        return 0.0, math.inf
    part = draws * seen.loss[cell.points] / total
    mean = float(part.sum())
    error = float(np.square(part) @ seen.noise[cell.points])
    return math.log(mean), math.sqrt(error) / mean
