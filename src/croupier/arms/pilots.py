"""A pilot: a short tempered run, from a stream of its own, that finds where the mass is.

It settles the steps of Metropolis moves and the schedule of a ladder before anything is drawn;
no draw of it enters an estimate, so whatever it finds, the arms stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.models import Model
from croupier.arms.slices import Chains
from croupier.arms.walks import Level, autoregress
from croupier.draws import Floats

__all__ = ["LEFT", "Pilot", "explore"]

#: The share of the effective sample that is left at the next level.
LEFT: Final = 1 / 4

#: Moves at each level, and the share of moves that the steps aim at.
MOVES: Final = 3
ACCEPTED: Final = 0.5

#: No pilot takes more levels than this; what is left, it takes in one step.
MOST: Final = 200


@dataclass(frozen=True)
class Pilot:
    """What a pilot found: levels from beta = 0 to 1, each within reach of the one before.

    `chains` are at the last level, with `weights`; `excess` is the relative variance of the
    likelihood under the prior, as far as the pilot saw it.
    """

    levels: tuple[Level, ...]
    chains: Chains
    weights: Floats
    excess: float

    def betas(self, temperatures: int) -> Floats:
        """Return a schedule with as many temperatures between any two levels."""
        known = [level.beta for level in self.levels]
        u = np.linspace(0, len(known) - 1, temperatures)
        return np.asarray(np.interp(u, np.arange(len(known)), known))


def explore(model: Model, rng: np.random.Generator, particles: int | None = None) -> Pilot | None:
    """Return what a tempered run of some particles finds, None if the likelihood was 0 at all.

    Sequential Monte Carlo (Del Moral, Doucet and Jasra 2006): each level is as far away as the
    effective size of the sample allows; resampling, then autoregressive moves.
    """
    d = model.dimensions
    size = 200 + 40 * d if particles is None else particles
    points = model.start(rng, size)

    def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
        return model.evaluate(trial)

    chains = Chains(points, *model.evaluate(points))
    if np.isfinite(chains.likelihood).sum() < 2:
        return None
    beta, step = 0.0, 1.0
    weights = uniform = np.full(size, 1 / size)
    levels = [Level(0.0, *_fit(chains.points, uniform, model.spread))]
    excess = float(size * np.square(_weights(chains.likelihood, 1.0)).sum() - 1)
    while beta < 1:
        rise = 1 - beta if len(levels) > MOST else _rise(chains.likelihood, 1 - beta)
        beta = 1.0 if rise == 1 - beta else beta + rise
        weights = _weights(chains.likelihood, rise)
        level = Level(beta, *_fit(chains.points, weights, model.spread), step)
        if beta < 1:  # at the last one there is nothing to go on to: weights will do
            kept = _systematic(rng, weights)
            chains = Chains(chains.points[kept], chains.prior[kept], chains.likelihood[kept])
            for _ in range(MOVES):
                share = autoregress(rng, chains, beta, evaluate, level)
                step = float(np.clip(step * np.exp(share - ACCEPTED), 0.01, 1.0))
                level = Level(beta, level.mean, level.root, step)
            level = Level(beta, *_fit(chains.points, uniform, model.spread), step)
        levels.append(level)
    return Pilot(tuple(levels), chains, weights, excess)


def _weights(likelihood: Floats, rise: float) -> Floats:
    weights = np.exp(rise * (likelihood - likelihood.max()))
    return np.asarray(weights / weights.sum())


def _rise(likelihood: Floats, most: float) -> float:
    """Return how far the temperature may rise before too little of the effective sample is left."""
    target = LEFT * np.isfinite(likelihood).sum()

    def enough(rise: float) -> bool:
        return bool(1 / np.square(_weights(likelihood, rise)).sum() >= target)

    if enough(most):
        return most
    low, high = 0.0, most
    while high - low > 1e-2 * high and high > 1e-12:
        middle = 0.5 * (low + high) if low else high / 10
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low or high


def _systematic(rng: np.random.Generator, weights: Floats) -> Any:
    size = len(weights)
    kept = np.searchsorted(np.cumsum(weights), (rng.random() + np.arange(size)) / size)
    return np.minimum(kept, size - 1)


def _fit(points: Floats, weights: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return mean and root of the covariance, shrunk towards independent coordinates."""
    mean = weights @ points
    centred = points - mean
    covariance = (weights[:, None] * centred).T @ centred
    effective = 1 / np.square(weights).sum()
    d = len(mean)
    variances = np.maximum(np.diag(covariance), 1e-12 * spread**2)
    shrunk = d / (d + effective)
    covariance = (1 - shrunk) * covariance
    covariance[np.diag_indices(d)] = variances
    return mean, np.linalg.cholesky(covariance)
