"""The numbers about strata that grow in the prose of docs/strata.md are those of the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report

#: At most half of the variance of plain draws, and of two halves per axis.
HALVED = ("corner peak", "corner peak, 5 dimensions", "discontinuous",
          "discontinuous, 5 dimensions", "quarter of a disc")  # fmt: skip


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page without its tables, in one line."""
    page = (Path(__file__).parents[2] / "docs" / "strata.md").read_text()
    return re.sub(r"\s+", " ", re.sub(r"<!-- table.*?<!-- end -->", "", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    return {row["problem"]: row for row in report.read("grown-strata")}


def of_halves(row: dict[str, Any], what: str = "ratio") -> float:
    return float(row[what]) / float(row["halves"])


@pytest.mark.parametrize("problem", HALVED)
def test_the_goals_are_met(problem: str, rows: dict[str, Any]) -> None:
    row = rows[problem]
    assert int(row["runs"]) >= 200
    for what in ("ratio", "claimed"):
        assert float(row[what]) <= 0.5
        assert of_halves(row, what) <= 0.5
    assert 0.93 <= float(row["coverage"]) <= 0.97


def test_twenty_dimensions(rows: dict[str, Any], text: str) -> None:
    wave, corner = rows["a wave, 20 dimensions"], rows["corner peak, 20 dimensions"]
    for row in (wave, corner):
        assert float(row["ratio"]) <= 1.1
        assert float(row["claimed"]) <= 1.1
    assert (
        f"{float(wave['claimed']):.2f} by the standard errors, {float(wave['ratio']):.2f} ± "
        f"{float(wave['ratio_se']):.2f} by the errors" in text
    )
    assert (
        f"{float(corner['claimed']):.2f} by the standard errors and {float(corner['ratio']):.2f} ± "
        f"{float(corner['ratio_se']):.2f} by the errors" in text
    )
    sharp = rows["sharp corner peak, 20 dimensions"]
    assert f"{100 * float(sharp['coverage']):.0f} % of {sharp['runs']} intervals cover" in text
    assert f"{sharp['silent']} of them miss by more than four errors without a warning" in text


def test_what_is_gained(rows: dict[str, Any], text: str) -> None:
    disc, corner = rows["quarter of a disc"], rows["corner peak, 5 dimensions"]
    assert f"The quarter of a disc has {of_halves(disc):.3f} of the variance" in text
    assert (
        f"{of_halves(corner):.2f} of two halves per axis by its errors, "
        f"{of_halves(corner, 'claimed'):.2f} by its standard errors" in text
    )


def test_the_untuned_problems(rows: dict[str, Any], text: str) -> None:
    ridge, simplex = (rows[name] for name in rows if name.endswith("(untuned)"))
    assert f"the ridge has {of_halves(ridge):.2f} of the variance of two halves per axis" in text
    assert (
        f"{float(simplex['ratio']):.2f} of plain draws by its errors and "
        f"{float(simplex['claimed']):.2f} by its standard errors, beside "
        f"{float(simplex['halves']):.2f} for two halves" in text
    )
