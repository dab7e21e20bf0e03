"""What theory says of an allocation: its regret from counts, and bounds on the regret.

Neufeld, György, Schuurmans and Szepesvári, *Adaptive Monte Carlo via Bandit Allocation* (ICML
2014), here "the paper". Distributions are those of draws in [0, 1], all with one mean; the payoff
that a bandit policy sees is 1 - X^2, so that its gaps are the differences of the variances.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import positive, range_of, weights_of
from croupier.draws import Floats
from croupier.errors import PlanError
from croupier.intervals import bernoulli_kl

__all__ = [
    "Discrete",
    "Distribution",
    "ScaledBernoulli",
    "TruncatedNormal",
    "Uniform",
    "cost_regret",
    "d_inf",
    "kl_ucb_leading_term",
    "lower_bound",
    "minimax_order",
    "mse_regret",
    "normalised_mse",
    "regret_from_counts",
    "renewal_bounds",
    "thompson_leading_term",
    "ucb1_bound",
    "ucbv_bound",
]

#: Variances closer than this are a tie: quadrature and rounding tell no smaller gap.
_TIE: Final = 1e-12

#: The minimum over the mean of the other distribution: a grid, then rounds that close in on each
#: of its local minima, eightfold at least.
_GRID: Final = 257
_ROUNDS: Final = 9

#: Log-odds of u between these are all that doubles tell apart; each bisection halves them.
_LOG_ODDS: Final = (-700.0, 40.0)
_BISECTIONS: Final = 50

#: At most so many numbers are worked on at once.
_CHUNK: Final = 1_000_000

#: Nodes on either side of the centre, and the power that crowds them there.
_NODES: Final = 96
_CROWDED: Final = 3


# -- regret


def mse_regret(mse: ArrayLike, variances: ArrayLike, draws: ArrayLike) -> Floats:
    """Return the MSE-regret n^2 (MSE - V*/n) of an estimate from n draws, V* the least variance.

    >>> float(mse_regret(0.011, variances=[1.0, 4.0], draws=100))  # the best arm alone: 0.01
    10.0
    """
    v = _at_least_zero("variances", variances).min()
    mse, n = _at_least_zero("mse", mse), _at_least_zero("draws", draws)
    return np.asarray(n * (n * mse - v))


def regret_from_counts(counts: ArrayLike, variances: ArrayLike) -> Floats:
    """Return sum_k T_k (V_k - V*), whose expectation is the MSE-regret of the plain mean.

    The regret identity (paper, Theorem 1), per run: `counts` are the draws of each arm along the
    last axis. The mean over runs has far less noise than one made of squared errors.

    >>> float(regret_from_counts([90, 10], variances=[1.0, 4.0]))
    30.0
    """
    t, v = _counts(counts, variances)
    return np.asarray((t * (v - v.min())).sum(axis=-1))


def normalised_mse(counts: ArrayLike, variances: ArrayLike) -> Floats:
    """Return n times the MSE of the plain mean, from counts: sum_k T_k V_k / n, per run.

    >>> float(normalised_mse([90, 10], variances=[1.0, 4.0]))
    1.3
    """
    t, v = _counts(counts, variances)
    return np.asarray((t * v).sum(axis=-1) / _drawn(t))


def cost_regret(budget: float, counts: ArrayLike, variances: ArrayLike, costs: ArrayLike) -> Floats:
    """Return t^2 sum_k T_k V_k / N^2 - t min_k delta_k V_k: the regret at a budget t, per run.

    `counts` are the draws that were finished when t was spent, N their sum, `costs` the mean
    costs per draw delta_k. The mean over runs estimates R(A, t) = t^2 (L(A, t) - min_k L_k(t))
    of the paper's section 4, with L_k(t) ~ delta_k V_k / t. It is exact where N is fixed, as with
    equal costs (then it is `regret_from_counts`), and where neither N nor the choices depend on
    the values; elsewhere, and where costs go with values, an approximation.

    >>> float(cost_regret(100, [40, 10], variances=[1.0, 4.0], costs=[2.0, 2.0]))
    120.0
    """
    t = positive("budget", budget)
    pulls, v = _counts(counts, variances)
    delta = _at_least_zero("costs", costs)
    if delta.shape != v.shape or not delta.all():
        raise PlanError(f"costs must be above 0, one for each of {v.size} arms, got {costs!r}")
    n = _drawn(pulls)
    return np.asarray(t * (t * (pulls * v).sum(axis=-1) / n / n - (delta * v).min()))


def renewal_bounds(
    budget: ArrayLike, cost_per_draw: ArrayLike, cap: ArrayLike, above: ArrayLike
) -> tuple[Floats, Floats]:
    """Return t/delta and (t + b)/(delta - E[D 1{D > b}]): bounds on E N(t), elementwise.

    N(t) counts an arm's draws up to the one under way when t is spent, which is one more than
    those finished. `cap` is any b with P(D <= b) > 0, `above` is E[D 1{D > b}], the part of the
    mean cost due to costs beyond it (paper, appendix C). For costs that never exceed b it is 0.

    >>> low, high = renewal_bounds(1000, cost_per_draw=1.0, cap=2.0, above=0.0)
    >>> float(low), float(high)
    (1000.0, 1002.0)
    """
    t, b = _at_least_zero("budget", budget), _at_least_zero("cap", cap)
    delta, tail = _at_least_zero("cost_per_draw", cost_per_draw), _at_least_zero("above", above)
    if not (tail < delta).all():
        raise PlanError(
            f"above must be less than cost_per_draw, got {above!r} and {cost_per_draw!r}: "
            "raise the cap until some costs are below it"
        )
    return t / delta, (t + b) / (delta - tail)


# -- distributions of draws in [0, 1]


class Distribution(ABC):
    """Of a draw in [0, 1]: a quadrature rule, and the moments that follow from it.

    A distribution of your own is a class with `support` and `nodes`.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the greatest value, or where all but e^-45 of the density is."""

    @abstractmethod
    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return points and weights, a row for each centre, that may have a logarithm there.

        The weights of a row sum to 1. Rows may be alike: then one row does for all.
        """

    def expected(self, function: Callable[[Floats], Floats]) -> float:
        """Return the mean of a smooth function of the draw."""
        points, weights = self.nodes(np.array([sum(self.support) / 2]))
        return float((weights * function(points)).sum())

    @property
    def mean(self) -> float:
        """The mean of a draw."""
        return self.expected(lambda x: x)

    @property
    def variance(self) -> float:
        """The variance of a draw."""
        mean = self.mean
        return self.expected(lambda x: np.square(x - mean))

    @property
    def payoff_mean(self) -> float:
        """The mean of the payoff 1 - X^2."""
        return self.expected(lambda x: 1 - x * x)

    @property
    def payoff_variance(self) -> float:
        """The variance of the payoff 1 - X^2."""
        mean = self.payoff_mean
        return self.expected(lambda x: np.square(1 - x * x - mean))


@dataclass(frozen=True)
class Discrete(Distribution):
    """Finitely many points of [0, 1], with weights that sum to 1.

    >>> Discrete([0, 0.5, 1], [0.25, 0.5, 0.25]).variance
    0.125
    """

    points: Sequence[float]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        weights = weights_of("weights", self.weights) or ()
        points = _array("points", self.points)
        if points.shape != (len(weights),):
            raise PlanError(
                f"points and weights must be as many, got {self.points!r} and {self.weights!r}"
            )
        for point in points:
            _within("points", float(point))
        if abs(sum(weights) - 1) > 1e-9:
            raise PlanError(f"weights must sum to 1, got {sum(weights)}: divide them by that")
        object.__setattr__(self, "points", tuple(points.tolist()))
        object.__setattr__(self, "weights", tuple(weight / sum(weights) for weight in weights))

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest of the points that have a weight."""
        points, _ = self.nodes(np.zeros(1))
        return float(points.min()), float(points.max())

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return the points that have a weight, whatever the centres."""
        weights = np.array(self.weights)
        return np.array(self.points)[None, weights > 0], weights[None, weights > 0]


@dataclass(frozen=True)
class ScaledBernoulli(Distribution):
    """The arms of the paper's Figure 1: mu + s (Z - 1/2), Z a fair coin; the variance is s^2/4.

    >>> ScaledBernoulli(0.5).variance
    0.0625
    """

    s: float
    mu: float = 0.5

    def __post_init__(self) -> None:
        positive("s", self.s)
        _array("mu", self.mu)
        for point in self.support:
            _within("mu - s/2 and mu + s/2", point)

    @property
    def support(self) -> tuple[float, float]:
        """The two values."""
        return self.mu - self.s / 2, self.mu + self.s / 2

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return the two values, whatever the centres."""
        return np.array([self.support]), np.full((1, 2), 0.5)


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform on [low, high] within [0, 1].

    >>> round(12 * Uniform(0.25, 0.75).variance, 12)
    0.25
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _range_within(self.low, self.high)

    @property
    def support(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return Gauss-Legendre nodes on either side of each centre."""
        return _around(centres, self.support, np.ones_like)


@dataclass(frozen=True)
class TruncatedNormal(Distribution):
    """Normal with mean mu and deviation sigma before it is cut to [low, high] within [0, 1].

    >>> arm = TruncatedNormal(0.5, 0.2)
    >>> round(arm.mean, 6), round(arm.variance, 6)
    (0.5, 0.03645)
    """

    mu: float
    sigma: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)
        if not np.isfinite(_array("mu", self.mu)):
            raise PlanError(f"mu must be finite, got {self.mu!r}: for a flat density use Uniform")
        _range_within(self.low, self.high)

    @property
    def support(self) -> tuple[float, float]:
        """Both ends, or where the density is above e^-45 of its greatest."""
        peak = min(max(self.mu, self.low), self.high)
        off, wide = abs(peak - self.mu), 90 * self.sigma * self.sigma
        reach = wide / (math.sqrt(off * off + wide) + off)
        return max(self.low, peak - reach), min(self.high, peak + reach)

    def nodes(self, centres: Floats) -> tuple[Floats, Floats]:
        """Return Gauss-Legendre nodes on either side of each centre, weighted by the density."""
        peak = min(max(self.mu, self.low), self.high)

        def density(x: Floats) -> Floats:
            exponent = (x - peak) * (x + peak - 2 * self.mu) / (2 * self.sigma * self.sigma)
            return np.asarray(np.exp(-exponent))

        return _around(centres, self.support, density)


# -- upper bounds


def ucb1_bound(distributions: Sequence[Distribution], draws: ArrayLike) -> Floats:
    """Return sum_k 8 log n/D_k + (1 + pi^2/3) D_k: the regret of UCB1 is at most that.

    Auer, Cesa-Bianchi and Fischer (2002), Theorem 1. D_k is the gap of arm k in payoff; the sum
    is over arms that have one. `draws` may be an array.

    >>> arms = [ScaledBernoulli(1.0), ScaledBernoulli(0.5)]
    >>> float(ucb1_bound(arms, 1_000))
    295.535
    """
    problem = _problem(distributions)
    constant = (1 + math.pi**2 / 3) * problem.gaps.sum()
    return np.asarray((8 / problem.gaps).sum() * _log(draws) + constant)


def ucbv_bound(
    distributions: Sequence[Distribution], draws: ArrayLike, c_zeta: float = 10.0
) -> Floats:
    """Return c_zeta sum_k (Var_k/D_k + 2) log n: the regret of UCB-V is at most that.

    Audibert, Munos and Szepesvári (2009); c_zeta = 10 is for zeta = 1.2 and c = 1, as the paper
    takes it. Var_k is the variance of arm k's payoff.

    >>> arms = [ScaledBernoulli(1.0), ScaledBernoulli(0.5)]
    >>> float(ucbv_bound(arms, 1_000))
    230.259
    """
    problem = _problem(distributions)
    slope = (problem.payoff_variances / problem.gaps + 2).sum()
    return np.asarray(positive("c_zeta", c_zeta) * slope * _log(draws))


def kl_ucb_leading_term(distributions: Sequence[Distribution], draws: ArrayLike) -> Floats:
    """Return sum_k D_k/kl(mu_k, mu*) log n: the leading term of a bound on KL-UCB's regret.

    Only the leading term, and no bound at any finite n: a remainder of order sqrt(log n) is left
    out (Cappé et al. 2013, Corollary 1, has it). mu_k is the mean payoff of arm k.

    >>> arms = [ScaledBernoulli(1.0), ScaledBernoulli(0.5)]
    >>> float(kl_ucb_leading_term(arms, 1_000))
    17.093
    """
    problem = _problem(distributions)
    divergences = bernoulli_kl(problem.payoff_means, problem.best_payoff)
    return np.asarray((problem.gaps / divergences).sum() * _log(draws))


def thompson_leading_term(distributions: Sequence[Distribution], draws: ArrayLike) -> Floats:
    """Return (sum_k 1/D_k^2)^2 log n: the order of a bound on Thompson sampling's regret.

    Only an order, and no bound: the printed form (paper, section 2; Agrawal and Goyal 2012)
    leaves out a constant factor and lower terms. Gaps below 1 make it grow fast: read it as
    "logarithmic", not as a figure to compare with.

    >>> arms = [ScaledBernoulli(1.0), ScaledBernoulli(0.5)]
    >>> float(thompson_leading_term(arms, 1_000))
    5588.971
    """
    problem = _problem(distributions)
    return np.asarray(np.square((problem.gaps**-2.0).sum()) * _log(draws))


def minimax_order(arms: ArrayLike, draws: ArrayLike) -> Floats:
    """Return sqrt(K n): the order of the regret in the worst case, up to a constant factor.

    No policy does better on all problems (Auer, Cesa-Bianchi, Freund and Schapire 2002), and MOSS
    attains it (Audibert and Bubeck 2010); UCB1, UCB-V and KL-UCB do up to logarithms.

    >>> float(minimax_order(4, 10_000))
    200.0
    """
    return np.asarray(np.sqrt(_at_least_zero("arms", arms) * _at_least_zero("draws", draws)))


# -- the lower bound


def lower_bound(distributions: Sequence[Distribution]) -> float:
    """Return sum_k (V_k - V*)/D_inf(psi_k, V*): regret cannot grow slower than that times log n.

    The paper's Theorem 3, for an allocation that on any distributions on [0, 1] plays arms of
    more than the least variance fewer than n^a times, for every a > 0. The sum is over those
    arms; it is 0, and says nothing, where all variances are equal or the least is 0.

    >>> arms = [ScaledBernoulli(1.0), ScaledBernoulli(0.5)]
    >>> round(lower_bound(arms), 4)
    0.2705
    """
    problem = _problem(distributions)
    worse = zip(problem.worse, map(float, problem.gaps), strict=True)
    return math.fsum(gap / d_inf(psi, problem.least_variance) for psi, gap in worse)


def d_inf(distribution: Distribution, variance: float) -> float:
    """Return D_inf(psi, v): the least KL(psi, psi') of any psi' with a variance below v.

    The smaller it is, the longer an arm of distribution psi can be taken for one of variance v.
    A variance is the least E'(X - m)^2 over m, so this is a minimum over m of problems with one
    linear constraint, E'(X - m)^2 <= v, whose dual has one variable (as in Honda and Takemura
    2010; what mass psi' has outside psi's support is best put at m):

        D_inf(psi, v) = min_m max_{0 <= u <= 1} E log(u + (1 - u)(X - m)^2/v)

    There may be several local minima over m, all between psi's least and greatest value. For two
    points of equal weight the result is log(V/v)/2, V their variance. It is infinite at v = 0.

    >>> round(d_inf(ScaledBernoulli(1.0), variance=0.0625), 6), round(math.log(4) / 2, 6)
    (0.693147, 0.693147)
    """
    v = positive("variance", variance, zero=True)
    if v == 0:
        return math.inf  # no variance is below it
    if distribution.variance <= v:
        return 0.0
    low, high = distribution.support
    points, _ = distribution.nodes(np.array([(low + high) / 2]))
    grid = np.unique(np.concatenate([np.linspace(low, high, _GRID), points.ravel()]))
    value = np.pad(_divergences(distribution, grid, v), 1, constant_values=np.inf)
    dips = np.flatnonzero((value[1:-1] <= value[:-2]) & (value[1:-1] <= value[2:]))
    left, m, right = (grid[np.clip(dips + to, 0, grid.size - 1)] for to in (-1, 0, 1))
    columns = np.arange(dips.size)
    for _ in range(_ROUNDS):
        closer = np.concatenate([np.linspace(left, m, 9), np.linspace(m, right, 9)[1:]])
        value = _divergences(distribution, closer.ravel(), v).reshape(closer.shape)
        # At an end of the support one half of the bracket has no width: ties go to the middle.
        best = np.where(value[8] <= value.min(axis=0), 8, value.argmin(axis=0))
        left, m, right = (closer[np.clip(best + to, 0, 16), columns] for to in (-1, 0, 1))
    return max(0.0, float(value.min()))


def _divergences(distribution: Distribution, m: Floats, v: float) -> Floats:
    """Return max over u in [0, 1] of E log(u + (1 - u)(X - m)^2/v), for each m."""
    points, _ = distribution.nodes(m[:1])
    rows = max(1, _CHUNK // points.shape[1])
    parts = [m[start : start + rows] for start in range(0, m.size, rows)]
    return np.concatenate([_dual(distribution, part, v) for part in parts])


def _dual(distribution: Distribution, m: Floats, v: float) -> Floats:
    """Return the same, by bisection of the slope in the log-odds of u: it falls in u."""
    points, weights = distribution.nodes(m)
    q = np.square(points - m[:, None]) / v
    low, high = (np.full((m.size, 1), end) for end in _LOG_ODDS)
    for _ in range(_BISECTIONS):
        odds = (low + high) / 2
        u, rest = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))
        rising = (weights * ((1 - q) / (u + rest * q))).sum(axis=1, keepdims=True) > 0
        low, high = np.where(rising, odds, low), np.where(rising, high, odds)
    # Whichever of u and 1 - u is small keeps its digits.
    with np.errstate(divide="ignore"):
        log = np.where(odds > 0, np.log1p(rest * (q - 1)), np.log(u + rest * q))
    return np.asarray((weights * log).sum(axis=1))


# -- what the functions above share


class _Problem(NamedTuple):
    """The arms of more than the least variance: gaps, payoffs, and what they are compared with."""

    worse: list[Distribution]
    gaps: Floats
    payoff_means: Floats
    payoff_variances: Floats
    best_payoff: float
    least_variance: float


def _problem(distributions: Sequence[Distribution]) -> _Problem:
    arms = list(distributions)
    if not arms or not all(isinstance(arm, Distribution) for arm in arms):
        raise PlanError(
            f"distributions must be one or more of Discrete, ScaledBernoulli, Uniform, "
            f"TruncatedNormal or a Distribution of your own, got {distributions!r}"
        )
    means = [arm.mean for arm in arms]
    if max(means) - min(means) > 1e-9:
        raise PlanError(
            f"all arms must have one mean, got {', '.join(f'{mean:.6g}' for mean in means)}: "
            "shift the distributions, since the bounds are for estimates of one number"
        )
    variances = np.array([arm.variance for arm in arms])
    best = int(variances.argmin())
    worse = [k for k, v in enumerate(variances) if v > variances[best] + _TIE]
    return _Problem(
        worse=[arms[k] for k in worse],
        gaps=variances[worse] - variances[best],
        payoff_means=np.array([arms[k].payoff_mean for k in worse]),
        payoff_variances=np.array([arms[k].payoff_variance for k in worse]),
        best_payoff=arms[best].payoff_mean,
        least_variance=float(variances[best]),
    )


@lru_cache
def _crowded() -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights for [0, 1] in y = z^3, crowded at 0."""
    z, w = np.polynomial.legendre.leggauss(_NODES)
    z, w = (z + 1) / 2, w / 2
    return z**_CROWDED, _CROWDED * z ** (_CROWDED - 1) * w


def _around(
    centres: Floats, support: tuple[float, float], density: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Return nodes and weights on either side of each centre, where a logarithm may be."""
    y, w = _crowded()
    centre = centres[:, None]
    sides = [end - centre for end in support]
    points = np.concatenate([centre + side * y for side in sides], axis=1)
    weights = np.concatenate([np.abs(side) * w for side in sides], axis=1) * density(points)
    return points, weights / weights.sum(axis=1, keepdims=True)


def _counts(counts: ArrayLike, variances: ArrayLike) -> tuple[Floats, Floats]:
    t, v = _at_least_zero("counts", counts), _at_least_zero("variances", variances)
    if v.ndim != 1 or t.ndim == 0 or t.shape[-1] != v.size:
        raise PlanError(
            f"variances must be one per arm and counts end in an axis of as many, "
            f"got the shapes {v.shape} and {t.shape}"
        )
    return t, v


def _drawn(counts: Floats) -> Floats:
    n = counts.sum(axis=-1)
    if not n.all():
        raise PlanError(
            "counts must have at least one draw in every run: a run without one has no mean; "
            "give it more, or leave it out"
        )
    return np.asarray(n)


def _array(name: str, value: ArrayLike) -> Floats:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise PlanError(f"{name} must be a number or an array of them, got {value!r}") from None


def _at_least_zero(name: str, value: ArrayLike) -> Floats:
    array = _array(name, value)
    if not array.size or not ((array >= 0) & (array < np.inf)).all():
        raise PlanError(f"{name} must be finite numbers of at least 0, got {value!r}")
    return array


def _log(draws: ArrayLike) -> Floats:
    n = _at_least_zero("draws", draws)
    if not (n >= 1).all():
        raise PlanError(f"draws must be at least 1, got {draws!r}")
    return np.asarray(np.log(n))


def _within(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise PlanError(
            f"{name} must lie in [0, 1], got {value!r}: rescale draws in [a, b] to (x - a)/(b - a)"
        )


def _range_within(low: float, high: float) -> None:
    range_of("(low, high)", (low, high))
    _within("low", low)
    _within("high", high)
