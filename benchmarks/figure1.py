"""The tables of docs/paper/figure1.md, from the files that `make figure1` leaves there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import report
from croupier.errors import StoreError
from croupier.views import formats
from paper import Figure1
from paper.fig1_rows import Fig1CellRow, Tile
from paper.fig1_study import Cell
from paper.picture import NAMES
from paper.study import DEFAULT, PAPER

FOLDER = report.FOLDER.parent / "paper"
SHAPES = ("scaled-bernoulli", "truncated-normal", "uniform")

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


#: The folder of the logarithmic grid.
LOG = "log-grid"


def measured(shape: str, part: str = "") -> Figure1 | None:
    """Return what was measured with arms of a shape, None if it was not measured yet."""
    try:
        return Figure1.read(FOLDER / part, shape)
    except StoreError:
        return None


def wins() -> Table:
    """Return how many cells each policy won, for every shape; in brackets, wins within noise."""
    header = ["arms", "runs x draws", "cells", *(NAMES[policy] for policy in PAPER)]
    rows = []
    for shape in SHAPES:
        if figure := measured(shape):
            tiles, study = figure.tiles.values(), figure.study
            won = [[tile for tile in tiles if tile.winner == policy] for policy in PAPER]
            ahead = sum(tile.default_ratio < 1 for tile in tiles)
            rows.append(
                [
                    shape,
                    f"{study.runs:,} x {study.horizon:,}",
                    str(len(tiles)),
                    *(f"{len(own)} ({sum(tile.within_noise for tile in own)})" for own in won),
                    str(ahead),
                    formats.duration(sum(figure.cpu_seconds.values())),
                ]
            )
    return [*header, "the default beats all four", "CPU time"], rows


def winners() -> Table:
    """Return the winner of every cell; ~ marks a win within noise."""
    return _matrix(lambda tile: NAMES[tile.winner] + (" ~" if tile.within_noise else ""))


def log_winners() -> Table:
    """Return the winner of every cell of the logarithmic grid, and its lead."""

    def show(tile: Tile) -> str:
        noise = " ~" if tile.within_noise else ""
        return f"{NAMES[tile.winner]} {tile.lead:.2f}{noise}"

    return _matrix(show, LOG)


def log_default() -> Table:
    """Return the regret of the default to that of the best of the four, on that grid."""
    return _matrix(lambda tile: f"{tile.default_ratio:.3f}", LOG)


def log_kl_ucb_over_ucb_v() -> Table:
    """Return the regret of KL-UCB divided by that of UCB-V, on that grid."""
    return _matrix(
        lambda tile: f"{tile.rows['kl-ucb'].regret / tile.rows['ucb-v'].regret:.2f}", LOG
    )


def log_runs() -> Table:
    """Return how often each policy ran on the logarithmic grid, and how well its mean is known."""
    figure = measured("scaled-bernoulli", LOG)
    rows: dict[tuple[str, int], list[Fig1CellRow]] = {}
    for row in figure.rows if figure else ():
        rows.setdefault((row.policy, row.runs), []).append(row)
    order = [*PAPER, DEFAULT]
    lines = []
    for policy, runs in sorted(rows, key=lambda key: (order.index(key[0]), -key[1])):
        own = rows[policy, runs]
        errors = [100 * row.stderr / row.regret for row in own]
        extras = [row.extra for row in own]
        lines.append(
            [
                NAMES[policy],
                f"{min(extras):g} to {max(extras):g}",
                str(len(own)),
                f"{runs:,}",
                f"{np.median(errors):.1f} %",
                f"{max(errors):.1f} %",
                formats.duration(sum(row.cpu_seconds for row in own)),
            ]
        )
    errors_of = "standard error of the mean"
    header = ["policy", "extra", "cells", "runs", f"{errors_of}, median", "largest", "CPU time"]
    return header, lines


def kl_ucb_over_ucb_v() -> Table:
    """Return the regret of KL-UCB divided by that of UCB-V in every cell."""
    return _matrix(lambda tile: f"{tile.rows['kl-ucb'].regret / tile.rows['ucb-v'].regret:.2f}")


def curves() -> Table:
    """Return the draws of the worse arm at the end of every curve."""
    header = ["V1, extra", "policy", "mean", "1 %", "99 %"]
    figure = measured("scaled-bernoulli")
    ends = [row for row in figure.curves if row.time == row.horizon] if figure else []
    return header, [
        [
            f"{row.v1:g}, {row.extra:g}",
            NAMES[row.policy],
            formats.number(row.suboptimal, row.stderr),
            f"{row.p1:.0f}",
            f"{row.p99:.0f}",
        ]
        for row in ends
    ]


def _matrix(show: Callable[[Tile], str], part: str = "") -> Table:
    """Return a row for each extra variance, the largest on top as in the picture."""
    figure = measured("scaled-bernoulli", part)
    if figure is None:
        return [], []
    tiles, study = figure.tiles, figure.study
    rows = [
        [
            f"**{extra:g}**",
            *(
                show(tiles[cell]) if (cell := Cell(v1, extra)) in tiles else ""
                for v1 in study.variances
            ),
        ]
        for extra in reversed(study.extras)
    ]
    return ["extra \\ V1", *(f"{v1:g}" for v1 in study.variances)], rows
