"""A pilot: a short tempered run, from a stream of its own, that finds where the mass is.

It settles the steps of Metropolis moves and the schedule of a ladder before anything is drawn;
no draw of it enters an estimate, so whatever it finds, the arms stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.arms.models import Model
from croupier.arms.slices import Chains
from croupier.arms.walks import Level, autoregress
from croupier.draws import Floats
from croupier.ledger import effective_df

__all__ = ["LEFT", "Pilot", "Start", "explore"]

#: The share of the effective sample that is left at the next level.
LEFT: Final = 1 / 4

#: A pilot has so many points, and so many more for each dimension.
FIRST: Final = 200
MORE: Final = 40

#: Moves at each level, and the share of moves that the steps aim at.
MOVES: Final = 3
ACCEPTED: Final = 0.5

#: No pilot takes more levels than this; what is left, it takes in one step.
MOST: Final = 200


@dataclass(frozen=True)
class Pilot:
    """What a pilot found: levels up to beta = 1, each within reach of the one before.

    The prior itself, at 0, is none of them. `chains` are at the last level, with `weights` that
    are worth `effective` independent points; `excess` is the relative variance of the likelihood
    under the prior, as far as the pilot saw it.
    """

    levels: tuple[Level, ...]
    chains: Chains
    weights: Floats
    effective: float
    excess: float

    def betas(self, temperatures: int) -> Floats:
        """Return a schedule with as many temperatures between any two levels."""
        known = [0.0, *[level.beta for level in self.levels]]
        u = np.linspace(0, len(known) - 1, temperatures)
        return np.asarray(np.interp(u, np.arange(len(known)), known))


class Start(NamedTuple):
    """Points of the prior, where a pilot starts, and the log-likelihood there."""

    points: Floats
    likelihood: Floats

    @classmethod
    def of(cls, model: Model, rng: np.random.Generator, size: int = FIRST) -> Start:
        """Return so many points."""
        points = model.start(rng, size)
        return cls(points, model.likelihood(points))

    def enough(self, precision: float, df: float) -> float:
        """Return how many draws of the prior alone have a mean likelihood of such a relative error.

        Their sample variance is to be known with `df` degrees of freedom, too.
        """
        n = len(self.likelihood)
        draws = np.exp(self.likelihood - self.likelihood.max())
        away = draws / draws.mean() - 1
        squares = away * away
        m2, m4 = float(squares.sum()), float(squares @ squares)
        if m2 == 0:
            return df
        return max(m2 / (n - 1) / precision**2, float(df * n / effective_df(n, m2, m4)))


def explore(model: Model, rng: np.random.Generator, first: Start | None = None) -> Pilot | None:
    """Return what a tempered run finds, None if the likelihood was 0 at all points of the prior.

    Sequential Monte Carlo (Del Moral, Doucet and Jasra 2006): each level is as far away as the
    effective size of the sample allows; resampling, then autoregressive moves. `first` are points
    that the rng has made already.
    """
    first = first or Start.of(model, rng)
    rest = Start.of(model, rng, MORE * model.dimensions)
    points, likelihood = (np.concatenate(parts) for parts in zip(first, rest, strict=True))
    size = len(points)

    def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
        return model.evaluate(trial)

    chains = Chains(points, model.started(points), likelihood)
    if np.count_nonzero(np.isfinite(chains.likelihood)) < 2:
        return None
    beta, step = 0.0, 1.0
    rise, weights, effective = _rise(chains.likelihood, 1.0)
    whole = effective if rise == 1 else _weighted(chains.likelihood, 1.0)[1]
    levels: list[Level] = []
    while True:
        beta = 1.0 if rise == 1 - beta else beta + rise
        level = Level(beta, *_fit(chains.points, weights, effective, model.spread), step)
        if beta == 1:  # there is nothing to go on to: weights will do
            break
        kept = _systematic(rng, weights)
        chains = Chains(chains.points[kept], chains.prior[kept], chains.likelihood[kept])
        for _ in range(MOVES):
            share = autoregress(rng, chains, beta, evaluate, level)
            step = float(np.clip(step * np.exp(share - ACCEPTED), 0.01, 1.0))
            level = replace(level, step=step)
        level = Level(beta, *_fit(chains.points, np.full(size, 1 / size), size, model.spread), step)
        levels.append(level)
        rise, weights, effective = _rise(chains.likelihood, 1 - beta, last=len(levels) >= MOST)
    return Pilot((*levels, level), chains, weights, effective, size / whole - 1)


def _weighted(likelihood: Floats, rise: float) -> tuple[Floats, float]:
    """Return weights for a rise of the temperature, and how many points they leave."""
    weights = np.exp(rise * (likelihood - likelihood.max()))
    weights /= weights.sum()
    return weights, 1 / float(weights @ weights)


def _rise(likelihood: Floats, most: float, *, last: bool = False) -> tuple[float, Floats, float]:
    """Return how far the temperature may rise before too little of the effective sample is left.

    With it, the weights for it and the effective size.
    """
    target = LEFT * np.count_nonzero(np.isfinite(likelihood))
    weights, effective = _weighted(likelihood, most)
    if effective >= target or last:
        return most, weights, effective
    low, high = 0.0, most
    while high - low > 1e-2 * high and high > 1e-12:
        middle = 0.5 * (low + high) if low else high / 10
        enough = _weighted(likelihood, middle)[1] >= target
        low, high = (middle, high) if enough else (low, middle)
    rise = low or high
    return rise, *_weighted(likelihood, rise)


def _systematic(rng: np.random.Generator, weights: Floats) -> Any:
    size = len(weights)
    kept = np.searchsorted(np.cumsum(weights), (rng.random() + np.arange(size)) / size)
    return np.minimum(kept, size - 1)


def _fit(
    points: Floats, weights: Floats, effective: float, spread: Floats
) -> tuple[Floats, Floats]:
    """Return mean and root of the covariance, shrunk towards independent coordinates."""
    mean = weights @ points
    centred = points - mean
    covariance = (weights[:, None] * centred).T @ centred
    d = len(mean)
    variances = np.maximum(covariance.diagonal(), 1e-12 * spread**2)
    shrunk = d / (d + effective)
    covariance = (1 - shrunk) * covariance
    covariance.flat[:: d + 1] = variances
    return mean, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
