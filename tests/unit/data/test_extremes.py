"""Extremes: the most extreme draws of an arm, and the Pareto shape fitted to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier.data.extremes import Tail, extremes_of, pareto_shape

pytestmark = pytest.mark.filterwarnings("error")


@given(st.integers(1, 400), st.integers(1, 3), st.integers(0, 2**32))
def test_extremes_are_the_lowest_and_the_highest_draws(size: int, d: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(size, d))
    kept = extremes_of(values)
    assert len(kept) == min(size, 128 if d == 1 else 64)
    ranked = np.sort(values, axis=0)
    half = len(kept) // 2
    for column in range(d):
        expected = np.concatenate((ranked[:half, column], ranked[half - len(kept) :, column]))
        assert np.array_equal(np.sort(kept[:, column]), np.sort(expected))


def test_extremes_are_a_copy() -> None:
    values = np.arange(5.0)
    kept = extremes_of(values)
    values[:] = 0
    assert kept[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def pareto(shape: float, size: int) -> np.ndarray:
    """Return the quantiles of a Pareto distribution: its tail, without the noise."""
    return (1 - (np.arange(size) + 0.5) / size) ** -shape


@pytest.mark.parametrize("shape", [0.3, 0.5, 0.7, 1.0, 1.5])
def test_the_shape_of_a_pareto_tail_is_found(shape: float) -> None:
    assert pareto_shape(pareto(shape, 500)) == pytest.approx(shape, abs=0.06)


@pytest.mark.parametrize("power", [-900, -300, 300, 900])
def test_the_shape_does_not_depend_on_the_unit(power: int) -> None:
    tail = pareto(0.7, 300)
    assert pareto_shape(np.ldexp(tail, power)) == pareto_shape(tail)


@pytest.mark.parametrize(
    "values",
    [np.empty(0), np.ones(1), np.ones(100), np.arange(20.0), np.repeat(np.arange(15.0), 10)],
)
def test_too_few_distinct_values_have_no_shape(values: np.ndarray) -> None:
    assert math.isnan(pareto_shape(values))


def fed(values: np.ndarray, batch: int) -> Tail:
    tail = Tail()
    for start in range(0, len(values), batch):
        part = values[start : start + batch]
        tail.add(extremes_of(part), len(part))
    return tail


@pytest.mark.parametrize("batch", [1, 10, 1000, 5000])
def test_light_tails_are_light_and_heavy_tails_heavy(batch: int) -> None:
    rng = np.random.default_rng(7)
    normal = fed(rng.normal(size=50_000), batch).shape()
    heavy = fed(rng.pareto(1.25, 50_000), batch).shape()
    assert normal[0] < 0.3
    assert 0.6 < heavy[0] < 1.1


def test_the_heavier_end_counts() -> None:
    draws = np.random.default_rng(7).pareto(1.25, 20_000)
    assert fed(-draws, 1000).shape()[0] == pytest.approx(fed(draws, 1000).shape()[0])


def test_every_component_has_its_own_shape() -> None:
    rng = np.random.default_rng(7)
    values = np.stack((rng.normal(size=20_000), rng.pareto(1.25, 20_000), np.ones(20_000)), axis=1)
    light, heavy, none = fed(values, 500).shape()
    assert light < 0.3 < 0.6 < heavy
    assert math.isnan(none)


def test_a_few_draws_say_nothing_about_a_tail() -> None:
    tail = fed(np.random.default_rng(7).pareto(0.5, 99), 10)
    assert np.isnan(tail.shape()).all()
    assert tail.inspected == 99


def test_memory_is_bounded() -> None:
    tail = Tail()
    values = np.random.default_rng(7).normal(size=(1000, 2))
    for _ in range(200):
        tail.add(extremes_of(values), 1000)
    assert sum(part.size for part in tail._parts) < 5000
    assert tail.inspected == 200_000


def test_the_excess_is_that_beyond_the_largest_draw_of_both_ends() -> None:
    draws = np.random.default_rng(7).exponential(3.0, 20_000)[:, None]
    tail = Tail()
    tail.add(extremes_of(draws), len(draws))
    shape, excess = tail.fitted()
    assert shape == tail.shape()
    assert excess == pytest.approx(3.0, rel=0.3)  # an exponential has no memory
    both = Tail()
    both.add(extremes_of(np.concatenate((draws, -draws))), 2 * len(draws))
    assert both.fitted()[1] == pytest.approx(6.0, rel=0.3)
    bounded = Tail()
    bounded.add(extremes_of(np.random.default_rng(7).random((20_000, 1))), 20_000)
    assert 0 <= bounded.fitted()[1][0] < 1e-3
