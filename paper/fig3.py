"""Figure 3 of the paper: model evidence by annealed importance sampling, with costs that differ.

Every model is drawn and played, its rows are appended to two CSV files, and a run that was cut
goes on at the next model. The picture is drawn from the files alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.fig3_bank import Bank, bank_of
from paper.fig3_files import Fig3ArmRow, Fig3CurveRow, Fig3Files
from paper.fig3_play import RegretCurve, curves_of
from paper.fig3_study import Annealing
from paper.logistic import Reference
from paper.study import Watch, measure_missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure3", "figure3"]


@dataclass(frozen=True)
class Figure3:
    """What was measured for Figure 3, and its picture."""

    study: Annealing
    arms: tuple[Fig3ArmRow, ...]
    curves: tuple[Fig3CurveRow, ...]

    @classmethod
    def read(cls, out: str | Path, standardised: bool = True) -> Figure3:
        """Read what a run has left in its folder, finished or not.

        >>> Figure3.read("results").plot()  # doctest: +SKIP
        """
        files = Fig3Files(Path(out), "standardised" if standardised else "raw")
        return cls._of(files.study(), files)

    @classmethod
    def _of(cls, study: Annealing, files: Fig3Files) -> Figure3:
        wanted = set(study.rows)
        return cls(
            study,
            tuple(row for row in files.arms_of(study) if row.rows in wanted),
            tuple(row for row in files.curves_of(study) if row.rows in wanted),
        )

    def plot(self, figure: Figure | None = None) -> Figure:
        """Draw the picture, into ``figure`` if one is given."""
        from paper.fig3_picture import draw

        return draw(self.study, self.curves, figure)


def figure3(
    out: str | Path,
    study: Annealing | None = None,
    *,
    threads: int | None = None,
    fresh: bool = False,
    progress: Watch = None,
) -> Figure3:
    """Measure Figure 3 of the paper into the folder `out`, or what is missing of it there.

    `study`: what to run: ``Annealing.quick()`` if left out, ``Annealing()`` at full size. Two
    files, ``fig3-FEATURES.csv`` with the curves and ``fig3-FEATURES-arms.csv``, grow model by
    model: after an interrupt or a kill the same call goes on. Files of other settings are refused;
    `fresh` removes them. `progress`: True for a bar, False for nothing, a function that is given a
    line per model; None is a bar in a terminal and the log "croupier" elsewhere.

    >>> study = Annealing.quick(rows=(5,), temperatures=(20, 100), draws=100, runs=20)
    >>> figure = figure3("results", study)  # doctest: +SKIP
    >>> figure.plot().savefig("fig3.png")  # doctest: +SKIP
    """
    study = Annealing.quick() if study is None else study
    files = Fig3Files(Path(out), study.features)
    if fresh:
        files.remove()
    files.repair(study)
    there = {row.rows for row in files.curves_of(study)}
    missing = [rows for rows in study.rows if rows not in there]
    sizes = tuple(zip(study.temperatures, study.bank_sizes, strict=True))

    def measure(rows: int, count: Callable[[int], None]) -> None:
        reference = study.model(rows).reference()
        banks = [bank_of(study, rows, *one, reference, threads, count) for one in sizes]
        curves = curves_of(study, rows, banks, threads)
        files.add(
            [_arm_row(study, rows, bank, reference) for bank in banks],
            [row for curve in curves for row in _curve_rows(study, rows, curve)],
        )

    measure_missing(
        out, missing, len(study.rows), "models", measure, progress,
        units=sum(temperatures * size for temperatures, size in sizes),
        name=lambda rows: f"the first {rows} rows",
    )  # fmt: skip
    return Figure3._of(study, files)


def _arm_row(study: Annealing, rows: int, bank: Bank, reference: Reference) -> Fig3ArmRow:
    return Fig3ArmRow(
        features=study.features,
        rows=rows,
        temperatures=bank.temperatures,
        draws=len(bank.values),
        seed=study.seed,
        log_z=reference.log_value + math.log(bank.mean),
        error=bank.error,
        reference=reference.log_value,
        reference_error=reference.error,
        variance=bank.relative_variance,
        evaluations=float(bank.evaluations.mean()),
        cpu_seconds=float(bank.cpu_seconds.mean()),
    )


def _curve_rows(study: Annealing, rows: int, curve: RegretCurve) -> list[Fig3CurveRow]:
    settings: dict[str, Any] = {
        "features": study.features,
        "rows": rows,
        "clock": curve.clock,
        "policy": curve.policy,
        "combine": curve.combine,
        "runs": study.runs,
        "draws": study.draws,
        "budget": study.budget,
        "seed": study.seed,
        "width": study.width,
    }
    columns = ("times", "loss", "regret", "stderr", "paper", "ratio", "best")
    numbers = zip(*(getattr(curve, name).tolist() for name in columns), strict=True)
    return [Fig3CurveRow(**settings, **dict(zip(_MEASURED, row, strict=True))) for row in numbers]


#: The columns of a curve's row that are measured, in the order of a curve.
_MEASURED = ("time", "loss", "regret", "stderr", "regret_of_20", "ratio", "best_share")
