"""splitting: an arm for rare events of a simulation in steps, by adaptive multilevel splitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from croupier.arms.base import Arm
from croupier.checks import count_of
from croupier.data.draws import Draws, Floats
from croupier.errors import ArmError, PlanError

__all__ = ["splitting"]

#: At least this share of the paths of a replication is replaced at once. More would cost precision
#: (5 % of the variance at 0.1), fewer would be simulated one by one.
_REPLACED: Final = 0.1

#: About this many paths are simulated together, of several replications.
_TOGETHER: Final = 4096


def splitting(
    step: Callable[[np.random.Generator, Any], Any],
    start: Callable[[np.random.Generator, int], Any],
    level: Callable[[Any], Any],
    target: float,
    *,
    particles: int = 400,
    most_steps: int = 100_000,
    name: str = "splitting",
) -> Arm:
    """Return an arm for the probability that a simulation reaches a level before it ends.

    Adaptive multilevel splitting (Cérou and Guyader 2007), in the form that is unbiased for steps
    of any kind (Bréhier, Gazeau, Goudenège, Lelièvre and Rousset 2016, algorithm 2). The tenth of
    the paths with the lowest maximum, and all paths level with them, are replaced by copies of
    others, which are simulated again from where they first passed that level. One draw is one
    replication with many particles. Its cost is the number of simulated steps, for `cost=`.

    Args:
        step: Moves states (n, ...) one step ahead: ``step(rng, states) -> states``. The next state
            may depend on the present one only; put the time into the state if it matters.
        start: Makes first states: ``start(rng, n) -> states``, an array with n rows.
        level: How far states have come, n numbers; -inf if the simulation has ended there.
        target: The event is a level of at least this number.
        particles: How many paths a replication has.
        most_steps: A path that takes more steps is an error.
        name: The name of the arm.

    >>> import croupier as cr
    >>> def queue(rng, n):
    ...     return np.ones(n)
    >>> def event(rng, x):
    ...     return x + np.where(rng.random(len(x)) < 0.3, 1, -1)
    >>> arm = cr.splitting(event, queue, lambda x: np.where(x == 0, -np.inf, x), 12)
    >>> result = cr.estimate([arm], draws=40, rng=7)
    >>> exact = (7 / 3 - 1) / ((7 / 3) ** 12 - 1)
    >>> abs(result.value - exact) < 4 * result.stderr
    True
    """
    for what, given in (("step", step), ("start", start), ("level", level)):
        if not callable(given):
            raise PlanError(f"{what} must be a function, got {given!r:.80}")
    try:
        wanted = float(target)
    except (TypeError, ValueError):
        raise PlanError(f"target must be a number, got {target!r}") from None
    if not np.isfinite(wanted):
        raise PlanError(f"target must be finite, got {target!r}")
    many = count_of("particles", particles)
    if many < 2:
        raise PlanError(f"particles must be at least 2, got {particles}")
    steps = count_of("most_steps", most_steps)
    draw = _Splitting(step, start, level, wanted, many, steps, name)
    version = f"to {wanted:.15g} with {many} particles"  # a stored run notices a change
    return Arm(draw, name=name, bounds=(0.0, 1.0), version=version)


class _Paths:
    """Many paths: for each, the states at which its level was higher than before.

    Row i of `levels` and `states` belongs to path i; its first `count[i]` entries are used, and
    their levels grow. `highest` is the level of the last one, -inf before the first.
    """

    def __init__(self, states: Any) -> None:
        many = len(states)
        self.highest = np.full(many, -np.inf)
        self.steps = np.zeros(many)
        self.count = np.zeros(many, np.intp)
        self.levels = np.empty((many, 16))
        self.states = np.empty((many, 16, *states.shape[1:]), states.dtype)

    def record(self, which: NDArray[np.intp], levels: Floats, states: Any) -> None:
        """Add states to the paths whose level is higher than ever before."""
        higher = levels > self.highest[which]
        which, levels, states = which[higher], levels[higher], states[higher]
        if not len(which):
            return
        if states.dtype != self.states.dtype:
            self.states = self.states.astype(np.promote_types(states.dtype, self.states.dtype))
        place = self.count[which]
        if place.max() == self.levels.shape[1]:
            self.levels = np.concatenate((self.levels, np.empty_like(self.levels)), axis=1)
            self.states = np.concatenate((self.states, np.empty_like(self.states)), axis=1)
        self.levels[which, place] = self.highest[which] = levels
        self.states[which, place] = states
        self.count[which] += 1

    def branch(self, which: NDArray[np.intp], others: NDArray[np.intp], passed: Floats) -> Any:
        """Start paths again where others first passed a level, and return these states.

        What came before will not be needed: levels that paths have to pass only grow.
        """
        used = np.arange(self.levels.shape[1]) < self.count[others, None]
        first = ((self.levels[others] <= passed[:, None]) & used).sum(axis=1)
        states = self.states[others, first]
        self.levels[which, 0] = self.highest[which] = self.levels[others, first]
        self.states[which, 0] = states
        self.count[which] = 1
        return states


@dataclass(frozen=True)
class _Splitting:
    #: A replication is a product of many fractions; the interval of `estimate` allows for its skew.
    lognormal: ClassVar[bool] = True

    step: Callable[[np.random.Generator, Any], Any]
    start: Callable[[np.random.Generator, int], Any]
    level: Callable[[Any], Any]
    target: float
    particles: int
    most_steps: int
    name: str

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        """Return `size` replications, with the number of steps that each has simulated."""
        at_once = max(1, _TOGETHER // self.particles)
        parts = [min(at_once, size - made) for made in range(0, size, at_once)]
        values, costs = zip(*(self._replications(rng, part) for part in parts), strict=True)
        return Draws(np.concatenate(values), np.concatenate(costs))

    def _replications(self, rng: np.random.Generator, many: int) -> tuple[Floats, Floats]:
        """Return the estimates of independent replications, and their steps.

        Row r of `highest` has the paths of replication r. Paths up to the kth lowest maximum Z, and
        all that are level with it, are replaced: the estimate stays unbiased if levels tie.
        """
        N, k = self.particles, max(1, int(_REPLACED * self.particles))
        paths = self._first_paths(rng, many * N)
        highest = paths.highest.reshape(many, N)  # a view: it follows the paths
        estimate, rows = np.ones(many), np.arange(many)
        while True:
            Z = np.partition(highest[rows], k - 1, axis=1)[:, k - 1]
            unfinished = self.target > Z
            rows, Z = rows[unfinished], Z[unfinished]
            low = highest[rows] <= Z[:, None]
            alive = N - low.sum(axis=1)
            estimate[rows] *= alive / N
            rows, Z, low, alive = (each[alive > 0] for each in (rows, Z, low, alive))
            if not len(rows):
                break
            row, column = low.nonzero()
            rank = (rng.random(len(row)) * alive[row]).astype(np.intp)
            other = np.argsort(low, axis=1, kind="stable")[row, rank]  # those alive come first
            killed = rows[row] * N + column
            states = paths.branch(killed, rows[row] * N + other, Z[row])
            self._run(rng, paths, killed, states)
        estimate *= (highest >= self.target).mean(axis=1)
        return estimate, np.maximum(paths.steps.reshape(many, N).sum(axis=1), 1.0)

    def _first_paths(self, rng: np.random.Generator, many: int) -> _Paths:
        states = np.array(self.start(rng, many))
        if states.shape[:1] != (many,):
            message = f"start was asked for {many} states and returned the shape {states.shape}"
            raise ArmError(message, arm=self.name, value=states)
        paths, everyone = _Paths(states), np.arange(many)
        paths.record(everyone, self._levels(states), states)
        self._run(rng, paths, everyone, states)
        return paths

    def _run(
        self, rng: np.random.Generator, paths: _Paths, which: NDArray[np.intp], states: Any
    ) -> None:
        """Simulate paths from these states until each has ended or has reached the target."""
        levels = paths.highest[which]
        for _ in range(self.most_steps):
            going = (levels > -np.inf) & (levels < self.target)
            if not going.all():
                which, states = which[going], states[going]
            if not len(which):
                return
            before, states = states.shape, np.asarray(self.step(rng, states))
            if states.shape != before:
                message = f"step was given states of the shape {before} and returned {states.shape}"
                raise ArmError(message, arm=self.name, value=states)
            levels = self._levels(states)
            paths.steps[which] += 1
            paths.record(which, levels, states)
        raise ArmError(
            f"a path did not end in most_steps={self.most_steps} steps: level must return -inf "
            "where the simulation ends",
            arm=self.name,
        )

    def _levels(self, states: Any) -> Floats:
        levels = np.asarray(self.level(states), float)
        if levels.shape != (len(states),) or np.isnan(levels).any():
            raise ArmError(
                f"level must return one number for each of {len(states)} states, not NaN; it "
                f"returned the shape {levels.shape}",
                arm=self.name,
                value=levels,
            )
        return levels
