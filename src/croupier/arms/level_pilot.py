"""Levels of approximations, and a pilot that learns their second moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from croupier.checks import count_of, positive
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError

__all__ = ["Growing", "Levels", "Pilot", "costs_of", "pilot_of"]


@dataclass(frozen=True)
class Growing:
    """Costs that grow by a factor from level to level."""

    factor: float

    def __call__(self, level: int) -> float:
        """Return the cost of a draw on a level."""
        return float(self.factor**level)


def costs_of(cost: Any) -> Callable[[int], float]:
    """Return the cost of a level as a function."""
    if callable(cost):
        function: Callable[[int], float] = cost
        return function
    return Growing(positive("cost", cost))


@dataclass(frozen=True)
class Levels:
    """Differences between levels, with their costs."""

    difference: Callable[[np.random.Generator, int, int], Any]
    cost: Callable[[int], float]
    name: str

    def draw(self, rng: np.random.Generator, size: int, level: int) -> Floats:
        """Return `size` differences on a level, checked."""
        values = np.asarray(self.difference(rng, size, level), dtype=float)
        if values.shape != (size,):
            raise ArmError(
                f"the difference on level {level} has the shape {values.shape} for {size} draws: "
                f"return ({size},)",
                arm=self.name,
            )
        if not np.isfinite(values).all():
            bad = float(values[~np.isfinite(values)][0])
            raise ArmError(f"the difference on level {level} is {bad}", arm=self.name, value=bad)
        return values


class Pilot(NamedTuple):
    """Second moments, their relative errors, variances and costs of the first levels."""

    second: Floats
    unsure: Floats
    variance: Floats
    cost: Floats

    def rates(self) -> tuple[float, float, float]:
        """Return beta, gamma and the standard error of beta.

        Second moments fall like 2^-beta l, costs grow like 2^gamma l.
        """
        level = np.arange(1, len(self.second))
        moments = np.log2(np.maximum(self.second[1:], 1e-300))
        beta = -float(np.polyfit(level, moments, 1)[0])
        lever = (level - level.mean()) / np.square(level - level.mean()).sum()
        error = float(np.linalg.norm(lever * self.unsure[1:] / np.log(2)))
        return beta, float(np.polyfit(level, np.log2(self.cost[1:]), 1)[0]), error


def pilot_of(levels: Levels, count: int, draws: int, seed: int) -> Pilot:
    """Draw on the first `count` levels, and return what was learned."""
    if not callable(levels.difference):
        raise PlanError(
            f"difference must be a function (rng, size, level), got {levels.difference!r:.80}"
        )
    rng, size = np.random.default_rng(seed), count_of("pilot", draws)
    values = [levels.draw(rng, size, level) for level in range(count)]
    costs = np.array([positive(f"the cost of level {k}", levels.cost(k)) for k in range(count)])
    second = np.array([np.square(each).mean() for each in values])
    spread = np.array([np.square(each).std() for each in values])
    return Pilot(
        second,
        spread / np.maximum(second, 1e-300) / np.sqrt(size),
        np.array([each.var() for each in values]),
        costs,
    )
