"""The numbers in the prose of docs/continuum.md are those of its table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report

STRIKES = (0.06, 0.07, 0.08)


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page without its tables, in one line."""
    page = (Path(__file__).parents[2] / "docs" / "continuum.md").read_text()
    return re.sub(r"\s+", " ", re.sub(r"<!-- table.*?<!-- end -->", "", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    return {row["problem"]: row for row in report.read("continuum")}


def percent(row: dict[str, Any]) -> str:
    return f"{100 * (float(row['I']) - 1):.0f} %"


def test_the_goals_are_met(rows: dict[str, Any]) -> None:
    """I of at most 1.10 and 1.25, and 93.5 to 96.5 % covered."""
    for strike in STRIKES:
        row = rows[f"caplet, strike {strike}"]
        assert (row["runs"], float(row["I"]) <= 1.10) == ("500", True)
        assert 0.935 <= float(row["coverage"]) <= 0.965
    tail = rows["tail of 1e-4, mean and scale"]
    assert (tail["runs"], float(tail["I"]) <= 1.25) == ("500", True)
    with_, without = (float(rows[f"caplet, strike 0.07{end}"]["I"]) for end in IDLE)
    assert with_ / without < 1.03


IDLE = (", and an idle parameter", "")


def test_rare_events(rows: dict[str, Any], text: str) -> None:
    tail = rows["tail of 1e-4, mean and scale"]
    assert (
        f"{100 * float(tail['coverage']):.1f} % of {tail['runs']} intervals cover, and the bias is "
        f"{float(tail['bias']):.2f} standard errors. The allocation costs {percent(tail)}." in text
    )
    assert f"lost a factor of {float(tail['worst']):.1f}" in text


def test_a_box_that_is_too_large(rows: dict[str, Any], text: str) -> None:
    row = rows["tail of 3e-5, a box that is too large"]
    assert f"{100 * float(row['coverage']):.1f} % of {row['runs']} intervals cover" in text
    assert f"the worst lost a factor of {float(row['worst']):.0f}" in text
    assert f"make the mean of I {float(row['I']):.1f}" in text


def test_the_caplets(rows: dict[str, Any], text: str) -> None:
    own = [rows[f"caplet, strike {strike}"] for strike in STRIKES]
    one, two, three = map(percent, own)
    assert f"costs {one}, {two} and {three}**" in text
    one, two, three = (f"{100 * float(row['coverage']):.1f} %" for row in own)
    assert f"{one}, {two} and {three} of the intervals cover" in text
    grid, box = (float(rows[f"caplet, strike 0.06{end}"]["I"]) for end in (", 16 drifts", ""))
    assert f"{grid:.2f} of the best drift in the box, and the box itself {box:.2f}" in text


def test_the_untuned_problems(rows: dict[str, Any], text: str) -> None:
    own = [row for name, row in rows.items() if name.endswith("(untuned)")]
    assert len(own) == 2
    one, two = map(percent, own)
    assert f"nothing was tuned on cost {one} and {two}.**" in text
    covered = sum(round(float(row["coverage"]) * int(row["runs"])) for row in own)
    runs = sum(int(row["runs"]) for row in own)
    assert f"{covered} of their {runs} intervals cover" in text


def test_an_idle_parameter_and_a_cost(rows: dict[str, Any], text: str) -> None:
    with_, without = (float(rows[f"caplet, strike 0.07{end}"]["I"]) for end in IDLE)
    assert f"{with_:.3f} with it, {without:.3f} without" in text
    assert f"{percent(rows['size of a block, with its cost'])} for the size of a block" in text


def test_the_tree_beside_it(rows: dict[str, Any], text: str) -> None:
    ratios = [
        float(row["I"]) / float(rows[name.removesuffix(", hoo")]["I"])
        for name, row in rows.items()
        if name.endswith(", hoo")
    ]
    assert len(ratios) >= 5
    assert f"costs {min(ratios):.1f} to {max(ratios):.1f} times as much" in text


def test_nobody_missed_in_silence(rows: dict[str, Any], text: str) -> None:
    own = [row for name, row in rows.items() if not name.endswith(", hoo")]
    runs, silent = sum(int(row["runs"]) for row in own), sum(int(row["silent"]) for row in own)
    assert f"{silent} of {runs} runs missed in silence" in text
