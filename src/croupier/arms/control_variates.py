"""control_variate: f minus what functions with known means explain of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.controlled_draws import controlled
from croupier.arms.evaluated import Evaluated, evaluated
from croupier.arms.ready_made import Known
from croupier.data.draws import Floats
from croupier.spaces.base import INSIDE, Moved

__all__ = ["control_variate"]


@dataclass(frozen=True)
class WithControls:
    """Values of a function at uniform points, and of its controls."""

    g: Evaluated
    controls: Callable[[Any], Any]

    def __call__(self, rng: np.random.Generator, size: int) -> tuple[Floats, Any]:
        u = np.clip(rng.random((size, self.g.dimension)), *INSIDE)
        return self.g.at(u), self.controls(self.g.domain.place(Moved(u, None, None))[0])


def control_variate(
    f: Callable[[Any], Any],
    over: Any,
    controls: Callable[[Any], Any],
    means: Sequence[float] | float,
    *,
    dimension: int | None = None,
    name: str = "control_variate",
) -> Arm:
    """Return an arm with control variates: functions of x whose means under `over` are known.

    The coefficients are learned from the earlier batches of the arm, so a draw is exactly unbiased;
    see `controlled`. A draw costs 1.

    Args:
        f: The integrand, as in `croupier.integrate`.
        over: As in `croupier.integrate`.
        controls: A function of points (n, d) that returns (n,) or (n, k).
        means: The k means of the controls.
        dimension: As in `croupier.integrate`.
        name: The name of the arm.
    """
    return controlled(WithControls(evaluated(f, over, dimension, name), controls), means, name=name)


def example() -> Known:
    """Return the integral of e^x from 0 to 1 with the control x: cov(e^x, x) = 1 - (e - 1)/2."""
    arm = control_variate(lambda x: np.exp(x[:, 0]), (0, 1), lambda x: x[:, 0], 0.5)
    explained = 12 * (1 - (math.e - 1) / 2) ** 2
    return Known(arm, math.e - 1, (math.e**2 - 1) / 2 - (math.e - 1) ** 2 - explained, 1)
