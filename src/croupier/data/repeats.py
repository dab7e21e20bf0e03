"""Repeats: does an arm return the same draws again? Draws that are copies are not independent.

An outcome carries some of its draws, the most extreme ones. Two batches of an arm with continuous
draws have no draw in common. If they do, one of them is a copy, or a part of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats

__all__ = ["Repeats"]

#: A batch with fewer draws than this says too little.
_LEAST: Final = 8

#: A batch is a copy if it shares this many of its draws with one earlier batch, and this part.
_SHARED: Final = 4
_PART: Final = 0.25

#: An arm whose draws tie within a batch, more often than this, is discrete: it repeats itself.
_DISCRETE: Final = 0.02

#: A few single values may come again and again, such as the payoff 0 of an option.
_ATOMS: Final = 3

#: This many draws of an arm are remembered at most.
_REMEMBERED: Final = 20_000


class Repeats:
    """The draws that the outcomes of one arm carried, and which batches had them before.

    `copies` is the number of batches that share draws with an earlier one, out of `batches`;
    `first` are the tickets of one such pair.

    >>> repeats = Repeats()
    >>> for ticket in range(3):
    ...     repeats.add(ticket, np.random.default_rng(0).random((20, 1)))
    >>> repeats.copies, repeats.first
    (2, (0, 1))
    """

    def __init__(self) -> None:
        self.batches = self.copies = 0
        self.first: tuple[int, int] | None = None
        self._drawn = self._tied = 0
        self._atoms: list[float] = []
        self._values: dict[float, int] = {}

    def add(self, ticket: int, extremes: Floats) -> None:
        """Look at the draws that one outcome carries, (n, d): at their first component."""
        if len(extremes) < _LEAST:
            return
        values, counts = np.unique(extremes[:, 0], return_counts=True)
        often = counts > 1
        if often.any():
            self._tie(values[often], int(counts[often].sum()))
        self.batches += 1
        self._drawn += len(extremes)
        single: list[float] = values[~often].tolist()
        self._compare(ticket, [value for value in single if value not in self._atoms])

    def _tie(self, values: NDArray[np.float64], draws: int) -> None:
        """Note values that came more than once in a batch: a few of them are atoms."""
        new = [value for value in values.tolist() if value not in self._atoms]
        if len(self._atoms) + len(new) <= _ATOMS:
            self._atoms += new
        else:
            self._tied += draws

    def _compare(self, ticket: int, values: list[float]) -> None:
        known = self._values
        before: dict[int, int] = {}
        for value in values:
            if (earlier := known.get(value)) is not None:
                before[earlier] = before.get(earlier, 0) + 1
        if before:
            earlier, shared = max(before.items(), key=lambda pair: pair[1])
            if shared >= max(_SHARED, _PART * len(values)):
                self.copies += 1
                self.first = self.first or (earlier, ticket)
        if len(known) < _REMEMBERED:
            for value in values:
                known.setdefault(value, ticket)

    @property
    def found(self) -> bool:
        """Whether the arm returns copies of its draws, and is not simply discrete."""
        return self.copies > 0 and self._tied <= _DISCRETE * self._drawn

    # -- to and from a snapshot

    def state(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "counts": (self.batches, self.copies, self._drawn, self._tied),
            "first": self.first,
            "atoms": list(self._atoms),
            "values": np.array(list(self._values)),
            "tickets": np.array(list(self._values.values()), np.int64),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Repeats:
        """Return what `state` returned."""
        repeats = cls()
        repeats.batches, repeats.copies, repeats._drawn, repeats._tied = state["counts"]
        repeats.first, repeats._atoms = state["first"], list(state["atoms"])
        pairs = zip(state["values"].tolist(), state["tickets"].tolist(), strict=True)
        repeats._values = dict(pairs)
        return repeats
