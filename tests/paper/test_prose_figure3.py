"""The numbers in the prose of docs/paper/figure3.md are those of the files beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from paper import Figure3
from paper.fig3_files import Fig3CurveRow

PAPER = Path(__file__).parents[2] / "docs" / "paper"
MODELS = (5, 10, 50)
BANDITS = ("ucb1", "ucb-v", "kl-ucb", "thompson")
POLICIES = (*BANDITS, "variance-thompson")


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page without its tables, in one line."""
    page = (PAPER / "figure3.md").read_text().replace("−", "-")
    return re.sub(r"\s+", " ", re.sub(r"<!-- table.*?<!-- end -->", "", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure3]:
    return {name: Figure3.read(PAPER, name == "standardised") for name in ("standardised", "raw")}


@pytest.fixture(scope="module")
def curves(figures: dict[str, Figure3]) -> dict[tuple[Any, ...], list[Fig3CurveRow]]:
    found: dict[tuple[Any, ...], list[Fig3CurveRow]] = {}
    for figure in figures.values():
        for row in figure.curves:
            key = (row.features, row.rows, row.clock, row.policy, row.combine)
            found.setdefault(key, []).append(row)
    return found


def unit(row: Fig3CurveRow) -> float:
    """Return t (delta V)*, in which the page gives regrets."""
    return row.time**2 * row.loss / row.ratio


def excess(row: Fig3CurveRow) -> float:
    return row.regret / unit(row)


def shown(row: Fig3CurveRow) -> str:
    return f"{excess(row):.2f} ± {row.stderr / unit(row):.2f}"


def ends(curves: Any, combine: str, clock: str = "", policies: Any = POLICIES) -> list[float]:
    return [
        excess(rows[-1])
        for key, rows in curves.items()
        if key[3] in policies and key[4] == combine and clock in key[2]
    ]


def test_what_is_lost_with_and_without_weights(curves: Any, text: str) -> None:
    plain = [1 + one for one in ends(curves, "mean")]
    said = f"every policy ends with {min(plain):.1f} to {max(plain):.1f} times the mean squared"
    assert said in text
    assert max(ends(curves, "guarded")) < 0.11
    assert "With guarded weights, all policies end within 0.11 of the best arm" in text
    weighted = ends(curves, "inverse-variance")
    assert sum(one > 0.1 for one in weighted) <= len(weighted) / 10  # "nearly all do"


def test_how_the_variances_and_costs_of_the_arms_compare(
    figures: dict[str, Figure3], text: str
) -> None:
    def products(features: str, model: int, clock: str) -> list[float]:
        own = [arm for arm in figures[features].arms if arm.rows == model]
        each = [arm.variance * getattr(arm, clock) for arm in own]
        return [one / min(each) for one in each]

    def falls(features: str, model: int, other: int) -> float:
        own = [arm.variance for arm in figures[features].arms if arm.rows == model]
        return own[0] / own[other]

    largest = [falls(features, model, 2) for features in figures for model in MODELS]
    said = f"the arms differ by a factor of {min(largest):.0f} to {max(largest):.0f} in V"
    assert said in text
    first, second, third = (f"{falls('standardised', model, 1):.1f}" for model in MODELS)
    assert f"(400 to 2000: {first}, {second} and {third} times)" in text
    ties = max(max(products("standardised", model, "evaluations")) for model in MODELS)
    assert f"differs by at most {100 * (ties - 1):.0f} % between the smallest" in text
    raw = max(max(products("raw", model, "evaluations")) for model in (5, 10))
    assert f"the arms still tie for 5 and 10 rows (within {100 * (raw - 1):.0f} %)" in text
    worst = products("raw", 50, "evaluations")[0]
    assert f"the δV of this arm is {worst:.2f} times the smallest" in text
    tied = [("standardised", model) for model in MODELS] + [("raw", 5), ("raw", 10)]
    short = [100 * (products(*one, "cpu_seconds")[0] - 1) for one in tied]
    said = f"the arm with 400 temperatures is {min(short):.0f} to {max(short):.0f} % above"
    assert said in text
    # The variance of n draws is known to sqrt(2/n), if they are close to normal.
    errors = [100 * (2 / arm.draws) ** 0.5 for figure in figures.values() for arm in figure.arms]
    assert 1 < min(errors) < max(errors) < 3.5
    assert "the variance of a bank is known to 2 or 3 %" in text


def test_the_risk_of_inverse_variance_weights(curves: Any, text: str) -> None:
    rows = curves["standardised", 50, "evaluations", "thompson", "inverse-variance"]
    assert f"With 50 standardised rows it ends at {shown(rows[-1])}" in text
    rows = curves["raw", 5, "evaluations", "thompson", "inverse-variance"]
    assert f"With 5 raw rows it ends at {shown(rows[-1])}" in text
    start = curves["raw", 50, "evaluations", "ucb1", "inverse-variance"][0]
    assert f"UCB1 starts at {shown(start)}, three times the error" in text
    assert excess(start) == pytest.approx(2, abs=0.3)
    guarded = curves["raw", 50, "evaluations", "ucb1", "guarded"][0]
    assert f"the guarded combination of the same draws is at {shown(guarded)}" in text


def test_the_default_and_a_bad_arm(curves: Any, text: str) -> None:
    default = ("variance-thompson",)
    assert max(ends(curves, "guarded", "evaluations", default)) < 0.08
    assert max(ends(curves, "guarded", "cpu", default)) < 0.11
    assert "ends within 0.08 of the best arm by evaluations, and within 0.11 by CPU time" in text

    def at_a_tenth(policy: str) -> Fig3CurveRow:
        rows = curves["raw", 50, "evaluations", policy, "guarded"]
        return min(rows, key=lambda row: abs(row.time - rows[-1].time / 10))

    assert f"at a tenth of the budget it is at {shown(at_a_tenth('variance-thompson'))}" in text
    others = [excess(at_a_tenth(policy)) for policy in BANDITS]
    assert f"paper's policies are at {min(others):.2f} to {max(others):.2f}" in text
    shares = [curves["raw", 50, "evaluations", one, "mean"][-1].best_share for one in BANDITS]
    assert sum(shares) / len(shares) == pytest.approx(0.75, abs=0.03)  # "three quarters"
    always = excess(curves["raw", 50, "evaluations", "always 400", "mean"][-1])
    assert always == pytest.approx(1, abs=0.15)  # "twice the mean squared error"


def test_twenty_runs_are_too_few(curves: Any, text: str) -> None:
    final, furthest = [], []
    for model in MODELS:
        rows = curves["standardised", model, "evaluations", "variance-thompson", "guarded"]
        of_20 = [row.regret_of_20 / unit(row) for row in rows]
        final.append(f"{of_20[-1]:.2f}")
        furthest.append(f"{max(of_20, key=abs):.2f}")
    assert f"is {final[0]}, {final[1]} and {final[2]} from the first twenty runs" in text
    assert f"At earlier times it reaches {furthest[0]}, {furthest[1]} and {furthest[2]}" in text


def test_how_long_the_banks_took(figures: Any, text: str) -> None:
    minutes = {
        name: sum(row.draws * row.cpu_seconds for row in figure.arms) / 60
        for name, figure in figures.items()
    }
    assert (
        f"took {minutes['standardised']:.1f} minutes of CPU time for standardised features and "
        f"{minutes['raw']:.1f} minutes for raw features" in text
    )
