"""Figure 1 of the paper: two arms, who wins where, and how fast the worse arm is left alone.

Every cell is simulated, its rows are appended to a CSV, and a run that was cut goes on at the next
cell. The picture is drawn from the files alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import croupier as cr
from paper.fig1_files import Fig1Files
from paper.fig1_rows import Fig1CellRow, Fig1CurveRow, Tile, by_cell
from paper.fig1_study import Cell, TwoArms
from paper.study import Watch, measure_missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure1", "figure1"]


@dataclass(frozen=True)
class Figure1:
    """What was measured for Figure 1, and its picture."""

    study: TwoArms
    rows: tuple[Fig1CellRow, ...]
    curves: tuple[Fig1CurveRow, ...]

    @classmethod
    def read(cls, out: str | Path, shape: str = "scaled-bernoulli") -> Figure1:
        """Read what a run has left in its folder, finished or not.

        >>> Figure1.read("results").plot()  # doctest: +SKIP
        """
        files = Fig1Files(Path(out), shape)
        return cls._of(files.study(), files)

    @classmethod
    def _of(cls, study: TwoArms, files: Fig1Files) -> Figure1:
        """Return what the files have of a study."""
        grid, followed = set(study.cells), set(study.followed)
        return cls(
            study,
            tuple(row for row in files.cells_of(study) if row.cell in grid),
            tuple(row for row in files.curves_of(study) if row.cell in followed),
        )

    @property
    def tiles(self) -> dict[Cell, Tile]:
        """The cells of the grid that were measured."""
        return by_cell(self.rows)

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """The CPU time of every policy, over all cells and curves."""
        total = dict.fromkeys(self.study.policies, 0.0)
        for row in self.rows:
            total[row.policy] += row.cpu_seconds
        for end in self.curves:
            if end.time == end.horizon:
                total[end.policy] += end.cpu_seconds
        return total

    def plot(self, figure: Figure | None = None) -> Figure:
        """Draw the picture, into ``figure`` if one is given."""
        from paper.fig1_picture import draw

        return draw(self.study, self.tiles, self.curves, figure)


def figure1(
    out: str | Path,
    study: TwoArms | None = None,
    *,
    threads: int | None = None,
    fresh: bool = False,
    progress: Watch = None,
) -> Figure1:
    """Measure Figure 1 of the paper into the folder `out`, or what is missing of it there.

    `study`: what to run: ``TwoArms.quick()`` if left out, ``TwoArms()`` as in the paper.
    Two files, ``fig1-SHAPE.csv`` with a row per cell and policy and ``fig1-SHAPE-curves.csv``,
    grow cell by cell: after an interrupt or a kill the same call goes on, and gives the same
    numbers as if it had never stopped. Files of other settings are refused; `fresh` removes them.
    `progress`: True for a bar, False for nothing, a function that is given a line per cell;
    None is a bar in a terminal and the log "croupier" elsewhere.

    >>> study = TwoArms(variances=(0.05,), extras=(0.1,), curves=(), runs=10, horizon=1000)
    >>> figure = figure1("results", study)  # doctest: +SKIP
    >>> figure.tiles[0.05, 0.1].winner  # doctest: +SKIP
    'thompson'
    >>> figure.plot().savefig("fig1.png")  # doctest: +SKIP
    """
    study = TwoArms.quick() if study is None else study
    files = Fig1Files(Path(out), study.shape)
    if fresh:
        files.remove()
    files.repair(study)
    found = Figure1._of(study, files)
    followed = {row.cell for row in found.curves}
    curves = [cell for cell in study.followed if cell not in followed]
    cells = [cell for cell in study.cells if cell not in found.tiles]
    missing = [(True, cell) for cell in curves] + [(False, cell) for cell in cells]

    def measure(part: tuple[bool, Cell], count: Callable[[int], None]) -> None:
        is_curve, cell = part
        if is_curve:
            files.curves.append(_curve_rows(study, cell, threads))
        else:
            files.cells.append(_cell_rows(study, cell, threads))
        count(1)

    total = len(study.followed) + len(study.cells)
    measure_missing(out, missing, total, "cells", measure, progress, name=lambda part: part[1])
    return Figure1._of(study, files)


# -- simulation


def _cell_rows(study: TwoArms, cell: Cell, threads: int | None) -> list[Fig1CellRow]:
    rows = []
    for policy, runs in _simulated(study, cell, (study.horizon,), threads):
        p1, p99 = runs.percentiles([1, 99])[:, -1].tolist()
        row = Fig1CellRow(
            **_settings(study, cell, policy),
            regret=float(runs.mean_regret[-1]),
            stderr=float(runs.stderr[-1]),
            suboptimal=float(runs.suboptimal[:, -1].mean()),
            p1=p1,
            p99=p99,
            cpu_seconds=float(runs.cpu_seconds),
        )
        rows.append(row)
    return rows


def _curve_rows(study: TwoArms, cell: Cell, threads: int | None) -> list[Fig1CurveRow]:
    rows = []
    for policy, runs in _simulated(study, cell, study.times, threads):
        mean = runs.suboptimal.mean(axis=0).tolist()
        error = runs.suboptimal.std(axis=0, ddof=1) / study.runs_of(policy) ** 0.5
        p1, p50, p99 = runs.percentiles([1, 50, 99]).tolist()
        rows += [
            Fig1CurveRow(
                **_settings(study, cell, policy),
                time=time,
                suboptimal=mean[i],
                stderr=float(error[i]),
                p1=p1[i],
                p50=p50[i],
                p99=p99[i],
                cpu_seconds=float(runs.cpu_seconds),
            )
            for i, time in enumerate(study.times)
        ]
    return rows


def _simulated(
    study: TwoArms, cell: Cell, times: Sequence[int], threads: int | None
) -> Iterator[tuple[str, Any]]:
    """Yield every policy with its runs; those of equal length are simulated together."""
    problem = study.problem(cell)
    groups: dict[int, list[str]] = {}
    for policy in study.policies:
        groups.setdefault(study.runs_of(policy), []).append(policy)
    for group, (runs, policies) in enumerate(groups.items()):
        simulation = cr.simulate(
            problem,
            policies,
            runs=runs,
            horizon=study.horizon,
            record=list(times),
            rng=study.cell_seed(cell, group),
            threads=threads,
            progress=False,
        )
        for policy in policies:
            yield policy, simulation[policy]


def _settings(study: TwoArms, cell: Cell, policy: str) -> dict[str, Any]:
    return {
        "shape": study.shape,
        "v1": cell.v1,
        "extra": cell.extra,
        "policy": policy,
        "runs": study.runs_of(policy),
        "horizon": study.horizon,
        "seed": study.seed,
    }
