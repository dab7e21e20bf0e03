"""Evaluated: an integrand with its domain, for the arms that evaluate it at points of the cube."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.integrand import integrand_of, weighted_values
from croupier.data.draws import Floats
from croupier.functions.function import Function
from croupier.spaces.base import INSIDE, Moved, Space
from croupier.spaces.read_space import read_space

__all__ = ["Evaluated", "evaluated"]


@dataclass(frozen=True)
class Evaluated:
    """A function g of points of the unit cube, whose mean is the integral."""

    integrand: Function
    domain: Space
    name: str

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.domain.dimension

    def at(self, u: Floats) -> Floats:
        """Return the values at points (n, d), as (n,) or (n, m)."""
        inside = np.clip(u, *INSIDE)
        return weighted_values(self.integrand, self.domain, Moved(inside, None, None), self.name)

    def means(self, u: Floats) -> Floats:
        """Return the means over each of several sets of points (sets, points, d)."""
        sets, points, d = u.shape
        values = self.at(u.reshape(-1, d))
        return np.asarray(values.reshape(sets, points, *values.shape[1:]).mean(axis=1))


def evaluated(f: Callable[[Any], Any], over: Any, dimension: int | None, name: str) -> Evaluated:
    """Return an integrand with its domain; f and `over` are those of `croupier.integrate`."""
    domain = read_space(over, needs=("cube",), dimension=dimension)
    return Evaluated(integrand_of(f, domain), domain, name)
