"""Ask and tell with a store: what a table finds again, what it refuses, when it lets go."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.store import log

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

Bits = Callable[[cr.Result], Any]

#: Without a store, the draws of such a table are booked later.
SINGLE = {"batch": "one", "policy": "ucb1", "bounds": [(-9, 9)] * 2}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def draws_of(batch: cr.Batch) -> np.ndarray:
    return batch.rng().normal(1.0, {"a": 1.0, "b": 0.1}[batch.arm], batch.size)


def play(table: cr.Allocator, tickets: int) -> None:
    """Ask for `tickets` batches in all; the youngest comes back first."""
    while table.tickets.asked < tickets:
        while len(table.out) < table.width and (batch := table.ask()) is not None:
            pass
        for batch in reversed(table.out):
            table.tell(batch, draws_of(batch))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("settings", [{}, SINGLE])
def test_a_table_made_again_continues_where_it_was(
    path: Path, bits: Bits, width: int, settings: dict[str, Any]
) -> None:
    whole = cr.Allocator(["a", "b"], rng=7, width=width, **settings)
    play(whole, 60)
    for tickets in (10, 11, 35, 60):
        with cr.Allocator(["a", "b"], rng=7, width=width, store=path, **settings) as table:
            play(table, tickets)
    assert bits(table.result()) == bits(whole.result())
    run = cr.open_run(path)
    assert bits(run.result()) == bits(whole.result())
    assert (run.status.tickets, run.status.calls, run.status.running) == (60, 4, False)


def test_tickets_that_were_out_are_out_again(path: Path) -> None:
    with cr.Allocator(["a", "b"], rng=7, width=4, store=path) as table:
        play(table, 20)
        asked = [table.ask(), table.ask(), table.ask(draws_left=table.progress().draws + 999)]
        table.tell(asked[1], draws_of(asked[1]))
    with cr.Allocator(["a", "b"], store=path) as again:  # seed and width are those of the store
        assert again.out == (asked[0], asked[2])
        assert again.ask_lost(20) == asked[0]
        assert again.ask().ticket == 23
        assert "the draws of tickets 20, 22, 23 are missing" in again.result().warnings[-1]
        with pytest.raises(cr.PlanError, match="ticket 21 was told already"):
            again.tell(asked[1], draws_of(asked[1]))


def test_a_batch_that_was_cut_to_a_budget_is_out_again_with_its_size(path: Path) -> None:
    with cr.Allocator(["a", "b"], rng=7, width=2, store=path) as table:
        play(table, 60)
        cut = table.ask(draws_left=2)
        assert cut.size == 2
        assert table.ask().size > 2
        out = table.out
    with cr.Allocator(["a", "b"], rng=7, width=2, store=path) as again:
        assert again.out == out
        again.tell(cut, draws_of(cut))  # the answer of the first process


def test_a_table_that_learns_is_restored_from_a_snapshot(
    path: Path, bits: Bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_SNAPSHOT_EVERY", 10)

    class Counts:
        def start(self) -> int:
            return 0

        def draw(self, rng: Any, size: int, state: int) -> Any:
            raise NotImplementedError

        def learn(self, state: int, extra: int) -> int:
            return state + extra

    def go_on(table: cr.Allocator, tickets: int) -> None:
        while table.tickets.asked < tickets:
            batch = table.ask() if len(table.out) < 3 else None
            if batch is None:
                batch = table.out[0]
                values = draws_of(batch) / (1 + (batch.state or 0))
                table.tell(batch, cr.Draws(values, extra=1 if batch.arm == "b" else None))

    learners = {"b": Counts()}
    whole = cr.Allocator(["a", "b"], rng=7, width=3, learners=learners)
    go_on(whole, 80)
    for tickets in (31, 47, 80):
        with cr.Allocator(["a", "b"], rng=7, width=3, learners=learners, store=path) as table:
            go_on(table, tickets)
    assert bits(table.result()) == bits(whole.result())
    assert [batch.state for batch in table.out] == [batch.state for batch in whole.out]


def test_a_table_is_made_again_from_its_store_alone(path: Path) -> None:
    settings: dict[str, Any] = {"policy": "uniform", "width": 3, "unit": "cost", "batch": 5}
    with cr.Allocator(["a", "b"], rng=7, store=path, **settings) as table:
        out = [table.ask(), table.ask()]
        table.tell(out[1], draws_of(out[1]), 2.0)
    with cr.Allocator(cr.open_run(path).plan, store=path) as again:
        assert again.plan == table.plan
        assert again.out == (out[0],)
        again.tell(again.ask_lost(0), draws_of(out[0]), 2.0)
        assert again.result().draws == 10


def test_another_plan_is_refused_and_the_store_is_free_again(path: Path) -> None:
    with cr.Allocator(["a", "b"], rng=7, store=path) as table:
        play(table, 5)
    for arms, settings, differing in (
        (["a", "c"], {}, "arms: 'a', 'b' -> 'a', 'c'"),
        (["a", "b"], {"rng": 8}, "seed: 7 -> 8"),
        (["a", "b"], {"width": 3}, "width: 1 -> 3"),
        (["a", "b"], {"policy": "uniform"}, "policy: variance-thompson.* -> uniform"),
    ):
        with pytest.raises(cr.StoreError, match=rf"holds another run.*\n  {differing}"):
            cr.Allocator(arms, store=path, **settings)
    with cr.Allocator(["a", "b"], store=path) as table:
        play(table, 10)
    assert table.result().history.ticket[-1] == 9


def test_one_table_at_a_time_has_the_store(path: Path) -> None:
    table = cr.Allocator(["a", "b"], rng=7, store=path)
    play(table, 5)
    assert cr.open_run(path).status.running
    with pytest.raises(cr.StoreError, match="is in use by pid"):
        cr.Allocator(["a", "b"], rng=7, store=path)
    table.close()
    table.close()
    for action in (table.ask, lambda: table.tell(cr.Batch(5, "a", 1, 7), [1.0])):
        with pytest.raises(cr.CroupierError):
            action()
    with pytest.raises(cr.StoreError, match="is closed: make it again with the same arguments"):
        table.ask()
    assert table.result().history.ticket[-1] == 4
    cr.Allocator(["a", "b"], rng=7, store=path).close()


def test_a_table_that_is_forgotten_frees_its_store(path: Path) -> None:
    table = cr.Allocator(["a", "b"], rng=7, store=path)
    play(table, 5)
    del table
    gc.collect()
    assert not cr.open_run(path).status.running
    assert [file.name for file in path.parent.iterdir()] == ["run.db"]


def test_the_end_of_the_process_frees_the_store(path: Path) -> None:
    code = f"""
import croupier as cr
table = cr.Allocator(["a", "b"], rng=7, store={str(path)!r})
table.tell(table.ask(), [1.0])
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [file.name for file in path.parent.iterdir()] == ["run.db"]
    assert cr.open_run(path).status.draws == 1


def test_draws_that_are_refused_are_not_stored(path: Path) -> None:
    with cr.Allocator(["a", "b"], rng=7, width=2, store=path) as table:
        first, second = table.ask(), table.ask()
        table.tell(first, [1.0])
        for bad in ([np.nan], [1.0, 2.0], [[1.0, 2.0]]):
            with pytest.raises(cr.ArmError):
                table.tell(second, bad)
        assert cr.open_run(path).status.tickets == 1
        table.tell(second, [1.0])
    assert cr.open_run(path).status.tickets == 2


def test_an_outcome_that_cannot_be_stored_does_not_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cr.Allocator(["a", "b"], rng=7, store=path)
    batch = table.ask()

    def full(*_: Any, **__: Any) -> None:
        raise cr.StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(log.Log, "append", full)
        with pytest.raises(cr.StoreError, match="the disk is full"):
            table.tell(batch, [1.0])
    assert [out.ticket for out in table.out] == [0]
    table.tell(batch, [1.0])
    table.close()
    assert cr.open_run(path).result().draws == 1


def test_estimate_and_a_table_continue_the_same_store(path: Path, bits: Bits) -> None:
    arms = {"a": lambda r, n: r.normal(1.0, 1.0, n), "b": lambda r, n: r.normal(1.0, 0.1, n)}
    whole = cr.estimate(arms, draws=3000, rng=7, width=3)
    with cr.Allocator(["a", "b"], rng=7, width=3, store=path) as table:
        for _ in range(9):
            while len(table.out) < 3 and table.ask() is not None:
                pass
            table.tell(table.out[-1], draws_of(table.out[-1]))
    assert bits(cr.estimate(arms, draws=3000, rng=7, width=3, store=path)) == bits(whole)


def test_a_table_with_a_store_can_be_played(path: Path, bits: Bits) -> None:
    arms = {"a": lambda r, n: r.normal(1.0, 1.0, n), "b": lambda r, n: r.normal(1.0, 0.1, n)}
    for draws in (500, 3000):
        with cr.Allocator(["a", "b"], rng=7, width=3, store=path) as table:
            result = cr.play(table, arms, draws=draws)
    assert result.draws == 3000
    assert bits(cr.open_run(path).result()) == bits(result)


def test_another_thread_is_told_to_send_its_answers(path: Path) -> None:
    table = cr.Allocator(["a", "b"], rng=7, store=path)
    batch, said = table.ask(), []

    def tell() -> None:
        try:
            table.tell(batch, [1.0])
        except cr.PlanError as error:
            said.append(str(error))

    thread = threading.Thread(target=tell)
    thread.start()
    thread.join()
    assert "in the thread that made it: send the answers to that thread" in said[0]
    table.tell(batch, [1.0])
    table.close()
    assert cr.open_run(path).status.draws == 1


def test_after_an_interrupt_between_the_file_and_the_table_the_stored_answer_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cr.Allocator(["a", "b"], rng=7, store=path)
    batch, append = table.ask(), log.Log.append

    def interrupted(*arguments: Any, **more: Any) -> None:
        append(*arguments, **more)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(log.Log, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            table.tell(batch, [1.0])
    table.tell(batch, [2.0])
    assert table.result().value == 1.0
    table.close()
    assert cr.open_run(path).result().value == 1.0
