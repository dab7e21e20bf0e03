"""TableLog: the store of a table that is asked and told by hand."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from croupier.data.draws import Outcome
from croupier.data.plan import Plan
from croupier.errors import StoreError
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
        self._process = os.getpid()
        self._open = True

    def plan_for(self, plan: Plan, *, seed: bool, width: bool) -> Plan:
        """Return the plan, with the seed and the width of the store if they were not given."""
        return self._log.plan_for(plan, seed=seed, width=width)

    def begin(self, table: IndependentArms, learns: Collection[str]) -> None:
        """Lock the store, and bring a new table to where the stored one was."""
        try:
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
            table.tell(oldest[0])

    def asked(self, table: IndependentArms) -> None:
        """Note which batches are out."""
        self.check_open()
        self._log.note_out(table)

    def keep(self, outcome: Outcome) -> None:
        """Store an outcome. When this returns, it is in the file."""
        self.check_open()
        self._log.append(outcome)

    def told(self, table: IndependentArms) -> None:
        """Store a snapshot now and then, so that a long run is opened fast."""
        self._log.snapshot(table, table.tickets.told)

    def check_open(self) -> None:
        """Refuse to go on with a table that was closed."""
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
