"""The tables of docs/paper/figure1.md, from the files that `croupier paper fig1` leaves there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks import report
from croupier.errors import StoreError
from croupier.paper import Figure1
from croupier.paper.fig1_picture import NAMES
from croupier.paper.fig1_rows import Tile
from croupier.paper.fig1_study import PAPER, Cell
from croupier.views import formats

FOLDER = report.FOLDER.parent / "paper"
SHAPES = ("scaled-bernoulli", "truncated-normal", "uniform")

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


#: The folder of the corner of small variances, on a logarithmic grid.
LOW = "low-variance"


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


def low_winners() -> Table:
    """Return the winner of every cell of small variances, and its lead."""

    def show(tile: Tile) -> str:
        noise = " ~" if tile.within_noise else ""
        return f"{NAMES[tile.winner]} {tile.lead:.2f}{noise}"

    return _matrix(show, LOW)


def low_default() -> Table:
    """Return the regret of the default to that of the best of the four, at small variances."""
    return _matrix(lambda tile: f"{tile.default_ratio:.3f}", LOW)


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
