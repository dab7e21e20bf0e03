"""Bounds on the regret: from above for one policy or another, from below for all of them.

"The paper" is that of the package: Neufeld et al. (ICML 2014).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.estimates.variance_intervals import bernoulli_kl
from croupier.theory.arrays import at_least_zero
from croupier.theory.distributions import Distribution

__all__ = [
    "d_inf",
    "kl_ucb_leading_term",
    "lower_bound",
    "minimax_order",
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


# -- upper bounds


def ucb1_bound(distributions: Sequence[Distribution], draws: ArrayLike) -> Floats:
    """Return sum_k 8 log n/D_k + (1 + pi^2/3) D_k: the regret of UCB1 is at most that.

    Auer, Cesa-Bianchi and Fischer (2002), Theorem 1. D_k is the gap of arm k in payoff; the sum
    is over arms that have one. `draws` may be an array.

    >>> from croupier.theory import ScaledBernoulli
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

    >>> from croupier.theory import ScaledBernoulli
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

    >>> from croupier.theory import ScaledBernoulli
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

    >>> from croupier.theory import ScaledBernoulli
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
    return np.asarray(np.sqrt(at_least_zero("arms", arms) * at_least_zero("draws", draws)))


# -- the lower bound


def lower_bound(distributions: Sequence[Distribution]) -> float:
    """Return sum_k (V_k - V*)/D_inf(psi_k, V*): regret cannot grow slower than that times log n.

    The paper's Theorem 3, for an allocation that on any distributions on [0, 1] plays arms of
    more than the least variance fewer than n^a times, for every a > 0. The sum is over those
    arms; it is 0, and says nothing, where all variances are equal or the least is 0.

    >>> from croupier.theory import ScaledBernoulli
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

    >>> from croupier.theory import ScaledBernoulli
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
    """Return max over u in [0, 1] of E log(u + (1 - u)(X - m)^2/v), for each m.

    It is found by bisection of the slope in the log-odds of u: it falls in u.
    """
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
            f"distributions must be one or more of Discrete, ScaledBernoulli, UniformDistribution, "
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


def _log(draws: ArrayLike) -> Floats:
    n = at_least_zero("draws", draws)
    if not (n >= 1).all():
        raise PlanError(f"draws must be at least 1, got {draws!r}")
    return np.asarray(np.log(n))
