"""Peaks that a search by tempering has missed: starts that are sorted, and looks that surprise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.basins import sort_starts, sorting_price
from croupier.annealing.climbs import Known, climb, climb_price
from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import Model
from croupier.annealing.peaks import Peak
from croupier.annealing.screening import EXPLAINED, screen
from croupier.annealing.slices import Chains

__all__ = ["Climbed", "tops_of", "with_peaks"]

#: Climbs from starts take at most about this many evaluations: if many starts are left, some do not
#: climb.
EVALUATIONS: Final = 200_000

#: And at most this share of what may be spent, and the shapes of their peaks this share.
CLIMBING: Final = 0.3
SHAPING: Final = 0.2

#: Starts that are sorted at first, and later for each dimension, with the most of them. They take
#: at most this share.
SOME: Final = 500
STARTS: Final = 250
MOST: Final = 2500
SORTING: Final = 0.25

#: This share is for climbs from looks that surprise, and this for what comes after.
AFTER: Final = 0.15
LEFT: Final = 0.15

#: Looks for each dimension, the fewest and the most, and how many times as many there are if a mode
#: that was found is hard to find.
LOOKS: Final = 25_000
FEWEST: Final = 100_000
MOST_LOOKS: Final = 500_000
TIMES: Final = 5


class Climbed(NamedTuple):
    """What climbs found: a law that knows all peaks, those that are new, and who arrived where.

    For each component, those of new peaks last, `arrivals` has the number of starts that led to
    it, of all `starts` whose peak is known, and `shown` the number of `looks` that show it.
    """

    law: Mixture
    peaks: list[Peak]
    arrivals: Any
    starts: int
    shown: Any
    looks: int
    evaluations: int


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
    d, known, tally = model.dimensions, Known(law, tops, log_z), _Tally()
    starts = int(min(STARTS * d, MOST, SORTING * most / sorting_price(d)))
    _start(model, rng, known, tally, min(SOME, starts), most)
    rest = (1 - AFTER - LEFT) * most - known.count
    looks = int(max(min(LOOKS * d, MOST_LOOKS, rest), min(FEWEST, rest), 0))
    further = int(min((TIMES - 1) * looks, max(rest - looks, 0)))
    screened = screen(model, rng, known, looks, (1 - LEFT) * most, further)
    if screened.looks < EXPLAINED * looks and starts > SOME:
        _start(model, rng, known, tally, starts - SOME, most)
    k = len(known.law.shares)
    shown = np.pad(screened.shown, (0, k - len(screened.shown)))
    counts = tally.arrivals(k), tally.starts, shown, screened.looks
    return Climbed(known.law, known.peaks, *counts, known.count)


@dataclass
class _Tally:
    """How many starts led to which component."""

    parts: list[Any] = field(default_factory=list)
    starts: int = 0

    def arrivals(self, components: int) -> Any:
        """Return how many starts led to each of so many components."""
        return np.sum([np.pad(part, (0, components - len(part))) for part in self.parts], axis=0)


def _start(
    model: Model, rng: np.random.Generator, known: Known, tally: _Tally, number: int, most: float
) -> None:
    """Sort a number of starts, and climb from those that no known peak explains."""
    d = model.dimensions
    sort = sort_starts(model, rng, known.tops, number)
    known.count += sort.evaluations
    left = len(sort.strays.points)
    climbing = int(min(EVALUATIONS, CLIMBING * most) / climb_price(d))
    ends = sort.strays.rows(np.arange(max(min(left, climbing), min(left, 2))))
    known.count += climb(model, rng, ends)
    new = known.join(model, rng, ends, known.count + SHAPING * most)
    peaks = known.peaks[len(known.peaks) - new :]
    tally.parts.append(np.array([*sort.arrivals, *(peak.arrivals for peak in peaks)], dtype=int))
    tally.starts += int(sort.arrivals.sum()) + len(ends.points)
