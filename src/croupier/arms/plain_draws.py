"""plain: independent evaluations at independent points."""

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

__all__ = ["plain"]


@dataclass(frozen=True)
class Plain:
    """Values at uniform points."""

    g: Evaluated

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        return Draws(self.g.at(rng.random((size, self.g.dimension))), 1.0)


def plain(
    f: Callable[[Any], Any], over: Any, *, dimension: int | None = None, name: str = "plain"
) -> Arm:
    """Return the arm of plain Monte Carlo. `f` and `over` are those of `croupier.integrate`.

    >>> import numpy as np
    >>> import croupier as cr
    >>> arm = plain(lambda x: x[:, 0] ** 2, [(0, 1), (0, 2)])
    >>> round(cr.estimate([arm], draws=10_000, rng=7).value, 1)
    0.7
    """
    return Arm(Plain(evaluated(f, over, dimension, name)), name)


def example() -> Known:
    """Return the integral of e^x from 0 to 1."""
    arm = plain(lambda x: np.exp(x[:, 0]), (0, 1))
    return Known(arm, math.e - 1, (math.e**2 - 1) / 2 - (math.e - 1) ** 2, 1)
