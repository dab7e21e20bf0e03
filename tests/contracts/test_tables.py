"""What every table must do: ask, tell in any order, restore, progress, result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.engines.perform import perform
from croupier.estimates.intervals import FixedSize
from croupier.functions.function import INTEGRAND, Function
from croupier.importance import Family
from croupier.importance.mixture_table import Mixture
from croupier.importance.proposal_arms import Proposed
from croupier.policies import as_policy
from croupier.policies.base import digest_of
from croupier.policies.bounded import Bandit
from croupier.tables.base import kind_of, restore
from tests.marks import slow

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

Bits = Callable[[cr.Result], Any]


@dataclass(frozen=True)
class Game:
    """A table, made anew each time, and what performs its batches."""

    make: Callable[[int], Any]
    perform: Callable[[Any, cr.Batch], cr.Outcome]


class Learning:
    """An arm whose draws depend on how many of its batches were told before."""

    def start(self) -> int:
        return 0

    def draw(self, rng: np.random.Generator, size: int, state: int) -> cr.Draws:
        return cr.Draws(rng.normal(1.0, 1.0 / (1 + state), size), extra={"calls": 1})

    def learn(self, state: int, extra: Any) -> int:
        return state + extra["calls"]


def independent(
    policy: str, shape: tuple[int, ...] = (), learning: bool = False, **settings: Any
) -> Game:
    def normal(spread: float) -> Callable[..., Any]:
        return lambda rng, size: cr.Draws(
            rng.normal(1.0, spread, (size, *shape)), costs=1 + rng.random(size)
        )

    arms = {"a": cr.Arm(normal(1.0)), "b": cr.Arm(normal(0.2)), "c": cr.Arm(normal(0.5))}
    if learning:
        arms["learner"] = cr.Arm(Learning())
    chosen = cr.policies.Fixed("b") if policy == "fixed" else type(as_policy(policy)).example()
    if isinstance(chosen, Bandit):
        chosen = replace(chosen, bounds=(-9.0, 11.0), cost_bounds=(1.0, 2.0))
    learners = {name: arm.learner for name, arm in arms.items() if arm.learner is not None}
    unit = "draws" if learning else "cost"

    def make(width: int) -> cr.Allocator:
        return cr.Allocator(
            list(arms), rng=7, policy=chosen, width=width, unit=unit, learners=learners, **settings
        )

    def play(table: cr.Allocator, batch: cr.Batch) -> cr.Outcome:
        return perform(table.plan, arms[batch.arm], batch, digest_of(chosen))

    return Game(make, play)


def mixture() -> Game:
    """A mixture of 20 proposals in equal proportions: every round has 20 tickets."""
    family = Family.tilted(lambda x: np.maximum(x[:, 0] - 1, 0), np.linspace(-1, 3, 20))
    arms = {name: cr.Arm(Proposed(family, k, name, None)) for k, name in enumerate(family.names)}
    settings = {
        "proportions": "equal", "tune": 0, "spread": True, "rounds": "pooled", "normalised": True,
    }  # fmt: skip

    def make(width: int) -> Mixture:
        return Mixture(
            cr.Plan(names=tuple(arms), seed=7, table="mixture", settings=settings, width=width)
        )

    return Game(make, lambda table, batch: perform(table.plan, arms[batch.arm], batch))


def race(components: int = 1) -> Game:
    """A race of nets; the integrand has a peak that the fitted families find."""
    plan, arms = kind_of("race").example()

    def peaks(x: Any) -> Any:
        peak = np.exp(-20 * np.square(x - 0.3).sum(axis=1))
        return peak if components == 1 else np.column_stack([peak**k for k in range(components)])

    named = {}
    for arm in arms:
        integrand = Function(peaks, "all", INTEGRAND, () if components == 1 else (components,))
        named[arm.name] = replace(arm, draw=replace(arm.draw, integrand=integrand))
    return Game(
        lambda width: kind_of("race").make(replace(plan, width=width), FixedSize()),
        lambda table, batch: perform(table.plan, named[batch.arm], batch),
    )


GAMES: dict[str, Game] = {
    **{f"independent arms, {name}": independent(name) for name in sorted(cr.policies.REGISTRY)},
    "independent arms, vectors": independent("auto", (4,)),
    "independent arms, one learns": independent("auto", learning=True),
    "strata": independent("mc-ucb", weights=(0.5, 0.3, 0.2)),
    "strata, vectors": independent("mc-ucb", (4,), weights=(0.5, 0.3, 0.2)),
    "mixture": mixture(),
    "race": race(),
    "race, vectors": race(3),
}

every = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())


def play(
    game: Game, tickets: int, width: int, order: Callable[[int], int]
) -> tuple[Any, list[cr.Outcome]]:
    """Play a table; of the n outcomes on their way, number order(n) arrives next."""
    table, way, outcomes = game.make(width), [], []
    while len(outcomes) < tickets:
        while len(outcomes) + len(way) < tickets and len(way) < width:
            batch = table.ask()
            if batch is None:
                break
            way.append(game.perform(table, batch))
        outcomes.append(way.pop(order(len(way))))
        table.tell(outcomes[-1])
    return table, outcomes


def in_order(waiting: int) -> int:
    return 0


def newest(waiting: int) -> int:
    return waiting - 1


def shuffled(seed: int) -> Callable[[int], int]:
    rng = np.random.default_rng(seed)
    return lambda waiting: int(rng.integers(waiting))


@every
def test_a_table_has_all_that_the_loop_plays(game: Game) -> None:
    table = game.make(3)
    assert table.tickets.width == 3
    wanted = [name for name, _ in inspect.getmembers(cr.Table, inspect.isfunction)]
    for name in wanted:
        if not name.startswith("_"):
            assert callable(getattr(table, name)), name


@every
@pytest.mark.parametrize("width", [8, *slow(2)])
def test_the_order_of_arrival_changes_no_bit(game: Game, width: int, bits: Bits) -> None:
    expected, first = play(game, 80, width, in_order)
    known, theirs, batch = bits(expected.result()), expected.progress(), expected.ask()
    orders = {"newest": newest, **{f"shuffled {seed}": shuffled(seed) for seed in range(2)}}
    for name, order in orders.items():
        table, arrived = play(game, 80, width, order)
        assert [o.ticket for o in arrived] != [o.ticket for o in first], name
        assert bits(table.result()) == known, name
        mine = table.progress()
        assert (mine.draws, mine.cost, mine.tickets) == (theirs.draws, theirs.cost, theirs.tickets)
        assert np.array_equal(mine.value, theirs.value), name
        assert np.array_equal(mine.half_width, theirs.half_width), name
        assert table.ask() == batch, name  # and the next decision is the same


@every
@pytest.mark.parametrize("width", [8, *slow(1)])
def test_what_was_told_is_restored_to_the_identical_result(
    game: Game, width: int, bits: Bits
) -> None:
    table, outcomes = play(game, 80, width, shuffled(7))
    again = game.make(width)
    for outcome in sorted(outcomes, key=lambda outcome: outcome.ticket):
        restore(again, outcome)
    assert bits(again.result()) == bits(table.result())
    assert again.ask() == table.ask()


@every
@pytest.mark.parametrize("width", [8, *slow(1)])
def test_a_restored_run_goes_on_as_if_nothing_had_happened(
    game: Game, width: int, bits: Bits
) -> None:
    whole, outcomes = play(game, 80, width, in_order)
    again, told = game.make(width), 40
    for outcome in outcomes[:told]:
        restore(again, outcome)
    way: list[cr.Outcome] = []
    while told < 80:
        while told + len(way) < 80 and len(way) < width:
            batch = again.ask()
            if batch is None:
                break
            way.append(game.perform(again, batch))
        again.tell(way.pop())
        told += 1
    assert bits(again.result()) == bits(whole.result())


@every
def test_a_batch_that_the_budget_cut_is_restored_with_its_own_size(game: Game, bits: Bits) -> None:
    table, outcomes = play(game, 80, 1, in_order)
    batch = table.ask(draws_left=1)
    assert batch.size == 1
    outcomes.append(game.perform(table, batch))
    table.tell(outcomes[-1])
    again = game.make(1)
    for outcome in outcomes:
        restore(again, outcome)
    assert bits(again.result()) == bits(table.result())


@every
def test_outcomes_are_restored_in_ticket_order_only(game: Game) -> None:
    _, outcomes = play(game, 3, 1, in_order)
    table = game.make(1)
    with pytest.raises(cr.PlanError, match="ticket 2 cannot be restored before ticket 0"):
        restore(table, outcomes[2])


@every
def test_tickets_are_asked_one_after_the_other_and_up_to_the_width(game: Game) -> None:
    table = game.make(4)
    batches = [table.ask() for _ in range(4)]
    assert [batch.ticket for batch in batches] == [0, 1, 2, 3]
    assert all(batch.size >= 1 for batch in batches)
    with pytest.raises(cr.PlanError, match=r"4 batches are out .* width is 4"):
        table.ask()


@every
def test_a_ticket_is_told_once_and_only_if_it_was_asked_for(game: Game) -> None:
    table = game.make(2)
    outcome = game.perform(table, table.ask())
    table.tell(outcome)
    with pytest.raises(cr.PlanError, match="ticket 0 was told already"):
        table.tell(outcome)
    other = game.make(2)
    with pytest.raises(cr.PlanError, match="ticket 0 was never asked for"):
        other.tell(outcome)


@every
def test_nothing_is_asked_beyond_what_is_left(game: Game) -> None:
    table, _ = play(game, 60, 1, in_order)
    assert table.ask(draws_left=0) is None
    assert table.ask(cost_left=0.0) is None
    assert table.ask(draws_left=1).size == 1


@every
def test_progress_is_cheap_until_it_is_looked_at_and_then_the_result(game: Game) -> None:
    table, _ = play(game, 60, 1, in_order)
    progress, result = table.progress(seconds=2.5), table.result()
    assert progress.seconds == 2.5
    assert (progress.draws, progress.tickets) == (result.draws, 60)
    assert progress.cost == result.cost
    assert np.array_equal(progress.value, result.value)
    assert np.array_equal(progress.stderr, result.stderr)
    assert np.array_equal(progress.value + progress.half_width, result.interval[1])
    assert progress.leader in result.arms


@every
def test_there_is_no_result_before_anything_is_told(game: Game) -> None:
    table = game.make(1)
    with pytest.raises(cr.PlanError, match="nothing has been told yet"):
        table.result()
    assert table.progress().draws == 0
