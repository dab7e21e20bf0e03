"""Entries: what a ledger adds up of a batch, from an outcome or from a row of a history."""

from __future__ import annotations

from typing import Protocol

from croupier.data.draws import Floats
from croupier.data.scale import Ints

__all__ = ["Entry"]


class Entry(Protocol):
    """The parts of an outcome that a ledger adds up."""

    @property
    def size(self) -> int:
        """The number of draws."""

    @property
    def origin(self) -> Floats:
        """The number that the draws are relative to, per component."""

    @property
    def exponent(self) -> Ints:
        """The unit of the moments is ``2**exponent``, per component."""

    @property
    def moments(self) -> Floats:
        """The mean and the central sums M2, M3, M4, (4, d)."""

    @property
    def cost(self) -> float:
        """The cost of all draws."""

    @property
    def cost_m2(self) -> float:
        """The central sum M2 of the costs of the draws."""
