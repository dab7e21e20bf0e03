"""Recorded: an engine that draws nothing twice and stores every new outcome at once."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from croupier.data.draws import Batch, Outcome
from croupier.engines.hold_interrupts import held
from croupier.engines.perform import Engine
from croupier.errors import ArmError
from croupier.tables.base import Table

if TYPE_CHECKING:
    from croupier.store.log import Log

__all__ = ["Recorded"]


class Recorded:
    """An engine with a memory: every outcome is in the log before it is told.

    The outcomes of earlier calls come back in ticket order, as if they were drawn now, with the
    `seconds` that the run had taken then. `make` makes the engine for the first batch that is not
    stored: to start workers takes seconds, which do not count. `timer` counts those of this call.
    """

    def __init__(
        self, make: Callable[[], Engine], log: Log | None, timer: Callable[[], float]
    ) -> None:
        self._make, self._log, self._timer = make, log, _never_back(timer)
        self._engine: Engine | None = None
        self._batches: deque[Batch] = deque()
        self._began = 0.0
        self.seconds = 0.0
        self._arrived: dict[int, float] = {}
        #: What has arrived and may not be told yet: an interrupted run still returns it.
        self._kept: dict[int, Outcome] = {}
        self._last = -1
        #: The seconds inside the calls of each arm. They are no part of a result.
        self.inside: defaultdict[str, float] = defaultdict(float)
        self._begin()

    def _begin(self) -> None:
        before = 0.0 if self._log is None else self._log.seconds
        self._began = self._timer() - before

    def clock(self) -> float:
        """Return the seconds that the run has taken so far, over all calls."""
        return self._timer() - self._began

    def __len__(self) -> int:
        return len(self._batches)

    def behind(self, table: Table) -> bool:
        """Tell whether there are stored outcomes that were not asked for again yet."""
        return self._log is not None and self._log.behind(table.tickets.asked)

    def ask(self, table: Table, draws: int | None, cost: float | None) -> Batch | None:
        """Ask a table for its next batch. If its outcome is stored, it is the stored batch."""
        if self._log is None:
            return table.ask(draws, cost)
        if self._log.behind(table.tickets.asked):
            if (found := self._log.stored(table.tickets.asked)) is not None:
                with self._log.reading():
                    return table.ask_again(found[0])
            # A later ticket is stored, so this one was out. It is asked for with any budget.
            return table.ask(draws, cost) or table.ask()
        return table.ask(draws, cost)

    def submit(self, batch: Batch) -> None:
        """Take a batch. If its outcome is in the log, it is not drawn again."""
        self._batches.append(batch)
        if self._log is None or self._log.stored(batch.ticket) is None:
            if self._engine is None:
                began = self._timer()
                self._engine = self._make()
                self._engine.keep = self._store
                self._began += self._timer() - began
            self._engine.submit(batch)

    def close(self) -> None:
        """Release the engine, if there is one."""
        if self._engine is not None:
            self._engine.close()

    def next(self) -> Outcome:
        """Return the outcome of the oldest ticket that is out, after storing it."""
        self._kept.pop(self._last, None)  # it was told
        self._last = self._batches[0].ticket
        if self._log is None:
            assert self._engine is not None
            outcome = self._engine.next()
            self.seconds = self.clock()
            self._batches.popleft()
            return outcome
        batch = self._batches[0]
        if (found := self._log.stored(batch.ticket)) is None:
            assert self._engine is not None
            try:
                outcome = self._engine.next()
            except ArmError:
                list(self.rest(0.0))  # stores the other outcomes that are finished
                raise
            seconds = self._arrived.pop(outcome.ticket)
        else:
            outcome, seconds = found
            if (outcome.arm, outcome.size) != (batch.arm, batch.size):
                raise self._log.damaged(f"ticket {batch.ticket} is of another batch")
            self._begin()  # the time to tell stored outcomes again does not count
        # The time when the last told outcome arrived; it is the same when they are told again.
        self.seconds = max(self.seconds, seconds)
        self._batches.popleft()
        return outcome

    def tell(self, table: Table, outcome: Outcome) -> None:
        """Tell a table an outcome, as a whole."""
        self.inside[outcome.arm] += outcome.seconds
        with held:
            if self._log is None or self._log.stored(outcome.ticket) is None:
                table.tell(outcome)
            else:
                self._log.tell_again(table, outcome)

    def rest(self, seconds: float, out: Iterable[Batch] = ()) -> Iterator[Outcome]:
        """Store all outcomes that are finished within `seconds`; return those that are `out`."""
        self._batches.clear()
        if self._engine is not None:
            deque(self._engine.rest(seconds), maxlen=0)  # `_store` keeps them
        for batch in out:
            if (outcome := self._kept.get(batch.ticket)) is not None:
                yield outcome
            elif self._log is not None and (found := self._log.stored(batch.ticket)) is not None:
                yield found[0]

    def _store(self, outcome: Outcome) -> None:
        with held:
            if self._log is not None:
                self._arrived[outcome.ticket] = seconds = self.clock()
                if outcome.ticket not in self._log:
                    self._log.append(outcome, seconds=seconds)
            self._kept[outcome.ticket] = outcome

    def leave_snapshot(self, table: Table, told: int) -> None:
        """Store a snapshot now and then, between two tickets: the run can continue from it."""
        if self._log is not None and not self._log.behind(told):
            self._log.snapshot(table, told)


def _never_back(timer: Callable[[], float]) -> Callable[[], float]:
    """Return a clock that stands still while the given one is behind what it has shown before."""
    latest = timer()

    def now() -> float:
        nonlocal latest
        latest = max(latest, timer())
        return latest

    return now
