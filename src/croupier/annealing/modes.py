"""The modes of a posterior: two independent searches, compared and joined, and a law fitted to all.

None of their points enters an estimate, so the arms stay exact even if a mode was missed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.clusters import fit_mixture
from croupier.annealing.coverage import Coverage
from croupier.annealing.fitted import HEAVIER
from croupier.annealing.mixtures import Mixture, MixtureLevel
from croupier.annealing.models import Model, search_streams
from croupier.annealing.peak_search import Climbed, tops_of, with_peaks
from croupier.annealing.peaks import at_level
from croupier.annealing.pilots import LEFT
from croupier.annealing.polishing import Walkers, polished
from croupier.annealing.rare_modes import NOTABLE, RARE, by_chance, few
from croupier.annealing.search import COST, Found, early_points, evaluations_of, search
from croupier.annealing.slices import Chains
from croupier.data.draws import Floats

__all__ = ["Modes", "Seen", "affordable", "doubts", "find_modes", "searched", "seen_by", "unseen"]

#: A search needs at least this many early points.
LEAST: Final = 300

#: Two searches agree if their values of log Z are at most so far apart.
APART: Final = 1.0

#: One of two searches is so far above the truth in at most 5 % of runs: -log(0.05/2).
ABOVE: Final = 3.7

#: A mode with this many times 1/(early points) of the tempered mass is seldom missed: the chance
#: that none of the points is there is below 1 in 20.
SEEN: Final = 3.0


class Seen(NamedTuple):
    """How often modes were found: by every search or by some, and by starts that climbed.

    `rare` is the share of the posterior in modes that fewer than `few` points of the prior showed
    and that not every search saw; there were so many `starts` that climbed, and `looks`. The modes
    of two searches are two samples of all modes: if n and m were found, and b of them by both,
    there are about (n + 1) (m + 1)/(b + 1) - 1 (Chapman 1951).
    """

    by_all: int
    by_some: int
    by_climbs: int
    expected: float
    starts: int
    rare: float
    looks: int = 0
    few: float = RARE

    def report(self) -> dict[str, Any]:
        """Return what a user wants to know of it, as plain data."""
        return {
            "found_by_all": self.by_all,
            "found_by_some": self.by_some,
            "found_by_climbs": self.by_climbs,
            "expected_modes": self.expected + self.by_climbs,
            "starts": self.starts,
            "unexplored_starts": unseen(max(self.starts, 1)),
            "looks": self.looks,
            "unexplored_looks": unseen(max(self.looks, 1)),
            "rare": self.rare,
        }


@dataclass(frozen=True, eq=False)
class Modes:
    """What the searches found: levels up to beta = 1, and a law fitted to the posterior.

    `fit_excess` is the relative variance of the weights of `law`, and `excess` that of the
    likelihood under the prior. `log_z` has the estimate of each search. `early` is the number of
    their points at the first level, `seen` says how often modes were found, and `coverage` what the
    law lacks.
    """

    levels: tuple[MixtureLevel, ...]
    law: Mixture
    fit_excess: float
    excess: float
    log_z: tuple[float, ...]
    evaluations: int
    early: int
    seen: Seen | None = None
    coverage: Coverage | None = None

    @classmethod
    def none(cls, evaluations: int) -> Modes:
        """Return what is known without a search, which would have taken so many evaluations."""
        nothing = np.empty((0, 0))
        law = Mixture(np.empty(0), nothing, np.empty((0, 0, 0)), HEAVIER)
        return cls((), law, math.inf, math.inf, (), evaluations, 0)

    def betas(self, temperatures: int) -> Floats:
        """Return a schedule with the same number of temperatures between any two levels."""
        known = [0.0, *[level.beta for level in self.levels]]
        u = np.arange(temperatures) * (len(known) - 1) / (temperatures - 1)
        return np.asarray(np.interp(u, np.arange(len(known)), known))

    def report(self) -> dict[str, Any]:
        """Return what a user wants to know of the searches, as plain data."""
        if not self.levels:
            return {"searches": 0}
        return {
            "searches": len(self.log_z),
            "log_z": list(self.log_z),
            "modes": len(self.law.shares),
            "shares": self.law.shares.tolist(),
            "unexplored": unseen(self.early),
            **({} if self.seen is None else self.seen.report()),
        }


def searched(model: Model, seed: int, allowed: float, seconds: float | None = None) -> Modes | None:
    """Return what two searches find with at most about so many evaluations and seconds.

    If they would have too few points, nothing is searched, and the modes have no levels.
    """
    if not affordable(allowed):
        return Modes.none(3 * evaluations_of(model))
    early = min(early_points(model), int(min(allowed, 1e12)) // (3 * COST))
    return find_modes(model, search_streams(seed), early, seconds, allowed)


def affordable(allowed: float) -> bool:
    """Return whether two searches can have enough points with so many evaluations."""
    return allowed >= 3 * COST * LEAST


def doubts(modes: Modes, high_end: float = -math.inf) -> list[str]:
    """Return the warnings about a search; `high_end` is that of the interval of log Z.

    Two searches often disagree where one fitted law is poor. This matters only if one of them saw
    more than the arms have. What a search says of Z is not negative and about unbiased, so it is
    e^a times too large with a probability of at most e^-a (Markov).
    """
    if not modes.levels:
        return [
            f"the budget was too small to search for modes, which takes {3 * COST * LEAST:,} to "
            f"{modes.evaluations:,} evaluations of the likelihood: if the posterior has several "
            "modes, some may be missing"
        ]
    said = []
    if modes.seen is not None and modes.seen.rare > NOTABLE:
        said.append(
            f"modes with {modes.seen.rare:.0%} of the posterior were found by chance: fewer than "
            f"{modes.seen.few:.0f} of {modes.seen.looks:,} points of the prior show each, and not "
            "every search saw them; others like them may be missing: compare several seeds"
        )
    low, high = min(modes.log_z), max(modes.log_z)
    # Where the law fits, it has the modes of both searches and of the climbs.
    agree = len(modes.log_z) < 2 or high - low <= APART or modes.fit_excess < 1
    if agree or high <= high_end + ABOVE:
        return said
    return [
        *said,
        f"two searches for modes disagree: log Z is about {modes.log_z[0]:.2f} by the first and "
        f"{modes.log_z[1]:.2f} by the second, far above the result; a mode may be missing: give "
        "more time, or compare several seeds",
    ]


def unseen(early: int) -> float:
    """Return the share of so many points that a mode needs to be seen in 19 of 20 runs.

    >>> unseen(3000)
    0.001
    """
    return SEEN / early


def find_modes(
    model: Model,
    streams: Sequence[np.random.Generator],
    early: int | None = None,
    seconds: float | None = None,
    allowed: float = math.inf,
) -> Modes | None:
    """Return what independent searches find together; None if they saw only zeros.

    In a number of seconds, a search that would not end in time does not begin, and fewer points
    climb. A search that has used up half of the evaluations ends with one step. A search that the
    end of the pilot has cut off does not count.
    """
    decided = _at_once if model.meter is None else model.meter.decided
    began = time.perf_counter()
    until, taken = math.inf if seconds is None else began + seconds, 0.0
    found: list[Found] = []
    for rng in streams:
        start = time.perf_counter()
        late = float(start + 1.5 * taken > until)
        if found and decided(partial(float, late)):
            break
        each = search(model, rng, early, allowed / len(streams))
        if model.late():  # its last steps were too long
            break
        if each is not None:
            found.append(each)
        taken = time.perf_counter() - start
    if not found:
        return Modes.none(len(streams) * evaluations_of(model)) if model.late() else None
    best = max(found, key=lambda each: each.log_z)
    spent = sum(each.evaluations for each in found)
    left = 0.7 * max(until - time.perf_counter(), 0.0)
    in_time = math.inf if seconds is None else left * spent / (time.perf_counter() - began)
    most = decided(lambda: min(in_time, max(allowed - spent, 0.0)))
    walkers = _walkers(found)
    first = fit_mixture(walkers.chains.points, walkers.shares, model.spread, HEAVIER)
    tops = tops_of(first, walkers.chains)
    climbed = with_peaks(model, streams[1], first, tops, best.log_z, most)
    peaks = climbed.peaks
    walkers = walkers.joined_by(peaks, best.log_z)
    rest = max(most - climbed.evaluations, 0.0)
    fit = polished(model, streams[0], climbed.law, walkers, rest)
    levels = best.levels
    for peak in peaks:
        levels = tuple(map(at_level, levels, [peak] * len(levels), best.trail))
    return Modes(
        levels,
        fit.law,
        fit.excess,
        LEFT ** -len(best.levels) - 1,
        tuple([float(each.log_z) for each in found]),
        spent + climbed.evaluations + fit.evaluations,
        sum(each.early for each in found),
        seen_by(fit.law, found, tops, climbed),
        fit.coverage,
    )


def seen_by(law: Mixture, found: Sequence[Found], tops: Chains, climbed: Climbed) -> Seen:
    """Return how often the components of a law were found; `tops` are the peaks of the searches."""
    k = len(law.shares)
    owners = [law.log_parts(each.chains.points).argmax(axis=1) for each in found]
    there = np.array([np.bincount(owner, minlength=k) for owner in owners]) > 0
    everywhere, n, m = there.all(axis=0), int(there[0].sum()), int(there[-1].sum())
    both, some = int(everywhere.sum()), int(there.any(axis=0).sum())
    places = np.concatenate([tops.points, *[peak.mean[None] for peak in climbed.peaks]])
    home = law.log_parts(places).argmax(axis=1)
    counts = [np.bincount(home, each, k) for each in (climbed.arrivals, climbed.shown)]
    rare = by_chance(law, everywhere, np.maximum(*counts))
    expected = (n + 1) * (m + 1) / (both + 1) - 1
    share, enough = float(law.shares[rare].sum()), few(law.dimensions)
    starts, looks = climbed.starts, climbed.looks
    return Seen(both, some - both, k - some, expected, starts, share, looks, enough)


def _at_once(choose: Callable[[], float]) -> float:
    """Return what is decided now."""
    return choose()


def _walkers(found: Sequence[Found]) -> Walkers:
    """Return the points of all searches, each with the evidence of its search."""
    top = max(each.log_z for each in found)
    weights = np.concatenate([math.exp(each.log_z - top) * each.shares for each in found])
    chains = Chains.joined([each.chains for each in found])
    return Walkers(chains, weights / weights.sum())
