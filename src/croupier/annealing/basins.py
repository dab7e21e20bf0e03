"""Which peak do points of the prior lead to? Most lead to peaks that are known already.

A full climb takes hundreds of evaluations. Two steps along the gradient, each to the top of a
parabola, take d + 6 each, and bring a point so far into the basin of its peak that a straight
line tells the rest: if the posterior only rises on the way to a known peak, the point is in that
basin. So many thousand points are sorted, and only those that no known peak explains climb on.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.slices import Chains
from croupier.data.draws import Floats

__all__ = ["STEPS", "Sorted", "explained", "risen", "sort_starts", "sorting_price"]

#: Steps along the gradient, and the starts that are moved together.
STEPS: Final = 2
BLOCK: Final = 500

#: The step of a difference, in spreads of the prior, and that of a second difference.
_CLOSE: Final = 1e-5
_NEAR: Final = 1e-2

#: How much of the way to the top of a parabola is tried, and how far a step goes at most, in
#: spreads times the root of d.
_PARTS: Final = (1.0, 0.5, 0.2, 0.05)
_FAR: Final = 3.0

#: Where a line to a known peak is looked at, and the number of peaks that are tried.
_LINE: Final = (0.1, 0.3, 0.6)
_TRIED: Final = 2


class Sorted(NamedTuple):
    """How many starts led to each known peak, and where those are that no known peak explains."""

    arrivals: Any  # (K,), whole numbers
    strays: Chains
    evaluations: int


def sorting_price(dimensions: int) -> int:
    """Return the evaluations that the sorting of a point takes.

    >>> sorting_price(20)
    58
    """
    return STEPS * (dimensions + 6) + _TRIED * len(_LINE)


def sort_starts(model: Model, rng: np.random.Generator, tops: Chains, number: int) -> Sorted:
    """Sort a number of points of the prior by the known peaks that they lead to, `tops`."""
    d = model.dimensions
    arrivals, count = np.zeros(len(tops.points), dtype=int), 0
    strays = []
    for size in [BLOCK] * (number // BLOCK) + [number % BLOCK] * (number % BLOCK > 0):
        if model.late():
            break
        points = model.start(rng, size)
        chains = Chains(points, *model.evaluate(points))
        alive = chains.likelihood > -np.inf
        chains = chains.rows(alive)
        count += size
        for _ in range(STEPS):
            count += risen(model, chains)
        known, taken = explained(model, chains, tops)
        count += taken
        arrivals += np.bincount(known[known >= 0], minlength=len(arrivals))
        strays.append(chains.rows(known < 0))
    if not strays:
        nothing = np.empty(0)
        return Sorted(arrivals, Chains(np.empty((0, d)), nothing, nothing), 0)
    return Sorted(arrivals, Chains.joined(strays), count)


def risen(model: Model, chains: Chains) -> int:
    """Move points along the gradient, to about the top of a parabola; return the evaluations."""
    (m, d), spread = chains.points.shape, model.spread
    if not m:
        return 0
    here = chains.prior + chains.likelihood
    moved = chains.points[:, None, :] + _CLOSE * np.diag(spread)
    slopes = (_heights(model, moved.reshape(m * d, d)).reshape(m, d) - here[:, None]) / _CLOSE
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    steep = np.sqrt(np.einsum("ij,ij->i", slopes, slopes)) + 1e-300
    along = spread * slopes / steep[:, None]
    further = _heights(model, chains.points + _NEAR * along)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        bend = 2 * (here + _NEAR * steep - further) / _NEAR**2  # minus the second derivative
        way = np.where(bend > 0, steep / bend, np.inf)
    way = np.minimum(way, _FAR * math.sqrt(d))
    for part in _PARTS:
        trial = chains.points + (part * way)[:, None] * along
        prior, likelihood = model.evaluate(trial)
        up = prior + likelihood > chains.prior + chains.likelihood
        chains.points[up] = trial[up]
        chains.prior[up], chains.likelihood[up] = prior[up], likelihood[up]
        way = np.where(up, 0.0, way)  # the longest step that goes up
    return int(m * (d + 1 + len(_PARTS)))


def _heights(model: Model, points: Floats) -> Floats:
    prior, likelihood = model.evaluate(points)
    return np.asarray(prior + likelihood)


def explained(model: Model, chains: Chains, tops: Chains) -> tuple[Any, int]:
    """Return the known peak that each point leads to, -1 if to none, and the evaluations."""
    scaled = chains.points / model.spread, tops.points / model.spread
    away = ((scaled[0][:, None, :] - scaled[1][None, :, :]) ** 2).sum(axis=2)
    nearest = np.argsort(away, axis=1, kind="stable")[:, :_TRIED]
    known, count = np.full(len(chains.points), -1), 0
    for column in nearest.T:
        open_ = np.flatnonzero(known < 0)
        peak = column[open_]
        before = chains.prior[open_] + chains.likelihood[open_]
        # Above the peak that is known, a straight line says nothing.
        rises = before <= tops.prior[peak] + tops.likelihood[peak]
        for part in _LINE:
            start = chains.points[open_]
            here = _heights(model, start + part * (tops.points[peak] - start))
            rises &= here >= before
            before, count = here, count + len(open_)
        rises &= before <= tops.prior[peak] + tops.likelihood[peak]
        known[open_[rises]] = peak[rises]
    return known, count
