"""What can be wrong with what is told by hand, and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np

from croupier.data.draws import Batch
from croupier.errors import ArmError, PlanError
from croupier.tables.tickets import Tickets, few

__all__ = ["check_length", "no_batch", "ticket_of"]


def ticket_of(ticket: Any) -> int:
    """Return the number of a ticket; refuse anything else."""
    if isinstance(ticket, bool) or not isinstance(ticket, int | np.integer):
        raise PlanError(f"ticket must be the number of a ticket, got {ticket!r:.80}")
    return int(ticket)


def no_batch(told: Any, tickets: Tickets) -> str:
    """Return what is wrong with something that was told in place of a batch, and the way out."""
    numbers = [batch.ticket for batch in tickets.out]
    out = f"the tickets that are out are {few(numbers)}" if numbers else "no ticket is out"
    if told is None:
        return f"tell needs a batch, got None: then ask had no batch to give; {out}"
    lost = told if isinstance(told, int | np.integer) and told in numbers else "ticket"
    return (
        f"tell needs the batch that ask returned, got {told!r:.80}: "
        f"table.ask_lost({lost}) returns the batch of a ticket; {out}"
    )


def check_length(asked: Batch, values: Any) -> None:
    """Refuse more or fewer values than the batch has, in the words of ask and tell."""
    try:
        shape = np.shape(values)
    except ValueError:
        return
    if values is not None and len(shape) in (1, 2) and shape[0] != asked.size:
        raise ArmError(
            f"{shape[0]} values were told, but the batch has {asked.size} "
            f"draw{'s' * (asked.size != 1)}: tell all of them at once, as an array (size,) or "
            "(size, d); the ticket is still out",
            arm=asked.arm,
            ticket=asked.ticket,
            value=values,
        )
