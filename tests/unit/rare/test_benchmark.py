"""The reference values of the benchmark are right, and its page shows what was measured."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from benchmarks import rare_rivals
from benchmarks.rare import lost_mode
from benchmarks.rare_problems import FIRST, MORE, Problem, rp55

DOCS = Path(__file__).parents[3] / "docs"
KNOWN = {
    "RP54": 9.906031e-4, "RP55": 0.5600144283, "RP77": 2.690844e-7, "Vasicek": 6.685336e-4,
    "RP107": 2.866516e-7, "RP111": 8.035e-7, "four-branch": 2.222795e-3,
}  # fmt: skip


def test_the_file_has_a_row_for_every_problem_with_its_value() -> None:
    with (DOCS / "benchmarks" / "rare.csv").open() as file:
        rows = list(csv.DictReader(file))
    problems = (*FIRST, *MORE)
    assert [row["problem"] for row in rows] == [problem.name for problem in problems]
    values = [float(row["value"]) for row in rows]
    assert values == pytest.approx([problem.value() for problem in problems], rel=1e-6)


@pytest.mark.parametrize("name", KNOWN)
def test_a_reference_value_is_the_known_one(name: str) -> None:
    (problem,) = [each for each in (*FIRST, *MORE) if each.name == name]
    assert problem.value() == pytest.approx(KNOWN[name], rel=1e-4)


@pytest.mark.parametrize(
    "problem",
    [
        each
        for each in (*FIRST, *MORE[-2:])
        if isinstance(each.over, int) and each.name not in ("RP31", "RP63")
    ],
    ids=lambda problem: problem.name,
)
def test_a_reference_value_agrees_with_plain_draws_of_a_wider_normal(problem: Problem) -> None:
    """Importance sampling by 400 000 draws of N(0, 4) (in 10 dimensions and more: N(0, 1.2^2))."""
    rng, d = np.random.default_rng(7), problem.over
    if d > 10:
        pytest.skip("a wide normal is useless in 100 dimensions")
    s = 2.0 if d < 4 else 1.6
    x = s * rng.standard_normal((400_000, d))
    weight = np.exp(-0.5 * np.square(x).sum(axis=1) * (1 - 1 / s**2)) * s**d
    y = weight * (problem.g(x) < 0)
    error = y.std() / np.sqrt(len(y))
    assert abs(y.mean() - problem.value()) < 4.5 * error


def test_the_values_of_three_more_problems_agree_with_conditional_draws() -> None:
    """RP55 by plain draws; RP63 and RP77 by the exact probability given one variable."""
    rng, problems = np.random.default_rng(7), {p.name: p for p in (*FIRST, *MORE)}
    x = rng.uniform(-1, 1, (200_000, 2))
    chi2, x3 = rng.chisquare(99, 200_000), rng.normal(4, 1, 200_000)
    early = ndtr((x3 - 10) / np.sqrt(1.25))
    drawn = {
        "RP55": rp55(x) < 0,
        "RP63": ndtr(4.5 - 0.1 * chi2),
        "RP77": np.where(x3 <= 5, early, ndtr(-x3)),
    }
    for name, y in drawn.items():
        error = y.std() / np.sqrt(len(y))
        assert error < 0.03 * (value := problems[name].value())
        assert abs(y.mean() - value) < 4 * error


def test_a_lost_mode_is_seen() -> None:
    (problem,) = [each for each in FIRST if each.name == "RP111"]
    corners = np.array([[3.5, 3.6], [-3.5, 3.6], [3.5, -3.6], [-3.5, -3.6]])
    assert not lost_mode(problem, corners)
    assert lost_mode(problem, corners[:3])


def test_the_methods_are_measured_and_their_errors_have_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = rare_rivals.compare("RP22", "FORM + IS", 2, 10.0)
    assert (row["runs"], row["raised"], row["reached"]) == (2, 0, 2)

    def raises(*_: object) -> None:
        raise RuntimeError("AbdoRackwitz reached the maximum calls number after 1014 evaluations")

    monkeypatch.setitem(rare_rivals.RIVALS, "FORM + IS", raises)
    row = rare_rivals.compare("RP22", "FORM + IS", 2, 10.0)
    assert (row["raised"], row["warned"], row["reason"]) == (2, 2, "no convergence")
