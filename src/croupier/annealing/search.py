"""A search for modes: a pilot with many early points, whose moves know every mode it has found.

A narrow mode holds a small share of the tempered mass at first, about w^beta s^(d (1 - beta)) for
the weight w and the width s. So the search starts with many points, keeps fewer at every level, and
fits a mixture to them at every level, so that points move within their own mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from croupier.annealing.clusters import fit_mixture
from croupier.annealing.mixtures import Mixture, MixtureLevel, Pace, move
from croupier.annealing.models import Model
from croupier.annealing.pilots import LEFT, TINY, systematic
from croupier.annealing.slices import Chains
from croupier.annealing.wandering import poor, wander
from croupier.data.draws import Floats

__all__ = ["COST", "Found", "early_points", "evaluations_of", "search"]

#: The points of the last level, and how many more there are for each dimension.
POINTS: Final = 300
MORE: Final = 50

#: The first level has this many times the points of the last, at most the second number, and each
#: level has this share of the points of the level before.
EARLY: Final = 15
MOST_EARLY: Final = 15_000
FEWER: Final = 0.7

#: Each mode keeps at least this many points, and the modes together at most half of all points.
KEPT: Final = 60

#: Degrees of freedom of the moves, with joint and with separate tails, and how many moves try each.
FREEDOM: Final = 5.0
LIGHTER: Final = 12.0
TRIED: Final = 4

#: Moves at each level: at least, at most, and how far they must go (see `pilots`).
MOVES: Final = 3
MOST_MOVES: Final = 30
FORGOTTEN: Final = 3.0

#: The moves of a level take at most this share of the evaluations that are left: a long way with
#: few moves is better than a way that ends with one large step.
LEVEL: Final = 0.1

#: A search has at most this many levels; the rest of the way is one step.
MOST_LEVELS: Final = 200

#: About how many evaluations a search takes for each of its early points.
COST: Final = 20


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found: its levels, and its weighted points at the last one.

    `trail` has the estimate of log Z at every level.
    """

    levels: tuple[MixtureLevel, ...]
    chains: Chains
    shares: Floats
    trail: tuple[float, ...]
    evaluations: int
    early: int

    @property
    def log_z(self) -> float:
        """The estimate of log Z."""
        return self.trail[-1]


def evaluations_of(model: Model) -> int:
    """Return about how many evaluations a search with all its points takes."""
    return COST * early_points(model)


def early_points(model: Model) -> int:
    """Return how many points the first level of a search has."""
    return min(EARLY * (POINTS + MORE * model.dimensions), MOST_EARLY)


def search(
    model: Model, rng: np.random.Generator, early: int | None = None, most: float = math.inf
) -> Found | None:
    """Return what one search finds; None if the likelihood was 0 at all points.

    After about `most` evaluations, or when the pilot is late, the rest
    of the way is one step.
    """
    size = POINTS + MORE * model.dimensions
    m = early_points(model) if early is None else early
    size = min(size, max(m // 3, 1))
    points = model.start(rng, m)
    likelihood = model.likelihood(points)
    count = m0 = m

    def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
        nonlocal count
        count += len(trial)
        return model.evaluate(trial)

    if np.count_nonzero(likelihood > -np.inf) < 2:
        return None
    chains, shares = Chains(points, model.started(points), likelihood), np.full(m, 1 / m)
    beta, log_z = 0.0, 0.0
    levels: list[MixtureLevel] = []
    trail: list[float] = []
    while beta < 1:
        rise, weights, grown = risen(
            chains.likelihood,
            shares,
            1 - beta,
            last=len(levels) >= MOST_LEVELS or count > most or model.late(),
        )
        log_z += grown
        trail.append(log_z)
        beta = 1.0 if rise == 1 - beta else beta + rise
        law = fit_mixture(chains.points, weights, model.spread, FREEDOM)
        m = max(size, int(FEWER * len(chains.points)))
        kept, shares = _resampled(rng, law, chains.points, weights, m)
        chains = Chains(chains.points[kept], chains.prior[kept], chains.likelihood[kept])
        moves = int(np.clip(LEVEL * (most - count) / len(kept), MOVES, MOST_MOVES))
        laws = [law]
        if law.dimensions > 1:
            separate = replace(law, freedom=LIGHTER, separate=True)
            laws.append(separate.skewed_like(chains.points, shares))
        level = _settled(rng, chains, beta, laws, evaluate, moves, model)
        levels.append(level)
    return Found(tuple(levels), chains, shares, tuple(trail), count, m0)


def risen(
    likelihood: Floats, shares: Floats, most: float, *, last: bool = False
) -> tuple[float, Floats, float]:
    """Return how far beta may rise, the weights then, and the log of the mean weight.

    A quarter of the effective sample is left.
    """
    top = likelihood.max()
    alive = likelihood > -np.inf
    before = 1 / float(shares[alive] @ shares[alive]) * float(shares[alive].sum()) ** 2

    def weighted(rise: float) -> tuple[Floats, float, float]:
        weights = shares * np.exp(rise * (likelihood - top))
        total = float(weights.sum())
        weights /= total
        return weights, 1 / float(weights @ weights), rise * top + math.log(total)

    weights, effective, grown = weighted(most)
    if effective >= LEFT * before or last:
        return most, weights, grown
    low, high = 0.0, most
    while high - low > 1e-2 * high and high > TINY:
        middle = 0.5 * (low + high) if low else high / 10
        low, high = (middle, high) if weighted(middle)[1] >= LEFT * before else (low, middle)
    rise = low or high
    weights, _, grown = weighted(rise)
    return rise, weights, grown


def _resampled(
    rng: np.random.Generator, law: Mixture, points: Floats, weights: Floats, size: int
) -> tuple[Any, Floats]:
    """Return the rows to keep and their shares: each mode is resampled apart, and none is lost."""
    member = law.log_parts(points).argmax(axis=1)
    k = len(law.shares)
    total = np.bincount(member, weights, k)
    least = min(KEPT, size // (2 * k))
    numbers = np.where(total > 0, np.maximum(np.rint(size * total), least), 0).astype(int)
    rows, shares = [], []
    for mode in np.flatnonzero(numbers):
        own = np.flatnonzero(member == mode)
        rows.append(own[systematic(rng, weights[own] / total[mode], numbers[mode])])
        shares.append(np.full(numbers[mode], total[mode] / numbers[mode]))
    return np.concatenate(rows), np.concatenate(shares)


def _settled(
    rng: np.random.Generator,
    chains: Chains,
    beta: float,
    laws: Sequence[Mixture],
    evaluate: Any,
    most: int,
    model: Model,
) -> MixtureLevel:
    """Move points until they no longer depend on where they were; return the level.

    There are at most `most` moves about the laws. The first moves are in turn about each of them.
    The law whose moves go further stays. Where all of them are poor, points also wander.
    """
    paces = [Pace(each) for each in laws]
    for moves in range(most):
        if model.late():
            break
        if moves == TRIED * len(paces):
            paces = [max(paces, key=lambda pace: pace.mean())]
        if len(laws[0].shares) > 1 and moves % 3 == 2:
            move(rng, chains, beta, evaluate, paces[0].level(beta), jump=True)
            continue
        pace = paces[moves % len(paces)]
        pace.add(*move(rng, chains, beta, evaluate, pace.level(beta)))
        furthest = max(each.mean() for each in paces)
        if moves >= MOVES and poor(furthest, chains.points.shape[1]):
            wander(rng, chains, beta, evaluate, pace.law)
        if moves + 1 >= MOVES and np.sum([each.gone for each in paces], axis=0).min() >= FORGOTTEN:
            break
    return max(paces, key=lambda pace: pace.mean()).level(beta)
