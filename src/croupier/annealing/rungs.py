"""The arms of a ladder: plain draws of the prior, a fitted law, and annealing, the best first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np

from croupier.annealing.annealed import Annealed, Kernel, compilable
from croupier.annealing.fitted import FREEDOM, HEAVIER, Fitted, FittedModes
from croupier.annealing.models import Model
from croupier.annealing.modes import Modes
from croupier.annealing.pilots import LEFT, Pilot
from croupier.annealing.slices import Slice

__all__ = ["LONG", "Builder", "Later", "Rung", "is_poor", "plain_arm"]

#: Arms whose chains take more evaluations than this are left out if another arm takes fewer.
LONG: Final = 20_000

#: The variances of a log-weight that the temperatures of a ladder aim at.
_AIMS: Final = (2.0, 0.7, 0.25)

#: A fitted distribution is judged by at most this many points.
_JUDGES: Final = 200

#: Arms that a pilot expects to be this many times worse than the best are left out.
_HOPELESS: Final = 50.0

#: A fitted distribution with a larger relative variance is poor: modes or curves are likely.
#: This matters only if a pilot has at least so many levels.
_POOR: Final = 3.0
_LONG: Final = 4

#: A fitted distribution gets heavier tails if they raise the variance by at most this factor.
_DEARER: Final = 1.3


@dataclass(frozen=True, eq=False)
class Later:
    """An arm that a pilot chooses when it is first called; every process chooses the same arm.

    Before it, `after` plain draws of the prior are made.
    """

    make: Callable[[], Annealed | Fitted | FittedModes]
    after: int
    version: str

    #: The arm returns logs, so `estimate` needs log=True.
    logs: ClassVar[bool] = True
    __name__: ClassVar[str] = "piloted"

    @cached_property
    def arm(self) -> Annealed | Fitted | FittedModes:
        """The arm that the pilot has chosen."""
        return self.make()

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return the log-weights of `size` draws."""
        return self.arm(rng, size)


#: An arm of a ladder.
Rung: TypeAlias = Annealed | Fitted | FittedModes | Later


def plain_arm(model: Model, moves: Kernel, *, costs: bool = False) -> Annealed:
    """Return plain sampling of the prior; no chain is moved."""
    return Annealed(model.named("prior"), np.array([0.0, 1.0]), moves, costs=costs)


class Builder(NamedTuple):
    """Makes arms from what a pilot found; `plain` is the model without a chart.

    Arms whose chains take more evaluations than `longest` are left out if another takes fewer.
    """

    plain: Model
    model: Model
    pilot: Pilot | Modes
    moves: Kernel
    sweeps: int
    costs: bool
    longest: float = LONG

    def annealed(self, temperatures: int) -> Annealed:
        """Return an arm with this number of temperatures on the pilot's schedule."""
        model, betas = self.model.named(f"ais-{temperatures}"), self.pilot.betas(temperatures)
        compiled = isinstance(self.moves, Slice) and compilable(model)
        return Annealed(model, betas, self.moves, self.sweeps, self.costs, compiled=compiled)

    def fitted(self) -> tuple[float, Fitted | FittedModes]:
        """Return the fitted distribution with the relative variance that a pilot expects."""
        model, pilot = self.model.named("fitted"), self.pilot
        if isinstance(pilot, Modes):
            return pilot.fit_excess, FittedModes(model, pilot.law, self.costs)
        fitted = Fitted(model, pilot.levels[-1], pilot.effective, self.costs)
        excess = _excess(fitted, pilot)
        if model.chart is not None:
            # Tails there are often between those of an exponential and a normal distribution.
            safer = replace(fitted, freedom=HEAVIER)
            if (other := _excess(safer, pilot)) < _DEARER * excess:
                return other, safer
        return excess, fitted

    def ladder(self) -> list[Rung]:
        """Return arms in the order of their expected cost times variance."""
        searched = isinstance(self.pilot, Modes)
        excess, fitted = self.fitted()
        expected: list[tuple[float, Annealed | Fitted | FittedModes]] = [(2 * excess, fitted)]
        if not searched:  # after a search, the prior is far from the posterior
            plain = plain_arm(self.plain, self.moves, costs=self.costs)
            expected.append((self.pilot.excess, plain))
        # One step per level adds -log(LEFT) to the variance of a log-weight; r steps add 1/r of it.
        levels = len(self.pilot.levels)
        whole = levels**2 * -math.log(LEFT)
        wanted = (math.ceil(whole / aim) for aim in (_AIMS[1:] if searched else _AIMS))
        annealed: list[Annealed] = []
        for steps in sorted({max(2, steps) for steps in wanted}):
            variance = math.expm1(whole / steps)
            annealed.append(self.annealed(steps + 1))
            expected.append((2 * steps * variance, annealed[-1]))
        longest = self.longest
        if expected[-1][1].evaluations > longest:  # the finest is the last
            most = max(longest, annealed[0].evaluations)
            expected = [pair for pair in expected if pair[1].evaluations <= most]
        expected.sort(key=lambda pair: pair[0])
        best = min(score for score, _ in expected)
        hopeful: list[Rung] = [arm for score, arm in expected if score <= _HOPELESS * best]
        # One arm must not depend on the fitted distribution, even if the pilot prefers it.
        rest = [arm for _, arm in expected if arm in annealed]
        return hopeful if any(arm in hopeful for arm in rest) else [*hopeful, rest[0]]


def is_poor(model: Model, pilot: Pilot) -> bool:
    """Return whether one Student's distribution fits the points of a pilot badly.

    A short way from the prior to the posterior needs no good fit.
    """
    if len(pilot.levels) < _LONG:
        return False
    level, effective = pilot.levels[-1], pilot.effective
    laws = (Fitted(model, level, effective, freedom=nu) for nu in (FREEDOM, HEAVIER))
    return all(_excess(law, pilot) > _POOR for law in laws)


def _excess(fitted: Fitted, pilot: Pilot) -> float:
    """Return the relative variance of the weights of `fitted`, from points of the posterior.

    With r = prior x likelihood/q there, E[r] = Z (1 + variance/Z^2) and E[1/r] = 1/Z.
    """
    chains, alive = pilot.chains, pilot.weights.nonzero()[0]
    alive = alive[:: 1 + len(alive) // _JUDGES]
    weights, prior = pilot.weights[alive], chains.prior[alive]
    r = prior + chains.likelihood[alive] - fitted.log_density(chains.points[alive], prior)
    r -= r.max()
    weights /= weights.sum()
    with np.errstate(over="ignore"):
        return max(float((weights @ np.exp(r)) * (weights @ np.exp(-r)) - 1), 1e-3)
