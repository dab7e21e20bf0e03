"""The checks that several doors share: each names the argument and the value."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import croupier as cr
from croupier.checks import (
    choice,
    count_of,
    fraction_of,
    known_settings,
    names_of,
    positive,
    range_of,
    seed_of,
    unique_names,
    weights_of,
)
from croupier.data.plan import Unit
from croupier.errors import PlanError


@given(st.integers(1, 10**15))
def test_a_count_may_be_written_as_a_float(count: int) -> None:
    assert count_of("draws", count) == count_of("draws", float(count)) == count


@pytest.mark.parametrize("value", [0, -1, 0.5, 1.5, math.nan, math.inf, -math.inf, True, "1", None])
def test_a_count_is_a_whole_number_from_one(value: Any) -> None:
    with pytest.raises(PlanError, match=r"^draws must be a .*number.*, got ") as caught:
        count_of("draws", value)
    assert str(caught.value).endswith(repr(value))


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "1", None, 1j])
def test_a_positive_number_is_finite_and_above_zero(value: Any) -> None:
    with pytest.raises(PlanError, match=r"^cost must be a .*number.*, got "):
        positive("cost", value)
    assert positive("cost", 1e-300) == 1e-300


def test_zero_passes_where_it_may() -> None:
    assert positive("atol", 0, zero=True) == 0.0
    with pytest.raises(PlanError, match=r"^atol must be a number of at least 0, got -1$"):
        positive("atol", -1, zero=True)


@pytest.mark.parametrize("value", [0, 1, -0.1, 2, math.nan, False, "0.5"])
def test_a_fraction_lies_strictly_between_0_and_1(value: Any) -> None:
    with pytest.raises(PlanError, match=r"^confidence must .*, got "):
        fraction_of("confidence", value)


def test_weights_are_not_negative_and_not_all_zero() -> None:
    assert weights_of("objective", None) is None
    assert weights_of("objective", [1, 0]) == (1.0, 0.0)
    for bad in ([], [0.0], [-1.0, 2.0], [math.nan], [math.inf], 3, "12"):
        with pytest.raises(PlanError, match=r"^objective must "):
            weights_of("objective", bad)  # type: ignore[arg-type]


def test_a_choice_is_one_of_those_there_are() -> None:
    choice("unit", "cost", Unit)
    with pytest.raises(PlanError, match=r"^unit must be one of 'draws', .*, got \['cost'\]$"):
        choice("unit", ["cost"], Unit)


def test_names_are_strings_and_no_two_alike() -> None:
    assert names_of("names", ["a", "b"]) == ("a", "b")
    unique_names(["a", "b"])
    for bad in ("ab", b"ab", None, 3, [1], ["a", None], {"a"}, iter(["a"])):
        with pytest.raises(PlanError, match=r"^names must be a sequence of strings, got "):
            names_of("names", bad)
    with pytest.raises(PlanError, match=r"^there are no arms"):
        names_of("names", [])
    with pytest.raises(PlanError, match=r"^3 arms are named 'a': give each its own name"):
        names_of("names", ["a", "b", "a", "a"])


@given(st.integers(0, 2**300))
def test_a_seed_is_any_whole_number_from_zero(seed: int) -> None:
    assert seed_of("seed", seed) == seed
    assert type(seed_of("seed", np.uint64(seed % 2**64))) is int


@pytest.mark.parametrize("value", [-1, 1.0, "7", None, True, math.nan, [7], np.int64(-1)])
def test_a_seed_is_nothing_else(value: Any) -> None:
    with pytest.raises(PlanError, match=r"^seed must be a non-negative integer, got ") as caught:
        seed_of("seed", value)
    assert str(caught.value).endswith(repr(value))


def test_a_range_is_finite_and_rises() -> None:
    assert range_of("bounds", None) is None
    assert range_of("bounds", [0, 1]) == (0.0, 1.0)
    assert range_of("bounds", np.array([0, 1])) == (0.0, 1.0)
    for bad in (3, "1", (1,), (1, 2, 3), ("a", "b"), (None, 1), (0, 10**400)):
        with pytest.raises(PlanError, match=r"^bounds must be a pair \(low, high\), got "):
            range_of("bounds", bad)
    for bad in ((1, 0), (0, 0), (0, math.inf), (math.nan, 1)):
        with pytest.raises(PlanError, match=r"^bounds must be finite with low < high, got "):
            range_of("bounds", bad)


def test_an_unknown_setting_is_refused_as_python_would_with_the_likeliest_name() -> None:
    known_settings("play", ["draws"], ["draws", "rng"])
    with pytest.raises(TypeError, match=r"^play\(\) got .* 'draw': did you mean 'draws'\?$"):
        known_settings("play", ["rng", "draw"], ["draws", "rng"])
    with pytest.raises(TypeError, match=r"^play\(\) got an unexpected keyword argument 'zzz'$"):
        known_settings("play", ["zzz"], ["draws", "rng"])


@pytest.mark.parametrize(
    ("function", "name", "hint"),
    [
        ("probability", "threshold", "did you mean 'below'?"),
        ("probability", "limit", "did you mean 'below'?"),
        ("integrate", "limit", "did you mean 'draws'?"),
        ("integrate", "args", "give f(x) alone, such as lambda x: f(x, a)"),
        ("probability", "cov", "give the distribution as over=, for example multivariate_normal"),
        ("probability", "dim", "give over=d for d standard normal numbers"),
        ("evidence", "nlive", "leave it out: croupier chooses its chains itself; give draws= or"),
        ("evidence", "dlogz", "did you mean 'rtol'?"),
        ("evidence", "ndim", "did you mean 'dimensions'?"),
        ("evidence", "bounds", "give prior=[st.uniform(low, high - low), ...]"),
    ],
)
def test_names_of_other_libraries_get_a_hint(function: str, name: str, hint: str) -> None:
    door = getattr(cr, function)
    more = {"draws": 100, name: 3}
    with pytest.raises(TypeError, match=re.escape(f"unexpected keyword argument {name!r}: {hint}")):
        door(lambda x: x[:, 0], 2, **more)
