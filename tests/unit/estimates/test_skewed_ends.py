"""Arms that say that their draws are about lognormal have an interval that allows for the skew."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


@dataclass(frozen=True)
class Products:
    """Lognormal draws with the mean `value`; `deviation` is that of their logs."""

    deviation: float
    lognormal: bool = True
    value: float = 1e-9

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        s = self.deviation
        return self.value * np.exp(s * rng.standard_normal(size) - s * s / 2)


def run(arm: Products, draws: int, seed: int, **more: Any) -> cr.Result:
    named = cr.Arm(arm, name="product", bounds=(0, 1))
    return cr.estimate([named], draws=draws, rng=seed, progress=False, **more)


@pytest.mark.parametrize("deviation", [0.3, 0.9])
def test_the_interval_of_twenty_lognormal_draws_covers(deviation: float) -> None:
    """150 runs at 95 %: more than 16 misses have a probability of 0.1 %. Symmetric ones: 25."""
    arm = Products(deviation)
    results = [run(arm, 20, seed, batch=20) for seed in range(150)]
    missed = sum(not r.interval[0] <= arm.value <= r.interval[1] for r in results)
    assert missed <= 16


def test_the_ends_are_those_of_the_formula() -> None:
    """The skewness of lognormal draws is c (3 + c^2); Hall 1992, on the scale of logs."""
    result = run(Products(0.5), 40, 7)
    arm = result.arms["product"]
    c, r, z = math.sqrt(arm.variance) / result.value, result.stderr / result.value, 1.959964
    g = c * (3 + c * c) / math.sqrt(40)
    shift = r * g * (2 * z * z + 1) / 6 - z * z * r * r / 2
    low, high = np.log(np.array(result.interval) / result.value)
    assert high + low == pytest.approx(shift, rel=1e-6)
    assert -low / r > z  # the effective degrees of freedom make it longer


def test_without_the_attribute_the_interval_is_symmetric() -> None:
    plain, skewed = (run(Products(0.5, lognormal=yes), 40, 7) for yes in (False, True))
    assert plain.value == skewed.value
    assert plain.stderr == skewed.stderr
    assert sum(plain.interval) == pytest.approx(2 * plain.value)
    assert skewed.interval[0] > plain.interval[0]
    assert skewed.interval[1] > plain.interval[1]


def test_the_ends_stay_between_0_and_1_and_are_monotone_in_the_level() -> None:
    result = run(Products(1.5, value=0.3), 6, 7)
    ends = [result.confidence_interval(level) for level in (0.5, 0.9, 0.95, 0.99)]
    assert ends[2] == result.interval
    assert all(0 < low < result.value < high <= 1 for low, high in ends)
    assert sorted(ends, key=lambda pair: pair[0], reverse=True) == ends


def test_a_run_that_stops_at_a_tolerance_measures_the_farther_end() -> None:
    result = run(Products(0.3), 5_000, 7, rtol=0.1)
    assert result.stopped == "tolerance"
    assert result.interval[1] - result.value <= 0.1 * result.value


def test_few_replications_warn_and_twenty_or_more_rarely_do() -> None:
    def rests(result: cr.Result) -> bool:
        return any("effective degrees of freedom" in each for each in result.warnings)

    assert all(rests(run(Products(0.3), 8, seed)) for seed in range(10))
    assert sum(rests(run(Products(0.3), 40, seed)) for seed in range(20)) <= 2


def test_a_stored_run_keeps_its_interval(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    run(Products(0.5), 20, 7, store=store)
    again = run(Products(0.5), 40, 7, store=store)
    assert again.interval == run(Products(0.5), 40, 7).interval


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_an_anytime_interval_is_infinite_before_it_begins_and_skewed_later() -> None:
    early, late = (run(Products(0.3), draws, 7, anytime=True) for draws in (5, 300))
    assert early.interval == (0.0, 1.0)
    assert late.interval[1] - late.value > late.value - late.interval[0]


def test_merged_runs_have_a_skewed_interval() -> None:
    merged = cr.merge([run(Products(0.5), 20, seed) for seed in (1, 2)])
    low, high = merged.interval
    assert high - merged.value > 1.2 * (merged.value - low)


def test_beside_an_arm_that_dominates_the_interval_is_almost_symmetric() -> None:
    def fine(rng: np.random.Generator, size: int) -> Any:
        return 1e-9 * (1 + 0.01 * rng.standard_normal(size))

    arms = {"fine": fine, "product": Products(0.9)}
    result = cr.estimate(arms, draws=400, rng=7, progress=False)
    low, high = result.interval
    assert high - result.value == pytest.approx(result.value - low, rel=0.01)
