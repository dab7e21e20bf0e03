"""The pilot of a ladder: a short tempered run, with its own random stream, that finds the mass.

It sets the steps of Metropolis moves and the schedule of a ladder before anything is drawn. None
of its draws enters an estimate, so the arms stay exact even if the pilot is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.slices import Chains
from croupier.annealing.walks import Level, autoregress
from croupier.data.draws import Floats
from croupier.distributions.fit import moments, shrunk
from croupier.distributions.normal import root_of
from croupier.distributions.weights import systematic

__all__ = ["explore"]

#: The share of the effective sample that is left at the next level.
LEFT: Final = 1 / 4

#: The number of points of a pilot, and how many more it has for each dimension.
FIRST: Final = 200
MORE: Final = 40

#: At least this share of the points must have a likelihood above 0. If it is smaller, a pilot
#: starts with up to ten times its points. A last level with a smaller effective share is moved.
FEW: Final = LEFT / 4
TIMES: Final = 10

#: Moves at each level: at least the first number. They stop when step^2 times the share that moved
#: adds up to the second number, as the points then no longer depend on where they were; if moves
#: seldom reach the tails, to twice as much. There are never more than the third number.
MOVES: Final = 3
FORGOTTEN: Final = 1.5
MOST_MOVES: Final = 25

#: The share of moves that the steps aim at.
ACCEPTED: Final = 0.5

#: Degrees of freedom of the moves in normal numbers behind a prior, and of moves where normal ones
#: are seldom accepted.
FREEDOM: Final = 5.0

#: A pilot has at most this many levels; the rest of the way is one step.
MOST_LEVELS: Final = 200

#: The smallest rise of beta. A log-likelihood of -1e17 at most points of the prior is not unusual.
TINY: Final = 1e-100


def explore(model: Model, rng: np.random.Generator) -> tuple[Level, ...] | None:
    """Return levels up to beta = 1, each close enough to the one before; the prior is not a level.

    None if the likelihood was 0 at all points of the prior. Sequential Monte Carlo (Del Moral,
    Doucet and Jasra 2006): each level is as far away as the effective size of the sample allows. At
    each level the points are resampled, and then moved by autoregressive moves.
    """
    size = FIRST + MORE * model.dimensions
    points = model.start(rng, size)
    likelihood = model.likelihood(points)
    while (alive := np.count_nonzero(likelihood > -np.inf)) < FEW * size:
        if len(points) >= TIMES * size:
            break
        more = model.start(rng, size)
        points = np.concatenate((points, more))
        likelihood = np.concatenate((likelihood, model.likelihood(more)))
    if alive < 2:
        return None
    chains = Chains(points, model.started(points), likelihood)
    beta, step, freedom = 0.0, 1.0, np.inf if not model.normal else FREEDOM
    rise, weights, effective = _rise(chains.likelihood, 1.0)
    levels: list[Level] = []
    while True:
        beta = 1.0 if rise == 1 - beta else beta + rise
        level = Level(beta, *_fitted(chains.points, weights, model.scale), step, freedom)
        if beta == 1 and effective >= FEW * size:  # there is no next level: weights are enough
            break
        kept = systematic(rng, weights, size)
        chains = Chains(chains.points[kept], chains.prior[kept], chains.likelihood[kept])
        level = _settled(rng, chains, level, model)
        step, freedom = level.step, level.freedom
        level = Level(beta, *_fitted(chains.points, np.ones(size), model.scale), step, freedom)
        last = len(levels) >= MOST_LEVELS
        rise, weights, effective = _rise(chains.likelihood, 1 - beta, last=last)
        if beta == 1:
            break
        levels.append(level)
    return (*levels, level)


def _settled(rng: np.random.Generator, chains: Chains, level: Level, model: Model) -> Level:
    """Move points until they no longer depend on where they were; return the level."""

    def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
        return model.evaluate(trial)

    gone = 0.0
    for moves in range(MOST_MOVES):
        if moves >= MOVES:
            if gone >= (FORGOTTEN if level.freedom > FREEDOM else 2 * FORGOTTEN):
                break
            if level.freedom > FREEDOM:
                level = replace(level, freedom=FREEDOM)
        share = autoregress(rng, chains, level.beta, evaluate, level)
        gone += share * level.step**2
        step = float(np.clip(level.step * np.exp(share - ACCEPTED), 0.01, 1.0))
        level = replace(level, step=step)
    return level


def _weighted(likelihood: Floats, rise: float) -> tuple[Floats, float]:
    """Return weights for a rise of beta, and the effective number of points that are left."""
    weights = np.exp(rise * (likelihood - likelihood.max()))
    weights /= weights.sum()
    return weights, 1 / float(weights @ weights)


def _rise(likelihood: Floats, most: float, *, last: bool = False) -> tuple[float, Floats, float]:
    """Return how far beta may rise before too little of the effective sample is left.

    Also return the weights for this rise, and the effective size.
    """
    target = LEFT * np.count_nonzero(likelihood > -np.inf)
    weights, effective = _weighted(likelihood, most)
    if effective >= target or last:
        return most, weights, effective
    low, high = 0.0, most
    while high - low > 1e-2 * high and high > TINY:
        middle = 0.5 * (low + high) if low else high / 10
        enough = _weighted(likelihood, middle)[1] >= target
        low, high = (middle, high) if enough else (low, middle)
    rise = low or high
    return rise, *_weighted(likelihood, rise)


def _fitted(points: Floats, weights: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the mean of weighted points, and the root of their covariance."""
    mean, covariance, effective = moments(points, weights)
    covariance.flat[:: len(mean) + 1] = np.maximum(covariance.diagonal(), 1e-12 * spread**2)
    return mean, root_of(shrunk(covariance, mean, effective))
