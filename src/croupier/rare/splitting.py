"""splitting: an arm for rare events of a simulation in steps, by adaptive multilevel splitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from croupier.arms.base import Arm
from croupier.checks import count_of
from croupier.data.draws import Draws, Floats
from croupier.errors import ArmError, PlanError

__all__ = ["splitting"]


def splitting(
    step: Callable[[np.random.Generator, Any], Any],
    start: Callable[[np.random.Generator, int], Any],
    level: Callable[[Any], Any],
    target: float,
    *,
    particles: int = 100,
    most_steps: int = 100_000,
    name: str = "splitting",
) -> Arm:
    """Return an arm for the probability that a simulation reaches a level before it ends.

    Adaptive multilevel splitting (Cérou and Guyader 2007), in the form that is unbiased for steps
    of any kind (Bréhier, Gazeau, Goudenège, Lelièvre and Rousset 2016, algorithm 2). The paths with
    the lowest maximum are replaced by copies of others, which are simulated again from where they
    first passed that level. One draw is one replication with many particles. Its cost is the number
    of simulated steps, for `cost=`.

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
    return Arm(_Splitting(step, start, level, wanted, many, steps), name=name, bounds=(0.0, 1.0))


class _Paths:
    """Paths of a replication: for each, the states at which its level was higher than before."""

    def __init__(self, particles: int) -> None:
        self.levels: list[list[float]] = [[] for _ in range(particles)]
        self.states: list[list[Any]] = [[] for _ in range(particles)]

    @property
    def highest(self) -> Floats:
        return np.array([levels[-1] if levels else -np.inf for levels in self.levels])

    def record(self, which: NDArray[np.intp], levels: Floats, states: Any) -> None:
        """Add states to the paths whose level is higher than ever before."""
        for i, reached, state in zip(which, levels, states, strict=True):
            if not self.levels[i] or reached > self.levels[i][-1]:
                self.levels[i].append(float(reached))
                self.states[i].append(state)

    def copy_up_to(self, i: int, other: int, passed: float) -> None:
        """Make path i the beginning of another path, up to where that first passed a level."""
        first = next(k for k, reached in enumerate(self.levels[other]) if reached > passed)
        self.levels[i] = self.levels[other][: first + 1]
        self.states[i] = self.states[other][: first + 1]


@dataclass(frozen=True)
class _Splitting:
    step: Callable[[np.random.Generator, Any], Any]
    start: Callable[[np.random.Generator, int], Any]
    level: Callable[[Any], Any]
    target: float
    particles: int
    most_steps: int

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        """Return `size` replications, with the number of steps that each has simulated."""
        made = [self._replication(rng) for _ in range(size)]
        values, costs = np.array(made, float).T
        return Draws(values, costs)

    def _replication(self, rng: np.random.Generator) -> tuple[float, int]:
        N = self.particles
        states = np.array(self.start(rng, N))
        if states.shape[:1] != (N,):
            message = f"start was asked for {N} states and returned the shape {states.shape}"
            raise ArmError(message, arm="splitting", value=states)
        paths, everyone = _Paths(N), np.arange(N)
        steps = self._run(rng, paths, everyone, states)
        estimate = 1.0
        while True:
            highest = paths.highest
            lowest = float(highest.min())
            if lowest >= self.target:
                break
            killed = np.flatnonzero(highest <= lowest)
            alive = np.flatnonzero(highest > lowest)
            if not len(alive):
                return 0.0, steps
            estimate *= len(alive) / N
            for i, other in zip(killed, rng.choice(alive, len(killed)), strict=True):
                paths.copy_up_to(int(i), int(other), lowest)
            again = np.array([paths.states[i][-1] for i in killed])
            steps += self._run(rng, paths, killed, again)
        return estimate, steps

    def _run(
        self, rng: np.random.Generator, paths: _Paths, which: NDArray[np.intp], states: Any
    ) -> int:
        """Simulate paths from these states until each has ended or has reached the target."""
        steps = 0
        for _ in range(self.most_steps):
            levels = self._levels(states)
            over = np.isneginf(levels)
            paths.record(which[~over], levels[~over], states[~over])
            going = ~over & (levels < self.target)
            if not going.any():
                return max(steps, 1)
            which, states = which[going], np.array(self.step(rng, states[going]))
            if len(states) != len(which):
                message = f"step was given {len(which)} states and returned {len(states)}"
                raise ArmError(message, arm="splitting", value=states)
            steps += len(which)
        raise ArmError(
            f"a path did not end in most_steps={self.most_steps} steps: level must return -inf "
            "where the simulation ends",
            arm="splitting",
        )

    def _levels(self, states: Any) -> Floats:
        levels = np.asarray(self.level(states), float)
        if levels.shape != (len(states),) or np.isnan(levels).any():
            raise ArmError(
                f"level must return one number for each of {len(states)} states, not NaN; it "
                f"returned the shape {levels.shape}",
                arm="splitting",
                value=levels,
            )
        return levels
