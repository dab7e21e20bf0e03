"""The search for the evidence, as a generator of rounds: what is evaluated next, from all before.

Prior points; climbs from the best of them, and from those that the known peaks do not explain; a
population that goes from all of them to the posterior, with a mixture refitted at each step; then
epochs. An epoch is fresh draws of one frozen mixture, and the last epoch alone makes the estimate,
so it is unbiased. A new one begins when a mixture fitted to everything promises to save draws.

The rounds know no clock, no worker and no user: they yield `Planned` and are sent `Evaluated`.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.weights import effective_size_of_logs
from croupier.searching.peaks import Peak, Values, at_peaks, climb, joined, together
from croupier.searching.population import Defensive, Population, outlying, parameters, unexplained
from croupier.seeds import POLICY, stream

__all__ = ["Epoch", "Evaluated", "Model", "Planned", "Search", "Start", "relative_variance"]

#: The share of a budget for prior points, which find what nothing else does, and that of the rest
#: for climbs. With less, they end while most of them still find new modes.
_PRIOR_SHARE: Final = 0.3
_CLIMB_SHARE: Final = 0.5

#: With a tolerance, so many prior points: a larger budget is then only a limit.
_ENOUGH_PRIOR: Final = 10_000
_MOST_PRIOR: Final = 100_000
_FIRST_PRIOR: Final = 64

#: With draws in place of a prior, half of those points are up to so many times as far away.
_FARTHEST: Final = 10.0

_GROWTH: Final = 8

#: A climb starts at a prior point that is so many local deviations above the known peaks; two
#: rounds of climbs in a row without a new peak are the last.
_OUTLYING: Final = 4.0
_MOST_CLIMBS: Final = 16
_IN_VAIN: Final = 2

#: The share of prior draws while the mixture is a guess, and in the epochs.
_GUESS_PRIOR: Final = 0.1
_EPOCH_PRIOR: Final = 0.05

#: The share of the mixture at the peaks beside one that was fitted to draws: peaks show what the
#: draws have missed.
_SHARE_OF_PEAKS: Final = 0.3

#: The mixture at the peaks is good enough to go on from if the relative variance is below this.
_GOOD: Final = 3.0

#: In more coordinates prior points never come near a posterior, and the way to it begins at the
#: peaks: a logistic regression in 40 coordinates needs this.
_MANY: Final = 20

#: Below this relative variance a refit cannot save much; above, it is tried when the effective
#: number of points has grown by so much, and a new epoch must save a fifth of what is left.
_FINE: Final = 0.3
_NEWS: Final = 1.6
_WORTH: Final = 0.8
_LEAST_VARIANCE: Final = 0.05


class Model(NamedTuple):
    """What the rounds know of a model: coordinates, which of them lie between bounds, and a slope.

    `bounded` counts for coordinates that are standard normal in the prior.
    """

    dimension: int
    bounded: tuple[bool, ...]
    gradient: bool = False


class Start(NamedTuple):
    """What is known of a posterior before: a mixture fitted to draws, and other draws of it."""

    mixture: Mixture
    held: Floats


class Planned(NamedTuple):
    """A round: `size` draws of a distribution, or given points, perhaps with their slopes."""

    phase: str
    size: int
    source: Defensive | None = None
    points: Floats | None = None
    slope: bool = False


class Evaluated(NamedTuple):
    """A round that was evaluated, and what the budget allows after it.

    `left` are evaluations; `used` is the share of the budget that is used up, in evaluations or in
    seconds; `needed` are the independent draws of relative variance 1 that a tolerance takes,
    infinite without one.
    """

    points: Floats
    log_prior: Floats
    log_likelihood: Floats
    slopes: Floats | None
    left: float
    used: float = 0.0
    needed: float = math.inf


Rounds = Generator[Planned, Evaluated, Any]


class Epoch:
    """Fresh draws of one frozen distribution, and the logs of their weights.

    It was fitted to `fitted_to` effective points: a share of about 1/n of the posterior is farther
    out than n points, so an estimate from it is not known better than that.
    """

    def __init__(self, source: Defensive, fitted_to: float = math.inf) -> None:
        self.source, self.fitted_to = source, fitted_to
        self.log_weights = np.empty(0)

    def __len__(self) -> int:
        return len(self.log_weights)

    def logs(self, found: Evaluated) -> Floats:
        """Return the log weights of draws, log prior + log likelihood - log density."""
        density = self.source.log_density(found.points, found.log_prior)
        return np.asarray(found.log_prior + found.log_likelihood - density)


class Search:
    """The rounds of a run, and what they have found so far."""

    def __init__(self, model: Model, seed: int, start: Start | None = None) -> None:
        self.model, self._seed, self._start = model, seed, start
        self.held: Evaluated | None = None
        self.far: Evaluated | None = None
        self.population = Population(model.dimension)
        self.peaks: list[Peak] = []
        self.epoch: Epoch | None = None
        self.spent = self.climbs = self.climbing = self.steps = self.epochs = 0
        self.prior_points = 0
        self.still_finding = False
        self._left = self._needed = math.inf
        self._used = 0.0

    def rounds(self) -> Rounds:
        """Yield what is evaluated next, without end; the caller stops."""
        if self._start is not None:
            points = self._start.held
            self.held = yield from self._evaluated(Planned("draws", len(points), None, points))
        yield from self._look()
        yield from self._climb()
        yield from self._estimate()

    def _evaluated(self, planned: Planned) -> Generator[Planned, Evaluated, Evaluated]:
        found = yield planned
        self.spent += len(found.points)
        self._left, self._used, self._needed = found.left, found.used, found.needed
        return found

    def _drawn(
        self, phase: str, size: float, source: Defensive
    ) -> Generator[Planned, Evaluated, Evaluated]:
        found = yield from self._evaluated(Planned(phase, max(1, int(size)), source))
        self.population.add(found.points, found.log_prior, found.log_likelihood, source)
        return found

    @property
    def _budget(self) -> float:
        return self.spent + self._left

    # -- prior points

    def _look(self) -> Rounds:
        prior, wanted = Defensive(None), float(_FIRST_PRIOR)
        share = _PRIOR_SHARE if self._start is None else _PRIOR_SHARE / 2
        while self.prior_points < wanted and self._used < 0.5:
            size = min(wanted - self.prior_points, max(_FIRST_PRIOR, _GROWTH * self.prior_points))
            yield from self._drawn("prior", size, prior)
            self.prior_points = len(self.population)
            most = _MOST_PRIOR if math.isinf(self._needed) else _ENOUGH_PRIOR
            wanted = min(share * self._budget, most)
        if self._start is not None:  # no prior says how far away another mode can be
            rng = stream(self._seed, POLICY, self.spent)
            far = rng.standard_normal((self.prior_points, self.model.dimension))
            far *= _FARTHEST ** rng.random((len(far), 1))
            self.far = yield from self._evaluated(Planned("peaks", len(far), None, far))

    # -- climbs

    def _climb(self) -> Rounds:
        d = self.model.dimension
        seen = self.population if self.far is None else self.far
        points, heights = seen.points, seen.log_prior + seen.log_likelihood
        untried = np.isfinite(heights)
        usual = 60 + 3 * d if self.model.gradient else d * (d / 2 + 25) + 20
        price, began, vain = usual / self._budget, self._used, 0
        share = _CLIMB_SHARE * (1 - began)
        while vain < _IN_VAIN:
            left = share - (self._used - began)
            spent = left < price and (self.climbs or price > 2 * share)
            if spent and not self.peaks:
                return
            number = int(np.clip(left / price / 3, 1, _MOST_CLIMBS))
            if not self.peaks:
                number, score, least = min(number, 3), heights, -math.inf
            else:
                score = outlying(points, heights, self.peaks, self.model.bounded)
                least = _OUTLYING
            starts = _highest(np.where(untried, score, -math.inf), least, number)
            if spent:
                self.still_finding = not vain and len(starts) + len(self.peaks) > 1
                return
            if not len(starts):  # at least once, from what the peaks explain least
                score = unexplained(points, heights, self.peaks, self.model.bounded)
                starts = _highest(np.where(untried, score, -math.inf), -math.inf, min(number, 3))
                vain = _IN_VAIN - 1
                if not len(starts):
                    return
            untried[starts] = False
            most = left * self._budget / len(starts)
            new = yield from self._climbed(points[starts], heights[starts], most)
            price = max((self._used - began) / self.climbs, 1e-9)
            vain = 0 if new else vain + 1

    def _climbed(self, starts: Floats, heights: Floats, most: float) -> Rounds:
        """Climb from starts; return whether a peak is new."""
        gradient = self.model.gradient
        many = together(
            [
                climb(start, float(height), most, gradient=gradient, known=tuple(self.peaks))
                for start, height in zip(starts, heights, strict=True)
            ]
        )
        asked = next(many)
        try:
            while True:
                planned = Planned("peaks", len(asked.points), None, asked.points, asked.slope)
                found = yield from self._evaluated(planned)
                self.climbing += len(found.points)
                value = found.log_prior + found.log_likelihood
                asked = many.send(Values(value, found.slopes))
        except StopIteration as done:
            peaks = done.value
        self.climbs += len(starts)
        return bool(joined(self.peaks, peaks))

    # -- population and epochs

    def _estimate(self) -> Rounds:
        d = self.model.dimension
        one = 1 + d + d * (d + 1) / 2  # the parameters of one normal distribution
        least = min(float(np.clip(self._budget / 60, 50, max(100, 3 * one))), 5000)
        first = float(np.clip(0.02 * self._budget, max(50, 2 * d), 3000))
        if (mixture := self._known()) is not None:
            first = min(first + 20 * len(self.peaks), 0.1 * self._budget)
            yield from self._guess(Defensive(mixture, _GUESS_PRIOR), first)
        if self.epoch is None:
            yield from self._temper(least)
            yield from self._begin(self._fitted(), max(1.5 * least, 0.02 * self._budget))
        yield from self._epochs(least)

    def _known(self) -> Mixture | None:
        """Return the mixture at the peaks, with what was fitted to draws before."""
        peaks = at_peaks(self.peaks) if self.peaks else None
        if self._start is None or peaks is None:
            return peaks if self._start is None else self._start.mixture
        return self._start.mixture.joined(peaks, _SHARE_OF_PEAKS)

    def _guess(self, source: Defensive, size: float) -> Rounds:
        """Draw from the mixture at the peaks: an epoch if it is good, a guess if it is not.

        Draws of a normal that is too narrow do not show it; points of the prior do.
        """
        found = yield from self._drawn("estimate", size, source)
        epoch = Epoch(source)
        epoch.log_weights = epoch.logs(found)
        seen = self.population.excess(source, self._budget)
        if max(relative_variance(epoch.log_weights), seen) < _GOOD:
            self.epoch = epoch

    def _temper(self, least: float) -> Rounds:
        """Refit a mixture to the population until enough of its points are from the posterior."""
        self.population.flattened = bool(self.peaks) and self.model.dimension > _MANY
        beta = 0.0
        while (beta := self.population.next_beta(least, beta)) < 1:
            self.steps += 1
            source = Defensive(self._fitted(beta), _GUESS_PRIOR)
            yield from self._drawn("population", 1.5 * least, source)

    def _fitted(self, beta: float = 1.0) -> Mixture:
        return self.population.fitted(stream(self._seed, POLICY, self.spent), beta)

    def _begin(self, mixture: Mixture, size: float) -> Rounds:
        self.epoch = Epoch(Defensive(mixture, _EPOCH_PRIOR), self.population.effective())
        self.epochs += 1
        yield from self._more(size)

    def _more(self, size: float) -> Rounds:
        epoch = self.epoch
        assert epoch is not None
        found = yield from self._drawn("estimate", size, epoch.source)
        epoch.log_weights = np.concatenate((epoch.log_weights, epoch.logs(found)))

    def _epochs(self, least: float) -> Rounds:
        fitted_at = 0.0
        while True:
            epoch = self.epoch
            assert epoch is not None
            n, variance = len(epoch), relative_variance(epoch.log_weights)
            effective = self.population.effective()
            due = variance > _FINE or variance / n < 1 / epoch.fitted_to**2
            if due and effective > max(_NEWS * fitted_at, self.model.dimension + 2):
                fitted_at = effective
                mixture = self._fitted()
                source = Defensive(mixture, _EPOCH_PRIOR)
                promised = self.population.excess(source, n + self._left, parameters(mixture))
                promised = max(promised, _LEAST_VARIANCE)
                if self._pays(variance, epoch, promised, effective):
                    size = max(least, 100, 0.05 * self._wanted(promised, effective))
                    yield from self._begin(mixture, size)
                    continue
            wanted = self._wanted(variance, epoch.fitted_to)
            yield from self._more(min(max(0.3 * n, 50), max(wanted - n, 0.05 * n)))

    def _wanted(self, variance: float, fitted_to: float) -> float:
        """Return how many draws of a relative variance a run wants: to its tolerance, or all."""
        return min(self._to_tolerance(variance, fitted_to), len(self.epoch or ()) + self._left)

    def _to_tolerance(self, variance: float, fitted_to: float) -> float:
        error = 1 / self._needed - 1 / fitted_to**2
        return variance / error if error > 0 else math.inf

    def _pays(self, now: float, epoch: Epoch, then: float, effective: float) -> bool:
        """Tell whether an epoch of variance `then` ends before the present one, of `now`."""
        n, left = len(epoch), max(self._left, 1.0)
        if (more := self._to_tolerance(now, epoch.fitted_to) - n) < left:
            return self._to_tolerance(then, effective) < _WORTH * more
        error = now / (n + left) + 1 / epoch.fitted_to**2
        return then / left + 1 / effective**2 < _WORTH * error


def _highest(score: Floats, least: float, most: int) -> Any:
    """Return the rows of the highest scores above a least one, the highest first."""
    order = np.argsort(-score, kind="stable")[:most]
    return order[score[order] > least]


def relative_variance(logs: Floats) -> float:
    """Return the variance of weights over their squared mean: n/effective - 1; inf if all are 0."""
    effective = effective_size_of_logs(logs)
    return len(logs) / effective - 1 if effective > 0 else math.inf
