"""CrossSums: how the components of an arm's vectors vary together, from batch to batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from croupier.data.draws import Floats, Outcome

__all__ = ["CrossSums", "CrossTally"]


class CrossTally:
    """The sums of products (x - x_0)_i (x - x_0)_j of one batch about its first draw."""

    def __init__(self) -> None:
        self._origin: Floats | None = None
        self._count = 0
        self._sum: Any = 0.0
        self._products: Any = 0.0

    def add(self, values: Floats) -> None:
        """Add a chunk of shape (m, d)."""
        if self._origin is None:
            self._origin = values[0].copy()
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            away = values - self._origin
            self._count += len(away)
            self._sum = self._sum + away.sum(axis=0)
            self._products = self._products + away.T @ away

    def central(self) -> Floats:
        """Return the sums of products about the mean, (d, d), in the user's units."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(self._products - np.outer(self._sum, self._sum) / self._count)


class CrossSums(NamedTuple):
    """The draws of one arm so far: their mean about `origin`, and the central sums (d, d).

    They are in the user's units: sums of draws beyond 1e150 are not finite, and count as unknown.
    """

    draws: int
    origin: Floats
    mean: Floats
    sums: Floats

    @classmethod
    def of(cls, outcome: Outcome) -> CrossSums | None:
        """Return those of one batch, None if the batch does not have them."""
        sums = outcome.extra.get("cross")
        if sums is None:
            return None
        mean = np.ldexp(outcome.moments[0], outcome.exponent)
        return cls(outcome.size, outcome.origin, mean, np.asarray(sums, float))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> CrossSums:
        """Return the sums with these fields."""
        d = len(state["origin"])
        if state.keys() != {*cls._fields} or state["sums"].shape != (d, d):
            raise ValueError(f"not sums of products: {', '.join(state)}")
        return cls(**state)

    def merged(self, other: Self) -> CrossSums:
        """Return the sums of two sets of draws: M_a + M_b + (n_a n_b/n) delta delta'."""
        n = self.draws + other.draws
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            apart = (other.origin - self.origin) + other.mean - self.mean
            between = np.outer(apart, apart) * (self.draws * other.draws / n)
            mean = self.mean + apart * (other.draws / n)
            return CrossSums(n, self.origin, mean, self.sums + other.sums + between)
