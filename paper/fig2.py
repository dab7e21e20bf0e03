"""Figure 2 of the paper: the price of an option, and who needs how many draws for it.

Every contestant at every strike is a part; its rows are appended to a CSV, and a run that was cut
goes on at the next part. The picture is drawn from the file alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from croupier.errors import StoreError
from paper.cir import Caplet, Exact
from paper.cir_bank import PathBank
from paper.fig2_contest import CONTESTANTS
from paper.fig2_study import Fig2Row, OptionPrice, Part, by_part, rows_of
from paper.files import Sheet, ready, refuse_others, whole
from paper.study import Watch, measure_missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure2", "figure2", "picture_of", "sheet_of"]


def sheet_of(out: str | Path) -> Sheet[Fig2Row]:
    """Return the file of a folder."""
    return Sheet(Path(out) / "fig2.csv", Fig2Row)


def picture_of(out: str | Path) -> Path:
    """Return where the picture goes."""
    return Path(out) / "fig2.png"


@dataclass(frozen=True)
class Figure2:
    """What was measured for Figure 2, and its picture."""

    study: OptionPrice
    rows: tuple[Fig2Row, ...]

    @classmethod
    def read(cls, out: str | Path) -> Figure2:
        """Read what a run has left in its folder, finished or not.

        >>> Figure2.read("results").plot()  # doctest: +SKIP
        """
        sheet = sheet_of(out)
        rows = sheet.read()
        if not rows:
            raise StoreError(f"there is no finished part in {sheet.path}: run the figure first")
        names = {row.contestant for row in rows}
        first = by_part(rows)[rows[0].part]
        study = OptionPrice(
            strikes=tuple(dict.fromkeys(row.strike for row in rows)),
            draws=tuple(row.draws for row in first),
            runs=max(row.runs for row in rows),
            contestants=tuple(name for name in CONTESTANTS if name in names),
            width=first[0].width,
            bank=first[0].bank,
            seed=first[0].seed,
        )
        return cls(study, tuple(_whole(study, sheet)))

    def row(self, strike: float, contestant: str, draws: int) -> Fig2Row:
        """Return what a contestant did."""
        for row in self.rows:
            if (row.strike, row.contestant, row.draws) == (strike, contestant, draws):
                return row
        raise KeyError(f"{contestant!r} was not measured at strike {strike:g}, {draws} draws")

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """The CPU time of every contestant, over all strikes."""
        total = dict.fromkeys(self.study.contestants, 0.0)
        for part, rows in by_part(self.rows).items():
            total[part.contestant] += rows[0].cpu_seconds
        return total

    def plot(self, figure: Figure | None = None) -> Figure:
        """Draw the picture, into ``figure`` if one is given."""
        from paper.fig2_picture import draw

        return draw(self.study, self.rows, figure)


def figure2(
    out: str | Path,
    study: OptionPrice | None = None,
    *,
    threads: int | None = None,
    fresh: bool = False,
    progress: Watch = None,
) -> Figure2:
    """Measure Figure 2 of the paper into the folder `out`, or what is missing of it there.

    `study`: what to run: ``OptionPrice.quick()`` if left out, ``OptionPrice()`` as in the paper.
    The file ``fig2.csv`` grows by one contestant and strike at a time: after an interrupt or a
    kill the same call goes on, and gives the same numbers as if it had never stopped. A file of
    other settings is refused; `fresh` removes it. `progress`: True for a bar, False for nothing,
    a function that is given a line per part; None is a bar in a terminal and the log "croupier"
    elsewhere.

    >>> study = OptionPrice.quick(strikes=[0.07], contestants=["thompson"], runs=10)
    >>> figure = figure2("results", study)  # doctest: +SKIP
    >>> figure.row(0.07, "thompson", 10_000).ratio  # doctest: +SKIP
    """
    study = OptionPrice.quick() if study is None else study
    sheet = sheet_of(out)
    if fresh:
        sheet.path.unlink(missing_ok=True)
    ready(sheet.path.parent)
    _refuse_others(study, sheet)
    rows = _whole(study, sheet)
    sheet.keep(rows)
    there = by_part(rows)
    missing = [part for part in study.parts if part not in there]

    def measure(part: Part, count: Callable[[int], None]) -> None:
        sheet.append(_measure(study, part, threads))
        count(1)

    measure_missing(out, missing, len(study.parts), "parts", measure, progress)
    wanted = set(study.parts)
    return Figure2(study, tuple(row for row in _whole(study, sheet) if row.part in wanted))


def _measure(study: OptionPrice, part: Part, threads: int | None) -> list[Fig2Row]:
    bank = _bank(part.strike, study.bank, study.seed) if study.bank else None
    exact = _exact(part.strike) if bank is None else bank.exact()
    began = time.process_time()
    done = CONTESTANTS[part.contestant](study.asked(part, exact, threads, bank))
    return rows_of(study, part, exact, done, time.process_time() - began)


@lru_cache(maxsize=16)
def _exact(strike: float) -> Exact:
    return Caplet(strike).exact()


@lru_cache(maxsize=1)
def _bank(strike: float, paths: int, seed: int) -> PathBank:
    return PathBank.walked(Caplet(strike), paths, seed)


def _whole(study: OptionPrice, sheet: Sheet[Fig2Row]) -> list[Fig2Row]:
    """Return the rows of parts that are whole."""
    return whole(sheet.read(), lambda row: row.part, lambda row: row.draws, len(study.draws))


def _refuse_others(study: OptionPrice, sheet: Sheet[Fig2Row]) -> None:
    """Refuse a file of other settings; contestants that are not asked may have other runs."""
    rows, own = sheet.read(), set(study.parts)
    there: dict[str, set[Any]] = {
        "runs": {row.runs for row in rows if row.part in own},
        "range": {row.width for row in rows},
        "bank": {row.bank for row in rows},
        "seed": {row.seed for row in rows},
        "draws": {row.draws for row in rows} - set(study.draws),
    }
    here = {
        "runs": study.runs, "range": study.width, "bank": study.bank, "seed": study.seed,
        "draws": ", ".join(map(str, study.draws)),
    }  # fmt: skip
    refuse_others(sheet.path, there, here)
