"""The numbers in the prose of the paper's pages are those of the files beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from croupier.paper import Figure1, Figure2

PAPER = Path(__file__).parents[3] / "docs" / "paper"


def prose(page: str) -> str:
    """Return a page without its tables, in one line."""
    text = re.sub(r"<!-- table.*?<!-- end -->", "", (PAPER / page).read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


def test_figure_1_at_small_variances() -> None:
    tiles = Figure1.read(PAPER / "low-variance").tiles
    won = [tile for tile in tiles.values() if tile.winner == "ucb-v"]
    close = sum(tile.within_noise for tile in won)
    text = prose("figure1.md")
    assert f"UCB-V wins {len(won)} of {len(tiles)} cells, {close} of them within noise" in text
    small = [tile for cell, tile in tiles.items() if max(cell.v1, cell.extra) <= 0.0093]
    assert {tile.winner for tile in small} == {"ucb-v"}
    leads = [tile.lead for tile in small]
    assert f"the second policy has {min(leads):.2f} to {max(leads):.2f} times its regret" in text
    large = [tile for cell, tile in tiles.items() if cell.extra >= 0.043]
    assert {tile.winner for tile in large} == {"thompson"}
    assert "From an extra variance of 0.043 on, Thompson sampling wins every cell" in text
    ratios = [100 * tile.default_ratio for tile in tiles.values()]
    assert f"on the second grid {min(ratios):.1f} to {max(ratios):.0f} %" in text


def test_figure_1_says_how_much_better_the_default_is_and_where_it_is_unsure() -> None:
    tiles = Figure1.read(PAPER).tiles.values()
    default = [tile.rows["variance-thompson"] for tile in tiles]
    text = prose("figure1.md")
    ratios = [100 * tile.default_ratio for tile in tiles]
    assert max(ratios) < 100
    assert (
        f"its regret is {min(ratios):.0f} to {max(ratios):.0f} % of the regret of the best" in text
    )
    draws = [row.suboptimal for row in default]
    assert f"from the worse arm {min(draws):.0f} to {max(draws):.0f} times in 10⁶" in text
    unsure = [row for row in default if row.stderr > 0.19 * row.regret]
    assert len(unsure) == 3
    assert "In three of the 100 cells the standard error of the default's mean regret" in text
    assert all(f"({row.v1:g}, {row.extra:g})" in text for row in unsure)


def test_figure_2_losses_by_the_draws() -> None:
    rows = {(row.strike, row.contestant, row.draws): row for row in Figure2.read(PAPER).rows}
    text = prose("figure2.md")
    end = [rows[k, "thompson", 100_000].allocation for k in (0.06, 0.07, 0.08)]
    said = f"{end[0]:.1f}, {end[1]:.2f} and {end[2]:.2f} times the loss of the best arm"
    assert f"Thompson sampling has come down to {said}" in text
    for name, words in (("kl-ucb", "the loss of KL-UCB is"), ("ucb1", "the loss of UCB1")):
        to_uniform = [
            rows[k, name, 10_000].allocation / rows[k, "uniform", 10_000].allocation
            for k in (0.06, 0.07, 0.08)
        ]
        assert f"{words} {min(to_uniform):.2f} to {max(to_uniform):.2f} times" in text.replace(
            "The loss", "the loss"
        )
    small, bandit = (rows[0.08, name, 10_000] for name in ("pmc-100", "thompson"))
    assert (
        f"({small.ratio:.2f} ± {small.ratio_stderr:.2f} against "
        f"{bandit.ratio:.2f} ± {bandit.ratio_stderr:.2f})"
    ) in text


def test_figure_2_to_a_million_draws() -> None:
    figure = Figure2.read(PAPER / "long")
    assert figure.study.strikes == (0.06,)
    rows = {(row.contestant, row.draws): row for row in figure.rows}
    text = prose("figure2.md")
    first, last = (rows["thompson", n].allocation for n in (100_000, 1_000_000))
    assert f"comes down from {first:.1f} to {last:.1f} by the draws" in text
    large = rows["pmc-1000", 1_000_000]
    assert f"{large.ratio:.2f} ± {large.ratio_stderr:.2f}" in text
    assert rows["pmc-100", 1_000_000].ratio == pytest.approx(4, abs=0.5)
