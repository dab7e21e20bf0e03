"""The picture of Figure 1 is drawn headless, and shows what the rows say."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paper import Figure1, TwoArms, figure1
from paper.fig1_rows import Fig1CellRow
from paper.fig1_study import Cell
from paper.study import DEFAULT

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from paper.picture import COLOURS

pytestmark = pytest.mark.filterwarnings("error")

SMALL: dict[str, Any] = {
    "variances": (0.05, 0.1, 0.15),
    "extras": (0.05, 0.1),
    "curves": [(0.08, 0.1), (0.05, 0.05)],
    "runs": 20,
    "horizon": 1000,
}


def png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    return file.getvalue()


def tiles(axes: Any) -> dict[tuple[int, int], Rectangle]:
    found = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    return {(round(p.get_x() + 0.5), round(p.get_y() + 0.5)): p for p in found}


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.fixture
def measured(simulator: Any, tmp_path: Path) -> Figure1:
    return figure1(tmp_path, TwoArms(**SMALL), progress=False)


def test_there_are_two_panels_of_tiles_and_a_panel_for_each_curve(measured: Figure1) -> None:
    figure = measured.plot()
    winners, curve_a, default, curve_b = figure.axes[:4]
    assert png(figure).startswith(b"\x89PNG")
    assert figure.get_suptitle() == (
        "Two scaled Bernoulli arms, 20 runs of 1,000 draws in every cell"
    )
    assert len(tiles(winners)) == len(tiles(default)) == 6
    assert curve_a.get_title(loc="left") == "(a) V1 = 0.08, extra variance 0.1"
    assert curve_b.get_title(loc="left") == "(b) V1 = 0.05, extra variance 0.05"
    for curve in (curve_a, curve_b):
        assert (curve.get_xscale(), curve.get_yscale()) == ("log", "log")
        assert curve.get_xlim()[1] == 1000


def test_a_tile_has_the_colour_of_its_winner_and_is_hatched_within_noise(
    measured: Figure1,
) -> None:
    cell = measured.rows[0].cell

    def made_up(row: Fig1CellRow) -> Fig1CellRow:
        if row.cell == cell:  # ucb1 wins
            return replace(row, regret=1.0 if row.policy == "ucb1" else 2.0, stderr=0.1)
        return replace(row, regret=3.0 if row.policy == "ucb-v" else 4.0, stderr=1.0)

    figure = replace(measured, rows=tuple(map(made_up, measured.rows))).plot()
    drawn = tiles(figure.axes[0])
    assert to_hex(drawn[0, 0].get_facecolor()).upper() == COLOURS["ucb1"]
    assert to_hex(drawn[1, 0].get_facecolor()).upper() == COLOURS["ucb-v"]
    assert drawn[0, 0].get_hatch() is None
    assert drawn[1, 0].get_hatch()
    assert "UCB1\n2.00" in texts(figure.axes[0])
    assert "UCB-V\n1.33" in texts(figure.axes[0])


def test_the_default_is_shown_by_its_ratio_to_the_best(measured: Figure1) -> None:
    rows = tuple(
        replace(row, regret=3.0 if row.policy == DEFAULT else 2.0, stderr=0.1)
        for row in measured.rows
    )
    default = replace(measured, rows=rows).plot().axes[2]
    assert texts(default).count("1.50") == 6
    assert not any(tile.get_hatch() for tile in tiles(default).values())


def test_impossible_cells_are_grey_and_missing_ones_white(measured: Figure1) -> None:
    wide = TwoArms(**{**SMALL, "extras": (0.05, 0.1, 0.2)})
    figure = replace(measured, study=wide, rows=measured.rows[:5]).plot()
    drawn = tiles(figure.axes[0])
    assert wide.impossible == (Cell(0.1, 0.2), Cell(0.15, 0.2))
    assert set(drawn) == {(0, 0), (1, 2), (2, 2)}
    assert "V1 + extra must be at most 1/4" in figure.axes[0].get_xlabel()


def test_followed_cells_are_lettered_on_the_tiles(measured: Figure1) -> None:
    winners = measured.plot().axes[0]
    places = {text.get_text(): text.get_position() for text in winners.texts}
    assert places["a"] == (0.5, 1)  # between the tiles of 0.05 and 0.1
    assert places["b"] == (0.34, 0.34)  # in the corner of its own


def test_bounds_are_drawn_where_they_say_something(measured: Figure1) -> None:
    curve = measured.plot().axes[1]
    labels = [text.get_text() for text in curve.get_legend().get_texts()]
    assert labels == [
        "UCB1: upper bound, above t throughout",
        "UCB-V: upper bound, above t throughout",
        "KL-UCB: leading term only",
        "Thompson: order only, above t throughout",
        "lower bound for large t (Theorem 3)",
    ]
    (kl,) = [line for line in curve.lines if line.get_label() == labels[2]]
    assert (kl.get_ydata() <= kl.get_xdata()).all()


def test_a_run_without_the_default_or_curves_or_cells_is_drawn(
    simulator: Any, tmp_path: Path
) -> None:
    without = TwoArms(**{**SMALL, "default_runs": 0, "curves": ()})
    figure = figure1(tmp_path, without, progress=False)
    assert len(figure.plot().axes) == 1
    png(figure.plot())
    png(replace(figure, rows=()).plot())


def test_one_curve_beside_two_panels_and_a_grid_of_one_cell(simulator: Any, tmp_path: Path) -> None:
    study = TwoArms(variances=(0.05,), extras=(0.1,), curves=[(0.05, 0.1)], runs=5, horizon=50)
    png(figure1(tmp_path, study, progress=False).plot())


def test_tiles_too_small_for_letters_have_none(simulator: Any, tmp_path: Path) -> None:
    axis = tuple(k / 400 for k in range(1, 31))
    study = TwoArms(shape="uniform", variances=axis, extras=axis[:3], curves=(), runs=2, horizon=20)
    winners = figure1(tmp_path, study, progress=False).plot().axes[0]
    assert len(tiles(winners)) == 90
    assert not [text for text in texts(winners) if text.startswith(("TS", "KL", "UCB"))]
    assert len(winners.get_xticks()) <= 12


def test_without_matplotlib_the_picture_says_how_to_get_it(
    measured: Figure1, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[plot\]"'):
        measured.plot()
