"""Climbs to the peaks of a posterior, for modes whose share of the tempered mass is tiny at first.

A search by tempering sees a mode only if it has some mass at every temperature. A narrow mode has
next to none at high temperatures, but points of the prior that are closer to it than to others
climb to it all the same. Many points are sorted by the known peaks that they lead to; those that
lead to none climb on, and where they end is compared with what the search has found. A peak that
the fitted law does not know gets a component of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.basins import explained, risen, sort_starts
from croupier.annealing.mixtures import Mixture, MixtureLevel
from croupier.annealing.models import Model
from croupier.annealing.pilots import covariance_root
from croupier.annealing.slices import Chains
from croupier.annealing.walks import accept
from croupier.data.draws import Floats

__all__ = ["Climbed", "Peak", "at_level", "climb", "tops_of", "with_peaks"]

#: Steps of a climb, and how many more there are for each dimension.
STEPS: Final = 40
MORE_STEPS: Final = 8

#: Climbs take at most about this many evaluations: if many points are left, some do not climb.
EVALUATIONS: Final = 200_000

#: And at most this share of what may be spent, and the shapes of peaks this share. Sorting gets
#: the rest: if it took all, no start could climb.
CLIMBING: Final = 0.3
SHAPING: Final = 0.2

#: Steps along the gradient before a climb.
RISES: Final = 4

#: After a step up the next one is longer, after a failure shorter: one of five goes up.
LONGER: Final = 0.8
SHORTER: Final = 0.2

#: A peak is unknown if the posterior there is this many times what the fitted law says.
UNKNOWN: Final = 100.0

#: At most this many peaks get a component.
MOST: Final = 12

#: Chains and moves that measure the shape of a peak, and how many more chains per dimension.
CHAINS: Final = 20
MORE_CHAINS: Final = 4
MOVES: Final = 150


class Peak(NamedTuple):
    """A peak: a normal approximation there, the log of its mass, and points around it.

    `arrivals` is the number of starts that led to it.
    """

    mean: Floats
    root: Floats
    top: Chains
    around: Chains
    arrivals: int = 1

    def log_mass(self, beta: float) -> float:
        """Return the log of the mass of the peak at a temperature, if it is about normal."""
        logs = float(np.log(self.root.diagonal()).sum())
        volume = 0.5 * len(self.mean) * math.log(2 * math.pi / beta) + logs
        return float(self.top.prior[0] + beta * self.top.likelihood[0]) + volume


class Climbed(NamedTuple):
    """What climbs found: a law that knows all peaks, those that are new, and who arrived where.

    `arrivals` has the number of starts that led to each component that was known before, and
    `starts` the number of starts whose peak is known.
    """

    law: Mixture
    peaks: list[Peak]
    arrivals: Any
    starts: int
    evaluations: int


def climb(model: Model, rng: np.random.Generator, chains: Chains) -> int:
    """Move points up to their peaks; return the evaluations that it took."""
    d, step = model.dimensions, np.full(len(chains.points), 0.1)
    count = sum(risen(model, chains) for _ in range(RISES))
    for _ in range(STEPS + MORE_STEPS * d):
        if model.late():
            break
        noise = rng.standard_normal(chains.points.shape) * (model.spread / math.sqrt(d))
        trial = chains.points + step[:, None] * noise
        prior, likelihood = model.evaluate(trial)
        count += len(trial)
        up = prior + likelihood > chains.prior + chains.likelihood
        chains.points[up] = trial[up]
        chains.prior[up], chains.likelihood[up] = prior[up], likelihood[up]
        step = np.minimum(step * np.where(up, math.exp(LONGER), math.exp(-SHORTER)), 1.0)
    return count


def tops_of(law: Mixture, chains: Chains) -> Chains:
    """Return the highest of the points of each component, or its mean's nearest if it has none."""
    height = chains.prior + chains.likelihood
    parts = law.log_parts(chains.points)
    member = parts.argmax(axis=1)
    own = [np.flatnonzero(member == k) for k in range(len(law.shares))]
    rows = [
        int(each[height[each].argmax()]) if each.size else int(parts[:, k].argmax())
        for k, each in enumerate(own)
    ]
    return chains.rows(rows)


def with_peaks(
    model: Model,
    rng: np.random.Generator,
    law: Mixture,
    tops: Chains,
    log_z: float,
    most: float = math.inf,
) -> Climbed:
    """Return the law with a component for each peak that it did not know.

    `tops` are the peaks that it knows, one for each component. `most` is about the largest number
    of evaluations.
    """
    d = model.dimensions
    climbing = min(EVALUATIONS, CLIMBING * most)
    shaping = min(MOST * (CHAINS + MORE_CHAINS * d) * MOVES, SHAPING * most)
    sort = sort_starts(model, rng, tops, most - climbing - shaping)
    each = STEPS + MORE_STEPS * d + RISES * (d + 5)
    left = len(sort.strays.points)
    number = max(min(left, int(climbing / each)), min(left, 2))
    ends = sort.strays.rows(np.arange(number))
    count = sort.evaluations + climb(model, rng, ends)
    height = ends.prior + ends.likelihood
    peaks: list[Peak] = []
    while number and len(peaks) < MOST:
        missing = height - log_z - law.log_density(ends.points)
        top = int(np.argmax(missing))
        if not missing[top] > math.log(UNKNOWN) or count > most or model.late():
            break
        peak, taken = _shape_of(model, rng, ends, top)
        count += taken
        mass = peak.log_mass(1.0)
        both = float(np.logaddexp(log_z, mass))
        law, log_z = with_component(law, peak, 1.0, math.exp(mass - both)), both
        # Whatever is left at this peak is the law's fault, not a mode's.
        near = (ends.points - peak.mean) @ np.linalg.inv(peak.root).T
        known = np.einsum("ij,ij->i", near, near) < 25 * d
        led, taken = explained(model, ends, peak.top)
        known |= led >= 0
        known[top] = True
        count += taken
        peaks.append(peak._replace(arrivals=int(np.count_nonzero(known & (height > -np.inf)))))
        height = np.where(known, -np.inf, height)
    starts = int(sort.arrivals.sum()) + number
    return Climbed(law, peaks, sort.arrivals, starts, count)


def with_component(law: Mixture, peak: Peak, beta: float, share: float) -> Mixture:
    """Return the mixture with one more component, which gets this share."""
    share = min(max(share, 1e-3), 1 - 1e-3)
    return replace(
        law,
        shares=np.append((1 - share) * law.shares, share),
        means=np.concatenate([law.means, peak.mean[None]]),
        roots=np.concatenate([law.roots, peak.root[None] / math.sqrt(beta)]),
    )


def at_level(level: MixtureLevel, peak: Peak, log_z: float) -> MixtureLevel:
    """Return a level that knows the peak, too; `log_z` is that of the level without it."""
    mass = peak.log_mass(level.beta)
    share = math.exp(mass - float(np.logaddexp(log_z, mass)))
    law = with_component(level.law, peak, level.beta, share)
    return MixtureLevel(level.beta, law, np.append(level.steps, 1.0))


def _shape_of(model: Model, rng: np.random.Generator, ends: Chains, top: int) -> tuple[Peak, int]:
    """Return the shape of the peak below an end of a climb, by chains that start there."""
    d = model.dimensions
    m = CHAINS + MORE_CHAINS * d
    chains = Chains(
        np.repeat(ends.points[top : top + 1], m, axis=0),
        np.full(m, ends.prior[top]),
        np.full(m, ends.likelihood[top]),
    )

    def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
        return model.evaluate(trial)

    best = ends.rows([top])
    scale, root = 0.05, np.diag(model.spread)
    for moves in range(MOVES):
        noise = rng.standard_normal((m, d)) @ root.T
        share = accept(rng, chains, chains.points + scale * noise, 1.0, evaluate)
        scale *= math.exp(share - 0.3)
        other = chains.rows([int(np.argmax(chains.prior + chains.likelihood))])
        if other.prior + other.likelihood > best.prior + best.likelihood:
            best = other
        if moves % 10 == 9:
            before = root
            _, root = covariance_root(chains.points, np.full(m, 1 / m), m, model.spread)
            # The scale of a move stays what it was, in the new units.
            change = np.log(before.diagonal()).mean() - np.log(root.diagonal()).mean()
            scale = min(scale * math.exp(float(change)), 2.38 / math.sqrt(d))
    mean, root = covariance_root(chains.points, np.full(m, 1 / m), m, model.spread)
    return Peak(mean, root, best, chains), m * MOVES
