"""Population: weighted points on the way from a prior to a posterior, with all their sources.

Every point is weighted as a draw of the mixture of all distributions that points were drawn from
(the deterministic mixture: Veach and Guibas 1995; Cornuet et al., Scandinavian Journal of
Statistics 39, 2012). So no point is lost when the temperature falls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import ndtr

from croupier.data.draws import Floats
from croupier.distributions.fit import fit
from croupier.distributions.mixture import Mixture
from croupier.distributions.weights import effective_size_of_logs, log_sum_exp, systematic
from croupier.searching.peaks import Peak

__all__ = ["Defensive", "Population", "outlying", "parameters", "unexplained"]

#: Components are fitted with this many degrees of freedom, so that far points do not widen them,
#: and drawn from with more, a little wider, so that tails are covered.
_FITTED_DF: Final = 5.0
_DRAWN_DF: Final = 8.0
_WIDER: Final = 1.1

#: The share of one component about all points: without it, parts with few points leave gaps and
#: tails uncovered that fresh draws do not see; on plateaus, silently.
_WHOLE: Final = 0.1

#: Points with less than this share of the weight together do not count in a fit; of the others, a
#: sample of so many does.
_LIGHT: Final = 1e-4
_MOST_FITTED: Final = 4000
_MOST_COMPONENTS: Final = 32

#: Neighbours whose median is what a value should be, and how many known values make a median.
_NEIGHBOURS: Final = 51
_FEWEST: Final = 20

#: Of this share of the points, the best ones, those that peaks explain least are climbed from.
_BEST: Final = 0.1


@dataclass(frozen=True)
class Defensive:
    """A mixture with a share of the prior (Hesterberg, Technometrics 37, 1995); None: the prior.

    Because of that share, no weight is larger than the likelihood over the share.
    """

    mixture: Mixture | None
    share: float = 1.0

    def log_density(self, points: Floats, log_prior: Floats) -> Floats:
        """Return the log density at points, given that of the prior."""
        if self.mixture is None:
            return log_prior
        own = math.log(1 - self.share) + self.mixture.log_density(points)
        return np.asarray(np.logaddexp(own, math.log(self.share) + log_prior))


class Population:
    """Points of all rounds with their log prior and log likelihood, and where they came from."""

    def __init__(self, dimension: int) -> None:
        self.points = np.empty((0, dimension))
        self.log_prior, self.log_likelihood = np.empty(0), np.empty(0)
        self._log_drawn = np.empty(0)  # log of sum_s n_s q_s
        self._sources: list[tuple[int, Defensive]] = []
        self.flattened = False

    def __len__(self) -> int:
        return len(self.points)

    def copy(self) -> Population:
        """Return a population with the same points, to which others can be added."""
        other = Population(self.points.shape[1])
        vars(other).update(vars(self))
        other._sources = [*self._sources]
        return other

    def add(
        self, points: Floats, log_prior: Floats, log_likelihood: Floats, source: Defensive
    ) -> None:
        """Add draws of a distribution; the weights of all points change."""
        terms = [math.log(n) + each.log_density(points, log_prior) for n, each in self._sources]
        drawn = log_sum_exp(terms, axis=0) if terms else np.full(len(points), -np.inf)
        self.points = np.concatenate((self.points, points))
        self.log_prior = np.concatenate((self.log_prior, log_prior))
        self.log_likelihood = np.concatenate((self.log_likelihood, log_likelihood))
        new = source.log_density(self.points, self.log_prior) + math.log(len(points))
        self._log_drawn = np.logaddexp(np.concatenate((self._log_drawn, drawn)), new)
        self._sources.append((len(points), source))

    def log_weights(self, beta: float = 1.0) -> Floats:
        """Return the log weights for prior x likelihood^beta; their sum estimates its integral.

        If the population is `flattened`, they are beta times those for the posterior: the way from
        where the points are, not from the prior (Koblents and Miguez, Statistics and Computing 25,
        2015).
        """
        if self.flattened and beta > 0:
            return np.asarray(beta * self._log_posterior)
        flat = np.where(self.log_likelihood > -np.inf, 0.0, -np.inf)
        powered = beta * self.log_likelihood if beta > 0 else flat
        return np.asarray(self.log_prior + powered - self._log_drawn)

    @property
    def _log_posterior(self) -> Floats:
        return np.asarray(self.log_prior + self.log_likelihood - self._log_drawn)

    def effective(self, beta: float = 1.0) -> float:
        """Return the effective size of the points at an inverse temperature."""
        return float(effective_size_of_logs(self.log_weights(beta)))

    def next_beta(self, least: float, beta: float) -> float:
        """Return the largest inverse temperature at which `least` points count; never a lower one.

        It is found by bisection (Jasra et al., Scandinavian Journal of Statistics 38, 2011).
        """
        if self.effective(1.0) >= least:
            return 1.0
        low, high = 0.0, 1.0
        while high - low > 1e-3 * high and high > 1e-14:
            middle = 0.5 * (low + high) if low > 0 else 0.3 * high
            if self.effective(middle) >= least:
                low = middle
            else:
                high = middle
        return max(low, beta)

    def fitted(self, rng: np.random.Generator, beta: float = 1.0) -> Mixture:
        """Return a mixture fitted to the weighted points, a little wider than they are."""
        logs = self.log_weights(beta)
        if not logs.max() > -np.inf:  # nothing to fit yet: as wide as the space
            return Mixture.normal(np.zeros(self.points.shape[1])).widened(_WIDER)
        weights = np.exp(logs - logs.max())
        order = np.argsort(weights, kind="stable")
        heavy = np.sort(order[np.cumsum(weights[order]) > _LIGHT * weights.sum()])
        if len(heavy) > _MOST_FITTED:
            # The number of times that a row is drawn is its new weight.
            rows = heavy[systematic(rng, weights[heavy], _MOST_FITTED)]
            heavy, times = np.unique(rows, return_counts=True)
            weights = np.zeros(len(weights))
            weights[heavy] = times
        points = self.points[heavy]
        if len(heavy) < 3:
            return Mixture(np.ones(1), points[-1:], np.eye(points.shape[1])[None], _DRAWN_DF)
        found = fit(points, weights[heavy], df=_FITTED_DF, most=_MOST_COMPONENTS)
        if len(found) > 1:
            whole = fit(points, weights[heavy], df=_FITTED_DF, most=1)
            found = found.joined(whole, _WHOLE)
        return Mixture(found.shares, found.means, math.sqrt(_WIDER) * found.roots, _DRAWN_DF)

    def excess(self, candidate: Defensive, draws: float, parameters: float = 0.0) -> float:
        """Return the relative variance that so many draws of a candidate are expected to show.

        E_q[(f/q)^2]/Z^2 = E_post[f/q]/Z is estimated with the weighted points. If they have made
        the candidate, they flatter it: its log density there is too large by p/(2 n) on average,
        for p parameters and n effective points (Akaike 1974), and as much too low elsewhere; a
        variance feels twice that. A ratio above n is cut to n: where it is larger, n draws do not
        come, and the variance of all draws may be infinite (Ionides, Journal of Computational and
        Graphical Statistics 17, 2008).
        """
        logs = self.log_weights()
        total = float(log_sum_exp(logs))
        if not math.isfinite(total):
            return math.inf
        ratio = self.log_prior + self.log_likelihood - total
        ratio -= candidate.log_density(self.points, self.log_prior)
        ratio = np.minimum(ratio, math.log(draws))
        seen = float(log_sum_exp(logs - total + np.where(logs > -np.inf, ratio, -np.inf)))
        n = effective_size_of_logs(logs)
        return math.expm1(min(seen + 2 * parameters / n, 700.0))


def parameters(mixture: Mixture) -> float:
    """Return the number of free numbers of a mixture."""
    k, d = mixture.means.shape
    return float(k * (1 + d + d * (d + 1) / 2) - 1)


def outlying(points: Floats, heights: Floats, peaks: Sequence[Peak], bounded: Any) -> Floats:
    """Return how far points are above what the known peaks predict, in local deviations.

    `heights` are log densities. Coordinates between bounds are standard normal in the prior.

    The prediction is the median of points at the same level of the normals at the peaks, so it need
    not be right: a monotone function of it must be.
    """
    score = np.full(len(points), -np.inf)
    known, value, level = _explained(points, heights, peaks, bounded)
    if known.sum() < _FEWEST or not peaks:
        score[known] = value
        return score
    order = np.argsort(level, kind="stable")
    above = value[order] - median_filter(value[order], _NEIGHBOURS, mode="nearest")
    usual = median_filter(np.abs(above), _NEIGHBOURS, mode="nearest")
    found = np.empty(len(order))
    found[order] = above / (1.5 * usual + 1.0)  # 1.5 makes a deviation; below 1 nothing matters
    score[known] = found
    return score


def unexplained(points: Floats, heights: Floats, peaks: Sequence[Peak], bounded: Any) -> Floats:
    """Return how far the best points are above the normals at the known peaks.

    Where modes are alike, as the labels of a mixture are, half of the points can be in another mode
    and none of them is outlying.
    """
    score = np.full(len(points), -np.inf)
    known, value, level = _explained(points, heights, peaks, bounded)
    if len(value):
        best = value >= np.quantile(value, 1 - _BEST)
        score[known] = np.where(best, value - level, -np.inf)
    return score


def _explained(
    points: Floats, heights: Floats, peaks: Sequence[Peak], bounded: Any
) -> tuple[Any, Floats, Floats]:
    """Return which points are possible, how high they are, and what the peaks' normals say.

    Coordinates between bounds are uniform again, because there a smooth likelihood is more nearly
    quadratic than in normal coordinates.
    """
    value = heights + 0.5 * np.where(bounded, np.square(points), 0.0).sum(axis=1)
    known = np.isfinite(value)
    y, value = _evened(points[known], bounded), value[known]
    levels = [np.full(len(y), -np.inf)]
    for peak in peaks:
        slope = np.where(bounded, _EVEN * np.exp(-0.5 * peak.mean**2) / _ROOT, 1.0)
        height = peak.height + 0.5 * float(np.where(bounded, peak.mean, 0.0) @ peak.mean)
        root = np.linalg.cholesky(slope[:, None] * peak.covariance * slope)
        away = np.linalg.solve(root, (y - _evened(peak.mean, bounded)).T)
        levels.append(height - 0.5 * np.square(away).sum(axis=0))
    return known, value, np.asarray(log_sum_exp(levels, axis=0))


_EVEN: Final = math.sqrt(12)
_ROOT: Final = math.sqrt(2 * math.pi)


def _evened(points: Floats, bounded: Any) -> Floats:
    """Return points whose bounded coordinates are uniform, with variance 1."""
    return np.where(bounded, _EVEN * (ndtr(points) - 0.5), points)
