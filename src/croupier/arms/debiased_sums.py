"""debiased: the limit of a sequence of approximations, without the bias of stopping early."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.level_pilot import Levels, costs_of, pilot_of
from croupier.arms.ready_made import Known
from croupier.checks import choice
from croupier.data.draws import Draws, Floats
from croupier.errors import PlanError

__all__ = ["debiased"]

Estimator: TypeAlias = Literal["single", "sum"]

#: The levels that a pilot looks at; those above follow the rates.
_SEEN: Final = 6


@dataclass(frozen=True)
class Debiased:
    """Draws of a random level, or of all levels up to it, weighted by 1/probability.

    `head` are the probabilities of the first levels; those above fall by `ratio` each.
    """

    levels: Levels
    head: tuple[float, ...]
    ratio: float
    estimator: Estimator

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        top = self._levels(rng, size)
        values, costs = np.zeros(size), np.zeros(size)
        for level in range(int(top.max()) + 1):
            at = np.flatnonzero(top == level if self.estimator == "single" else top >= level)
            if len(at):
                chance = self._chance(level) if self.estimator == "single" else self._above(level)
                values[at] += self.levels.draw(rng, len(at), level) / chance
                costs[at] += self.levels.cost(level)
        return Draws(values, costs)

    def _levels(self, rng: np.random.Generator, size: int) -> Any:
        """Draw random levels: from the head, then geometric steps beyond it."""
        below = np.cumsum(self.head)
        u = rng.random(size)
        level = np.searchsorted(below, u, side="right")
        beyond = level >= len(self.head)
        level[beyond] = len(self.head) - 1 + rng.geometric(1 - self.ratio, int(beyond.sum()))
        return level

    def _chance(self, level: int) -> float:
        if level < len(self.head):
            return self.head[level]
        rest = 1 - sum(self.head)
        return rest * (1 - self.ratio) * self.ratio ** (level - len(self.head))

    def _above(self, level: int) -> float:
        """Return the chance of this level or a higher one."""
        if level < len(self.head):
            return 1 - sum(self.head[:level])
        return float((1 - sum(self.head)) * self.ratio ** (level - len(self.head)))


def debiased(
    difference: Callable[[np.random.Generator, int, int], Any],
    *,
    cost: Callable[[int], float] | float = 2.0,
    estimator: Estimator = "single",
    pilot: int = 2000,
    seed: int = 0,
    name: str = "debiased",
) -> Arm:
    """Return an unbiased arm for the limit of approximations (Rhee and Glynn, Operations Research
    63, 2015).

    Args:
        difference: ``difference(rng, size, level)`` returns `size` draws of the approximation on a
            level minus that on the level below, from the same randomness; on level 0 the
            approximation itself.
        cost: The cost of a draw on a level, as a function of the level, or the factor by which it
            grows from level to level.
        estimator: "single": one difference on a random level, divided by the chance of the level
            (the single-term estimator). "sum": all differences up to a random level, each divided
            by the chance to get there (the independent-sum estimator).
        pilot: The number of draws on each of the first 6 levels, from which the
            probabilities of the levels are chosen, proportional to sqrt(second moment/cost).
            Above, the fitted rates go on.
        seed: The seed of the pilot.
        name: The name of the arm.

    The variance of a difference must fall faster than its cost grows; otherwise no choice of
    probabilities gives a finite variance at a finite cost. An error says so if the pilot does not
    see a faster fall by two standard errors.
    """
    choice("estimator", estimator, Estimator)
    levels = Levels(difference, costs_of(cost), name)
    found = pilot_of(levels, _SEEN, pilot, seed)
    beta, gamma, error = found.rates()
    if beta - 2 * error <= gamma:
        raise PlanError(
            f"the second moment of a difference falls by 2^-{beta:.2f} per level (± {error:.2f}), "
            f"and its cost grows by 2^{gamma:.2f}: a debiased arm needs a faster fall; use a "
            "better coupling or a larger pilot, or cr.arms.multilevel with a finest level"
        )
    ratio = 2 ** (-(beta + gamma) / 2)
    weight = np.sqrt(found.second / found.cost)
    # If the pilot has hardly seen a level, it must not get a small chance.
    weight = np.maximum(weight, weight[1] * ratio ** np.arange(-1.0, _SEEN - 1) / 2)
    if estimator == "sum":  # the chance to get at least here, and it must fall
        weight = np.minimum.accumulate(weight / weight[0])
        head = -np.diff(np.append(weight, weight[-1] * ratio))
        head = np.maximum(head, 0.0)
    else:
        head = weight / (weight.sum() + weight[-1] * ratio / (1 - ratio))
    return Arm(Debiased(levels, tuple(float(p) for p in head), ratio, estimator), name)


def _halving(rng: np.random.Generator, size: int, level: int) -> Floats:
    """Return differences with mean and deviation 2^-level: the sum of their means is 2."""
    return np.asarray((1 + rng.standard_normal(size)) * 2.0**-level)


def example() -> Known:
    """Return the sum of 2^-l at costs 2^(l/2): the second moments 2^(1-2l) call for 2^(-5l/4)."""
    arm = debiased(_halving, cost=math.sqrt(2.0))
    ratio = 2**-1.25
    second = sum(2.0 ** (1 - 2 * k) / ((1 - ratio) * ratio**k) for k in range(200))
    mean_cost = sum((1 - ratio) * ratio**k * 2 ** (k / 2) for k in range(200))
    return Known(arm, 2.0, second - 4, mean_cost)
