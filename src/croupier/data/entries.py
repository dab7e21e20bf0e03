"""Entries: what a ledger adds up of a batch, from an outcome or from a row of a history."""

from __future__ import annotations

from typing import Protocol

from croupier.data.draws import Floats
from croupier.data.scale import Ints

__all__ = ["Entry"]


class Entry(Protocol):
    """The parts of an outcome that a ledger adds up."""

    @property
    def size(self) -> int: ...
    @property
    def origin(self) -> Floats: ...
    @property
    def exponent(self) -> Ints: ...
    @property
    def moments(self) -> Floats: ...
    @property
    def cost(self) -> float: ...
    @property
    def cost_m2(self) -> float: ...
