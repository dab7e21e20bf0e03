"""A law fitted to a posterior, with the tails and the curved parts that a few points do not show.

The points of the searches move on at beta = 1, and all places where they were are kept. A law is
fitted to them, and judged by them: with r = prior x likelihood/law, the relative variance of the
weights of the law is E[r]/Z - 1 over the posterior. A tail that the law lacks is seen there, and
hardly ever among the points of the law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from croupier.annealing.clusters import fit_groups, fit_mixture
from croupier.annealing.fitted import FREEDOM, HEAVIER, FittedModes
from croupier.annealing.mixtures import Mixture, Pace, move
from croupier.annealing.models import Model
from croupier.annealing.peaks import Peak
from croupier.annealing.slices import Chains
from croupier.data.draws import Floats

__all__ = ["Walkers", "polished"]

#: Rounds in which the law is fitted again, and the sweeps of each: at least, and at most. Points
#: have forgotten where they were when step^2 times the share that moved adds up to `FORGOTTEN`.
ROUNDS: Final = 4
SWEEPS: Final = 8
MOST_SWEEPS: Final = 40
FORGOTTEN: Final = 3.0

#: A law is fitted to at most about this many places.
MOST_PLACES: Final = 10_000

#: A law with a smaller relative variance is good enough; a round must lower a larger one by this
#: factor, or it is the last.
GOOD: Final = 0.3
BETTER: Final = 0.7

#: A fit to weighted points needs this many effective points for each dimension and component.
ENOUGH: Final = 4.0

#: The scale of the fitted law over that of the points: too wide costs little.
WIDER: Final = 1.1

#: Tails that are tried: degrees of freedom, and whether each coordinate has its own.
TAILS: Final = ((HEAVIER, False), (FREEDOM, False), (HEAVIER, True), (FREEDOM, True))

#: Lighter tails, separate or skewed ones, must lower the relative variance by this factor.
LIGHTER: Final = 1.3


@dataclass(frozen=True, eq=False)
class Walkers:
    """Points that move over the posterior, with the share of the posterior that each stands for."""

    chains: Chains
    shares: Floats

    def joined_by(self, peaks: Sequence[Peak], log_z: float) -> Walkers:
        """Return these points and those around some peaks, each peak with its mass."""
        if not peaks:
            return self
        shares = [self.shares]
        for peak in peaks:
            m = len(peak.around.points)
            mass = min(math.exp(min(peak.log_mass(1.0) - log_z, 50.0)), 1e3)
            shares.append(np.full(m, mass / m))
        weights = np.concatenate(shares)
        chains = Chains.joined([self.chains, *[peak.around for peak in peaks]])
        return Walkers(chains, weights / weights.sum())

    def walked(
        self, model: Model, rng: np.random.Generator, law: Mixture, most: float = math.inf
    ) -> tuple[Chains, Floats, int]:
        """Move all points on; return the places where they were, their shares, and what it took.

        They move until they no longer depend on where they were, or so many evaluations are made.
        Places of half of the way are left out.
        """
        pace, chains, m = Pace(law), self.chains, len(self.shares)
        kept: list[tuple[Floats, Floats, Floats]] = []
        taken = 0

        def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
            nonlocal taken
            taken += len(trial)
            return model.evaluate(trial)

        for sweep in range(MOST_SWEEPS):
            pace.add(*move(rng, chains, 1.0, evaluate, pace.level(1.0)))
            if len(law.shares) > 1 and sweep % 3 == 2:
                move(rng, chains, 1.0, evaluate, pace.level(1.0), jump=True)
            kept.append((chains.points.copy(), chains.prior.copy(), chains.likelihood.copy()))
            settled = pace.gone.min() >= FORGOTTEN or taken > most
            if (sweep + 1 >= SWEEPS and settled) or model.late():
                break
        late = kept[len(kept) // 2 :]
        late = late[:: max(1, len(late) * m // MOST_PLACES)]
        places = Chains(*(np.concatenate(each) for each in zip(*late, strict=True)))
        return places, np.tile(self.shares / len(late), len(late)), taken


def polished(
    model: Model, rng: np.random.Generator, law: Mixture, walkers: Walkers, most: float = math.inf
) -> tuple[float, Mixture, int]:
    """Return the relative variance of the best law, the law, and the evaluations that it took.

    After about `most` evaluations, no further round begins.
    """
    d, size, spent = model.dimensions, 1000 + 100 * model.dimensions, 0
    best: tuple[float, Mixture] = (math.inf, law)
    for _ in range(ROUNDS):
        places, shares, taken = walkers.walked(model, rng, law, most / ROUNDS)
        spent += taken
        law = _fitted(model, places, shares)
        points, logs = FittedModes(model, law).weighted(rng, size)
        spent += size
        weights, seen = relative(logs)
        if 1 / float(weights @ weights) >= ENOUGH * d * len(law.shares):
            law = _with_shares(law, points, weights)
        excess, law = _best_tails(model, law, places, shares)
        # Chains that have not been everywhere flatter a law, and so do a few of its own points.
        excess = max(excess, seen)
        better = excess < BETTER * best[0]
        if excess < best[0]:
            best = excess, law
        if excess < GOOD or not better or spent > most or model.late():
            break
    return *best, spent


def _fitted(model: Model, places: Chains, shares: Floats) -> Mixture:
    """Return a law fitted to places of the posterior, with one component for each mode if it fits.

    A law with many components takes long to fit, and each of its draws takes longer. It also
    overfits many small modes.
    """
    best: tuple[float, Mixture] | None = None
    for fit in (fit_groups, fit_mixture):
        law = fit(places.points, shares, model.spread, HEAVIER)
        if best is not None and len(law.shares) == len(best[1].shares):
            break  # nothing was split
        law = replace(law, roots=math.sqrt(WIDER) * law.roots)
        excess, _ = _best_tails(model, law, places, shares)
        if best is None or excess < best[0]:
            best = excess, law
        if excess < GOOD:
            break
    assert best is not None
    return best[1]


def _with_shares(law: Mixture, points: Floats, weights: Floats) -> Mixture:
    """Return the law with the shares of its components that weighted points have."""
    logs = law.log_parts(points)
    member = np.exp(logs - logs.max(axis=1, keepdims=True))
    member /= member.sum(axis=1, keepdims=True)
    shares = np.maximum(weights @ member, 1e-3)
    return replace(law, shares=shares / shares.sum())


def _best_tails(
    model: Model, law: Mixture, places: Chains, shares: Floats
) -> tuple[float, Mixture]:
    """Return the law with the tails of the least relative variance, skewed if points are."""
    best = math.inf, law
    straight = replace(law, skews=None)
    others = [replace(straight, freedom=nu, separate=separate) for nu, separate in TAILS]
    turned = straight.skewed_like(places.points, shares)
    if turned.skews is not None:
        others += [replace(turned, freedom=nu, separate=True) for nu in (HEAVIER, FREEDOM)]
    for other in others:
        if (excess := judged(model, other, places, shares)) * LIGHTER < best[0]:
            best = excess, other
    return max(best[0], 1e-3), best[1]


def judged(model: Model, law: Mixture, places: Chains, shares: Floats) -> float:
    """Return the relative variance of the weights of a law, from points of the posterior.

    With r = prior x likelihood/q there, E[r] = Z (1 + variance/Z^2) and E[1/r] = 1/Z.
    """
    arm = FittedModes(model, law)
    r = places.prior + places.likelihood - arm.log_density(places.points, places.prior)
    r -= r.max()
    with np.errstate(over="ignore", invalid="ignore"):
        return float((shares @ np.exp(r)) * (shares @ np.exp(-r))) / float(shares.sum()) ** 2 - 1


def relative(logs: Floats) -> tuple[Floats, float]:
    """Return weights that sum to 1, and the relative variance of the draws."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights, max(len(logs) * float(weights @ weights) - 1, 1e-3)
