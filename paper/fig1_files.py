"""Figure 1, where it is kept: two CSV files per shape, that grow by whole cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from croupier.errors import StoreError
from paper.fig1_rows import Fig1CellRow, Fig1CurveRow, Fig1Row
from paper.fig1_study import Cell, TwoArms
from paper.files import Sheet, ready, refuse_others, whole
from paper.study import DEFAULT, PAPER

__all__ = ["Fig1Files"]


@dataclass(frozen=True)
class Fig1Files:
    """The files of one shape in a folder: the cells of the grid, and the curves."""

    folder: Path
    shape: str

    @property
    def cells(self) -> Sheet[Fig1CellRow]:
        """A row per cell and policy."""
        return Sheet(self.folder / f"fig1-{self.shape}.csv", Fig1CellRow)

    @property
    def curves(self) -> Sheet[Fig1CurveRow]:
        """A row per curve, policy and time."""
        return Sheet(self.folder / f"fig1-{self.shape}-curves.csv", Fig1CurveRow)

    @property
    def picture(self) -> Path:
        """Where the picture goes."""
        return self.folder / f"fig1-{self.shape}.png"

    def cells_of(self, study: TwoArms) -> list[Fig1CellRow]:
        """Return the rows of cells that are whole."""
        number = len(study.policies)
        return whole(self.cells.read(), lambda row: row.cell, lambda row: row.policy, number)

    def curves_of(self, study: TwoArms) -> list[Fig1CurveRow]:
        """Return the rows of curves that are whole."""
        number = len(study.policies) * len(study.times)
        return whole(
            self.curves.read(), lambda row: row.cell, lambda row: (row.policy, row.time), number
        )

    def repair(self, study: TwoArms) -> None:
        """Make both files ready to grow: what a kill has left unfinished goes.

        Files of other settings are refused.
        """
        ready(self.folder)
        _refuse_others(study, self.cells.path, self.cells.read(), set(study.cells))
        _refuse_others(study, self.curves.path, self.curves.read(), set(study.followed))
        cells, curves = self.cells_of(study), self.curves_of(study)
        self.cells.keep(cells)
        self.curves.keep(curves)

    def remove(self) -> None:
        """Remove both files."""
        self.cells.path.unlink(missing_ok=True)
        self.curves.path.unlink(missing_ok=True)

    def study(self) -> TwoArms:
        """Return the study that the files come from, as far as it got.

        Grids that were added to each other may differ in their runs: those of the study are the
        most.
        """
        cells, curves = self.cells.read(), self.curves.read()
        rows: list[Fig1Row] = [*cells, *curves]
        runs: dict[str, int] = {}
        for row in rows:
            runs[row.policy] = max(row.runs, runs.get(row.policy, 0))
        if not set(PAPER) <= set(runs):
            raise StoreError(
                f"there is no finished cell in {self.cells.path}: run the figure first"
            )
        return TwoArms(
            shape=rows[0].shape,  # type: ignore[arg-type]
            variances=tuple(row.v1 for row in cells) or (rows[0].v1,),
            extras=tuple(row.extra for row in cells) or (rows[0].extra,),
            curves=tuple(dict.fromkeys(row.cell for row in curves)),
            runs=(most := max(runs[policy] for policy in PAPER)),
            own_runs=tuple((one, runs[one]) for one in PAPER if runs[one] < most),
            default_runs=runs.get(DEFAULT, 0),
            horizon=rows[0].horizon,
            seed=rows[0].seed,
        )


def _refuse_others(study: TwoArms, path: Path, rows: Sequence[Fig1Row], own: set[Cell]) -> None:
    """Refuse a file of other settings, and say which; cells of other grids may have other runs."""
    there: dict[str, set[Any]] = {
        "shape": {row.shape for row in rows},
        "horizon": {row.horizon for row in rows},
        "seed": {row.seed for row in rows},
        "default-runs": {row.runs for row in rows if row.policy not in PAPER and row.cell in own},
    }
    if len({row.cell for row in rows}) > 1 and all(row.policy in PAPER for row in rows):
        there["default-runs"] = {0}  # and not cut off by a kill: the first cell is whole
    here = {
        "shape": study.shape,
        "horizon": study.horizon,
        "seed": study.seed,
        "default-runs": study.runs_of(DEFAULT),
    }
    names = {policy: f"runs of {policy}" for policy, _ in study.own_runs}
    for policy in PAPER:
        name = names.get(policy, "runs")
        here[name] = study.runs_of(policy)
        found = {row.runs for row in rows if row.policy == policy and row.cell in own}
        there.setdefault(name, set()).update(found)
    refuse_others(path, there, here)
