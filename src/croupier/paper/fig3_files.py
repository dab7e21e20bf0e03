"""Figure 3, where it is kept: two CSV files for either scaling of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from croupier.errors import StoreError
from croupier.paper.csv_rows import Sheet
from croupier.paper.fig3_study import CLOCKS, COMBINED, Annealing

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
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write into {self.folder}: {error}") from error
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
        models: dict[int, dict[object, Fig3CurveRow]] = {}
        for row in rows:
            key = (row.clock, row.policy, row.combine, row.time)
            models.setdefault(row.rows, {})[key] = row
        wanted = study.lines()
        return [row for own in models.values() if len(own) == wanted for row in own.values()]

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
        differences = []
        for name in ("features", "runs", "draws", "budget", "seed", "width"):
            here = getattr(study, name)
            if there := {getattr(row, name) for row in rows} - {here}:
                found = ", ".join(map(str, sorted(there)))
                differences.append(f"{name} {found} there, {here} here")
        known = {(clock, player) for clock in CLOCKS for player in study.players}
        if {(row.clock, row.policy) for row in rows} - known or {row.combine for row in rows} - set(
            COMBINED
        ):
            differences.append("other arms or policies")
        if differences:
            raise StoreError(
                f"{self.curves.path} has other settings ({'; '.join(differences)}): "
                "choose another folder with --out, or start afresh with --fresh"
            )
