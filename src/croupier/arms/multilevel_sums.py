"""multilevel: an unbiased sum over the levels, if the finest level is the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.level_pilot import Levels, costs_of, pilot_of
from croupier.arms.ready_made import Known
from croupier.checks import count_of
from croupier.data.call_prices import CHUNK
from croupier.data.draws import Draws, Floats
from croupier.errors import PlanError

__all__ = ["multilevel"]


@dataclass(frozen=True)
class Multilevel:
    """Sums over the levels of the mean of `counts` differences each."""

    levels: Levels
    counts: tuple[int, ...]

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        values = np.zeros(size)
        for level, count in enumerate(self.counts):
            drawn = self.levels.draw(rng, size * count, level)
            values += drawn.reshape(size, count).mean(axis=1)
        cost = sum(n * self.levels.cost(level) for level, n in enumerate(self.counts))
        return Draws(values, float(cost))


def multilevel(
    difference: Callable[[np.random.Generator, int, int], Any],
    levels: int,
    *,
    counts: tuple[int, ...] | None = None,
    cost: Callable[[int], float] | float = 2.0,
    pilot: int = 2000,
    seed: int = 0,
    name: str = "multilevel",
) -> Arm:
    """Return the arm of a multilevel sum (Giles, Operations Research 56, 2008).

    Args:
        difference: As in `debiased`: the approximation on a level minus that on the level below.
        levels: The number of levels. The target is the mean on the finest one, ``levels - 1``.
        counts: How many differences of each level are in one draw. By default they come from a
            pilot, proportional to sqrt(variance/cost), with one difference of the finest level.
        cost: As in `debiased`.
        pilot: The number of draws on each level from which the counts are chosen.
        seed: The seed of the pilot.
        name: The name of the arm.
    """
    made, many = Levels(difference, costs_of(cost), name), count_of("levels", levels)
    if counts is None:
        found = pilot_of(made, many, pilot, seed)
        shares = np.sqrt(found.variance / found.cost)
        least = shares[-1] if shares[-1] > 0 else max(float(shares.max()), 1.0)
        counts = tuple(int(np.clip(round(share / least), 1, CHUNK)) for share in shares)
    if len(counts) != many:
        raise PlanError(f"counts must have one number for each of {many} levels, got {counts!r}")
    return Arm(Multilevel(made, tuple(count_of("counts", n) for n in counts)), name)


def _halving(rng: np.random.Generator, size: int, level: int) -> Floats:
    """Return differences with mean and deviation 2^-level."""
    return np.asarray((1 + rng.standard_normal(size)) * 2.0**-level)


def example() -> Known:
    """Return the sum of 2^-l up to l = 3, with 16, 8, 2 and 1 differences at costs 2^l."""
    arm = multilevel(_halving, 4, counts=(16, 8, 2, 1))
    return Known(arm, 1.875, 1 / 16 + 0.25 / 8 + 0.0625 / 2 + 0.015625, 16 + 16 + 8 + 8)
