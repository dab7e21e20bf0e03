"""The plan: plain data to JSON and back, and the checks that several doors share."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier.errors import CroupierError, PlanError
from croupier.plan import Plan, count_of, fraction_of, positive, weights_of

names = st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True).map(tuple)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    arms = draw(names)
    each = {"min_size": len(arms), "max_size": len(arms)}
    pairs = st.none() | st.tuples(numbers, numbers)
    return Plan(
        names=arms,
        seed=draw(st.integers(0, 2**200)),
        unit=draw(st.sampled_from(["draws", "seconds", "cost"])),
        policy=draw(st.sampled_from([{"name": "fixed", "arm": "a"}, {"name": "greedy"}])),
        combine=draw(st.sampled_from(["guarded", "mean"])),
        confidence=draw(st.floats(0.01, 0.99)),
        objective=draw(st.none() | st.lists(numbers, min_size=1).map(tuple)),
        batch=draw(st.sampled_from(["growing", "one"])),
        width=draw(st.integers(1, 1000)),
        first=draw(st.integers(1, 10)),
        clock=draw(st.sampled_from(["wall", "cpu"])),
        keep_values=draw(st.booleans()),
        versions=draw(st.lists(st.none() | st.text(), **each).map(tuple)),
        bounds=draw(st.lists(pairs, **each).map(tuple)),
        cost_bounds=draw(st.lists(pairs, **each).map(tuple)),
    )


@given(plans())
def test_a_plan_survives_json(plan: Plan) -> None:
    text = plan.to_json()
    assert "\n" not in text
    assert Plan.from_json(text) == plan
    assert Plan.from_json(text).to_json() == text
    json.loads(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ()}, "there are no arms: give at least one"),
        ({"names": ("a", "b", "a")}, "2 arms are named 'a'"),
        ({"unit": "euros"}, "unit must be one of 'draws', 'seconds', 'cost', got 'euros'"),
        ({"batch": "all"}, "batch must be one of 'growing', 'one', got 'all'"),
        ({"clock": "sun"}, "clock must be one of 'wall', 'cpu', got 'sun'"),
        ({"confidence": 1.0}, r"confidence must lie between 0 and 1, got 1\.0"),
        ({"width": 0}, "width must be a whole number of at least 1, got 0"),
        ({"first": 0}, "first must be a whole number of at least 1, got 0"),
        ({"versions": ("1",)}, "versions needs one entry per arm, 2, got"),
        ({"bounds": ((0, 1), None, None)}, "bounds needs one entry per arm, 2, got"),
        ({"cost_bounds": (None,)}, "cost_bounds needs one entry per arm, 2, got"),
    ],
)
def test_a_plan_that_cannot_be_played_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=f"^{message}"):
        Plan(**{"names": ("a", "b"), "seed": 7, **changes})


def test_a_decision_buys_a_quarter_of_the_run_a_round() -> None:
    assert Plan(names=("a",), seed=7).share == 0.25 / 8
    assert Plan(names=("a",), seed=7, width=8).share == 0.25 / 8
    assert Plan(names=("a",), seed=7, width=64).share == 0.25 / 64


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


def test_a_plan_error_is_a_value_error_and_croupiers_own() -> None:
    assert issubclass(PlanError, ValueError)
    assert issubclass(PlanError, CroupierError)
