"""A machine that asks, tells in any order, is killed and resumes, against a run that never was."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

import croupier as cr
from croupier.engines.perform import perform
from croupier.store import log as logs
from tests.conftest import bits_of

NAMES = ("rough", "fine", "learner")
MOST = 60  # tickets


class Learner:
    def start(self) -> float:
        return 0.0

    def draw(self, rng: np.random.Generator, size: int, state: float) -> cr.Draws:
        values = rng.normal(1.0, 0.5 / (1 + state), size)
        return cr.Draws(values, extra={"seen": values[:3]})

    def learn(self, state: float, extra: Any) -> float:
        return state + 1e-2 * abs(float(extra["seen"].sum()))


LEARNER = Learner()
ARMS = {
    "rough": cr.Arm(lambda rng, size: rng.normal(1.0, 1.0, size), "rough"),
    "fine": cr.Arm(lambda rng, size: rng.normal(1.0, 0.1, size), "fine"),
    "learner": cr.Arm(LEARNER, "learner"),
}


def new_table(width: int) -> cr.Allocator:
    return cr.Allocator(NAMES, rng=7, width=width, learners={"learner": LEARNER})


def drawn(table: cr.Allocator, batch: cr.Batch) -> cr.Outcome:
    return perform(table.plan, ARMS[batch.arm], batch)


def uninterrupted(width: int, tickets: int) -> cr.Allocator:
    """The model: one batch after the other, told in their order, in one process."""
    table, way = new_table(width), list[cr.Batch]()
    while table.tickets.asked < tickets or way:
        while table.tickets.asked < tickets and len(way) < width:
            asked = table.ask()
            assert asked is not None
            way.append(asked)
        batch = way.pop(0)
        table.tell(drawn(table, batch))
    return table


class Machine(RuleBasedStateMachine):
    """A table, a log, and the batches that are out; all but the file is lost in a crash."""

    out = Bundle("out")

    @initialize(width=st.integers(1, 5), every=st.sampled_from([3, 8, 1000]))
    def begin(self, width: int, every: int) -> None:
        self.width, self.life = width, 0
        self.folder = tempfile.TemporaryDirectory()
        self.store = cr.Store(Path(self.folder.name) / "run.db", durability="normal")
        self.every, logs._SNAPSHOT_EVERY = logs._SNAPSHOT_EVERY, every
        self.kept: set[int] = set()
        self._resume()

    def _resume(self) -> None:
        self.life += 1
        self.table = new_table(self.width)
        self.log = logs.Log(self.store)
        self.log.begin(self.table, {"learner"})
        self.away = {batch.ticket: batch for batch in self.table.out}
        for batch in self.table.out:
            self._again(batch)
        while self.log.behind(self.table.tickets.asked):
            found = self.log.stored(self.table.tickets.asked)
            batch = self.table.ask() if found is None else self.table.ask_again(found[0])
            assert batch is not None
            self.away[batch.ticket] = batch
            self._again(batch)

    def _again(self, batch: cr.Batch) -> None:
        found = self.log.stored(batch.ticket)
        assert (found is not None) == (batch.ticket in self.kept)
        if found is not None:
            self.table.tell(found[0])
            del self.away[batch.ticket]

    @precondition(lambda self: len(self.away) < self.width and self.table.tickets.asked < MOST)
    @rule(target=out)
    def ask(self) -> tuple[int, int]:
        batch = self.table.ask()
        if batch is None:
            return (0, -1)  # an older ticket is still out
        self.away[batch.ticket] = batch
        return (self.life, batch.ticket)

    @rule(which=consumes(out))
    def tell(self, which: tuple[int, int]) -> None:
        life, ticket = which
        if ticket in self.away and life == self.life:
            self._tell(ticket)

    @precondition(lambda self: self.away)
    @rule(data=st.data())
    def tell_any(self, data: st.DataObject) -> None:
        self._tell(data.draw(st.sampled_from(sorted(self.away))))

    def _tell(self, ticket: int) -> None:
        outcome = drawn(self.table, self.away.pop(ticket))
        self.log.append(outcome)
        self.kept.add(ticket)
        self.table.tell(outcome)
        self.log.snapshot(self.table, self.table.progress().tickets)

    @precondition(lambda self: self.away)
    @rule(data=st.data())
    def killed_after_the_store_and_before_the_table(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.away)))
        self.log.append(drawn(self.table, self.away[ticket]))
        self.kept.add(ticket)
        self.killed()

    @rule()
    def killed(self) -> None:
        """What the system does when a process dies: it closes files and frees locks."""
        self.log.__exit__()
        self._resume()
        if self.kept:
            assert sorted(self.table.result().history.ticket) == sorted(self.kept)

    @invariant()
    def nothing_is_lost_and_nothing_counts_twice(self) -> None:
        if hasattr(self, "kept"):
            assert all(ticket in self.log for ticket in self.kept)
            assert {*range(self.table.progress().tickets)} <= self.kept

    def teardown(self) -> None:
        if not hasattr(self, "kept"):
            return
        try:
            self.killed()
            tickets = max(self.kept, default=0) + 5
            while self.away or self.table.tickets.asked < tickets:
                while self.table.tickets.asked < tickets and len(self.away) < self.width:
                    if (batch := self.table.ask()) is None:
                        break
                    self.away[batch.ticket] = batch
                self._tell(max(self.away))
            model = uninterrupted(self.width, tickets)
            assert bits_of(self.table.result()) == bits_of(model.result())
            assert self.table.ask() == model.ask()
        finally:
            self.log.__exit__()
            logs._SNAPSHOT_EVERY = self.every
            self.folder.cleanup()


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
@pytest.mark.parametrize(
    "examples", [pytest.param(25, id="25"), pytest.param(1000, id="1000", marks=pytest.mark.slow)]
)
def test_ask_tell_kill_and_resume_in_any_order_end_as_the_model_does(examples: int) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )
