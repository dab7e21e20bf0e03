"""Allocator: ask and tell by hand, and what it refuses."""

from __future__ import annotations

import pickle
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.call_prices import STEP
from croupier.data.reduce_batch import chunks_of, outcome_of
from croupier.engines.perform import perform
from croupier.estimates.combiners import mean
from croupier.estimates.intervals import ManyLooks
from croupier.tables.base import restore
from tests.marks import slow

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]


def draws_of(batch: cr.Batch) -> np.ndarray:
    spread = {"a": 1.0, "b": 0.1}.get(batch.arm, 0.5)
    return batch.rng().normal(1.0, spread, batch.size)


def play(table: cr.Allocator, tickets: int) -> None:
    for _ in range(tickets):
        batch = table.ask()
        assert batch is not None
        table.tell(batch, draws_of(batch))


# -- ask


def test_a_batch_says_what_to_draw() -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    batch = table.ask()
    assert batch == cr.Batch(ticket=0, arm="a", size=1, seed=7)


def test_asking_beyond_the_width_is_refused() -> None:
    table = cr.Allocator(["a", "b"], rng=7, width=3)
    batches = [table.ask() for _ in range(3)]
    message = r"3 batches are out \(tickets 0, 1, 2\) and width is 3: tell one of them first"
    with pytest.raises(cr.PlanError, match=message):
        table.ask()
    table.tell(batches[0], draws_of(batches[0]))
    assert table.ask().ticket == 3


def test_there_is_nothing_to_ask_while_an_older_ticket_is_out() -> None:
    table = cr.Allocator(["a", "b"], rng=7, width=3)
    batches = [table.ask() for _ in range(3)]
    for batch in batches[1:]:
        table.tell(batch, draws_of(batch))
        assert table.ask() is None
    table.tell(batches[0], draws_of(batches[0]))
    assert [table.ask().ticket for _ in range(3)] == [3, 4, 5]


@pytest.mark.parametrize("unit", ["draws", "seconds", "cost"])
def test_a_number_as_batch_is_what_every_arm_is_first_called_for(unit: Any) -> None:
    table = cr.Allocator(["a", "b"], rng=7, batch=64, unit=unit)
    sizes: dict[str, list[int]] = {"a": [], "b": []}
    for ticket in range(12):
        batch = table.ask()
        assert batch is not None
        # A round's growth. Where costs are measured, larger calls tell what a draw costs.
        most = STEP * max(sizes[batch.arm], default=64) if unit == "seconds" else 0
        assert ticket < 2 or batch.size <= max(most, sum(sizes["a"] + sizes["b"]) / 4)
        sizes[batch.arm].append(batch.size)
        table.tell(batch, draws_of(batch), costs=None if unit == "draws" else 1.0)
    assert sizes["a"][0] == sizes["b"][0] == 64


def test_the_first_batch_is_cut_to_the_draws_and_not_to_the_cost_that_is_left() -> None:
    table = cr.Allocator(["a", "b"], rng=7, batch=64, unit="cost")
    batch = table.ask(draws_left=10, cost_left=3.0)
    assert batch is not None
    assert batch.size == 10


def test_a_batch_is_cut_to_the_draws_that_are_left() -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    play(table, 50)
    assert table.ask(draws_left=0) is None
    assert table.ask(draws_left=-5) is None
    assert table.ask(draws_left=2).size <= 2


def test_what_is_out_is_taken_from_what_is_left() -> None:
    table = cr.Allocator(["a", "b"], rng=7, width=3)
    assert table.ask(draws_left=2).size == 1
    assert table.ask(draws_left=2).size == 1
    assert table.ask(draws_left=2) is None


def test_a_cost_that_is_left_buys_whole_draws() -> None:
    table = cr.Allocator(["a", "b"], rng=7, unit="cost", policy="uniform")
    for _ in range(60):
        batch = table.ask()
        table.tell(batch, draws_of(batch), costs=10.0)
    assert table.ask(cost_left=0.0) is None
    assert table.ask(cost_left=4.0) is None  # less than half a draw
    assert table.ask(cost_left=6.0).size == 1


# -- tell


def test_a_ticket_told_twice_is_refused() -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    batch = table.ask()
    table.tell(batch, [1.0])
    with pytest.raises(
        cr.PlanError,
        match="ticket 0 was told already, and its first answer counts; no ticket is out",
    ):
        table.tell(batch, [1.0])
    assert table.result().draws == 1


def test_a_ticket_told_twice_out_of_order_is_refused() -> None:
    table = cr.Allocator(["a", "b"], rng=7, width=2)
    first, second = table.ask(), table.ask()
    table.tell(second, [1.0])
    message = (
        "ticket 1 was told already, and its first answer counts; the tickets that are out are 0"
    )
    with pytest.raises(cr.PlanError, match=message):
        table.tell(second, [1.0])
    table.tell(first, [1.0])
    assert table.result().draws == 2


@pytest.mark.parametrize("ticket", [5, -1])
def test_a_ticket_that_was_never_asked_for_is_refused(ticket: int) -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    table.ask()
    message = f"ticket {ticket} was never asked for; the tickets that are out are 0"
    with pytest.raises(cr.PlanError, match=message):
        table.tell(cr.Batch(ticket, "a", 1, 7), [1.0])


def test_a_batch_of_another_arm_under_the_same_ticket_is_refused() -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    assert table.ask().arm == "a"
    with pytest.raises(cr.PlanError, match=r"ticket 0 .*'a'.*'b'"):
        table.tell(cr.Batch(0, "b", 1, 7), [1.0])
    with pytest.raises(cr.PlanError, match="ticket 0 "):
        table.tell(cr.Batch(0, "a", 3, 7), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("bad", [None, [np.nan], [1.0, 2.0], [], ["x"], 3.0, [[[1.0]]], [1j]])
def test_draws_that_are_no_draws_are_refused_and_may_be_told_again(bad: Any) -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    batch = table.ask()
    with pytest.raises(cr.ArmError, match=r"^arm 'a', ticket 0: "):
        table.tell(batch, bad)
    table.tell(batch, [1.0])
    assert table.result().draws == 1


@pytest.mark.parametrize("batch", ["growing", "one"])
def test_a_lost_ticket_is_asked_for_again_with_the_same_bits(batch: str) -> None:
    table = cr.Allocator(["a", "b"], rng=7, policy="ucb1", bounds=[(-9, 9)] * 2, batch=batch)
    play(table, 5)
    lost = table.ask()
    again = table.ask_lost(lost.ticket)
    assert again == lost
    assert again.rng().random() == lost.rng().random()
    table.tell(again, draws_of(again))
    with pytest.raises(cr.PlanError, match="ticket 5 was told already, and its first answer count"):
        table.tell(lost, draws_of(lost))
    with pytest.raises(cr.PlanError, match=r"ticket 5 was told already, .*no ticket is out"):
        table.ask_lost(5)
    assert int(table.result().history.size[-1]) == lost.size


def test_a_lost_ticket_keeps_the_state_of_the_arm_that_it_was_asked_with() -> None:
    class Counts:
        def start(self) -> int:
            return 0

        def draw(self, rng: Any, size: int, state: int) -> Any:
            raise NotImplementedError

        def learn(self, state: int, extra: int) -> int:
            return state + extra

    table = cr.Allocator(["a"], rng=7, width=2, learners={"a": Counts()})
    first, lost = table.ask(), table.ask()
    table.tell(first, cr.Draws(np.ones(first.size), extra=1))
    assert table.ask().state == 1
    assert table.ask_lost(1) == lost
    assert lost.state == 0


@pytest.mark.parametrize("ticket", [5, -1])
def test_a_ticket_that_was_never_asked_for_cannot_be_lost(ticket: int) -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    table.ask()
    with pytest.raises(cr.PlanError, match=f"ticket {ticket} was never asked for; .* out are 0"):
        table.ask_lost(ticket)
    with pytest.raises(cr.PlanError, match="ticket must be the number of a ticket, got 'first'"):
        table.ask_lost("first")  # type: ignore[arg-type]


def test_a_full_table_says_how_to_get_a_lost_ticket_again() -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    table.ask()
    with pytest.raises(cr.PlanError, match=r"ask_lost\(ticket\) returns the batch of a ticket"):
        table.ask()


@pytest.mark.parametrize("batch", ["growing", "one"])
@pytest.mark.parametrize(
    ("told", "message"),
    [
        (0, r"tell needs the batch that ask returned, got 0: table.ask_lost\(0\) returns"),
        (3, r"got 3: table.ask_lost\(ticket\) returns .*the tickets that are out are 0"),
        ("a", "tell needs the batch that ask returned, got 'a'"),
        ((0, "a", 1), r"tell needs the batch that ask returned, got \(0, 'a', 1\)"),
        (None, "got None: then ask had no batch to give; the tickets that are out are 0"),
    ],
)
def test_what_is_no_batch_cannot_be_told(told: Any, message: str, batch: str) -> None:
    table = cr.Allocator(["a", "b"], rng=7, policy="ucb1", bounds=[(-9, 9)] * 2, batch=batch)
    asked = table.ask()
    with pytest.raises(cr.PlanError, match=message):
        table.tell(told, [1.0])
    table.tell(asked, [1.0])
    assert table.result().draws == 1


def test_values_of_another_length_are_counted_in_the_error() -> None:
    table = cr.Allocator(["a"], rng=7, batch=4)
    asked = table.ask()
    message = "arm 'a', ticket 0: 3 values were told, but the batch has 4 draws: tell all of them"
    for values in ([1.0] * 3, np.ones((3, 2)), cr.Draws([1.0] * 3)):
        with pytest.raises(cr.ArmError, match=message):
            table.tell(asked, values)
    assert [batch.ticket for batch in table.out] == [0]


@pytest.mark.parametrize("unit", ["cost", "seconds"])
def test_a_plan_that_counts_costs_must_be_told_them(unit: str) -> None:
    table = cr.Allocator(["a", "b"], rng=7, unit=unit)
    batch = table.ask()
    with pytest.raises(
        cr.ArmError, match=rf"arm 'a', ticket 0: .*unit of the plan is {unit}: .*needs costs"
    ):
        table.tell(batch, [1.0])
    for bad in (0, -1, np.nan, [1.0, 2.0]):
        with pytest.raises(cr.ArmError, match="arm 'a', ticket 0: reported"):
            table.tell(batch, [1.0], costs=bad)
    table.tell(batch, [1.0], costs=2.5)
    assert table.result().cost == 2.5


def test_components_that_change_are_refused_in_any_order_of_arrival() -> None:
    shapes: list[list[Any]] = [[1.0], [[1.0]], [[1.0, 2.0]], [[1.0, 2.0, 3.0]]]
    for early in shapes:
        for late in shapes:
            if early is late:
                continue
            table = cr.Allocator(["a", "b"], rng=7, width=2)
            first, second = table.ask(), table.ask()
            table.tell(second, early)
            with pytest.raises(cr.ArmError, match=r"arm 'a', ticket 0: .*the same quantities"):
                table.tell(first, late)


def test_told_values_may_be_changed_afterwards() -> None:
    table = cr.Allocator(["a", "b"], rng=7, keep_values=True)
    buffer = np.empty(1)
    for k in range(8):
        batch = table.ask()
        buffer[:] = k
        table.tell(batch, buffer)
    assert table.result().arms["a"].values.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert table.result().value == 3.5


# -- result and progress


def test_a_result_before_anything_is_told_is_refused() -> None:
    table = cr.Allocator(["a"], rng=7)
    with pytest.raises(cr.PlanError, match="nothing has been told yet"):
        table.result()
    table.ask()
    with pytest.raises(cr.PlanError, match="nothing has been told yet"):
        table.result()


def test_a_result_counts_what_arrived_early_and_says_what_is_missing() -> None:
    table = cr.Allocator(["a", "b"], rng=7, width=3)
    first, second, third = (table.ask() for _ in range(3))
    table.tell(second, [2.0])
    table.tell(third, [4.0])
    result = table.result()
    assert (result.draws, result.value) == (2, 3.0)
    assert result.history.ticket.tolist() == [1, 2]
    assert any("the draws of ticket 0 are missing" in warning for warning in result.warnings)
    table.tell(first, [0.0])
    assert table.result().value == 2.0


@pytest.mark.parametrize("before", [0, 10, 15, 16, 40])
def test_a_result_does_not_change_when_the_run_goes_on(
    before: int, bits: Callable[..., Any]
) -> None:
    table = cr.Allocator(["a", "b"], rng=7, width=3)
    play(table, before)
    batches = [table.ask() for _ in range(3)]
    table.tell(batches[1], draws_of(batches[1]))
    result = table.result()
    then, at = bits(result), result.history.at(result.cost)
    for batch in (batches[0], batches[2]):
        table.tell(batch, draws_of(batch))
    play(table, 40)
    assert bits(result) == then
    assert result.history.at(result.cost) == at


def test_progress_is_what_was_told_without_a_gap() -> None:
    table = cr.Allocator(["a", "b"], rng=7, width=2)
    assert (table.progress().draws, table.progress().tickets) == (0, 0)
    first, second = table.ask(), table.ask()
    table.tell(second, [5.0])
    assert table.progress().draws == 0
    table.tell(first, [1.0])
    progress = table.progress(seconds=1.5)
    assert (progress.draws, progress.tickets, progress.seconds) == (2, 2, 1.5)
    assert progress.value == 3.0


def test_a_result_by_hand_is_the_result_of_estimate(bits: Callable[..., Any]) -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    while (batch := table.ask(draws_left=2000 - table.progress().draws)) is not None:
        table.tell(batch, draws_of(batch))
    arms = {"a": lambda r, n: r.normal(1.0, 1.0, n), "b": lambda r, n: r.normal(1.0, 0.1, n)}
    assert bits(table.result()) == bits(cr.estimate(arms, draws=2000, rng=7))


# -- what it is made from


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ([], {}, "there are no arms"),
        (["a", "b", "a"], {}, "2 arms are named 'a'"),
        ("ab", {}, "names must be a sequence of strings, got 'ab'"),
        ([1, 2], {}, r"names must be a sequence of strings, got \[1, 2\]"),
        (["a"], {"rng": -1}, "rng must not be negative, got -1"),
        (["a"], {"rng": 0.5}, r"rng cannot be 0\.5"),
        (["a"], {"width": 0}, "width must be a whole number of at least 1, got 0"),
        (["a"], {"wide": 3}, "unknown setting 'wide'; the settings are "),
        (["a"], {"unit": "euros"}, "unit must be one of"),
        (["a"], {"policy": "best"}, "unknown policy 'best'"),
        (["a"], {"combine": "best"}, "unknown combiner 'best'"),
        (["a"], {"policy": "fixed"}, "policy 'fixed' needs its arm"),
        (["a"], {"confidence": 1.5}, r"confidence must lie between 0 and 1, got 1\.5"),
    ],
)
def test_a_table_that_cannot_be_played_is_refused(
    arguments: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(cr.PlanError, match=f"^{message}"):
        cr.Allocator(arguments, **settings)


def test_a_plan_makes_the_same_table(bits: Callable[..., Any]) -> None:
    table = cr.Allocator(["a", "b"], rng=7, policy="variance-lcb", combine="mean", width=2)
    again = cr.Allocator(cr.Plan.from_json(table.plan.to_json()))
    assert again.plan == table.plan
    for each in (table, again):
        play(each, 100)
    assert bits(table.result()) == bits(again.result())


@pytest.mark.parametrize("setting", [{"width": 4}, {"rng": 9}, {"unit": "cost"}])
def test_a_plan_with_settings_that_would_be_ignored_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match="plan"):
        cr.Allocator(cr.Plan(names=("a",), seed=7), **setting)


# -- restore


def told(table: cr.Allocator, tickets: int) -> list[cr.Outcome]:
    arms = {name: cr.Arm(lambda rng, size: rng.random(size), name=name) for name in "ab"}
    outcomes = []
    for _ in range(tickets):
        batch = table.ask()
        outcomes.append(perform(table.plan, arms[batch.arm], batch))
        table.tell(outcomes[-1])
    return outcomes


def test_outcomes_are_restored_in_ticket_order_only() -> None:
    outcomes = told(cr.Allocator(["a", "b"], rng=7), 3)
    table = cr.Allocator(["a", "b"], rng=7)
    with pytest.raises(cr.PlanError, match="ticket 1 cannot be restored before ticket 0"):
        restore(table, outcomes[1])
    restore(table, outcomes[0])
    with pytest.raises(cr.PlanError, match="ticket 0 cannot be restored before ticket 1"):
        restore(table, outcomes[0])


def test_a_replay_that_asks_again_makes_the_decisions_of_the_run() -> None:
    # Where a budget has cut batches that were out together, what was pending was less.
    arms = {name: cr.Arm(lambda rng, size: rng.random(size), name=name) for name in "ab"}

    def play(table: cr.Allocator, ask: Callable[[], cr.Batch | None]) -> list[cr.Outcome]:
        way, outcomes = [], []
        while len(outcomes) < 60:
            while len(way) < 4 and (batch := ask()) is not None:
                way.append(batch)
            outcomes.append(perform(table.plan, arms[way[0].arm], way.pop(0)))
            table.tell(outcomes[-1])
        return outcomes

    first = cr.Allocator(["a", "b"], rng=7, width=4)
    outcomes = play(first, lambda: first.ask(1 + first.progress().draws // 4))
    outcomes += [perform(first.plan, arms[batch.arm], batch) for batch in first.out]
    again = cr.Allocator(["a", "b"], rng=7, width=4)
    play(again, lambda: again.ask_again(outcomes[again.tickets.asked]))
    assert again.out == first.out
    assert again.ask() == first.ask()


def test_an_outcome_of_an_unknown_arm_is_not_restored() -> None:
    (outcome,) = told(cr.Allocator(["a", "b"], rng=7), 1)
    table = cr.Allocator(["x", "y"], rng=7)
    with pytest.raises(cr.CroupierError, match="'a'"):
        restore(table, outcome)


# -- many arms


@pytest.mark.parametrize("policy", ["variance-thompson", "variance-lcb", "uniform", "greedy"])
def test_ten_thousand_arms_are_asked_and_told(policy: str) -> None:
    table = cr.Allocator([f"arm{k}" for k in range(10_000)], rng=7, policy=policy)
    for k in range(300):
        batch = table.ask()
        assert (batch.arm, batch.size) == (f"arm{k}", 1)
        table.tell(batch, [float(k)])
    result = table.result()
    assert result.draws == 300
    assert len(result.arms) == 10_000
    assert result.arms["arm9999"].mean is None


def steps_of(call: Callable[[], object]) -> int:
    """Return how many steps of the interpreter a call takes: as many on any machine."""
    steps, before = 0, sys.gettrace()

    def count(frame: Any, event: str, _: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return count

    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


def memory_of(call: Callable[[], object]) -> int:
    """Return how many bytes a call needs at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "policy", ["variance-thompson", *slow("variance-lcb", "uniform", "greedy")]
)
def test_a_decision_takes_no_step_for_each_of_ten_thousand_arms(policy: str) -> None:
    arms, rng = 10_000, np.random.default_rng(7)
    table = cr.Allocator([f"arm{k}" for k in range(arms)], rng=7, policy=policy, first=2)
    for arm in range(arms):  # past the opening, by a shorter way
        batch = cr.Batch(arm, f"arm{arm}", 20, seed=7)
        values = rng.normal(0.0, 1.0 + arm % 7, batch.size)
        table.ledger.add(arm, outcome_of(table.plan, batch, chunks_of(batch, cr.Draws(values))))

    def decide() -> None:
        batch = table.ask()
        table.tell(batch, batch.rng().normal(size=batch.size))

    decide()
    assert max(steps_of(decide) for _ in range(10)) < arms
    assert memory_of(decide) < 300 * arms  # a few numbers for each


def test_a_plan_and_a_policy_that_contradict_each_other_are_refused() -> None:
    plan = cr.Plan(names=("a", "b"), seed=7)
    with pytest.raises(cr.PlanError, match="the plan has a different name"):
        cr.Allocator(plan, policy="uniform")
    with pytest.raises(cr.PlanError, match="the plan has a different combine"):
        cr.Allocator(plan, combine="mean")
    assert cr.Allocator(plan, policy="variance-thompson", combine="guarded").plan is plan


def test_told_costs_are_counted_or_refused_but_not_ignored() -> None:
    table = cr.Allocator(["a"], rng=7)
    batch = table.ask()
    with pytest.raises(cr.PlanError, match="give unit='cost' to count"):
        table.tell(batch, [1.0], [5.0])
    table = cr.Allocator(["a"], rng=7, unit="cost")
    table.tell(table.ask(), cr.Draws([1.0], [5.0]))
    assert table.result().cost == 5.0


def test_draws_that_arrived_early_count_against_the_budget() -> None:
    rng = np.random.default_rng(7)
    table = cr.Allocator(["a", "b"], rng=7, width=8)
    out: list[cr.Batch] = []
    while True:
        left = 1000 - table.progress().draws
        while len(out) < 8 and (batch := table.ask(draws_left=left)) is not None:
            out.append(batch)
        if not out:
            break
        batch = out.pop(int(rng.integers(len(out))))
        table.tell(batch, batch.rng().normal(1.0, 1.0, batch.size))
    assert table.result().draws == 1000


def test_an_interrupt_while_a_batch_is_booked_does_not_tear_the_answer() -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    for _ in range(20):
        batch = table.ask()
        table.tell(batch, batch.rng().normal(1.0, 1.0, batch.size))
    add = table.ledger.add

    def interrupted(arm: int, outcome: cr.Outcome) -> None:
        add(arm, outcome)
        table.ledger.count[arm] += 1  # half of it
        raise KeyboardInterrupt

    table.ledger.add = interrupted  # type: ignore[method-assign]
    batch = table.ask()
    with pytest.raises(KeyboardInterrupt):
        table.tell(batch, batch.rng().normal(1.0, 1.0, batch.size))
    result = table.result()
    assert result.draws == sum(row.draws for row in result.arms) == result.history.draws[-1]
    assert sum(row.share for row in result.arms) == pytest.approx(1.0)


def test_the_rows_of_a_result_are_those_of_its_moment_whenever_they_are_read() -> None:
    table, other = cr.Allocator(["a", "b"], rng=7), cr.Allocator(["a", "b"], rng=7)
    play(table, 20)
    play(other, 20)
    early = table.result()
    play(table, 20)
    rows = list(early.arms)
    assert rows == list(other.result().arms) == list(pickle.loads(pickle.dumps(early)).arms)
    assert sum(row.draws for row in rows) == early.draws < table.result().draws


def test_the_arms_are_combined_once_for_what_was_told() -> None:
    calls = 0

    def counted(ledger: Any) -> Any:
        nonlocal calls
        calls += 1
        return mean(ledger)

    table = cr.Allocator(["a"], rng=7, combine=counted)
    for number in (1, 2):
        play(table, 1)
        assert table.progress().value == table.result().value
        assert calls == number


def test_another_interval_is_that_of_the_next_look() -> None:
    table = cr.Allocator(["a", "b"], rng=7)
    play(table, 60)
    narrow = table.progress().half_width
    table.interval = ManyLooks()
    assert table.progress().half_width > narrow
    low, high = table.result().interval
    assert high - low == pytest.approx(2 * table.progress().half_width)


class Interrupted:
    """An arm that learns, until somebody loses patience."""

    def start(self) -> int:
        return 0

    def draw(self, rng: np.random.Generator, size: int, state: int) -> Any:
        return cr.Draws(rng.normal(1.0, 1.0, size), extra=1)

    def learn(self, state: int, extra: int) -> int:
        if state == 2:
            raise KeyboardInterrupt
        return state + extra


def test_an_interrupt_while_an_arm_learns_leaves_one_answer() -> None:
    arm = Interrupted()
    table = cr.Allocator(["a"], rng=7, learners={"a": arm})
    drawn: list[float] = []

    def go_on() -> None:
        for _ in range(9):
            batch = table.ask()
            assert batch is not None
            draws = arm.draw(batch.rng(), batch.size, batch.state)
            drawn.extend(draws.values)
            table.tell(batch, draws)
            assert table.progress().value == pytest.approx(np.mean(drawn))  # made, and kept

    with pytest.raises(KeyboardInterrupt):
        go_on()
    result = table.result()
    assert result.draws == len(drawn)
    assert result.value == pytest.approx(np.mean(drawn))
