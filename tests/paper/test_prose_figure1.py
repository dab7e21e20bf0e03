"""The numbers in the prose of docs/paper/figure1.md are those of the files beside it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from croupier import theory
from paper import Figure1, TwoArms
from paper.fig1_rows import Fig1CurveRow, Tile
from paper.fig1_study import Cell
from paper.study import DEFAULT, PAPER

FOLDER = Path(__file__).parents[2] / "docs" / "paper"
LARGE, SMALL = Cell(0.08, 0.1), Cell(0.005, 0.01)


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page without its tables, in one line."""
    page = (FOLDER / "figure1.md").read_text()
    return re.sub(r"\s+", " ", re.sub(r"<!-- table.*?<!-- end -->", "", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def even() -> Figure1:
    return Figure1.read(FOLDER)


@pytest.fixture(scope="module")
def log() -> Figure1:
    return Figure1.read(FOLDER / "log-grid")


def wins(tiles: dict[Cell, Tile], policy: str) -> list[Tile]:
    return [tile for tile in tiles.values() if tile.winner == policy]


def end_of(figure: Figure1, cell: Cell, policy: str) -> Fig1CurveRow:
    rows = [row for row in figure.curves if row.cell == cell and row.policy == policy]
    return rows[-1]


def ratio(tile: Tile, one: str, other: str) -> float:
    return tile.rows[one].regret / tile.rows[other].regret


def test_the_grids_are_those_that_the_page_describes(
    even: Figure1, log: Figure1, text: str
) -> None:
    assert (even.study.runs, even.study.horizon, len(even.tiles)) == (2000, 10**6, 100)
    assert {row.runs for figure in (even, log) for row in figure.rows} == {2000}
    assert "Every policy has 2000 runs in every cell of both grids" in text
    assert even.study.variances == even.study.extras
    assert (even.study.variances[0], even.study.variances[-1]) == (0.0125, 0.125)
    assert (log.study.variances[0], log.study.variances[-1]) == (0.002, 0.2)
    assert log.study.variances == log.study.extras
    assert (len(log.tiles), len(log.study.impossible)) == (46, 3)
    assert "Three of its 49 cells do not exist" in text


def test_thompson_sampling_wins_most_cells(even: Figure1, log: Figure1, text: str) -> None:
    won = wins(even.tiles, "thompson")
    assert f"in {len(won)} of 100 cells, and no win is within noise" in text
    assert not any(tile.within_noise for tile in even.tiles.values())
    least = min(tile.lead for cell, tile in even.tiles.items() if cell.extra >= 0.0375)
    assert f"0.0375 or more, the second policy has at least {least:.2f} times its regret" in text
    large = [tile for cell, tile in log.tiles.items() if cell.extra >= 0.02]
    assert {tile.winner for tile in large} == {"thompson"}
    close = sum(tile.within_noise for tile in large)
    assert f"an extra variance of 0.02 or more, {close} of these {len(large)} within noise" in text
    wide = [tile for cell, tile in log.tiles.items() if cell.v1 >= 0.093]
    assert {tile.winner for tile in wide} == {"thompson"}
    assert "and every cell with V1 = 0.093 or more" in text


def test_ucb_v_wins_where_both_variances_are_low(even: Figure1, log: Figure1, text: str) -> None:
    (corner,) = wins(even.tiles, "ucb-v")
    assert corner.cell == (0.0125, 0.0125)
    assert f"(0.0125, 0.0125), by {100 * (corner.lead - 1):.0f} %" in text
    won = wins(log.tiles, "ucb-v")
    close = sum(tile.within_noise for tile in won)
    assert f"UCB-V wins {len(won)} of 46 cells, {close} of them within noise" in text
    small = [t for cell, t in log.tiles.items() if cell.v1 <= 0.02 and cell.extra <= 0.0093]
    assert {tile.winner for tile in small} == {"ucb-v"}
    leads = [tile.lead for tile in small]
    assert f"the second policy has {min(leads):.2f} to {max(leads):.2f} times its regret" in text
    rest = [tile for tile in won if tile not in small]
    assert [tile.cell for tile in rest] == [(0.043, 0.002), (0.043, 0.0043)]
    assert [tile.within_noise for tile in rest] == [False, True]
    assert "wins the two cells with the smallest extra variances, the second of them within" in text


def test_where_kl_ucb_is_better_than_ucb_v(even: Figure1, log: Figure1, text: str) -> None:
    better = {c for c, tile in even.tiles.items() if ratio(tile, "kl-ucb", "ucb-v") < 1}
    assert {c for c in even.tiles if c.extra >= 0.075} <= better
    assert {c.v1 for c in better if c.extra == 0.0625} == {
        v for v in even.study.variances if v >= 0.05
    }
    assert "an extra variance of 0.075 and more at every V1, and for 0.0625 from V1 = 0.05" in text
    better = {c for c, tile in log.tiles.items() if ratio(tile, "kl-ucb", "ucb-v") < 1}
    assert better == {c for c in log.tiles if c.extra >= 0.093} | {Cell(0.2, 0.043)}
    assert "better for an extra variance of 0.093 and more, and at (0.2, 0.043)" in text
    most = max(ratio(tile, "thompson", "kl-ucb") for tile in even.tiles.values())
    assert most < 0.5
    most = max(ratio(tile, "thompson", "kl-ucb") for tile in log.tiles.values())
    assert f"and at most {most:.2f} of it in every cell of the logarithmic grid" in text


def test_other_shapes_have_the_same_winner(text: str) -> None:
    for shape in ("uniform", "truncated-normal"):
        figure = Figure1.read(FOLDER, shape)
        assert (len(figure.tiles), figure.study.runs, figure.study.horizon) == (15, 500, 10**5)
        assert len(wins(figure.tiles, "thompson")) == 15
        assert len(TwoArms(shape=figure.study.shape).impossible) == 85
    assert "so 85 of the 100 cells do not exist" in text
    assert "on 15 cells with 500 runs of 10⁵ draws each" in text


def test_tails_and_bounds_of_the_curves(even: Figure1, text: str) -> None:
    def spaced(number: float) -> str:
        return f"{number:,.0f}".replace(",", " ")

    tail = end_of(even, SMALL, "thompson")
    said = f"its mean is {spaced(tail.suboptimal)} draws of the worse arm and its 99 % percentile"
    assert f"{said} is {spaced(tail.p99)}" in text
    narrow = end_of(even, SMALL, "ucb-v")
    assert f"UCB-V stay between {spaced(narrow.p1)} and {spaced(narrow.p99)}" in text
    factors = []
    for policy, bound in (("ucb1", theory.ucb1_bound), ("ucb-v", theory.ucbv_bound)):
        for cell in (LARGE, SMALL):
            arms = even.study.problem(cell).distributions
            for row in even.curves:
                if row.cell == cell and row.policy == policy:
                    most = float(np.ravel(bound(arms, np.array([float(row.time)])))[0])
                    assert most > row.suboptimal * cell.extra
                    if cell == LARGE and row.time == row.horizon:
                        factors.append(most / cell.extra / row.suboptimal)
    assert f"on curve (a) by factors of {factors[0]:.1f} and {factors[1]:.1f} at the end" in text
    arms = even.study.problem(LARGE).distributions
    leading = theory.kl_ucb_leading_term(arms, np.array([1e6])) / LARGE.extra
    assert leading < end_of(even, LARGE, "kl-ucb").suboptimal
    for cell in (LARGE, SMALL):
        arms = even.study.problem(cell).distributions
        lower = theory.lower_bound(arms) * math.log(1e6) / cell.extra
        assert all(lower < end_of(even, cell, one).suboptimal / 2 for one in (*PAPER, DEFAULT))


def test_how_much_better_the_default_is(even: Figure1, log: Figure1, text: str) -> None:
    said = []
    for figure, places in ((even, 0), (log, 1)):
        ratios = [100 * tile.default_ratio for tile in figure.tiles.values()]
        assert max(ratios) < 100
        said.append(f"{min(ratios):.{places}f} to {max(ratios):.0f} %")
    assert f"its regret is {said[0]} of the regret of the best of the four" in text
    assert f"on the logarithmic grid {said[1]}" in text
    draws = [tile.rows[DEFAULT].suboptimal for tile in even.tiles.values()]
    assert f"from the worse arm {min(draws):.0f} to {max(draws):.0f} times in 10⁶" in text
    assert f"2 log t draws, {2 * math.log(10**6):.0f} of 10⁶" in text


def test_the_mean_of_the_default_is_well_known_in_every_cell(
    even: Figure1, log: Figure1, text: str
) -> None:
    """A cell with a standard error above 19 % would have to be explained: there is none."""
    said = []
    for figure in (even, log):
        rows = [tile.rows[DEFAULT] for tile in figure.tiles.values()]
        most = max(row.stderr / row.regret for row in rows)
        assert most < 0.19
        said.append(f"{100 * most:.1f} %")
    assert f"at most {said[0]} of the mean on the even grid and {said[1]} on the" in text


def test_how_long_it_took(even: Figure1, log: Figure1, text: str) -> None:
    spent = even.cpu_seconds
    assert f"took {sum(spent.values()) / 60:.0f} minutes of CPU time" in text
    assert f"of which the default took {spent[DEFAULT] / 60:.0f}" in text
    total = sum(log.cpu_seconds.values()) / 60
    assert f"The logarithmic grid took {total:.0f} minutes" in text
