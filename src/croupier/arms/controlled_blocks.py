"""control_variate: f minus what functions with known means explain of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.evaluated import Evaluated, evaluated
from croupier.arms.ready_made import Known
from croupier.checks import count_of
from croupier.data.draws import Draws, Floats
from croupier.errors import PlanError
from croupier.spaces.base import INSIDE, Moved

__all__ = ["control_variate", "solved"]

#: A singular set of controls must not stop the fit.
_RIDGE: Final = 1e-10


@dataclass(frozen=True)
class Controlled:
    """Means of blocks; each half of a block is controlled with the coefficients of the other."""

    g: Evaluated
    controls: Callable[[Any], Any]
    means: tuple[float, ...]
    block: int

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        g, half = self.g, self.block // 2
        u = np.clip(rng.random((2 * size * half, g.dimension)), *INSIDE)
        x, _ = g.domain.place(Moved(u, None, None))
        y = g.at(u).reshape(2, size, half)
        h = self._controls(x).reshape(2, size, half, len(self.means))
        first, second = (
            (y[a] - np.einsum("spk,sk->sp", h[a], _coefficients(y[1 - a], h[1 - a]))).mean(axis=1)
            for a in (0, 1)
        )
        return Draws((first + second) / 2, float(self.block))

    def _controls(self, x: Floats) -> Floats:
        """Return the controls minus their means, (n, k)."""
        h = np.asarray(self.controls(x), dtype=float)
        h = h[:, None] if h.ndim == 1 else h
        if h.shape != (len(x), len(self.means)):
            raise PlanError(
                f"controls returned an array of shape {h.shape} for {len(x)} points and "
                f"{len(self.means)} means: return one row per point, one column per mean"
            )
        return np.asarray(h - np.array(self.means))


def _coefficients(y: Floats, h: Floats) -> Floats:
    """Return the coefficients of a regression of y (sets, n) on h (sets, n, k), in each set."""
    h = h - h.mean(axis=1, keepdims=True)
    cross = np.einsum("spk,sp->sk", h, y - y.mean(axis=1, keepdims=True))
    return solved(np.einsum("spk,spl->skl", h, h), cross[..., None])[..., 0]


def solved(square: Floats, cross: Floats) -> Floats:
    """Return the coefficients (..., k, d) from sums of products h h' and h y'."""
    trace = np.trace(square, axis1=-2, axis2=-1)[..., None, None] + 1e-300
    square = square + _RIDGE * trace * np.eye(square.shape[-1])
    return np.asarray(np.linalg.solve(square, cross))


def control_variate(
    f: Callable[[Any], Any],
    over: Any,
    controls: Callable[[Any], Any],
    means: Sequence[float] | float,
    *,
    block: int = 64,
    dimension: int | None = None,
    name: str = "control_variate",
) -> Arm:
    """Return an arm with control variates: functions of x whose means under `over` are known.

    A draw is the mean of a block of points and costs `block`. Each half of a block is controlled
    with coefficients that were fitted to the other half, so a draw is exactly unbiased. `over` must
    be distributions, or bounds of volume 1; f returns one number per point.

    Args:
        f: The integrand, as in `croupier.integrate`.
        over: As in `croupier.integrate`.
        controls: A function of points (n, d) that returns (n,) or (n, k).
        means: The k means of the controls.
        block: The number of points in a draw: even, at least 2 (k + 2).
        dimension: As in `croupier.integrate`.
        name: The name of the arm.
    """
    known = tuple(float(mean) for mean in np.atleast_1d(np.asarray(means, dtype=float)))
    block = count_of("block", block)
    if block % 2 or block < 2 * (len(known) + 2):
        raise PlanError(
            f"block must be an even number, at least {2 * (len(known) + 2)} for {len(known)} "
            f"controls, got {block}"
        )
    return Arm(Controlled(evaluated(f, over, dimension, name), controls, known, block), name)


def example() -> Known:
    """Return the integral of e^x from 0 to 1 with the control x: cov(e^x, x) = 1 - (e - 1)/2."""
    arm = control_variate(lambda x: np.exp(x[:, 0]), (0, 1), lambda x: x[:, 0], 0.5, block=200)
    explained = 12 * (1 - (math.e - 1) / 2) ** 2
    variance = (math.e**2 - 1) / 2 - (math.e - 1) ** 2 - explained
    return Known(arm, math.e - 1, variance / 200, 200)
