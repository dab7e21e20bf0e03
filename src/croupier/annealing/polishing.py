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
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.clusters import fit_groups, fit_mixture
from croupier.annealing.coverage import Coverage, Places
from croupier.annealing.fitted import FREEDOM, HEAVIER, FittedModes
from croupier.annealing.mixtures import Mixture, Pace, move
from croupier.annealing.models import Model
from croupier.annealing.peaks import Peak
from croupier.annealing.pilots import systematic
from croupier.annealing.slices import Chains
from croupier.annealing.wandering import poor, wander
from croupier.data.draws import Floats

__all__ = ["Polished", "Walkers", "polished"]

#: Rounds in which the law is fitted again, and the sweeps of each: at least, and at most. Points
#: have forgotten where they were when step^2 times the share that moved adds up to `FORGOTTEN`.
ROUNDS: Final = 4
SWEEPS: Final = 8
MOST_SWEEPS: Final = 40
FORGOTTEN: Final = 3.0

#: Points that were split at the edges of a law wander by so many steps, and every eighth place
#: counts after the first two. A point is split into at most so many.
WANDERS: Final = 40
EIGHTH: Final = 8
MOST_SPLIT: Final = 20.0

#: A law is fitted to at most about this many places.
MOST_PLACES: Final = 10_000

#: A law with a smaller relative variance is good enough. What a law lacks counts as in a run of so
#: many draws.
GOOD: Final = 0.3
DRAWS: Final = 100_000

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
    """Points that move over the posterior, with the share of the posterior that each stands for.

    Points that were split have the same one of the `owners`.
    """

    chains: Chains
    shares: Floats
    owners: Any = None  # (m,), whole numbers

    def split(self, model: Model, rng: np.random.Generator, law: Mixture) -> Walkers:
        """Return as many points, with more of them at the edges of a law, each of a smaller share.

        Half of the points are for components with few points: the end of a valley may have little
        more than a thousandth of the posterior. A point where the ratio r of posterior to law is
        large is split into about sqrt(r) points.
        """
        rows, k = np.arange(len(self.shares)), len(law.shares)
        owners = rows if self.owners is None else self.owners
        found = Coverage.of(model, law, Places(self.chains, self.shares, rows))
        factors = np.empty(len(rows))
        factors[found.owners] = np.sqrt(np.maximum(found.ratios, 1.0))
        member = law.log_parts(self.chains.points).argmax(axis=1)
        held = np.bincount(member, self.shares, k) / self.shares.sum()
        factors *= np.maximum(1.0, 0.5 / k / np.maximum(held[member], 1e-300))
        weights = self.shares * np.minimum(factors, MOST_SPLIT)
        weights /= weights.sum()
        kept = systematic(rng, weights, len(rows))
        shares = self.shares[kept] / weights[kept]
        return Walkers(self.chains.rows(kept), shares / shares.sum(), owners[kept])

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
    ) -> Walk:
        """Move all points on; return the places where they were.

        They move until they no longer depend on where they were, or so many evaluations are made.
        Where moves about the law are poor, they also wander. Places of half of the way are left
        out.
        """
        pace, chains, m = Pace(law), self.chains, len(self.shares)
        kept: list[Chains] = []
        taken = 0

        def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
            nonlocal taken
            taken += len(trial)
            return model.evaluate(trial)

        for sweep in range(MOST_SWEEPS):
            pace.add(*move(rng, chains, 1.0, evaluate, pace.level(1.0)))
            if poor(pace.mean(), model.dimensions):
                wander(rng, chains, 1.0, evaluate, law)
            if len(law.shares) > 1 and sweep % 3 == 2:
                move(rng, chains, 1.0, evaluate, pace.level(1.0), jump=True)
            kept.append(chains.copy())
            settled = pace.gone.min() >= FORGOTTEN or taken > most
            if (sweep + 1 >= SWEEPS and settled) or model.late():
                break
        late = kept[len(kept) // 2 :]
        late = late[:: max(1, len(late) * m // MOST_PLACES)]
        return Walk(self._places(late), taken, pace.mean())

    def wandered(self, model: Model, rng: np.random.Generator, law: Mixture) -> Walk:
        """Move all points by a random walk that knows the law only as a scale."""
        kept: list[Chains] = []
        taken = 0
        for step in range(1, WANDERS + 1):
            pace = wander(rng, self.chains, 1.0, lambda trial, _: model.evaluate(trial), law)
            taken += len(self.shares)
            if step % EIGHTH == 0 and step > 2 * EIGHTH:
                kept.append(self.chains.copy())
            if model.late():
                break
        return Walk(self._places(kept or [self.chains.copy()]), taken, pace)

    def _places(self, kept: Sequence[Chains]) -> Places:
        """Return the places of the points at several times."""
        m, times = len(self.shares), len(kept)
        owners = np.arange(m) if self.owners is None else self.owners
        shares = np.tile(self.shares / times, times)
        return Places(Chains.joined(kept), shares, np.tile(owners, times))


class Walk(NamedTuple):
    """The places of a walk, the evaluations that it took, and how far its moves went."""

    places: Places
    evaluations: int
    pace: float


class Polished(NamedTuple):
    """The relative variance of the best law, the law, what it lacks, and the evaluations."""

    excess: float
    law: Mixture
    coverage: Coverage
    evaluations: int


def polished(
    model: Model, rng: np.random.Generator, law: Mixture, walkers: Walkers, most: float = math.inf
) -> Polished:
    """Return the best law; after about `most` evaluations, no further round begins.

    A law that fits the places of a walk is good if the moves of the walk went far. If not, the
    walk may not have been everywhere. So the next walk judges the law by places that the law does
    not know, and the next law is fitted to the places of both walks.
    """
    size, spent = 1000 + 100 * model.dimensions, 0
    laws: list[tuple[float, Mixture]] = []
    before: list[Places] = []
    edges: list[Places] = []
    for again in range(ROUNDS + 1):
        walk = walkers.walked(model, rng, law, most / (ROUNDS + 1))
        spent += walk.evaluations
        fresh = [walk.places, *edges]
        if laws:
            judges = [Coverage.of(model, each, Places.joined(fresh)) for _, each in laws]
            costs = [max(each.cost(DRAWS), laws[i][0]) for i, each in enumerate(judges)]
            best = int(np.argmin(costs))
            stuck = best < len(laws) - 1 or again == ROUNDS
            if costs[best] < GOOD or stuck or spent > most or model.late():
                return Polished(costs[best], laws[best][1], judges[best], spent)
            laws = [laws[best]]
        places, before = Places.joined([*before, *fresh]), [walk.places]
        law = _fitted(model, places)
        points, logs = FittedModes(model, law).weighted(rng, size)
        spent += size
        weights, seen = relative(logs)
        if 1 / float(weights @ weights) >= ENOUGH * model.dimensions * len(law.shares):
            law = _with_shares(law, points, weights)
        excess, law = _best_tails(model, law, places)
        # Chains that have not been everywhere flatter a law, and so do a few of its own points.
        excess = max(excess, seen)
        laws.append((seen, law))
        far = not poor(walk.pace, model.dimensions) and not edges
        if (excess < GOOD and far) or spent > most or model.late():
            break
        if not far:
            walkers = walkers.split(model, rng, law)
            edge = walkers.wandered(model, rng, law)
            edges, spent = [edge.places], spent + edge.evaluations
    return Polished(excess, law, Coverage.of(model, law, places), spent)


def _fitted(model: Model, places: Places) -> Mixture:
    """Return a law fitted to places of the posterior, with one component for each mode if it fits.

    A law with many components takes long to fit, and each of its draws takes longer. It also
    overfits many small modes.
    """
    best: tuple[float, Mixture] | None = None
    for fit in (fit_groups, fit_mixture):
        law = fit(places.chains.points, places.shares, model.spread, HEAVIER)
        if best is not None and len(law.shares) == len(best[1].shares):
            break  # nothing was split
        law = replace(law, roots=math.sqrt(WIDER) * law.roots)
        excess, _ = _best_tails(model, law, places)
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


def _best_tails(model: Model, law: Mixture, places: Places) -> tuple[float, Mixture]:
    """Return the law with the tails of the least relative variance, skewed if points are."""
    best = math.inf, law
    straight = replace(law, skews=None)
    others = [replace(straight, freedom=nu, separate=separate) for nu, separate in TAILS]
    turned = straight.skewed_like(places.chains.points, places.shares)
    if turned.skews is not None:
        others += [replace(turned, freedom=nu, separate=True) for nu in (HEAVIER, FREEDOM)]
    for other in others:
        if (excess := judged(model, other, places)) * LIGHTER < best[0]:
            best = excess, other
    return max(best[0], 1e-3), best[1]


def judged(model: Model, law: Mixture, places: Places) -> float:
    """Return the relative variance of the weights of a law, from points of the posterior.

    With r = prior x likelihood/q there, E[r] = Z (1 + variance/Z^2) and E[1/r] = 1/Z.
    """
    chains, shares = places.chains, places.shares
    log_q = FittedModes(model, law).log_density(chains.points, chains.prior)
    r = chains.prior + chains.likelihood - log_q
    r -= r.max()
    with np.errstate(over="ignore", invalid="ignore"):
        return float((shares @ np.exp(r)) * (shares @ np.exp(-r))) / float(shares.sum()) ** 2 - 1


def relative(logs: Floats) -> tuple[Floats, float]:
    """Return weights that sum to 1, and the relative variance of the draws."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights, max(len(logs) * float(weights @ weights) - 1, 1e-3)
