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

#: A batch with fewer draws than this says too little.
_LEAST_EXTREMES: Final = 8

#: A batch is a copy if it shares this many of its draws with another batch, and this part.
_SHARED: Final = 4
_PART: Final = 0.25

#: An arm whose draws tie within a batch, more often than this, is discrete: it repeats itself.
_DISCRETE: Final = 0.02

#: A few single values may come again and again, such as the payoff 0 of an option.
_ATOMS: Final = 3

#: Such an atom makes up a good part of the draws. Values that tie more rarely say how often two
#: draws of a discrete arm are equal by chance.
_RARE: Final = 1 / 4

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
        if len(extremes) >= _LEAST_EXTREMES and len(self._tickets) < _REMEMBERED:
            self._tickets.append(ticket)
            self._draws.append(extremes[:, 0])

    def found(self) -> Copies:
        """Compare all batches with each other; no copies if the arm is simply discrete."""
        batches = len(self._draws)
        if batches < 2:
            return Copies(0, batches, None)
        value = np.concatenate(self._draws)
        ordered = np.sort(value)
        if np.count_nonzero(ordered[1:] == ordered[:-1]) < _SHARED:
            return Copies(0, batches, None)  # nearly all arms: nothing comes twice
        batch = np.repeat(np.arange(batches), [len(draws) for draws in self._draws])
        order = np.lexsort((batch, value))
        value, batch = value[order], batch[order]
        equal = value[1:] == value[:-1]
        tied = equal & (batch[1:] == batch[:-1])
        atoms = np.unique(value[1:][tied])
        if len(atoms) > _ATOMS and tied.sum() > _DISCRETE * len(value):
            return Copies(0, batches, None)
        shared = equal & ~tied & ~np.isin(value[1:], atoms)
        if np.count_nonzero(shared) < _SHARED:
            return Copies(0, batches, None)
        pairs, counts = np.unique(
            batch[:-1][shared] * batches + batch[1:][shared], return_counts=True
        )
        earlier, later = np.divmod(pairs, batches)
        sizes = np.array([len(draws) for draws in self._draws])
        comes = np.searchsorted(value, atoms, "right") - np.searchsorted(value, atoms, "left")
        ties = np.count_nonzero(comes < _RARE * len(value))
        chance = ties / (sizes * (sizes - 1) / 2).sum()  # that two draws are equal
        a, b = sizes[earlier], sizes[later]
        least = np.maximum(_SHARED * (1 + chance * a * b), _PART * np.minimum(a, b))
        copied = counts >= least
        if not copied.any():
            return Copies(0, batches, None)
        one, other = int(earlier[copied][0]), int(later[copied][0])
        first = (self._tickets[one], self._tickets[other])
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
