"""Repeats: does an arm return the same draws again? Draws that are copies are not independent.

An outcome carries some of its draws, the most extreme ones. Two batches of an arm with continuous
draws have no draw in common. If they do, one of them is a copy, or a part of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats

__all__ = ["Copies", "Repeats"]

#: A batch with fewer draws than this says too little. So many draws must come again.
_LEAST: Final = 8

#: The draws of this many batches of an arm are remembered.
_REMEMBERED: Final = 2_000


class Copies(NamedTuple):
    """How many of an arm's batches share draws with an earlier one, and the tickets of one pair."""

    copies: int
    batches: int
    first: tuple[int, int] | None


class Repeats:
    """The draws that the outcomes of one arm carried. They are compared when somebody asks.

    >>> repeats = Repeats()
    >>> for ticket in range(3):
    ...     repeats.add(ticket, np.random.default_rng(0).random((20, 1)))
    >>> repeats.found()
    Copies(copies=2, batches=3, first=(0, 1))
    """

    def __init__(self) -> None:
        self._tickets: list[int] = []
        self._draws: list[Floats] = []

    def add(self, ticket: int, extremes: Floats) -> None:
        """Remember the draws that one outcome carries, (n, d): their first component."""
        if len(extremes) >= _LEAST and len(self._tickets) < _REMEMBERED:
            self._tickets.append(ticket)
            self._draws.append(extremes[:, 0])

    def found(self) -> Copies:
        """Compare all batches with each other; no copies if the arm is simply discrete.

        A copy has half of the draws of another batch, and at least eight. The least and the
        greatest of all draws do not count: they may come again and again, such as the payoff 0 of
        an option. If other draws tie within a batch, the arm is discrete.
        """
        batches = len(self._draws)
        nothing = Copies(0, batches, None)
        value = np.concatenate((*self._draws, ()))
        ordered = np.sort(value)
        if np.count_nonzero(ordered[1:] == ordered[:-1]) < _LEAST:
            return nothing  # nearly all arms: nothing comes twice
        batch = np.repeat(np.arange(batches), [len(draws) for draws in self._draws])
        order = np.lexsort((batch, value))
        value, batch = value[order], batch[order]
        inside = (value > value[0]) & (value < value[-1])
        sizes = np.bincount(batch[inside], minlength=batches)
        shared = (value[1:] == value[:-1]) & inside[1:]
        earlier, later = batch[:-1][shared], batch[1:][shared]
        if (earlier == later).any():
            return nothing
        pairs, counts = np.unique(earlier * batches + later, return_counts=True)
        earlier, later = np.divmod(pairs, batches)
        least = np.maximum(np.minimum(sizes[earlier], sizes[later]) / 2, _LEAST)
        copied = counts >= least
        if not copied.any():
            return nothing
        first = (self._tickets[earlier[copied][0]], self._tickets[later[copied][0]])
        return Copies(len(np.unique(later[copied])), batches, first)

    # -- to and from a snapshot

    def state(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"tickets": list(self._tickets), "draws": list(self._draws)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Repeats:
        """Return what `state` returned."""
        repeats = cls()
        repeats._tickets, repeats._draws = list(state["tickets"]), list(state["draws"])
        if len(repeats._tickets) != len(repeats._draws):
            raise ValueError("not the draws of as many tickets")
        return repeats
