"""The modes of a posterior: two independent searches, compared and joined, and a law fitted to all.

None of their points enters an estimate, so the arms stay exact even if a mode was missed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from croupier.annealing.climbs import at_level, with_peaks
from croupier.annealing.clusters import fit_mixture, refit
from croupier.annealing.fitted import FREEDOM, HEAVIER, FittedModes
from croupier.annealing.mixtures import Mixture, MixtureLevel
from croupier.annealing.models import Model, search_streams
from croupier.annealing.pilots import LEFT
from croupier.annealing.search import COST, Found, early_points, evaluations_of, search
from croupier.data.draws import Floats

__all__ = ["Modes", "affordable", "doubts", "find_modes", "searched", "unseen"]

#: Rounds in which the law is fitted to weighted points of its own.
ROUNDS: Final = 2

#: A fit needs this many effective points for each dimension and component.
ENOUGH: Final = 4.0

#: The scale of the fitted law over that of the points: too wide costs little.
WIDER: Final = 1.1

#: Lighter tails must lower the variance by this factor.
LIGHTER: Final = 1.3

#: A search needs at least this many early points.
LEAST: Final = 300

#: Two searches agree if their values of log Z are at most so far apart.
APART: Final = 1.0

#: A mode with this many times 1/(early points) of the tempered mass is seldom missed: the chance
#: that none of the points is there is below 1 in 20.
SEEN: Final = 3.0


@dataclass(frozen=True, eq=False)
class Modes:
    """What the searches found: levels up to beta = 1, and a law fitted to the posterior.

    `fit_excess` is the relative variance of the weights of `law`, and `excess` that of the
    likelihood under the prior. `log_z` has the estimate of each search. `early` is the number of
    their points at the first level.
    """

    levels: tuple[MixtureLevel, ...]
    law: Mixture
    fit_excess: float
    excess: float
    log_z: tuple[float, ...]
    evaluations: int
    early: int

    @classmethod
    def none(cls, evaluations: int) -> Modes:
        """Return what is known without a search, which would have taken so many evaluations."""
        nothing = np.empty((0, 0))
        law = Mixture(np.empty(0), nothing, np.empty((0, 0, 0)), HEAVIER)
        return cls((), law, math.inf, math.inf, (), evaluations, 0)

    def betas(self, temperatures: int) -> Floats:
        """Return a schedule with the same number of temperatures between any two levels."""
        known = [0.0, *[level.beta for level in self.levels]]
        u = np.arange(temperatures) * (len(known) - 1) / (temperatures - 1)
        return np.asarray(np.interp(u, np.arange(len(known)), known))

    def report(self) -> dict[str, Any]:
        """Return what a user wants to know of the searches, as plain data."""
        if not self.levels:
            return {"searches": 0}
        return {
            "searches": len(self.log_z),
            "log_z": list(self.log_z),
            "modes": len(self.law.shares),
            "shares": self.law.shares.tolist(),
            "unexplored": unseen(self.early),
        }


def searched(model: Model, seed: int, allowed: float, seconds: float | None = None) -> Modes | None:
    """Return what two searches find with at most about so many evaluations and seconds.

    If they would have too few points, nothing is searched, and the modes have no levels.
    """
    if not affordable(allowed):
        return Modes.none(3 * evaluations_of(model))
    early = min(early_points(model), int(min(allowed, 1e12)) // (3 * COST))
    return find_modes(model, search_streams(seed), early, seconds, allowed)


def affordable(allowed: float) -> bool:
    """Return whether two searches can have enough points with so many evaluations."""
    return allowed >= 3 * COST * LEAST


def doubts(modes: Modes) -> list[str]:
    """Return the warnings about a search."""
    if not modes.levels:
        return [
            f"the budget was too small to search for modes, which takes {3 * COST * LEAST:,} to "
            f"{modes.evaluations:,} evaluations of the likelihood: if the posterior has several "
            "modes, some may be missing"
        ]
    low, high = min(modes.log_z), max(modes.log_z)
    # Where the law fits, it has the modes of both searches and of the climbs.
    if len(modes.log_z) < 2 or high - low <= APART or modes.fit_excess < 1:
        return []
    return [
        f"two searches for modes disagree: log Z is about {modes.log_z[0]:.2f} by the first and "
        f"{modes.log_z[1]:.2f} by the second; a mode may be missing in both: give more time, or "
        "compare several seeds"
    ]


def unseen(early: int) -> float:
    """Return the share of the tempered mass that a mode needs to be seen in 19 of 20 runs.

    >>> unseen(3000)
    0.001
    """
    return SEEN / early


def find_modes(
    model: Model,
    streams: Sequence[np.random.Generator],
    early: int | None = None,
    seconds: float | None = None,
    allowed: float = math.inf,
) -> Modes | None:
    """Return what independent searches find together; None if they saw only zeros.

    In a number of seconds, a search that would not end in time does not begin, and fewer points
    climb. A search that has used up half of the evaluations ends with one step. A search that the
    end of the pilot has cut off does not count.
    """
    decided = _at_once if model.meter is None else model.meter.decided
    began = time.perf_counter()
    until, taken = math.inf if seconds is None else began + seconds, 0.0
    found: list[Found] = []
    for rng in streams:
        start = time.perf_counter()
        late = float(start + 1.5 * taken > until)
        if found and decided(partial(float, late)):
            break
        each = search(model, rng, early, allowed / len(streams))
        if model.late():  # its last steps were too long
            break
        if each is not None:
            found.append(each)
        taken = time.perf_counter() - start
    if not found:
        return Modes.none(len(streams) * evaluations_of(model)) if model.late() else None
    best = max(found, key=lambda each: each.log_z)
    spent = sum(each.evaluations for each in found)
    left = 0.7 * max(until - time.perf_counter(), 0.0)
    in_time = math.inf if seconds is None else left * spent / (time.perf_counter() - began)
    most = decided(lambda: min(in_time, max(allowed - spent, 0.0)))
    law, peaks, climbed = with_peaks(model, streams[1], _joined(model, found), best.log_z, most)
    excess, law, polishing = _polished(model, streams[0], law)
    levels = best.levels
    for peak in peaks:
        levels = tuple(map(at_level, levels, [peak] * len(levels), best.trail))
    return Modes(
        levels,
        law,
        excess,
        LEFT ** -len(best.levels) - 1,
        tuple([float(each.log_z) for each in found]),
        spent + climbed + polishing,
        sum(each.early for each in found),
    )


def _at_once(choose: Callable[[], float]) -> float:
    """Return what is decided now."""
    return choose()


def _joined(model: Model, found: Sequence[Found]) -> Mixture:
    """Return a mixture fitted to the points of all searches, each with its own evidence."""
    top = max(each.log_z for each in found)
    weights = np.concatenate([math.exp(each.log_z - top) * each.shares for each in found])
    points = np.concatenate([each.chains.points for each in found])
    return fit_mixture(points, weights / weights.sum(), model.spread, HEAVIER)


def _polished(model: Model, rng: np.random.Generator, law: Mixture) -> tuple[float, Mixture, int]:
    """Fit the law to weighted points of its own; return its relative variance, and what it took."""
    d, k = model.dimensions, len(law.shares)
    size, spent = 1000 + 100 * d, 0
    best: tuple[float, Mixture] = (math.inf, law)
    for rounds in range(ROUNDS + 1):
        wide = replace(law, roots=math.sqrt(WIDER) * law.roots)
        points, logs = FittedModes(model, wide).weighted(rng, size)
        spent += size
        weights, excess = _relative(logs)
        if excess < best[0]:
            best = excess, wide
        if rounds == ROUNDS or 1 / float(weights @ weights) < ENOUGH * d * k or model.late():
            break
        law = refit(law, points, weights, model.spread)
    excess, law = best
    if excess < 1 and not model.late():  # tails matter little where the fit is poor
        light = replace(law, freedom=FREEDOM)
        _, logs = FittedModes(model, light).weighted(rng, size)
        spent += size
        if LIGHTER * (other := _relative(logs)[1]) < excess:
            return other, light, spent
    return excess, law, spent


def _relative(logs: Floats) -> tuple[Floats, float]:
    """Return weights that sum to 1, and the relative variance of the draws."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights, max(len(logs) * float(weights @ weights) - 1, 1e-3)
