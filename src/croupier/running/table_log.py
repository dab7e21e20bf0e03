"""TableLog: the store of a table that is asked and told by hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from croupier.data.draws import Outcome
from croupier.data.plan import Plan
from croupier.engines.hold_interrupts import interrupts_held
from croupier.errors import PlanError, StoreError
from croupier.tables.independent import IndependentArms

if TYPE_CHECKING:
    from croupier.store.log import Store

__all__ = ["TableLog"]


class TableLog:
    """Notes in a store what was asked and told by hand, and restores a table from it.

    A batch is in the store before it is handed out, and an outcome before it counts. The time of
    such a run is not measured: nobody knows when the draws were made.
    """

    def __init__(self, store: str | os.PathLike[str] | Store) -> None:
        from croupier.store.log import Log, as_store  # only a table with a store loads sqlite

        self._log = Log(as_store(store))
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._open = True
        self._kept: dict[int, Outcome] = {}  # in the file, and the table was not told yet

    def plan_for(self, plan: Plan, *, seed: bool, width: bool) -> Plan:
        """Return the plan, with the seed and the width of the store if they were not given."""
        return self._log.plan_for(plan, seed=seed, width=width)

    def begin(self, table: IndependentArms, learns: Collection[str]) -> None:
        """Lock the store, and bring a new table to where the stored one was."""
        try:
            with interrupts_held():
                self._log.begin(table, learns)
                self._restore(table)
        except BaseException:
            self.close()
            raise

    def _restore(self, table: IndependentArms) -> None:
        """Ask again for every stored ticket, and tell again what was told.

        As in the loop, all tickets that are decided are asked for before the oldest is told.
        """
        log, out = self._log, self._log.out
        last = max(out, default=-1)
        while True:
            ticket = table.tickets.asked
            if table.decisions and (log.behind(ticket) or ticket <= last):
                if (found := log.stored(ticket)) is not None:
                    table.ask_again(found[0])
                elif ticket in out:
                    table.ask_for(*out[ticket])
                else:  # a run of `estimate` had asked for it, and nobody has its batch
                    table.ask()
                continue
            told = (log.stored(batch.ticket) for batch in table.tickets.out)
            if (oldest := next((each for each in told if each is not None), None)) is None:
                return
            log.tell_again(table, oldest[0])

    @property
    def path(self) -> Path:
        """Where the store is."""
        return self._log.path

    @property
    def run_id(self) -> str:
        """The random number of the run."""
        return self._log.run_id

    def asked(self, table: IndependentArms) -> None:
        """Note which batches are out."""
        self.check_usable()
        self._log.note_out(table)

    def keep(self, outcome: Outcome) -> Outcome:
        """Store an outcome and return it. When this returns, it is in the file.

        If an interrupt came between the file and the table, the outcome in the file counts.
        """
        self.check_usable()
        if outcome.ticket not in self._log:
            self._kept[outcome.ticket] = outcome
            self._log.append(outcome)
        return self._kept[outcome.ticket]

    def told(self, table: IndependentArms, ticket: int) -> None:
        """Store a snapshot now and then, so that a long run is opened fast."""
        del self._kept[ticket]
        self._log.snapshot(table, table.tickets.told)

    def check_usable(self) -> None:
        """Refuse to go on with a table that was closed, or in another thread or process."""
        if (os.getpid(), threading.get_ident()) != (self._process, self._thread):
            raise PlanError(
                "a table with a store is asked and told in the thread that made it: send the "
                "answers to that thread, for example through a queue.Queue"
            )
        if not self._open:
            raise StoreError(
                f"the table of {self._log.path} is closed: make it again with the same arguments "
                "to continue"
            )

    def close(self) -> None:
        """Close the file and free its lock. A forked process leaves both to its parent."""
        if self._open and os.getpid() == self._process:
            self._open = False
            self._log.__exit__()
