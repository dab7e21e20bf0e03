"""The benchmarks measure what they say, and the pages show what they measured."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks import coverage, efficiency, pages, report
from benchmarks.families import FAMILIES, HARD, PROMISED, Family
from benchmarks.replicate import replicate

# Sample moments of these say little about the true ones, at any size that a test can afford.
WILD = {"lognormal", "lognormal-trap", "lognormal-2", "pareto-2.5", "student-3", "student-5"}
CASES = {family.name: family for family in (*FAMILIES.values(), *PROMISED, *HARD)}


@pytest.mark.parametrize("name", sorted(set(CASES) - WILD))
def test_mean_and_variances_of_a_family_are_those_of_its_draws(name: str) -> None:
    family = CASES[name]
    rng = np.random.default_rng(7)
    for arm, variance in list(zip(family.arms, family.variances, strict=True))[:6]:
        drawn = arm(rng, 100_000)
        x = np.asarray(getattr(drawn, "values", drawn), dtype=float) - family.mean
        assert abs(x.mean()) <= 4.5 * np.sqrt(variance / len(x))
        if variance < 100:
            spread = np.std(x * x) / np.sqrt(len(x))
            assert abs(np.mean(x * x) - variance) <= 6 * spread + 1e-12


def test_reported_costs_average_to_those_of_the_family() -> None:
    rng = np.random.default_rng(7)
    for family in FAMILIES.values():
        if family.costs is not None:
            for arm, cost in zip(family.arms, family.costs, strict=True):
                assert np.mean(arm(rng, 100_000).costs) == pytest.approx(cost, rel=0.03)


def test_the_best_arm_alone_loses_nothing() -> None:
    family = Family("two", (), (4.0, 1.0))
    assert family.share(np.array([0, 100]), 100) == pytest.approx(1.0)
    assert family.share(np.array([100, 0]), 100) == pytest.approx(4.0)


def test_the_same_repetitions_give_the_same_numbers() -> None:
    family = FAMILIES["two-bernoulli"]
    first, second = (replicate(family, "variance-thompson", 4, draws=200) for _ in range(2))
    assert np.array_equal(first.value, second.value)
    assert first.draws.sum(axis=1).tolist() == [200] * 4


def test_a_case_over_its_limit_is_called_so() -> None:
    family = FAMILIES["two-bernoulli"]
    good = {"I": 1.0, "ratio": 1.0, "ratio_se": 0.01}
    assert efficiency.verdict(family, 1000, good) == "ok"
    assert efficiency.verdict(family, 1000, {**good, "I": 1.5}) == "OVER"
    assert efficiency.verdict(family, 1000, {**good, "ratio": 1.5}) == "OVER"
    assert coverage.verdict("promised", "fixed", 0.90, 0.003) == "OVER"
    assert coverage.verdict("promised", "fixed", 0.95, 0.003) == "ok"


@pytest.mark.parametrize("page", ["efficiency.md", "honesty.md", "policies.md", "paper/figure1.md"])
def test_the_tables_of_a_page_are_those_of_the_measurements(page: str) -> None:
    text = (pages.DOCS / page).read_text("utf-8")
    tables = re.findall(r"<!-- table: (\S+) -->\n\n(.*?)\n\n<!-- end -->", text, re.S)
    assert tables
    for name, shown in tables:
        assert shown == pages.TABLES[name]()


def test_every_family_was_measured() -> None:
    measured = {row["family"] for row in report.read("efficiency")}
    assert measured == set(FAMILIES)
    assert {row["family"] for row in report.read("coverage")} == set(coverage.CASES)
