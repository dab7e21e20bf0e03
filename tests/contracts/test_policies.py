"""What every policy must do: the registry says which there are."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.draws import Draws
from croupier.data.ledger import Ledger
from croupier.engines.perform import perform
from croupier.policies import REGISTRY, Policy, as_policy, describe
from croupier.policies.base import Play, digest_of, group_of
from tests.conftest import Clock

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

every = pytest.mark.parametrize("name", sorted(REGISTRY))

SHAPES: dict[str, tuple[int, ...]] = {"scalar": (), "vector": (3,)}
ARMS: dict[str, tuple[str, str]] = {
    "both vary": ("moving", "moving"),
    "one is constant": ("still", "moving"),
    "the other is constant": ("moving", "still"),
    "both are constant": ("still", "still"),
    "one component is constant": ("half", "half"),
    "one component of one arm is constant": ("moving", "half"),
}


def arm_of(kind: str, spread: float, shape: tuple[int, ...]) -> cr.Arm:
    """Return an arm with mean 1 that may report costs, and stay still in all or the last part."""

    def draw(rng: np.random.Generator, size: int) -> Draws:
        values = rng.normal(1.0, spread, (size, *shape))
        if kind == "still":
            values[:] = 1.0
        if kind == "half":
            values[..., -1] = 1.0
        return Draws(values, costs=0.5 + rng.random(size))

    return cr.Arm(draw, bounds=(-100.0, 100.0), cost_bounds=(0.5, 1.5))


def arms_of(kinds: str, shape: str) -> dict[str, cr.Arm]:
    first, second = ARMS[kinds]
    return {"a": arm_of(first, 1.0, SHAPES[shape]), "b": arm_of(second, 0.2, SHAPES[shape])}


def plan_of(policy: Policy, **changes: Any) -> cr.Plan:
    bounds = ((-100.0, 100.0),) * 2
    known = {"names": ("a", "b"), "seed": 7, "bounds": bounds, "cost_bounds": ((0.5, 1.5),) * 2}
    return cr.Plan(**{**known, "policy": describe(policy), **changes})


def frozen(thing: Any) -> bytes:
    """Return what a state, a ledger or an array holds, for comparison."""
    return pickle.dumps(thing)


class Watched:
    """A policy whose every call is checked: what it may not change, and what it must return."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.name = policy, policy.name
        self.choices = self.lessons = 0
        if digest_of(policy) is not None:
            self.digest = policy.digest  # type: ignore[attr-defined]
        self.group = group_of(policy)

    def start(self, plan: cr.Plan) -> Any:
        first, second = self.policy.start(plan), self.policy.start(plan)
        assert frozen(first) == frozen(second)
        return first

    def choose(
        self, state: Any, ledger: Ledger, pending: np.ndarray, rng: Callable[[], Any]
    ) -> Any:
        before = frozen((state, vars(ledger), pending))
        choice = self.policy.choose(state, ledger, pending, rng)
        again = self.policy.choose(copy.deepcopy(state), ledger.copy(), pending.copy(), rng)
        assert choice == again  # deterministic, given the ledger and the ticket
        assert frozen((state, vars(ledger), pending)) == before  # and nothing has changed
        play = Play(*choice) if isinstance(choice, tuple) else Play(choice)
        assert isinstance(play.arm, int)
        assert 0 <= play.arm < len(ledger)
        assert play.at_most is None or (isinstance(play.at_most, int) and play.at_most >= 1)
        assert isinstance(play.decisions, int)
        assert play.decisions >= 1
        self.choices += 1
        return choice

    def learn(self, state: Any, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> Any:
        before = frozen((state, vars(ledger), dict(extra)))
        after = self.policy.learn(state, ledger, arm, extra)
        assert frozen((state, vars(ledger), dict(extra))) == before
        self.lessons += 1
        return after


# -- what it is


@every
def test_a_policy_is_a_frozen_dataclass_with_an_example(name: str) -> None:
    cls = REGISTRY[name]
    example = cls.example()
    assert isinstance(example, cls)
    assert isinstance(example, Policy)
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert cls.name == example.name == name
    assert example == cls.example()
    hash(example)


@every
def test_a_policy_says_in_one_line_what_it_is_for(name: str) -> None:
    text = inspect.getdoc(REGISTRY[name])
    assert text is not None
    first = text.splitlines()[0]
    assert not first.startswith(f"{REGISTRY[name].__name__}(")  # not the dataclass's own
    assert first.endswith(".")
    assert 10 < len(first) <= 100
    assert len(text.splitlines()) == 1 or text.splitlines()[1] == ""


@every
def test_every_parameter_has_a_default(name: str) -> None:
    assert isinstance(REGISTRY[name](), Policy)  # a name alone must do on the command line


@every
def test_a_policy_can_be_described_and_made_again(name: str) -> None:
    policy = REGISTRY[name].example()
    spec = describe(policy)
    assert spec["name"] == name
    assert as_policy(spec) == policy
    assert as_policy(json.loads(json.dumps(spec))) == policy


@every
def test_a_policy_survives_json_in_a_plan(name: str) -> None:
    policy = REGISTRY[name].example()
    plan = plan_of(policy)
    again = cr.Plan.from_json(plan.to_json())
    assert again == plan
    assert as_policy(again.policy) == policy


@every
def test_a_policy_can_be_sent_to_another_process(name: str) -> None:
    policy = REGISTRY[name].example()
    assert pickle.loads(pickle.dumps(policy)) == policy


@every
def test_a_group_is_one_two_or_three(name: str) -> None:
    assert group_of(REGISTRY[name].example()) in (1, 2, 3)


# -- what it does


def played(policy: Policy, arms: Mapping[str, cr.Arm], tickets: int, **changes: Any) -> cr.Result:
    """Play some tickets at a table, telling the newest of the batches that are out first."""
    plan = plan_of(policy, **changes)
    table = cr.Allocator(plan, policy=policy)
    out: list[cr.Batch] = []
    for _ in range(tickets):
        while len(out) < plan.width and (batch := table.ask()) is not None:
            out.append(batch)
        batch = out.pop()
        table.tell(perform(plan, arms[batch.arm], batch, digest_of(policy)))
    return table.result()


RUNS: dict[str, tuple[int, dict[str, Any]]] = {
    "draws": (1, {"draws": 100}),
    "draws, 8 out": (8, {"draws": 100}),
    "cost, 8 out": (8, {"cost": 100.0}),
}
#: A policy with all kinds of arms in all of these would be 48 tables and 36 runs.
TABLES = list(itertools.product(SHAPES, [1, 8], ["draws", "cost"]))
WHOLE_RUNS = list(itertools.product(SHAPES, RUNS))


def cases_of(name: str, settings: list[Any]) -> list[tuple[str, Any]]:
    """Return the cases of a policy: it meets every setting once, and every kind of arms.

    The next policy meets the kinds shifted by one: six policies meet each with each setting.
    """
    kinds, shift = list(ARMS), sorted(REGISTRY).index(name)
    return [(kinds[(k + shift) % len(kinds)], setting) for k, setting in enumerate(settings)]


@pytest.mark.parametrize("settings", [TABLES, WHOLE_RUNS], ids=["tables", "whole runs"])
def test_all_pairs_are_met_and_every_kind_of_arms_in_every_setting(settings: list[Any]) -> None:
    cases = {name: cases_of(name, settings) for name in REGISTRY}
    for name in REGISTRY:
        assert {kinds for kinds, _ in cases[name]} == set(ARMS)
        assert [setting for _, setting in cases[name]] == settings
    assert set().union(*cases.values()) == set(itertools.product(ARMS, settings))


@every
def test_every_decision_is_valid_repeatable_and_without_side_effects(name: str) -> None:
    for case in cases_of(name, TABLES):
        kinds, (shape, width, unit) = case
        watched = Watched(REGISTRY[name].example())
        result = played(watched, arms_of(kinds, shape), 20, width=width, unit=unit)  # type: ignore[arg-type]
        assert watched.choices >= 20, case
        assert watched.lessons >= 20 - width, case
        assert np.isfinite(result.value).all(), case


@every
def test_a_whole_run_is_played_and_repeats_bit_by_bit(
    name: str, bits: Callable[[cr.Result], Any]
) -> None:
    policy = REGISTRY[name].example()
    for case in cases_of(name, WHOLE_RUNS):
        kinds, (shape, run) = case
        width, budget = RUNS[run]
        settings = {"policy": policy, "rng": 7, "width": width, **budget}
        first = cr.estimate(arms_of(kinds, shape), **settings)
        if width > 1:  # with one batch out at a time, less could differ
            assert bits(first) == bits(cr.estimate(arms_of(kinds, shape), **settings)), case
        assert first.stopped == next(iter(budget)), case
        assert first.plan.policy == describe(policy), case
        assert first.draws == 100 or "draws" not in budget, case
        assert np.shape(first.value) == SHAPES[shape], case
        # The arms have mean 1; where nothing varies the answer is 1 and the error not known.
        error = np.where(np.isnan(first.stderr), 0.0, first.stderr)
        assert np.all(np.abs(first.value - 1) <= 5 * error + 1e-12), case


@every
def test_one_draw_at_a_time_is_played_too(name: str) -> None:
    policy = REGISTRY[name].example()
    for case in itertools.product(SHAPES, [1, 8]):
        shape, width = case
        result = cr.estimate(
            arms_of("both vary", shape), draws=60, policy=policy, rng=7, width=width, batch="one"
        )
        assert result.draws == 60, case
        assert result.history.size.max() == group_of(policy), case


@every
def test_a_budget_for_hardly_any_draws_is_met(name: str) -> None:
    arms, policy = arms_of("both vary", "scalar"), REGISTRY[name].example()
    for case in itertools.product([1, 2, 3, 5], [1, 8]):
        draws, width = case
        result = cr.estimate(arms, draws=draws, policy=policy, rng=7, width=width)
        assert result.draws == draws, case
        assert np.isfinite(result.value), case


@every
def test_a_deadline_is_played_to(name: str, clock: Clock) -> None:
    arms = {
        name: dataclasses.replace(arm, draw=clock.timed(arm.draw, 1e-4, 1e-4))
        for name, arm in arms_of("both vary", "scalar").items()
    }
    result = cr.estimate(arms, seconds=0.1, policy=REGISTRY[name].example(), rng=7)
    assert result.stopped == "seconds"
    assert result.seconds == pytest.approx(0.1, rel=0.05)
    assert result.draws > 100


@every
def test_the_unit_of_the_draws_changes_no_decision(name: str) -> None:
    def scaled(spread: float, by: int) -> cr.Arm:
        bounds = (-100.0 * 2.0**by, 100.0 * 2.0**by)
        return cr.Arm(lambda rng, n: np.ldexp(rng.normal(1, spread, n), by), bounds=bounds)

    plain, *units = (
        cr.estimate(
            {"a": scaled(1.0, by), "b": scaled(0.2, by)},
            draws=500,
            policy=REGISTRY[name].example(),
            rng=7,
        ).history
        for by in (0, -600, 600)
    )
    for far in units:
        assert np.array_equal(plain.arm, far.arm)
        assert np.array_equal(plain.size, far.size)


@every
def test_an_only_arm_is_played_all_the_time(name: str) -> None:
    arms = {"a": arms_of("both vary", "scalar")["a"]}
    result = cr.estimate(arms, draws=300, policy=REGISTRY[name].example(), rng=7)
    assert result.arms["a"].draws == 300
