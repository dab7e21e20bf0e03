"""antithetic: the mean of f at a point u of the cube and at its mirror image 1 - u."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.evaluated import Evaluated, evaluated
from croupier.arms.ready_made import Known
from croupier.data.draws import Draws

__all__ = ["antithetic"]


@dataclass(frozen=True)
class Pairs:
    """Means of two mirrored points."""

    g: Evaluated

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        u = rng.random((size, self.g.dimension))
        return Draws((self.g.at(u) + self.g.at(1 - u)) / 2, 2.0)


def antithetic(
    f: Callable[[Any], Any], over: Any, *, dimension: int | None = None, name: str = "antithetic"
) -> Arm:
    """Return the arm of antithetic pairs (Hammersley and Morton 1956). A draw costs 2.

    It is good for functions that rise or fall along every coordinate. `f` and `over` are those of
    `croupier.integrate`.
    """
    return Arm(Pairs(evaluated(f, over, dimension, name)), name)


def example() -> Known:
    """Return the integral of e^x from 0 to 1: the covariance of a pair is e - (e - 1)^2."""
    arm = antithetic(lambda x: np.exp(x[:, 0]), (0, 1))
    variance = (math.e**2 - 1) / 2 - (math.e - 1) ** 2
    return Known(arm, math.e - 1, (variance + math.e - (math.e - 1) ** 2) / 2, 2)
