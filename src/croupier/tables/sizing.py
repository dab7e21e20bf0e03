"""Sizing: how many draws a decision buys, and how many of them the rest of a budget allows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.tables.books import Books
from croupier.tables.tickets import Tickets

__all__ = ["Decision", "affordable", "size_of"]


class Decision(NamedTuple):
    """The arm and the size of a ticket that is not asked for yet, with the states of the arms.

    The states are those of the moment: when the batch is asked for, the arms may have learned more.
    """

    arm: int
    size: int
    states: dict[str, Any]


def size_of(plan: Plan, ledger: Ledger, arm: int, decisions: int = 1, growth: float = 1.0) -> int:
    """Return how many draws decisions buy: each a share of what was spent, in cost.

    No more than the arm has had, because that would more than double it: among many arms a lucky
    one must not take a large batch on the word of its first four draws.
    """
    if plan.batch == "one" or ledger.count[arm] == 0:
        return plan.opening
    afford = decisions * plan.share * ledger.spent
    most = growth * float(ledger.count[arm])
    return max(1, int(min(most, afford / float(ledger.price[arm]))))


def affordable(
    books: Books,
    tickets: Tickets,
    arm: int,
    size: int,
    draws_left: int | None,
    cost_left: float | None,
) -> tuple[int, int] | None:
    """Cut a decision to what is left, less what is not told yet; None if that buys no draw."""
    if draws_left is not None:
        draws_left = tickets.draws_left(draws_left)
        size = min(size, draws_left)
    if cost_left is None:
        return (arm, size) if size > 0 else None
    plan, ledger, price = books.plan, books.ledger, books.ledger.price
    if tickets.asked == 0:
        # However small the budget, it buys one draw, or the draws of a first call.
        return arm, min(size, plan.opening)
    cost_left = tickets.cost_left(cost_left, lambda name: float(price[books.index[name]]))
    if cost_left < price[arm] / 2:
        # What is left does not buy a draw of this arm; it may still buy the cheapest.
        arm = int(np.nanargmin(price))
        size = size_of(plan, ledger, arm)
        size = size if draws_left is None else min(size, draws_left)
    if cost_left <= 0 or cost_left < price[arm] / 2:
        return None
    if np.isfinite(price[arm]):
        # Prices are guesses: come close to the end in small steps, not in one leap.
        most = cost_left if size <= size_of(plan, ledger, arm) else cost_left / 2
        size = min(size, max(1, int(most / price[arm]), size_of(plan, ledger, arm)))
        size = min(size, max(1, int(cost_left / price[arm])))
    return (arm, size) if size > 0 else None
