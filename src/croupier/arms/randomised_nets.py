"""randomised_net: one draw is the mean over one randomly scrambled Sobol net."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from croupier.arms.base import Arm
from croupier.arms.evaluated import Evaluated, evaluated
from croupier.arms.ready_made import Known
from croupier.arms.sobol import sobol
from croupier.checks import count_of
from croupier.data.draws import Draws, Floats
from croupier.errors import PlanError

__all__ = ["randomised_net"]

#: The binary digits of a coordinate, and the largest m.
_BITS: Final = 32
_LARGEST: Final = 16


@lru_cache(maxsize=16)
def _digits(d: int, m: int) -> NDArray[np.uint64]:
    """Return the first 2^m Sobol points as integers of m binary digits, (2^m, d)."""
    points = sobol(d).random_base2(m)
    return np.asarray(np.round(points * 2**m), dtype=np.uint64)


@dataclass(frozen=True)
class Nets:
    """Means over nets of 2^m points, each with a scramble of its own."""

    g: Evaluated
    m: int

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        parts = [self.g.means(self._net(rng)[None]) for _ in range(size)]
        return Draws(np.concatenate(parts), float(2**self.m))

    def _net(self, rng: np.random.Generator) -> Floats:
        """Return a net under a random linear matrix scramble and a digital shift.

        Digit c of a point adds a random column, whose leading digit is c: y = L x + s modulo 2,
        with a random lower triangular matrix L in every dimension (Matousek 1998).
        """
        d, m = self.g.dimension, self.m
        x = _digits(d, m)
        y = np.broadcast_to(rng.integers(2**_BITS, size=d, dtype=np.uint64), x.shape).copy()
        for c in range(m):
            lead = np.uint64(1 << (_BITS - 1 - c))
            column = rng.integers(lead, size=d, dtype=np.uint64) | lead
            y ^= ((x >> np.uint64(m - 1 - c)) & np.uint64(1)) * column
        return np.asarray((y.astype(float) + 0.5) / 2**_BITS)


def randomised_net(
    f: Callable[[Any], Any],
    over: Any,
    *,
    m: int = 6,
    dimension: int | None = None,
    name: str = "randomised_net",
) -> Arm:
    """Return the arm of randomised nets: a draw is the mean over a scrambled Sobol net.

    A net has 2^m points, and a draw costs 2^m. `f` and `over` are those of `croupier.integrate`.
    To integrate one function with nets, use `croupier.integrate`: it doubles its nets. This arm is
    for a comparison with other arms.
    """
    if count_of("m", m) > _LARGEST:
        raise PlanError(f"m must be at most {_LARGEST}, got {m}")
    return Arm(Nets(evaluated(f, over, dimension, name), m), name)


def example() -> Known:
    """Return the integral of e^(x+y) over the square: at most the variance of 64 plain points."""
    arm = randomised_net(lambda x: np.exp(x.sum(axis=1)), [(0, 1)] * 2, m=6)
    square = ((math.e**2 - 1) / 2) ** 2
    return Known(arm, (math.e - 1) ** 2, (square - (math.e - 1) ** 4) / 64 / 50, 64, at_most=True)
