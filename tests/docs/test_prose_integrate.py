"""The numbers in the comparison of docs/integrate.md are those of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.peer_ratios import HELD_OUT, SEEN, against_honest, ratios, true_ratios

TOLERANCES = ("0.01", "0.001", "0.0001")


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page without its tables, in one line."""
    page = (Path(__file__).parents[2] / "docs" / "integrate.md").read_text()
    return re.sub(r"\s+", " ", re.sub(r"<!-- table.*?<!-- end -->", "", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return report.read("peers")


def evaluations(rows: list[dict[str, str]], groups: tuple[str, ...]) -> dict[str, list[float]]:
    """Return croupier's evaluations relative to each method, at the three tolerances."""
    found: dict[str, list[float]] = {}
    for rtol in TOLERANCES:
        for row in ratios(rows, rtol, groups):
            found.setdefault(row["method"], []).append(row["evaluations"])
    return found


def spoken(numbers: list[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in numbers[:-1]) + f" and {numbers[-1]:.2f}"


def test_evaluations_at_the_stop(rows: list[dict[str, str]], text: str) -> None:
    seen, held = evaluations(rows, SEEN), evaluations(rows, HELD_OUT)
    for method in ("CubQMCSobolG", "CubQMCBayesNetG", "CubQMCRepStudentT"):
        assert f"{spoken(seen[method])} of {method}'s" in text
    for method in ("CubQMCSobolG", "CubQMCBayesNetG"):
        assert f"{spoken(held[method])} of {method}'s" in text


def test_the_goals_of_evaluations_are_met(rows: list[dict[str, str]]) -> None:
    seen = evaluations(rows, SEEN)
    limits = {
        "CubQMCSobolG": (0.85, 0.60),
        "CubQMCRepStudentT": (0.35, 0.35),
        "CubQMCBayesNetG": (0.95, 0.95),
    }
    for method, most in limits.items():
        for measured, limit in zip(seen[method], most, strict=False):
            assert measured <= limit


def test_no_honest_peer_is_far_ahead(rows: list[dict[str, str]], text: str) -> None:
    for rtol in TOLERANCES:
        worst, problem, method = against_honest(rows, rtol)[0]
        kind = problem.rsplit(" ", 1)[0]
        assert f"{worst:.1f} at {rtol} ({kind}, {method})" in text
        assert worst <= 5


def test_error_bars_of_one_net_on_the_ball(rows: list[dict[str, str]], text: str) -> None:
    found = {(row["problem"], row["method"], row["rtol"]): row for row in rows}
    for rtol in ("0.01", "0.001"):
        row = found["ball 6", "CubQMCSobolG", rtol]
        assert f"{row['covered']} of {row['runs']} runs at {rtol}" in text
    assert f"stops after {int(found['ball 6', 'CubQMCSobolG', '0.001']['evaluations'])}" in text


def test_how_often_the_error_bars_hold(rows: list[dict[str, str]], text: str) -> None:
    def held(rtol: str, groups: tuple[str, ...]) -> tuple[int, int]:
        own = [
            row
            for row in rows
            if (row["method"], row["rtol"]) == ("croupier", rtol) and row["group"] in groups
        ]
        return sum(int(row["covered"]) for row in own), sum(int(row["reached"]) for row in own)

    seen, other = held("0.01", SEEN), held("0.01", HELD_OUT)
    assert f"held in {seen[0]} of {seen[1]} runs on the 41 problems" in text
    assert f"and in {other[0]} of {other[1]} on the ten held-out ones" in text
    for rtol in ("0.001", "0.0001"):
        covered, reached = held(rtol, SEEN + HELD_OUT)
        assert f"in {covered} of {reached} runs that stopped at {rtol}" in text
    own = [row for row in rows if row["method"] == "croupier" and row["rtol"] == "0.01"]
    lowest = min((row for row in own if row["group"] == "held out"), key=covered_share)
    assert covered_share(lowest) >= 0.85
    assert f"The lowest of the held-out ones is {lowest['covered']} of {lowest['runs']}" in text


def covered_share(row: dict[str, str]) -> float:
    return int(row["covered"]) / int(row["runs"])


def true_errors(rows: list[dict[str, str]], groups: tuple[str, ...]) -> dict[str, list[float]]:
    """Return croupier's evaluations to a true error relative to each method."""
    found: dict[str, list[float]] = {}
    for row in true_ratios(rows, groups):
        found.setdefault(row["method"], []).append(row["evaluations"])
    return found


def test_evaluations_to_a_true_error(text: str) -> None:
    rows = report.read("peer-true-errors")
    found = true_errors(rows, SEEN)
    assert f"{spoken(found['vegas'])} of the evaluations of vegas" in text
    assert f"{spoken(found['qmc_quad'])} of those of eight nets" in text
    assert max(found["vegas"] + found["qmc_quad"]) <= 0.4
    assert f"it is {spoken(true_errors(rows, HELD_OUT)['qmc_quad'])} of eight nets" in text
    near = [row for row in rows if row["evaluations"] and int(row["evaluations"]) <= 2**16]
    assert f"{spoken(true_errors(near, SEEN)['qmc_quad'])} of eight nets" in text


def test_who_reaches_a_true_error_alone(text: str) -> None:
    reached = {
        (row["problem"], row["method"], row["rtol"])
        for row in report.read("peer-true-errors")
        if row["group"] in SEEN and row["evaluations"]
    }

    def alone(method: str, other: str, rtol: str) -> int:
        own = {problem for problem, name, target in reached if (name, target) == (method, rtol)}
        return len({problem for problem in own if (problem, other, rtol) not in reached})

    ours, theirs = (
        [alone(*pair, rtol) for rtol in ("0.001", "0.0001")]
        for pair in (("croupier", "qmc_quad"), ("qmc_quad", "croupier"))
    )
    assert f"croupier alone does so on {ours[0]} problems and eight nets alone on none" in text
    assert theirs[0] == 0
    assert f"at 0.0001 it is {ours[1]} and {theirs[1]}" in text


def test_error_bars_where_a_function_has_one_direction(text: str) -> None:
    rows = report.read("far-ends")

    def held(rtol: str, *problems: str) -> str:
        own = [row for row in rows if row["problem"] in problems and row["rtol"] == rtol]
        assert len(own) == len(problems)
        covered, runs = (sum(int(row[name]) for row in own) for name in ("covered", "runs"))
        return f"{covered} of {runs}"

    turned = ("cosine 20", "sine 12", "logistic 15", "square 8")
    others = ("sum of cosines 8", "product of cosines 4")
    assert f"{held('0.0001', *turned)} error bars hold on four functions of one direction" in text
    assert f"and {held('0.0001', *others)} on the two others" in text
    assert f"At 0.001 it is {held('0.001', *turned)} and {held('0.001', *others)}" in text
    assert not any(int(row["far"]) for row in rows)


def test_cpu_time_beside_vegas(rows: list[dict[str, str]], text: str) -> None:
    seen, held = (
        one["1 us"]
        for groups in (SEEN, HELD_OUT)
        for one in ratios(rows, "0.001", groups)
        if one["method"] == "vegas"
    )
    assert seen <= 1
    assert f"{seen:.2f} of the CPU time of vegas on the 41 problems, and {held:.2f} on the" in text
