"""Many points of the prior are looked at once, and only those that surprise are climbed from.

A narrow mode beside a wide one has a small basin: in 20 dimensions, 1 of 10 000 points of the prior
may lead to it. To sort a point by its basin takes some 3 d evaluations, to look at it takes one. A
point surprises if its log-likelihood is far above what the known modes explain there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.basins import STEPS as RISES
from croupier.annealing.basins import explained, risen, sorting_price
from croupier.annealing.climbs import Known, climb, climb_price
from croupier.annealing.landscapes import Landscape, far_coordinates, parabolas
from croupier.annealing.models import Model
from croupier.annealing.peaks import shape_of, shape_price
from croupier.annealing.rare_modes import hard_to_find
from croupier.annealing.slices import Chains
from croupier.data.draws import Floats

__all__ = ["EXPLAINED", "Screened", "screen"]

#: Points that are looked at together, and the first of them, which the landscape is fitted to.
BLOCK: Final = 10_000
FIRST: Final = 30_000

#: A point surprises if its log-likelihood is above what is explained by this share of the fall. At
#: most this share of all points, the most surprising, is kept.
CLEAR: Final = 0.03
KEPT: Final = 0.05

#: The known modes explain a point if what they say is off by at most this share of the fall.
CLOSE: Final = 0.1

#: If they explain a smaller share of the first looks, more of them would show nothing. If they
#: explain the second share, looks show more than starts can.
USELESS: Final = 0.2
EXPLAINED: Final = 0.8

#: The rounds of climbs, how many of them may be in vain, and the points of each: those that are
#: sorted, and of these the most that climb.
ROUNDS: Final = 12
VAIN: Final = 3
SORTED: Final = 200
CLIMBING: Final = 20


class Screened(NamedTuple):
    """How many looks there were that known modes explain, and how many of them show each mode.

    A mode is shown by a point that it explains, and that would surprise without it. Where the
    known modes explain nothing, a look would not show that a mode is missing.
    """

    shown: Any  # (K,), whole numbers
    looks: int


class Looks(NamedTuple):
    """Points of the prior, the same in far coordinates, and the log-likelihood there."""

    points: Floats
    far: Floats
    likelihood: Floats

    @classmethod
    def of(cls, model: Model, rng: np.random.Generator, number: int) -> Looks:
        """Look at a number of points; those with a likelihood of 0 show nothing."""
        points = model.start(rng, number)
        likelihood = model.likelihood(points)
        alive = likelihood > -np.inf
        return cls(points, far_coordinates(model, points), likelihood).rows(alive)

    def rows(self, which: Any) -> Looks:
        """Return some of the points."""
        return Looks(*(each[which] for each in self))

    @classmethod
    def joined(cls, parts: Sequence[Looks]) -> Looks:
        """Return the points of all parts."""
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def screen(
    model: Model,
    rng: np.random.Generator,
    known: Known,
    number: int,
    most: float,
    further: int = 0,
) -> Screened:
    """Look at a number of points of the prior, and give a component to each peak behind surprises.

    If a known mode is hard to find, another may be harder: then there are `further` looks. After
    about `most` evaluations no further climbs begin.
    """
    first = Looks.of(model, rng, min(number, FIRST))
    k = len(known.law.shares)
    land = parabolas(model, known.law, known.tops.likelihood)
    land = land.fitted(first.far, first.likelihood, range(k))
    known.count += min(number, FIRST)
    watched = _watched(land, first)
    explained, kept = watched.explained, watched.kept
    land, shown = _climbed(model, rng, known, land, kept, watched.shown, most)
    if explained < USELESS * len(first.points):
        explained = _watched(land, first).explained
        if explained < USELESS * len(first.points):
            return Screened(shown, explained)
    for more in (number - FIRST, further):
        if more <= 0 or model.late():
            break
        watched = _looked(model, rng, known, land, more)
        explained, shown = explained + watched.explained, shown + watched.shown
        few = np.flatnonzero(shown < FIRST / 10)
        land = land.fitted(*Looks.joined([first, watched.kept])[1:], few)
        land, shown = _climbed(model, rng, known, land, watched.kept, shown, most)
        if explained < EXPLAINED * number or not hard_to_find(known.law, shown).any():
            break
    return Screened(shown, explained)


def _looked(
    model: Model, rng: np.random.Generator, known: Known, land: Landscape, number: int
) -> _Watched:
    """Look at more points, block by block."""
    parts: list[_Watched] = []
    while number > 0 and (not parts or not model.late()):
        parts.append(_watched(land, Looks.of(model, rng, min(BLOCK, number))))
        known.count += min(BLOCK, number)
        number -= BLOCK
    kept = Looks.joined([each.kept for each in parts])
    shown = np.sum([each.shown for each in parts], axis=0)
    return _Watched(kept, shown, sum(each.explained for each in parts))


def surprise(land: Landscape, looks: Looks) -> tuple[Floats, Any]:
    """Return by which share of the fall each log-likelihood is above what the modes explain.

    Also return which mode each point shows, -1 for none.
    """
    falls, rows = land.explained(looks.far), np.arange(len(looks.far))
    owner = falls.argmin(axis=1)
    fall, actual, d = falls[rows, owner], land.top - looks.likelihood, looks.far.shape[1]
    over = (fall - actual) / (fall + d)
    falls[rows, owner] = np.inf
    others = np.minimum(falls.min(axis=1), 1e300)
    without = others - actual
    shows = (without > CLEAR * (others + d)) & (np.abs(fall - actual) < 0.5 * without)
    return over, np.where(shows, owner, -1)


def _counted(shows: Any, number: int) -> Any:
    """Return how many points show each mode."""
    return np.bincount(shows[shows >= 0], minlength=number)


class _Watched(NamedTuple):
    kept: Looks
    shown: Any
    explained: int


def _watched(land: Landscape, looks: Looks) -> _Watched:
    """Return the points that surprise, how many others show each mode, and how many are clear."""
    kept, shown, explained = [], np.zeros(len(land.means), dtype=int), 0
    for start in range(0, max(len(looks.points), 1), BLOCK):
        block = looks.rows(slice(start, start + BLOCK))
        over, shows = surprise(land, block)
        rows = np.argsort(-over, kind="stable")[: int(KEPT * BLOCK)]
        rows = rows[over[rows] > CLEAR]
        kept.append(block.rows(rows))
        shows[rows] = -1
        shown += _counted(shows, len(shown))
        explained += int(np.count_nonzero(np.abs(over) < CLOSE))
    return _Watched(Looks.joined(kept), shown, explained)


def _climbed(
    model: Model,
    rng: np.random.Generator,
    known: Known,
    land: Landscape,
    looks: Looks,
    shown: Any,
    most: float,
) -> tuple[Landscape, Any]:
    """Climb from points that surprise, the most surprising first.

    Return the landscape with the modes that are new, and how many points show each mode.
    """
    d, before, vain = model.dimensions, len(known.law.shares), 0
    untried = np.ones(len(looks.points), dtype=bool)
    price = SORTED * sorting_price(d) + CLIMBING * climb_price(d)
    for _ in range(ROUNDS):
        over = np.where(untried, surprise(land, looks)[0], 0.0)
        rows = np.argsort(-over, kind="stable")[:SORTED]
        rows = rows[over[rows] > CLEAR]
        if not len(rows) or vain >= VAIN or known.count + price > most or model.late():
            break
        tried, new = _followed(model, rng, known, looks.rows(rows), most)
        untried[rows[tried]] = False
        vain += not new
        if new:
            fresh = np.arange(len(known.law.shares) - new, len(known.law.shares))
            law = known.law.part(fresh)
            land = land.joined_by(parabolas(model, law, known.tops.likelihood[fresh]))
            land = land.fitted(looks.far, looks.likelihood, fresh)
    counts = _counted(surprise(land, looks)[1], len(known.law.shares))
    counts[:before] += shown
    return land, counts


def _followed(
    model: Model, rng: np.random.Generator, known: Known, looks: Looks, most: float
) -> tuple[Any, int]:
    """Sort points, and climb from those that no known peak explains.

    Return which points were tried, and how many peaks are new.
    """
    chains = Chains(looks.points, model.log_prior(looks.points), looks.likelihood)
    for _ in range(RISES):
        known.count += risen(model, chains)
    led, taken = explained(model, chains, known.tops)
    known.count += taken
    strays = np.flatnonzero(led < 0)[:CLIMBING]
    tried = led >= 0
    tried[strays] = True
    ends = chains.rows(strays)
    known.count += climb(model, rng, ends)
    new = known.join(model, rng, ends, most)
    return tried, new or _went_on(model, rng, known, ends, most)


def _went_on(
    model: Model, rng: np.random.Generator, known: Known, ends: Chains, most: float
) -> int:
    """Go on from the highest end that no known peak explains; return how many peaks are new.

    Climbs with equal steps in all directions end early on a narrow ridge. Chains that learn its
    shape go further.
    """
    led, taken = explained(model, ends, known.tops)
    known.count += taken
    ends = ends.rows(led < 0)
    if not len(ends.points) or known.count + 2 * shape_price(model.dimensions) > most:
        return 0
    top = int(np.argmax(ends.prior + ends.likelihood))
    peak = shape_of(model, rng, ends, top)
    known.count += shape_price(model.dimensions)
    return known.join(model, rng, peak.top, most)
