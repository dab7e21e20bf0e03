"""Figure 1, what was measured: a row per cell and policy, and who won the cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paper.fig1_study import Cell
from paper.study import DEFAULT, PAPER

__all__ = ["Fig1CellRow", "Fig1CurveRow", "Fig1Row", "Tile", "by_cell"]


@dataclass(frozen=True)
class Fig1Row:
    """What every row has: the cell, the policy, and the settings of the study."""

    shape: str
    v1: float
    extra: float
    policy: str
    runs: int
    horizon: int
    seed: int

    @property
    def cell(self) -> Cell:
        """The problem."""
        return Cell(self.v1, self.extra)


@dataclass(frozen=True)
class Fig1CellRow(Fig1Row):
    """A policy in a cell, at the horizon: mean over the runs, its standard error, percentiles.

    `suboptimal`, `p1` and `p99` are pulls of the worse arm. `cpu_seconds`: of all runs together.
    """

    regret: float
    stderr: float
    suboptimal: float
    p1: float
    p99: float
    cpu_seconds: float


@dataclass(frozen=True)
class Fig1CurveRow(Fig1Row):
    """A policy in a cell at one time: pulls of the worse arm, with their standard error.

    `cpu_seconds` are those of the whole curve, the same in each of its rows.
    """

    time: int
    suboptimal: float
    stderr: float
    p1: float
    p50: float
    p99: float
    cpu_seconds: float


@dataclass(frozen=True)
class Tile:
    """A cell of the picture, from the rows of its policies."""

    cell: Cell
    rows: Mapping[str, Fig1CellRow]

    @property
    def ranking(self) -> list[Fig1CellRow]:
        """The four policies of the paper, the least regret first."""
        return sorted((self.rows[policy] for policy in PAPER), key=lambda row: row.regret)

    @property
    def winner(self) -> str:
        """The one of the four with the least regret."""
        return self.ranking[0].policy

    @property
    def lead(self) -> float:
        """The regret of the second, in terms of the winner's."""
        first, second, *_ = self.ranking
        return second.regret / first.regret

    @property
    def within_noise(self) -> bool:
        """Are the two best closer than two standard errors of their difference?"""
        first, second, *_ = self.ranking
        return _close(first, second)

    @property
    def default_ratio(self) -> float:
        """The regret of croupier's default in terms of the winner's; nan where it was left out."""
        default = self.rows.get(DEFAULT)
        return default.regret / self.ranking[0].regret if default else math.nan

    @property
    def default_within_noise(self) -> bool:
        """Are the default and the best of the four closer than two standard errors?"""
        default = self.rows.get(DEFAULT)
        return default is not None and _close(default, self.ranking[0])


def _close(one: Fig1CellRow, other: Fig1CellRow) -> bool:
    # Policies run independently of each other, so the squares of their errors add up.
    return abs(one.regret - other.regret) < 2 * math.hypot(one.stderr, other.stderr)


def by_cell(rows: Iterable[Fig1CellRow]) -> dict[Cell, Tile]:
    """Return the tiles, in the order of the rows."""
    found: dict[Cell, dict[str, Fig1CellRow]] = {}
    for row in rows:
        found.setdefault(row.cell, {})[row.policy] = row
    return {cell: Tile(cell, policies) for cell, policies in found.items()}
