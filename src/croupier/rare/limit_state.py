"""LimitState: the user's function g, called with many points or with one, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from croupier.data.draws import Draws, Floats
from croupier.distributions.normal import log_standard_normal
from croupier.errors import ArmError, PlanError
from croupier.functions.failures import OnFailure, both_ends
from croupier.functions.function import GRADIENT, LIMIT_STATE, Function
from croupier.functions.read_function import enough_points, read_function
from croupier.rare.rounds import events_of
from croupier.spaces.base import Space

__all__ = ["Evaluated", "LimitState", "limit_state"]

#: If calls may fail, g is tried at so many places: with 5 % failures, 1 run in 10^12 finds none.
_PLACES: Final = 12

#: What a batch knows of its round goes back to the table, which begins a stored round with it.
_KEPT: Final = ("round", "phase", "planned", "epoch", "stopped", "promised")


@dataclass(frozen=True)
class LimitState:
    """g minus the limit, as a function of standard normal points: (n, d) to (n, m)."""

    g: Function
    space: Space
    below: float
    gradient: Function | None = None
    on_failure: OnFailure = "raise"

    @property
    def states(self) -> int:
        """The number of limit states; with bounds, one where failed calls are safe, one more."""
        return int(np.prod(self.g.shape, dtype=int)) + (self.on_failure == "bounds")

    def at(self, x: Floats) -> tuple[Floats, int]:
        """Return g minus the limit at the user's points (n, k), as (n, m), and the failed calls."""
        if self.on_failure == "raise":
            return self.g(x).reshape(len(x), self.states) - self.below, 0
        values, failed = self.g.evaluated(x)
        g = values.reshape(len(x), -1) - self.below
        if self.on_failure == "bounds":
            g = both_ends(g, (np.inf, -np.inf))
        else:
            g[list(failed)] = np.inf if self.on_failure == "safe" else -np.inf
        return g, len(failed)

    def slope_at(self, z: Floats) -> Floats:
        """Return the gradient of g for standard normal points z (n, d), as (n, m, d)."""
        assert self.gradient is not None
        x = np.asarray(self.space.from_normal(z), float)
        slope = self.space.pulled_back(z, self.gradient(x).reshape(len(x), self.states, -1))
        return np.where(np.isfinite(slope), slope, 0.0)


@dataclass(frozen=True)
class Evaluated:
    """The arm of a phase: evaluates a limit state at points that its table asks for."""

    limit: LimitState

    def draw(self, rng: np.random.Generator, size: int, state: Mapping[str, Any]) -> Draws:
        """Return the weighted failures of an estimate, or the failures of a search."""
        points, own, mixture = state["points"], state["own"], state["mixture"]
        if points is not None:
            z = points
        else:
            z = mixture.mixture.placed(mixture.mixture.noise(rng, size), own)
        x = self.limit.space.from_normal(z)
        g, failed = self.limit.at(x)
        fails = events_of(g) < 0
        values = fails.astype(float)
        if state["phase"] == "estimate":
            values *= np.exp(log_standard_normal(z) - mixture.mixture.log_density(z))[:, None]
        elif state["phase"] == "fresh":
            base, weight = state["terms"]
            values = base[:, None] + weight[:, None] * fails
        kept = {name: state[name] for name in _KEPT}
        there = np.asarray(x[fails.any(axis=1)], float)
        extra = {**kept, "x": z, "g": g, "own": own, "there": there}
        if state["phase"] == "descent":
            extra["slope"] = self.limit.slope_at(z)
        if failed:
            extra["failed"] = failed
        if state["first"] and mixture is not None:
            extra["mixture"] = mixture.arrays()
        return Draws(values[:, 0] if self.limit.states == 1 else values, None, extra)


def limit_state(
    g: Any,
    space: Space,
    below: float,
    gradient: Any = None,
    *,
    on_failure: OnFailure = "raise",
    retries: int = 0,
) -> LimitState:
    """Find out how g is called and how many limit states it has, at points near the centre."""
    d = space.dimension
    n = enough_points(d)
    if space.from_normal(np.zeros((1, d))).shape[1:] == (n,):
        n += 1
    # Where calls may fail, one place may fail by chance.
    places = 1 if on_failure == "raise" else _PLACES
    z = 0.1 * np.linspace(-1, 1, n)[:, None] * np.ones(d)
    points = [space.from_normal(z + 0.0731 * k) for k in range(places)]
    found = read_function(g, points, LIMIT_STATE, retries=retries)
    x = points[0]
    if on_failure == "bounds" and found.shape:
        raise PlanError(
            "on_failure='bounds' is for one limit state: return that of the system, such as "
            "g.min(axis=1)"
        )
    if on_failure != "raise" and gradient is not None:
        raise PlanError("gradient= needs on_failure='raise': failed calls have no gradient")
    made = LimitState(found, space, float(below), on_failure=on_failure)
    if found.logical and not 0 < below <= 1:
        raise PlanError(
            "g returned True or False, and neither is below "
            f"{below:g}: return a number that is below it where g fails. A margin that falls "
            "towards the failure is best; np.where(fails, -1.0, 1.0) will do"
        )
    return made if gradient is None else _with_gradient(made, gradient, z, x)


def _with_gradient(made: LimitState, gradient: Any, z: Floats, x: Floats) -> LimitState:
    """Return a limit state with its gradient, which is called as g is."""
    if not callable(gradient):
        raise PlanError(f"gradient must be a function of the points of g, got {gradient!r:.100}")
    several = made.g.shape if made.states > 1 else ()
    called = Function(gradient, made.g.takes, GRADIENT, (*several, x[0].size))
    made = replace(made, gradient=called)
    try:
        made.slope_at(z)
    except ArmError as error:
        raise PlanError(
            f"near the centre of the distribution: {error}; it is called as g is"
        ) from error
    return made
