"""The plan: plain data to JSON and back, checked at the door."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier.data.plan import Plan
from croupier.errors import CroupierError, PlanError

names = st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True).map(tuple)
numbers = st.floats(allow_nan=False, allow_infinity=False)
weights = st.lists(st.floats(0, 1e300), min_size=1).filter(any).map(tuple)
ranges = st.tuples(numbers, numbers).filter(lambda pair: pair[0] < pair[1])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    arms = draw(names)
    each = {"min_size": len(arms), "max_size": len(arms)}
    pairs = st.none() | ranges
    return Plan(
        names=arms,
        seed=draw(st.integers(0, 2**200)),
        unit=draw(st.sampled_from(["draws", "seconds", "cost"])),
        policy=draw(st.sampled_from([{"name": "fixed", "arm": "a"}, {"name": "greedy"}])),
        combine=draw(st.sampled_from(["guarded", "mean"])),
        confidence=draw(st.floats(0.01, 0.99)),
        objective=draw(st.none() | weights),
        batch=draw(st.sampled_from(["growing", "one"]) | st.integers(1, 1000)),
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
    assert hash(Plan.from_json(text)) == hash(plan)
    json.loads(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ()}, "there are no arms: give at least one"),
        ({"names": ("a", "b", "a")}, "2 arms are named 'a'"),
        ({"names": "ab"}, "names must be a sequence of strings, got 'ab'"),
        ({"names": ("a", 1)}, r"names must be a sequence of strings, got \('a', 1\)"),
        ({"names": {"a", "b"}}, "names must be a sequence of strings, got {"),
        ({"names": None}, "names must be a sequence of strings, got None"),
        ({"seed": "x"}, "seed must be a non-negative integer, got 'x'"),
        ({"seed": -1}, "seed must be a non-negative integer, got -1"),
        ({"seed": 7.0}, r"seed must be a non-negative integer, got 7\.0"),
        ({"seed": True}, "seed must be a non-negative integer, got True"),
        ({"seed": None}, "seed must be a non-negative integer, got None"),
        ({"policy": "greedy"}, "policy must be a mapping with a name, such as .*, got 'greedy'"),
        ({"policy": {"floor": 1}}, "policy must be a mapping with a name, such as .*, got {'fl"),
        ({"combine": None}, "combine must be a name, got None"),
        ({"objective": (-1,)}, "objective must be a number of at least 0, got -1"),
        ({"objective": (0.0, 0.0)}, "objective must have a weight above 0, got "),
        ({"objective": 1.0}, "objective must be a sequence of weights, got 1"),
        ({"keep_values": "yes"}, "keep_values must be True or False, got 'yes'"),
        ({"versions": "12"}, r"versions must have one entry per arm \(2 in all\), got '12'"),
        ({"versions": (1, 2)}, "versions must be strings or None, got 1"),
        ({"bounds": ((1, 0), None)}, r"bounds must be finite with low < high, got \(1, 0\)"),
        ({"bounds": ((0, math.inf), None)}, "bounds must be finite with low < high, got "),
        ({"cost_bounds": (None, 3)}, r"cost_bounds must be a pair \(low, high\), got 3"),
        ({"unit": "euros"}, "unit must be one of 'draws', 'seconds', 'cost', got 'euros'"),
        ({"batch": "all"}, "batch must be one of 'growing', 'one', got 'all'"),
        ({"batch": 0}, "batch must be a whole number of at least 1, got 0"),
        ({"batch": 2.5}, "batch must be a whole number of at least 1, got 2.5"),
        ({"batch": True}, "batch must be a number, got True"),
        ({"clock": "sun"}, "clock must be one of 'wall', 'cpu', got 'sun'"),
        ({"confidence": 1.0}, r"confidence must lie between 0 and 1, got 1\.0"),
        ({"width": 0}, "width must be a whole number of at least 1, got 0"),
        ({"first": 0}, "first must be a whole number of at least 1, got 0"),
        ({"versions": ("1",)}, r"versions must have one entry per arm \(2 in all\), got"),
        ({"bounds": ((0, 1), None, None)}, r"bounds must have one entry per arm \(2 in all\), got"),
        ({"cost_bounds": (None,)}, r"cost_bounds must have one entry per arm \(2 in all\), got"),
    ],
)
def test_a_plan_that_cannot_be_played_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=f"^{message}"):
        Plan(**{"names": ("a", "b"), "seed": 7, **changes})


def test_a_decision_buys_a_quarter_of_the_run_a_round() -> None:
    assert Plan(names=("a",), seed=7).share == 0.25 / 8
    assert Plan(names=("a",), seed=7, width=8).share == 0.25 / 8
    assert Plan(names=("a",), seed=7, width=64).share == 0.25 / 64


def test_a_plan_error_is_a_value_error_and_croupiers_own() -> None:
    assert issubclass(PlanError, ValueError)
    assert issubclass(PlanError, CroupierError)


def test_a_plan_is_the_same_however_its_numbers_are_written() -> None:
    plan = Plan(names=("a", "b"), seed=7, width=4, objective=(1.0, 2.0), bounds=((0.0, 1.0), None))
    loose: dict[str, Any] = {
        "names": ["a", "b"], "seed": np.int64(7), "width": 4.0, "objective": [1, 2],
        "bounds": [[0, 1], None],
    }  # fmt: skip
    assert Plan(**loose) == plan
    assert Plan(**loose).to_json() == plan.to_json()


def test_a_plan_is_a_key() -> None:
    plan = Plan(names=("a",), seed=7, policy={"name": "variance-thompson", "floor": 1})
    same = replace(plan, policy={"name": "variance-thompson", "floor": 1.0})
    assert plan == same
    assert hash(plan) == hash(same)
    assert {plan: "played"}[same] == "played"
    assert replace(plan, seed=8) not in {plan}
    assert pickle.loads(pickle.dumps(plan)) in {plan}


def test_a_plan_keeps_what_it_was_given() -> None:
    policy = {"name": "greedy"}
    plan = Plan(names=("a",), seed=7, policy=policy)
    policy["name"] = "uniform"
    assert plan.policy["name"] == "greedy"
    with pytest.raises(FrozenInstanceError):
        plan.seed = 8  # type: ignore[misc]
