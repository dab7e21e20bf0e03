"""A pilot: a short tempered run, with its own random stream, that finds where the mass is.

It sets the steps of Metropolis moves and the schedule of a ladder before anything is drawn. None
of its draws enters an estimate, so the arms stay exact even if the pilot is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.slices import Chains, Evaluate
from croupier.annealing.walks import Level, autoregress
from croupier.data.central_moments import effective_df
from croupier.data.draws import Floats

__all__ = [
    "COST",
    "FIRST",
    "LEFT",
    "TINY",
    "Pilot",
    "Start",
    "covariance_root",
    "explore",
    "systematic",
]

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

#: Degrees of freedom of the moves in a chart, and of moves where normal ones are seldom accepted.
FREEDOM: Final = 5.0

#: With at least the first number of points for each dimension, a covariance is shrunk by no more
#: than its narrowest direction allows: the direction must be wider than what shrinking adds, by
#: the second number.
ENOUGH: Final = 4.0
NARROW: Final = 5.0

#: About how many evaluations a pilot takes for each of its points.
COST: Final = 40

#: A pilot has at most this many levels; the rest of the way is one step.
MOST: Final = 200

#: The smallest rise of beta. A log-likelihood of -1e17 at most points of the prior is not unusual.
TINY: Final = 1e-100


@dataclass(frozen=True)
class Pilot:
    """What a pilot found: levels up to beta = 1, each close enough to the one before.

    The prior itself, at beta = 0, is not a level. `chains` are at the last level; with their
    `weights` they count as `effective` independent points. `excess` is the relative variance of
    the likelihood under the prior, as far as the pilot saw it.
    """

    levels: tuple[Level, ...]
    chains: Chains
    weights: Floats
    effective: float
    excess: float

    def betas(self, temperatures: int) -> Floats:
        """Return a schedule with the same number of temperatures between any two levels."""
        known = [0.0, *[level.beta for level in self.levels]]
        u = np.arange(temperatures) * (len(known) - 1) / (temperatures - 1)
        return np.asarray(np.interp(u, np.arange(len(known)), known))


class Start(NamedTuple):
    """The points of the prior where a pilot starts, and the log-likelihood there."""

    points: Floats
    likelihood: Floats

    @classmethod
    def of(cls, model: Model, rng: np.random.Generator, size: int = FIRST) -> Start:
        """Return this number of points."""
        points = model.start(rng, size)
        return cls(points, model.likelihood(points))

    @classmethod
    def joined(cls, parts: Sequence[Start]) -> Start:
        """Return the points of all parts."""
        points, likelihood = zip(*parts, strict=True)
        return cls(np.concatenate(points), np.concatenate(likelihood))

    def on(self, model: Model) -> Start:
        """Return these points in the coordinates of a model."""
        return self if model.chart is None else Start(model.chart.to(self.points), self.likelihood)

    def enough(self, precision: float, df: float) -> float:
        """Return how many draws of the prior alone give the mean likelihood a relative error.

        The draws must also give their sample variance `df` degrees of freedom.
        """
        n, top = len(self.likelihood), self.likelihood.max()
        if top == -np.inf:
            return np.inf
        draws = np.exp(self.likelihood - top)
        away = draws / draws.mean() - 1
        squares = away * away
        m2, m4 = float(squares.sum()), float(squares @ squares)
        if m2 == 0:
            return df
        return max(m2 / (n - 1) / precision**2, float(df * n / effective_df(n, m2, m4)))


def explore(
    model: Model,
    rng: np.random.Generator,
    first: Start | None = None,
    most: float = np.inf,
) -> Pilot | None:
    """Return what a tempered run finds, None if the likelihood was 0 at all points of the prior.

    Sequential Monte Carlo (Del Moral, Doucet and Jasra 2006): each level is as far away as the
    effective size of the sample allows. At each level the points are resampled, and then moved by
    autoregressive moves. `first` are points that the rng has made already. `most` is about the
    largest number of evaluations; if it is small, so is the number of points. When it is used up,
    or when the pilot is late, the rest of the way is one step.
    """
    first = first or Start.of(model, rng)
    size = int(max(len(first.points), min(FIRST + MORE * model.dimensions, most / COST)))
    if size > len(first.points):
        first = Start.joined([first, Start.of(model, rng, size - len(first.points))])
    points, likelihood = first
    while (alive := np.count_nonzero(likelihood > -np.inf)) < FEW * size:
        if len(points) >= TIMES * size or model.late():
            break
        more = Start.of(model, rng, size)
        points, likelihood = Start.joined([Start(points, likelihood), more])
    if alive < 2:
        return None

    count = len(points)

    def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
        nonlocal count
        count += len(trial)
        return model.evaluate(trial)

    moves = int(np.clip(most / (10 * size), MOVES, MOST_MOVES))
    chains = Chains(points, model.started(points), likelihood)
    beta, step, freedom = 0.0, 1.0, np.inf if model.chart is None else FREEDOM
    rise, weights, effective = _rise(chains.likelihood, 1.0)
    whole = effective if rise == 1 else _weighted(chains.likelihood, 1.0)[1]
    levels: list[Level] = []
    while True:
        beta = 1.0 if rise == 1 - beta else beta + rise
        fit = covariance_root(chains.points, weights, effective, model.spread)
        level = Level(beta, *fit, step, freedom)
        if beta == 1 and effective >= FEW * size:  # there is no next level: weights are enough
            break
        kept = systematic(rng, weights, size)
        chains = Chains(chains.points[kept], chains.prior[kept], chains.likelihood[kept])
        level = _settled(rng, chains, level, evaluate, moves, model)
        step, freedom = level.step, level.freedom
        fit = covariance_root(chains.points, np.full(size, 1 / size), size, model.spread)
        level = Level(beta, *fit, step, freedom)
        last = len(levels) >= MOST or count > most or model.late()
        rise, weights, effective = _rise(chains.likelihood, 1 - beta, last=last)
        if beta == 1:
            break
        levels.append(level)
    # The points of the prior count by their number; what is left at each level counts for more.
    excess = max(len(points) / whole, LEFT ** -len(levels)) - 1
    return Pilot((*levels, level), chains, weights, effective, excess)


def _settled(
    rng: np.random.Generator,
    chains: Chains,
    level: Level,
    evaluate: Evaluate,
    most: int,
    model: Model,
) -> Level:
    """Move points until they no longer depend on where they were; return the level."""
    gone = 0.0
    for moves in range(most):
        if model.late():
            break
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


def systematic(rng: np.random.Generator, weights: Floats, size: int) -> Any:
    """Return rows that are kept in a systematic resampling; each weight counts."""
    kept = np.searchsorted(np.cumsum(weights), (rng.random() + np.arange(size)) / size)
    return np.minimum(kept, len(weights) - 1)


def covariance_root(
    points: Floats, weights: Floats, effective: float, spread: Floats
) -> tuple[Floats, Floats]:
    """Return mean and root of the covariance, shrunk towards independent coordinates.

    It is shrunk by d/(d + effective), or by less if that would make a narrow direction wider.
    """
    mean = weights @ points
    centred = points - mean
    covariance = (weights[:, None] * centred).T @ centred
    d = len(mean)
    variances = np.maximum(covariance.diagonal(), 1e-12 * spread**2)
    shrunk = d / (d + effective)
    while True:
        shape = (1 - shrunk) * covariance
        shape.flat[:: d + 1] = variances
        root = np.linalg.cholesky(shape)
        # The variance of a coordinate given the coordinates before it.
        left = root.diagonal() ** 2 / variances
        if left.min() >= NARROW * shrunk or effective < ENOUGH * d or shrunk < 1e-8:
            return mean, np.asarray(root, dtype=np.float64)
        shrunk /= 100
