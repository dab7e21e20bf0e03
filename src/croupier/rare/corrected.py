"""Corrected: fresh calls make the probability of a surrogate unbiased, and say how wrong it was.

An epoch draws points of a mixture, of which the surrogate says how likely each fails, m. Their
weighted mean M needs no call. Fresh calls at some of these points add the mean of w (I - m) (the
difference estimator; Cassel, Sarndal and Wretman, Biometrika 63, 1976). Between two epochs the
surrogate learns what was called. The share of each epoch is fixed before it, so the sum is
unbiased.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.estimates.combiners import Pooled
from croupier.estimates.few_hits import FewHits
from croupier.rare.components import Frozen
from croupier.rare.free_points import Population
from croupier.rare.learning import Doubt
from croupier.searching.one_thread import one_thread
from croupier.searching.surrogate import Surrogate

__all__ = ["SCOUTING", "Correction", "Forecast", "Stage", "forecast_of", "stage_of"]

#: The points of an epoch that need no call: at least, for each call, and at most. With 5000, their
#: mean was off by 1 %, which was most of the error of smooth functions.
_LEAST_POINTS: Final = 20_000
_PER_CALL: Final = 40
_MOST_POINTS: Final = 40_000

#: The shares of the calls: by doubt, by chance, by doubt with a threefold error, scouts; and if
#: the doubt is below this share of the probability, where it may be misplaced, the second ones.
_SHARES: Final = (0.60, 0.12, 0.13, 0.15)
_SURE_SHARES: Final = (0.21, 0.4125, 0.1775, 0.20)
_SURE: Final = 0.4

#: At least this share of the fresh calls are at points that the scouts would draw.
SCOUTING: Final = 0.15
_THREEFOLD: Final = 3.0

#: An error below this many effective hits is a gamma interval: always.
_ALWAYS: Final = np.inf

#: A fresh call is a surprise if the surrogate gave its outcome less than this chance, and surprises
#: count if they had together less than it: a hundred calls have one by chance.
_SURPRISE: Final = 0.01


class Stage(NamedTuple):
    """What is fixed before the calls of an epoch.

    `points` (n, d) have the weights w and the chances m. `mean` is M, `free` its variance,
    `model` the variance of w (I - m) by the surrogate, `most` the largest weight that a point can
    have, `weight` the epoch's share, `explains` the part of M that each fitted component has.
    """

    points: Floats
    weights: Floats
    chances: Floats
    mean: float
    free: float
    model: float
    most: float
    weight: float
    explains: Floats

    @property
    def size(self) -> int:
        """How many calls were planned."""
        return len(self.points)

    def terms(self, part: slice) -> tuple[Floats, Floats]:
        """Return a and b of some calls: each is worth a + b I to the estimate."""
        w = self.weights[part]
        return self.mean - w * self.chances[part], w


class Forecast(NamedTuple):
    """What fresh calls would give: the probability M, the variance of one call, the mean weight of
    a call that fails, and how many calls of each hundred would fail.
    """

    mean: float
    variance: float
    room: float
    failing: float

    def error(self, n: float) -> float:
        """Return the standard error of n calls."""
        return float(np.sqrt(self.variance / n + 2 * (self.room / n) ** 2))

    def calls(self, error: float) -> float:
        """Return how many calls have this standard error."""
        if not error > 0:
            return np.inf
        v = self.variance / error**2
        return float(0.5 * (v + np.sqrt(v * v + 8 * (self.room / error) ** 2)))


class Answered(NamedTuple):
    """The estimate of all epochs and its parts, as the interval needs them."""

    mean: float
    fresh: float
    model: float
    free: float
    room: float
    most: float

    @property
    def variance(self) -> float:
        """The variance, with room for one more draw on the wrong side.

        The fresh calls see it, or the model expects it; the model's own may be far too large.
        """
        seen = max(self.fresh, min(self.model, 4 * self.fresh + self.room**2))
        return seen + self.free + self.room**2


def _proposal(population: Population, m: Floats, m3: Floats) -> tuple[Floats, Doubt]:
    """Return the chances of the points of a population to be called."""
    W = population.weights
    doubt, wide = W * np.sqrt(m * (1 - m)), W * np.sqrt(m3 * (1 - m3))
    found = Doubt(float((W * m).mean()), float(doubt.mean()))
    shares = _SURE_SHARES if found.doubt < _SURE * found.failing else _SHARES
    parts = (doubt, W * m, wide, population.scouting)
    q = np.zeros(len(W))
    for share, part in zip(shares, parts, strict=True):
        total = float(part.sum())
        q += share * (part / total if total > 0 else 1 / len(W))
    return q / q.sum(), found


def _at_most_once(q: Floats, n: int) -> Floats:
    """Return chances q that sum to 1, none above 1/n: no point is called twice."""
    if n >= len(q):
        return np.full(len(q), 1 / len(q))
    capped = np.zeros(len(q), np.bool_)
    while (over := (q > 1 / n) & ~capped).any():
        capped |= over
        left = 1 - np.count_nonzero(capped) / n
        q = np.where(capped, 1 / n, q * (left / q[~capped].sum()))
    return q


def stage_of(
    surrogate: Surrogate, mixture: Frozen, n: int, weight: float, rng: np.random.Generator
) -> Stage:
    """Return a stage of n calls."""
    size = int(min(max(_LEAST_POINTS, _PER_CALL * n), _MOST_POINTS))
    population = Population.drawn(mixture, size, rng)
    m, m3 = _chances(surrogate, population.points)
    q, _ = _proposal(population, m, m3)
    q = _at_most_once(q, n)
    W = population.weights / size
    ends = np.cumsum(q)
    chosen = np.searchsorted(ends / ends[-1], (np.arange(n) + rng.random()) / n)
    chosen = rng.permutation(np.minimum(chosen, size - 1))
    terms = population.weights * m
    return Stage(
        population.points[chosen],
        (W / q)[chosen],
        m[chosen],
        float(terms.mean()),
        float(terms.var()) / size,
        float((W**2 * m * (1 - m) / q).sum()),
        float((W / q).max()),
        weight,
        _explained(mixture, population.points, terms),
    )


def _explained(mixture: Frozen, points: Floats, terms: Floats) -> Floats:
    """Return the share of each fitted component in the sum of terms (N,) at points."""
    K = mixture.modes
    if not K or not terms.sum() > 0:
        return np.zeros(K)
    own = mixture.mixture.component_log_densities(points)[:, :K].argmax(axis=1)
    return np.asarray(np.bincount(own, weights=terms, minlength=K) / terms.sum())


def forecast_of(surrogate: Surrogate, mixture: Frozen, rng: np.random.Generator) -> Forecast:
    """Return what fresh calls would give, by the surrogate."""
    population = Population.drawn(mixture, _LEAST_POINTS, rng)
    m, m3 = _chances(surrogate, population.points)
    q, found = _proposal(population, m, m3)
    W = population.weights / len(q)
    failing = float(q @ m)
    return Forecast(
        found.failing,
        float((W**2 * m * (1 - m) / q).sum()),
        float(W @ m) / failing if failing > 0 else np.inf,
        failing,
    )


def _chances(surrogate: Surrogate, points: Floats) -> tuple[Floats, Floats]:
    from scipy.special import ndtr

    with one_thread():
        h, s = surrogate.predict(points)
    return np.asarray(ndtr(-h / s)), np.asarray(ndtr(-h / (_THREEFOLD * s)))


class Called(NamedTuple):
    """The calls of a stage: the weights and chances of the points, and which of them fail."""

    stage: Stage
    weights: Floats
    chances: Floats
    fails: NDArray[np.bool_]


class Correction(NamedTuple):
    """The epochs of fresh calls so far, and their answer."""

    stages: tuple[Called, ...] = ()

    def __len__(self) -> int:
        return sum(len(each.fails) for each in self.stages)

    def added(
        self, stage: Stage, places: NDArray[np.int64], fails: NDArray[np.bool_]
    ) -> Correction:
        """Return the correction with the calls at some places of a stage."""
        called = Called(stage, stage.weights[places], stage.chances[places], fails)
        return Correction((*self.stages, called))

    @property
    def failures(self) -> int:
        """How many fresh calls fail."""
        return sum(int(each.fails.sum()) for each in self.stages)

    @property
    def surprises(self) -> int:
        """How many fresh calls had an outcome that the surrogate thought all but impossible.

        None if chance explains them: with the sum E of all chances up to that of the k-th of them,
        a surrogate that is right has k of them or more with the chance P(Poisson(E) >= k).
        """
        m = np.concatenate([each.chances for each in self.stages])
        fails = np.concatenate([each.fails for each in self.stages])
        outcome, unlikely = np.where(fails, m, 1 - m), np.sort(np.minimum(m, 1 - m))
        found = np.sort(outcome[outcome < _SURPRISE])
        if not len(found):
            return 0
        from scipy.special import gammainc

        E = np.cumsum(unlikely)[np.searchsorted(unlikely, found, side="right") - 1]
        p = gammainc(np.arange(1, len(found) + 1), E)
        return len(found) if p.min() < _SURPRISE else 0

    def answer(self) -> Answered:
        """Return the estimate and the parts of its variance."""
        shares = [each.stage.weight * len(each.fails) / each.stage.size for each in self.stages]
        mean = fresh = model = free = most = 0.0
        rooms: list[Floats] = []
        for share, (stage, w, m, fails) in zip(shares, self.stages, strict=True):
            n, a = len(fails), share / sum(shares)
            u = w * (fails - m)
            mean += a * (stage.mean + float(u.mean()))
            fresh += (a / n) ** 2 * float(u @ u)
            model += a**2 / n * stage.model
            free += a**2 * stage.free
            most = max(most, a / n * stage.most)
            rooms.append((a / n * w)[(m > 0.5) | fails])
        failing = np.concatenate(rooms)
        room = float(failing.mean()) if len(failing) else 0.0
        return Answered(mean, fresh, model, free, room, most)

    def pooled(self, *, failed: bool) -> Pooled:
        """Return the estimate with the variance and the interval of weighted counts.

        The interval begins at 0 if the estimate is not above 0, or if nothing has ever `failed`.
        """
        found, one = self.answer(), np.ones(1)
        variance, n = np.array([found.variance]), float(len(self))
        mean = np.array([min(max(found.mean, 0.0), 1.0)])
        few = FewHits(mean, variance, found.room * one, one, below=_ALWAYS, spare=found.room)
        if not failed:
            few = few._replace(mean=0.0 * one, largest=np.array([found.most]))
        elif not found.mean > 0:
            few = few._replace(mean=0.0 * one, largest=np.sqrt(variance))
        weights = np.array([[0.0], [1.0]])
        return Pooled(mean, variance, np.array([n]), variance > 0, weights, n, few=few)
