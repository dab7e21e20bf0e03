"""The book of tickets: asked, out, arrived, told in order; what is left of a budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import croupier as cr
from croupier.tables.tickets import Tickets


def batch(ticket: int, arm: str = "a", size: int = 4) -> cr.Batch:
    return cr.Batch(ticket, arm, size, seed=7)


def outcome(ticket: int, arm: str = "a", size: int = 4, cost: float = 8.0) -> cr.Outcome:
    return cr.Outcome(
        ticket=ticket, arm=arm, size=size, origin=np.zeros(1), exponent=np.zeros(1, np.int64),
        moments=np.zeros((4, 1)), scalar=True, cost=cost, cost_m2=0.0, reported=0.0, seconds=0.0,
        extremes=np.zeros((1, 1)), inspected=1,
    )  # fmt: skip


@given(order=st.permutations(range(6)))
def test_whatever_the_order_of_arrival_they_are_told_in_order(order: list[int]) -> None:
    tickets, told = Tickets(6), []
    for ticket in range(6):
        tickets.put_out(batch(ticket))
    for ticket in order:
        tickets.arrive(outcome(ticket))
        told += [one.ticket for one in tickets.in_order()]
        early = [one.ticket for one in tickets.early]
        out = [one.ticket for one in tickets.out]
        assert sorted(told + early + out) == list(range(6))  # none is lost, none is there twice
    assert told == list(range(6))
    assert (tickets.asked, tickets.told, tickets.waiting) == (6, 6, False)


def test_no_more_than_the_width_may_be_out() -> None:
    tickets = Tickets(2)
    for ticket in range(2):
        tickets.check_room()
        tickets.put_out(batch(ticket))
    with pytest.raises(cr.PlanError, match=r"2 batches are out \(tickets 0, 1\) and width is 2"):
        tickets.check_room()


def test_what_is_not_told_yet_is_taken_from_what_is_left() -> None:
    tickets = Tickets(4)
    for ticket, arm in enumerate("aab"):
        tickets.put_out(batch(ticket, arm))
    tickets.arrive(outcome(1, cost=5.0))  # waits for ticket 0
    assert tickets.draws_left(100) == 100 - 12
    # Nobody knows yet what a draw of b costs.
    price = {"a": 2.0, "b": float("nan")}
    assert tickets.cost_left(100.0, price.__getitem__) == 100.0 - 4 * 2.0 - 5.0


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (outcome(1), "ticket 1 was never asked for; the tickets that are out are 0"),
        (outcome(0, "b"), "ticket 0 asked for 4 draws of 'a', but 4 draws of 'b' were told"),
        (outcome(0, size=3), "ticket 0 asked for 4 draws of 'a', but 3 draws of 'a' were told"),
    ],
)
def test_what_was_not_asked_for_is_refused_and_nothing_changes(
    told: cr.Outcome, message: str
) -> None:
    tickets = Tickets(1)
    tickets.put_out(batch(0))
    with pytest.raises(cr.PlanError, match=message):
        tickets.arrive(told)
    tickets.arrive(outcome(0))
    assert [one.ticket for one in tickets.in_order()] == [0]
    with pytest.raises(
        cr.PlanError,
        match="ticket 0 was told already, and its first answer counts; no ticket is out",
    ):
        tickets.arrive(outcome(0))


def test_a_stored_outcome_is_asked_again_in_its_turn_and_for_an_arm_of_the_plan() -> None:
    tickets = Tickets(1)
    tickets.check_next(outcome(0), ["a"])
    with pytest.raises(cr.PlanError, match="ticket 2 cannot be restored before ticket 0"):
        tickets.check_next(outcome(2), ["a"])
    with pytest.raises(cr.PlanError, match="ticket 0 is of 'a', which is not an arm"):
        tickets.check_next(outcome(0), ["b"])


def test_the_warning_names_the_tickets_that_are_missing() -> None:
    tickets = Tickets(9)
    assert tickets.missing() == []
    for ticket in range(7):
        tickets.put_out(batch(ticket))
    (warning,) = tickets.missing()
    assert warning == "the draws of tickets 0, 1, 2, 3, 4, ... are missing: they are still out"
