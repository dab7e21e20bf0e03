"""Figure 3, where it is kept: two CSV files for either scaling of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from croupier.errors import StoreError
from paper.fig3_study import CLOCKS, COMBINED, Annealing
from paper.files import Sheet, ready, refuse_others, whole

__all__ = ["Fig3ArmRow", "Fig3CurveRow", "Fig3Files"]


@dataclass(frozen=True)
class Fig3ArmRow:
    """The bank of one arm: its estimate of log Z beside the reference, its variance, its costs.

    `variance` is that of a draw in units of Z^2; `evaluations` and `cpu_seconds` are per draw.
    """

    features: str
    rows: int
    temperatures: int
    draws: int
    seed: int
    log_z: float
    error: float
    reference: float
    reference_error: float
    variance: float
    evaluations: float
    cpu_seconds: float


@dataclass(frozen=True)
class Fig3CurveRow:
    """A policy with a combination by one clock at one time: see `fig3_play.RegretCurve`."""

    features: str
    rows: int
    clock: str
    policy: str
    combine: str
    runs: int
    draws: int
    budget: int
    seed: int
    width: float
    time: float
    loss: float
    regret: float
    stderr: float
    regret_of_20: float
    ratio: float
    best_share: float


@dataclass(frozen=True)
class Fig3Files:
    """The files of one scaling of the features in a folder."""

    folder: Path
    features: str

    @property
    def arms(self) -> Sheet[Fig3ArmRow]:
        """A row per model and arm."""
        return Sheet(self.folder / f"fig3-{self.features}-arms.csv", Fig3ArmRow)

    @property
    def curves(self) -> Sheet[Fig3CurveRow]:
        """A row per model, clock, policy, combination and time."""
        return Sheet(self.folder / f"fig3-{self.features}.csv", Fig3CurveRow)

    @property
    def picture(self) -> Path:
        """Where the picture goes."""
        return self.folder / f"fig3-{self.features}.png"

    def repair(self, study: Annealing) -> None:
        """Make both files ready to grow: what a kill has left unfinished goes."""
        ready(self.folder)
        arms, curves = self.arms_of(study), self.curves_of(study)
        self.arms.keep(arms)
        self.curves.keep(curves)

    def remove(self) -> None:
        """Remove both files."""
        self.arms.path.unlink(missing_ok=True)
        self.curves.path.unlink(missing_ok=True)

    def add(self, arms: Sequence[Fig3ArmRow], curves: Sequence[Fig3CurveRow]) -> None:
        """Add a finished model: its arms first, its curves say that it is whole."""
        self.arms.append(arms)
        self.curves.append(curves)

    def curves_of(self, study: Annealing) -> list[Fig3CurveRow]:
        """Return the curves of models that are whole; refuse those of other settings."""
        rows = self.curves.read()
        self._refuse_others(study, rows)
        return whole(
            rows,
            lambda row: row.rows,
            lambda row: (row.clock, row.policy, row.combine, row.time),
            study.lines(),
        )

    def arms_of(self, study: Annealing) -> list[Fig3ArmRow]:
        """Return the arms of models whose curves are whole."""
        whole = {row.rows for row in self.curves_of(study)}
        arms = {(row.rows, row.temperatures): row for row in self.arms.read()}
        return [row for row in arms.values() if row.rows in whole]

    def study(self) -> Annealing:
        """Return the study that the files come from, as far as it got."""
        curves, arms = self.curves.read(), self.arms.read()
        if not curves or not arms:
            raise StoreError(
                f"there is no finished model in {self.curves.path}: run the figure first"
            )
        first = curves[0]
        return Annealing(
            standardised=first.features == "standardised",
            rows=tuple(row.rows for row in curves),
            temperatures=tuple(row.temperatures for row in arms),
            runs=first.runs,
            draws=first.draws,
            budget=first.budget,
            seed=first.seed,
            width=first.width,
        )

    def _refuse_others(self, study: Annealing, rows: Sequence[Fig3CurveRow]) -> None:
        """Refuse a file of other settings, and say which."""
        names = ("features", "runs", "draws", "budget", "seed", "width")
        there: dict[str, set[Any]] = {name: {getattr(row, name) for row in rows} for name in names}
        here = {name: getattr(study, name) for name in names}
        known = {
            "clocks": ("clock", CLOCKS),
            "arms or policies": ("policy", study.players),
            "combinations": ("combine", COMBINED),
        }
        for name, (column, own) in known.items():
            there[name] = {getattr(row, column) for row in rows} - set(own)
            here[name] = ", ".join(own)
        refuse_others(self.curves.path, there, here)
