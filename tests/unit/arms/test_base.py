"""Arms: everything that may be given as one, and what is refused before anything is drawn."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.arms.base import as_arms
from croupier.importance import Family

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]


def naive(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def better(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 0.1, size)


def one(rng: np.random.Generator) -> float:
    return rng.normal(1.0, 0.1)


# -- names


def test_functions_in_a_sequence_are_named_by_themselves(bits: Callable[..., Any]) -> None:
    listed = cr.estimate([naive, better], draws=1000, rng=7)
    mapped = cr.estimate({"naive": naive, "better": better}, draws=1000, rng=7)
    assert list(listed.arms.keys()) == ["naive", "better"]
    assert bits(listed) == bits(mapped)


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_any_sequence_of_named_arms_is_taken(kind: Callable[..., Any]) -> None:
    arms = as_arms(kind([cr.Arm(naive, name="first"), better]))
    assert [arm.name for arm in arms] == ["first", "better"]


def test_a_mapping_names_its_arms() -> None:
    arms = as_arms({"x": naive, "y": cr.Arm(better, bounds=(0, 2)), "z": cr.Arm(one_of, name="z")})
    assert [arm.name for arm in arms] == ["x", "y", "z"]
    assert arms[1].bounds == (0.0, 2.0)


def one_of(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.ones(size)


def test_the_key_of_an_arm_is_its_name() -> None:
    arms = as_arms({"x": cr.Arm(naive, name="y"), "pairs": cr.arms.antithetic(np.exp, (0, 1))})
    assert [arm.name for arm in arms] == ["x", "pairs"]


def test_two_arms_of_one_name_are_refused() -> None:
    with pytest.raises(cr.PlanError, match=r"2 arms are named 'naive': give each its own name"):
        cr.estimate([naive, better, cr.Arm(better, name="naive")], draws=10)


def test_an_arm_in_a_list_has_the_name_of_its_function_or_a_number() -> None:
    named = cr.Arm(functools.partial(naive), name="mine")
    arms = [naive, lambda rng, size: rng.random(size), cr.Arm(better, bounds=(0, 1)), named]
    assert [arm.name for arm in as_arms(arms)] == ["naive", "arm 2", "better", "mine"]


def test_numbers_in_a_list_are_not_arms() -> None:
    with pytest.raises(cr.PlanError, match="arm 'arm 1' is not callable"):
        as_arms([np.zeros(3), naive])


@pytest.mark.parametrize("name", [3, None, ("a", "b")])
def test_a_name_is_a_string(name: Any) -> None:
    with pytest.raises(cr.PlanError, match="the name of an arm must be a string, got"):
        cr.estimate({name: naive}, draws=10)


@pytest.mark.parametrize("nothing", [{}, [], ()])
def test_no_arms_are_refused(nothing: Any) -> None:
    with pytest.raises(cr.PlanError, match="there are no arms: give at least one"):
        cr.estimate(nothing, draws=10)


@pytest.mark.parametrize("arms", [naive, cr.Arm(naive, name="naive"), None, 3])
def test_a_bare_arm_is_refused_with_the_way_to_give_one(arms: Any) -> None:
    with pytest.raises(cr.PlanError, match="arms must be a mapping name -> arm or a list of arms"):
        cr.estimate(arms, draws=10)


FAMILY = Family.tilted(lambda x: x[:, 0] > 2, shifts=[0, 2])
POINTS = cr.continuum(lambda rng, size, drift: rng.normal(drift, 1, size) - drift, drift=(0, 2))


@pytest.mark.parametrize(
    ("arms", "way"),
    [
        (cr.Arm(naive, name="naive"), r"for one arm give a list of one: \[arm\]$"),
        ([POINTS, naive], r"it is a mapping of arms: give it alone, or join it: \{\*\*mapping, "),
        ({"points": POINTS}, "it is a mapping of arms: give it alone"),
        (FAMILY, r"give what its arms\(\) returns$"),
        ([FAMILY], r"give what its arms\(\) returns$"),
        (cr.Allocator(["a"]), "cr.play plays a table$"),
    ],
)
def test_what_has_arms_or_a_table_is_told_how_it_is_given(arms: Any, way: str) -> None:
    with pytest.raises(cr.PlanError, match=way) as caught:
        cr.estimate(arms, draws=10)
    assert len(str(caught.value)) < 300


def test_a_continuum_may_be_joined_with_other_arms() -> None:
    result = cr.estimate({**POINTS, "naive": lambda rng, n: rng.normal(0, 9, n)}, draws=500, rng=7)
    assert result.arms["naive"].share < 0.2


# -- what cannot be called


async def coroutine(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def generator(rng: np.random.Generator, size: int) -> Any:
    yield from rng.random(size)


async def async_generator(rng: np.random.Generator, size: int) -> Any:
    yield rng.random(size)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (3.5, r"is not callable: 3\.5; an arm is a function \(rng, size\)"),
        ("naive", "is not callable: 'naive'"),
        (None, "is not callable: None"),
        (np.arange(3), "is not callable: array"),
        (one, r"must take \(rng, size\).*wrap a function of one draw in cr\.scalar"),
        (lambda rng: 0.5, r"wrap a function of one draw in cr\.scalar"),
        (lambda: 0.5, r"must take \(rng, size\), but its signature is \(\)$"),
        (lambda rng, size, more: 0.5, r"signature is \(rng, size, more\)$"),
        (functools.partial(naive, size=3), "signature is"),
        (coroutine, "is a coroutine; an arm is a plain function"),
        (functools.partial(coroutine), "is a coroutine"),
        (async_generator, "is a coroutine"),
        (generator, "is a generator; an arm returns an array of `size` values at once"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused_by_name(bad: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=rf"^arm 'bad' .*{message}"):
        cr.estimate({"good": naive, "bad": bad}, draws=10)


@pytest.mark.parametrize(
    "arm",
    [
        lambda rng, size: rng.random(size),
        lambda *arguments: arguments[0].random(arguments[1]),
        lambda rng, size, scale=2.0: scale * rng.random(size),
        functools.partial(lambda scale, rng, size: scale * rng.random(size), 2.0),
        np.random.Generator.random,
    ],
)
def test_anything_that_takes_a_generator_and_a_size_is_an_arm(arm: Any) -> None:
    assert cr.estimate({"a": arm}, draws=100, rng=7).draws == 100


# -- what is known of an arm


def test_an_arm_carries_its_bounds_and_version_into_the_plan() -> None:
    coin = cr.Arm(
        lambda rng, size: rng.random(size) < 0.5,
        name="coin",
        bounds=(0, 1),
        cost_bounds=(1, 2),
        version="2024-01",
    )
    plan = cr.estimate([coin, naive], draws=100, rng=7).plan
    assert plan.bounds == ((0.0, 1.0), None)
    assert plan.cost_bounds == ((1.0, 2.0), None)
    assert plan.versions == ("2024-01", None)
    assert cr.Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("which", ["bounds", "cost_bounds"])
@pytest.mark.parametrize("value", [(1, 0), (0, 0), (0, np.inf), (np.nan, 1), 3, (1, 2, 3), "ab"])
def test_bounds_are_a_finite_pair(which: str, value: Any) -> None:
    with pytest.raises(cr.PlanError, match=f"^{which} must be .*got "):
        cr.Arm(naive, **{which: value})


def test_a_draw_outside_of_its_bounds_is_named() -> None:
    arm = cr.Arm(lambda rng, size: rng.normal(0.0, 1.0, size), name="wide", bounds=(-0.1, 0.1))
    with pytest.raises(cr.ArmError, match=r"arm 'wide', ticket \d+: returned .* bounds") as caught:
        cr.estimate([arm], draws=100, rng=7)
    assert abs(caught.value.value) > 0.1


def test_a_set_of_arms_is_refused_for_it_has_no_order() -> None:
    with pytest.raises(cr.PlanError, match="or a list of arms"):
        cr.estimate({naive}, draws=10)  # type: ignore[arg-type]


# -- one at a time


def test_a_function_of_one_draw_is_wrapped() -> None:
    result = cr.estimate({"one": cr.scalar(one)}, draws=2000, rng=7)
    assert isinstance(result.value, float)
    assert abs(result.value - 1) < 5 * result.stderr
    assert result.stderr == pytest.approx(0.1 / np.sqrt(2000), rel=0.1)


@pytest.mark.parametrize("kind", [np.asarray, list, tuple])
def test_a_function_of_one_draw_may_return_a_vector(kind: Callable[..., Any]) -> None:
    def pair(rng: np.random.Generator) -> Any:
        return kind(rng.normal([1.0, 2.0], 0.1))

    result = cr.estimate({"pair": cr.scalar(pair)}, draws=500, rng=7)
    assert result.value == pytest.approx([1.0, 2.0], abs=0.05)


def test_a_function_of_one_draw_may_report_its_cost() -> None:
    def dear(rng: np.random.Generator) -> cr.Draws:
        return cr.Draws(rng.normal(1.0, 0.1), costs=5.0)

    def vector(rng: np.random.Generator) -> cr.Draws:
        return cr.Draws(rng.normal([1.0, 2.0], 0.1), costs=2.5)

    result = cr.estimate({"dear": cr.scalar(dear)}, cost=500, rng=7)
    assert (result.cost, result.draws) == (500.0, 100)
    result = cr.estimate({"vector": cr.scalar(vector)}, cost=500, rng=7)
    assert (result.cost, result.draws, result.value.shape) == (500.0, 200, (2,))


def test_a_function_of_one_draw_may_return_draws_without_costs() -> None:
    result = cr.estimate({"a": cr.scalar(lambda rng: cr.Draws(rng.random()))}, draws=100, rng=7)
    assert result.draws == 100


@pytest.mark.parametrize("in_draws", [False, True])
def test_a_function_of_one_draw_may_return_the_same_buffer_again_and_again(in_draws: bool) -> None:
    buffer = np.empty(2)

    def reused(rng: np.random.Generator) -> Any:
        buffer[:] = rng.random(2)
        return cr.Draws(buffer) if in_draws else buffer

    result = cr.estimate({"a": cr.scalar(reused)}, draws=500, rng=7, keep_values=True)
    assert len(np.unique(result.arms["a"].values[:, 0])) == 500


def test_what_a_function_of_one_draw_returns_is_checked_as_well() -> None:
    with pytest.raises(cr.ArmError, match=r"arm 'a', ticket 0: returned nan"):
        cr.estimate({"a": cr.scalar(lambda rng: np.nan)}, draws=10)
    with pytest.raises(cr.ArmError, match=r"arm 'a', ticket 0: .*None"):
        cr.estimate({"a": cr.scalar(lambda rng: None)}, draws=10)
    with pytest.raises(cr.ArmError, match=r"arm 'a', ticket 0: raised KeyError"):
        cr.estimate({"a": cr.scalar(lambda rng: {}["x"])}, draws=10)
    with pytest.raises(cr.PlanError, match=r"cr\.scalar wraps a function of \(rng\), got 3"):
        cr.scalar(3)  # type: ignore[arg-type]


def test_a_wrapped_function_can_be_sent_to_another_process() -> None:
    arm = pickle.loads(pickle.dumps(cr.scalar(one)))
    assert len(arm(np.random.default_rng(7), 3)) == 3


# -- arms that learn


class Centred:
    """Subtracts a control whose best factor it learns from its own draws; unbiased with any."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float]] = []

    def start(self) -> tuple[int, float]:
        return 0, 0.0

    def draw(self, rng: np.random.Generator, size: int, state: tuple[int, float]) -> Any:
        self.seen.append(state)
        x = rng.standard_normal(size)
        return cr.Draws(1.0 + (1.0 - state[1]) * x, extra={"draws": size})

    def learn(self, state: tuple[int, float], extra: Mapping[str, Any]) -> tuple[int, float]:
        told = state[0] + extra["draws"]
        return told, 1.0 - 1.0 / (1 + told)


@pytest.mark.parametrize("width", [1, 8])
def test_an_arm_that_learns_draws_with_the_state_of_what_was_told(width: int) -> None:
    learner = Centred()
    result = cr.estimate({"learner": learner}, draws=1000, rng=7, width=width)
    draws = np.concatenate(([0] * width, np.cumsum(result.history.size)))
    told = [state[0] for state in learner.seen]
    assert told == draws[: len(told)].tolist()
    assert result.stderr < 0.2 / np.sqrt(1000)


@pytest.mark.parametrize("width", [1, 8])
def test_an_arm_that_learns_gives_the_same_bits_again(width: int, bits: Callable[..., Any]) -> None:
    first, second = (
        cr.estimate({"learner": Centred(), "naive": naive}, draws=1000, rng=7, width=width)
        for _ in range(2)
    )
    assert bits(first) == bits(second)


def test_a_learner_may_be_wrapped_with_what_is_known_of_it() -> None:
    arm = cr.Arm(Centred(), name="learner", bounds=(-9, 9))
    assert arm.learner is arm.draw
    assert cr.Arm(naive).learner is None
    assert cr.estimate([arm], draws=100, rng=7).draws == 100


def test_a_learner_whose_draw_takes_no_state_is_refused() -> None:
    class Forgetful(Centred):
        def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:  # type: ignore[override]
            return rng.random(size)

    with pytest.raises(cr.PlanError, match=r"arm 'bad' must take \(rng, size, state\)"):
        cr.estimate({"bad": Forgetful()}, draws=10)


def test_something_that_learns_but_does_not_draw_is_refused() -> None:
    class Useless:
        def learn(self, state: Any, extra: Any) -> Any:
            return state

    with pytest.raises(cr.PlanError, match="arm 'bad' "):
        cr.estimate({"bad": Useless()}, draws=10)  # type: ignore[dict-item]
