"""Tickets: the book of what was asked, is out, has arrived, and was told in ticket order.

Every table has one. A batch is out from its ask until its outcome arrives. An outcome that arrives
early waits until all older outcomes have arrived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

from croupier.data.draws import Batch, Outcome
from croupier.errors import PlanError

__all__ = ["Tickets", "few"]


class Tickets:
    """The tickets of a run: `asked` is the next ticket, `told` the number of tickets told.

    >>> tickets = Tickets(width=2)
    >>> first = tickets.put_out(Batch(0, "a", 4, seed=7))
    >>> tickets.asked, tickets.told, [batch.ticket for batch in tickets.out]
    (1, 0, [0])
    """

    def __init__(self, width: int = 1) -> None:
        self.width = width
        self.asked = self.told = 0
        self._out: dict[int, Batch] = {}
        self._arrived: dict[int, Outcome] = {}

    @property
    def out(self) -> tuple[Batch, ...]:
        """The batches that are out, in the order of their tickets."""
        return tuple([self._out[ticket] for ticket in sorted(self._out)])

    @property
    def early(self) -> tuple[Outcome, ...]:
        """The outcomes that wait for an older ticket, in the order of their tickets."""
        return tuple([self._arrived[ticket] for ticket in sorted(self._arrived)])

    @property
    def waiting(self) -> bool:
        """Whether a batch is out, or an outcome waits for an older ticket."""
        return bool(self._out or self._arrived)

    # -- ask

    def check_room(self) -> None:
        """Refuse one more ask while `width` batches are out."""
        if len(self._out) >= self.width:
            raise PlanError(
                f"{len(self._out)} batches are out (tickets {few(self._out)}) and width is "
                f"{self.width}: tell one of them first, or give a larger width; "
                "ask_lost(ticket) returns the batch of a ticket that was lost"
            )

    def put_out(self, batch: Batch) -> Batch:
        """Note that the next ticket is out, and return its batch."""
        self._out[batch.ticket] = batch
        self.asked = batch.ticket + 1
        return batch

    def check_next(self, outcome: Outcome, arms: Collection[str]) -> None:
        """Refuse a stored outcome that does not have the next ticket and the name of an arm."""
        if outcome.ticket != self.asked:
            raise PlanError(
                f"ticket {outcome.ticket} cannot be restored before ticket {self.asked}"
            )
        if outcome.arm not in arms:
            raise PlanError(
                f"ticket {outcome.ticket} is of {outcome.arm!r}, which is not an arm of the plan"
            )

    def draws_left(self, left: int) -> int:
        """Return the draws that are left after the batches that are not told yet."""
        left -= sum(batch.size for batch in self._out.values())
        return left - sum(outcome.size for outcome in self._arrived.values())

    def cost_left(self, left: float, price: Callable[[str], float]) -> float:
        """Return the cost that is left after the batches that are not told yet.

        `price` returns the cost of a draw of an arm, NaN if it is not known.
        """
        costs = (batch.size * price(batch.arm) for batch in self._out.values())
        left -= sum(cost for cost in costs if math.isfinite(cost))
        return left - sum(outcome.cost for outcome in self._arrived.values())

    def lost(self, ticket: int) -> Batch:
        """Return the batch of a ticket that is out once more; refuse any other ticket."""
        if (asked := self._out.get(ticket)) is None:
            raise self._not_out(ticket)
        return asked

    def _not_out(self, ticket: int) -> PlanError:
        known = 0 <= ticket < self.asked
        why = "told already, and its first answer counts" if known else "never asked for"
        out = f"the tickets that are out are {few(sorted(self._out))}"
        return PlanError(f"ticket {ticket} was {why}; {out if self._out else 'no ticket is out'}")

    # -- tell

    def asked_for(self, told: Batch | Outcome) -> Batch:
        """Return the batch that is out with this ticket; refuse anything else."""
        asked = self.lost(told.ticket)
        if (told.arm, told.size) != (asked.arm, asked.size):
            raise PlanError(
                f"ticket {asked.ticket} asked for {asked.size} draws of {asked.arm!r}, "
                f"but {told.size} draws of {told.arm!r} were told"
            )
        return asked

    def arrive(self, outcome: Outcome) -> None:
        """Take the outcome of a batch that is out. Outcomes may arrive in any order."""
        self.asked_for(outcome)
        self._arrived[outcome.ticket] = outcome
        del self._out[outcome.ticket]

    def hold(self, outcome: Outcome) -> None:
        """Take a stored outcome although an older ticket is missing: it stays early."""
        self._arrived[outcome.ticket] = outcome

    def in_order(self) -> Iterator[Outcome]:
        """Tell the outcomes that have arrived, in ticket order, up to the first gap."""
        while (outcome := self._arrived.pop(self.told, None)) is not None:
            self.told += 1
            yield outcome

    def skip(self, told: int) -> None:
        """Continue after the first `told` tickets: they were told already."""
        self.asked = self.told = told
        self._out.clear()

    def missing(self) -> list[str]:
        """Return the warning that draws are still out, if there are any."""
        if not self._out:
            return []
        which = f"ticket{'s' * (len(self._out) != 1)} {few(sorted(self._out))}"
        return [f"the draws of {which} are missing: they are still out"]


def few(things: Collection[Any]) -> str:
    """Return the first five things as text.

    >>> few(range(7))
    '0, 1, 2, 3, 4, ...'
    """
    shown = ", ".join(str(thing) for thing in list(things)[:5])
    return shown + (", ..." if len(things) > 5 else "")
