"""A peak of a posterior: its shape, and a component for it in a mixture."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.mixtures import Mixture, MixtureLevel
from croupier.annealing.models import Model
from croupier.annealing.pilots import covariance_root
from croupier.annealing.slices import Chains
from croupier.annealing.walks import accept
from croupier.data.draws import Floats

__all__ = ["Peak", "at_level", "shape_of", "shape_price", "with_component"]

#: Chains and moves that measure the shape of a peak, and how many more chains per dimension.
CHAINS: Final = 20
MORE_CHAINS: Final = 4
MOVES: Final = 150

#: After this many moves, every fifth place of the chains counts for the shape.
SETTLED: Final = 75


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


def with_component(law: Mixture, peak: Peak, beta: float, share: float) -> Mixture:
    """Return the mixture with one more component, which gets this share."""
    share = min(max(share, 1e-3), 1 - 1e-3)
    return replace(
        law,
        shares=np.append((1 - share) * law.shares, share),
        means=np.concatenate([law.means, peak.mean[None]]),
        roots=np.concatenate([law.roots, peak.root[None] / math.sqrt(beta)]),
        skews=None if law.skews is None else np.pad(law.skews, ((0, 1), (0, 0))),
    )


def at_level(level: MixtureLevel, peak: Peak, log_z: float) -> MixtureLevel:
    """Return a level that knows the peak, too; `log_z` is that of the level without it."""
    mass = peak.log_mass(level.beta)
    share = math.exp(mass - float(np.logaddexp(log_z, mass)))
    law = with_component(level.law, peak, level.beta, share)
    return MixtureLevel(level.beta, law, np.append(level.steps, 1.0))


def shape_price(dimensions: int) -> int:
    """Return the evaluations that the shape of a peak takes.

    >>> shape_price(20)
    15000
    """
    return (CHAINS + MORE_CHAINS * dimensions) * MOVES


def shape_of(model: Model, rng: np.random.Generator, ends: Chains, top: int) -> Peak:
    """Return the peak below an end of a climb, with its shape by chains that start there."""
    d = model.dimensions
    m = CHAINS + MORE_CHAINS * d
    chains = Chains(
        np.repeat(ends.points[top : top + 1], m, axis=0),
        np.full(m, ends.prior[top]),
        np.full(m, ends.likelihood[top]),
    )

    def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
        return model.evaluate(trial)

    best, places = ends.rows([top]), []
    scale, root = 0.05, np.diag(model.spread)
    for moves in range(MOVES):
        noise = rng.standard_normal((m, d)) @ root.T
        share = accept(rng, chains, chains.points + scale * noise, 1.0, evaluate)
        scale *= math.exp(share - 0.3)
        other = chains.rows([int(np.argmax(chains.prior + chains.likelihood))])
        if other.prior + other.likelihood > best.prior + best.likelihood:
            best = other
        if moves >= SETTLED and moves % 5 == 4:
            places.append(chains.points.copy())
        if moves % 10 == 9:
            before = root
            _, root = covariance_root(chains.points, np.full(m, 1 / m), m, model.spread)
            # The scale of a move stays what it was, in the new units.
            change = np.log(before.diagonal()).mean() - np.log(root.diagonal()).mean()
            scale = min(scale * math.exp(float(change)), 2.38 / math.sqrt(d))
    several = np.concatenate(places)
    mean, root = covariance_root(
        several, np.full(len(several), 1 / len(several)), 3 * m, model.spread
    )
    return Peak(mean, root, best, chains)
