"""Sizing: how many draws a decision buys, and how many of them the budget still allows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.tables.books import Books
from croupier.tables.tickets import Tickets

__all__ = ["Decision", "affordable", "size_of", "towards_stop"]


class Decision(NamedTuple):
    """The arm and the size of a ticket that is not asked for yet, with the states of the arms.

    The states are those at the time of the decision. The arms may learn more before the batch is
    asked for.
    """

    arm: int
    size: int
    states: dict[str, Any]


def size_of(plan: Plan, ledger: Ledger, arm: int, decisions: int = 1, growth: float = 1.0) -> int:
    """Return how many draws `decisions` decisions buy: each buys a share of the cost so far.

    The batch costs at most `growth` times what the arm has cost so far. Otherwise, among many arms,
    an arm that was lucky in its first four draws would get a large batch. Where the arm may have
    been chosen because more draws in a call may cost nothing, the batch finds this out. Otherwise
    an arm with expensive draws would be chosen again and again for the same hope.
    """
    if plan.batch == "one" or ledger.count[arm] == 0:
        return plan.opening
    afford = min(decisions * plan.share * ledger.spent, growth * float(ledger.cost[arm]))
    size = max(1, int(ledger.bought(arm, afford)))
    if not ledger.measured:
        return size
    return max(size, ledger.telling_call(arm, plan.largest_share * ledger.spent))


def affordable(
    books: Books,
    tickets: Tickets,
    arm: int,
    size: int,
    draws_left: int | None,
    cost_left: float | None,
) -> tuple[int, int] | None:
    """Cut a decision to the budget left after the batches not told yet; None if it buys no draw."""
    if draws_left is not None:
        draws_left = tickets.draws_left(draws_left)
        size = min(size, draws_left)
    if cost_left is None:
        return (arm, size) if size > 0 else None
    plan, ledger = books.plan, books.ledger
    price = np.fmax(ledger.price, ledger.price_in(plan.share * ledger.spent))
    if tickets.asked == 0:
        # Even the smallest budget buys one draw, or the draws of a first call.
        return arm, min(size, plan.opening)
    cost_left = tickets.cost_left(cost_left, lambda name: float(price[books.index[name]]))
    if cost_left < ledger.cost_of(arm, 1) / 2:
        # The rest does not buy a draw of this arm. It may still buy one of the cheapest arm.
        arm = int(np.nanargmin(ledger.price_in(cost_left)))
        size = size_of(plan, ledger, arm)
        size = size if draws_left is None else min(size, draws_left)
    if cost_left <= 0 or cost_left < ledger.cost_of(arm, 1) / 2:
        return None
    if np.isfinite(price[arm]):
        # Prices are estimates, so the run approaches the end of the budget in small steps.
        usual = size_of(plan, ledger, arm)
        most = cost_left if size <= usual else cost_left / 2
        size = min(size, max(1, int(ledger.affords(arm, most)), usual))
        size = min(size, max(1, int(ledger.affords(arm, cost_left))))
    return (arm, size) if size > 0 else None


def towards_stop(books: Books, tickets: Tickets, arm: int, size: int, growth: float) -> int:
    """Cut a decision to its part of what the run still needs; 0 if enough draws are out.

    `growth` is the predicted need, as a share of the cost so far. The batches that may be out at
    once divide it among them, so that all workers are busy until the end.
    """
    price = books.ledger.price_in(books.plan.share * books.ledger.spent)
    if growth >= 1 or not math.isfinite(price[arm]):
        return size  # the stop is far away, or nobody knows how much the batch would cost
    each = float(price[arm])
    need = max(growth * books.ledger.spent / tickets.width, each)
    left = tickets.cost_left(tickets.width * need, lambda name: float(price[books.index[name]]))
    if left < each / 2:
        return 0
    return min(size, max(1, int(min(left, need) / each)))
