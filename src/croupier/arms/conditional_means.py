"""conditional: an inner expectation that is known, averaged over the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.evaluated import evaluated
from croupier.arms.plain_draws import Plain
from croupier.arms.ready_made import Known

__all__ = ["conditional"]


def conditional(
    inner: Callable[[Any], Any], over: Any, *, dimension: int | None = None,
    name: str = "conditional",
) -> Arm:  # fmt: skip
    """Return the arm of conditional Monte Carlo (Rao and Blackwell).

    If f depends on (x, y) and ``inner(x)`` = E[f(x, y) | x] is known, only x is drawn. The variance
    is never larger than that of f itself. `inner` takes points x (n, d), and `over` is the domain
    of x, as in `croupier.integrate`.
    """
    return Arm(Plain(evaluated(inner, over, dimension, name)), name)


def example() -> Known:
    """Return P(X + Y > 2) for exponentials: P(Y > 2 - x) = e^-(2 - x) below 2, and 1 above."""
    from scipy import stats

    arm = conditional(lambda x: np.exp(-np.maximum(2 - x[:, 0], 0)), stats.expon())
    mean = 3 * math.exp(-2)
    return Known(arm, mean, 2 * math.exp(-2) - math.exp(-4) - mean**2, 1)
