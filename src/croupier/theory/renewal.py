"""What the paper proves about runs with costs: theorem 5 and the lemmas 3 to 5 of its appendix C.

"The paper" is that of the package: Neufeld et al. (ICML 2014). N(t) is the number of the round that
is under way when the budget t is spent, so that N(t) - 1 draws are finished. Theorem 5 and lemma 5
are stated with constants that the paper does not compute; the functions here compute the bound that
its proof gives before these constants are introduced.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.theory.arrays import at_least_zero

__all__ = [
    "Concentration",
    "allocation_bound",
    "cost_regret_bound",
    "fewest_draws",
    "ratio_bounds",
    "renewal_bounds",
    "single_arm_bound",
]


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
    t, b = at_least_zero("budget", budget), at_least_zero("cap", cap)
    delta, tail = at_least_zero("cost_per_draw", cost_per_draw), at_least_zero("above", above)
    if not (tail < delta).all():
        raise PlanError(
            f"above must be less than cost_per_draw, got {above!r} and {cost_per_draw!r}: "
            "raise the cap until some costs are below it"
        )
    return t / delta, (t + b) / (delta - tail)


class Concentration(NamedTuple):
    """How the number of finished draws N of a run concentrates about its mean.

    `mean` and `second_moment` are E N and E N^2, `nothing` is P(N = 0), and `too_few` and
    `too_many` are the chances that N is below E N - c sqrt(E N) or above E N + c sqrt(E N).
    """

    mean: float
    second_moment: float
    nothing: float = 0.0
    too_few: float = 0.0
    too_many: float = 0.0

    @classmethod
    def of(cls, counts: ArrayLike, c: float) -> Concentration:
        """Return what the counts of many runs show.

        >>> Concentration.of([0, 90, 100, 110, 200], c=1.5)
        Concentration(mean=100.0, second_moment=14040.0, nothing=0.2, too_few=0.2, too_many=0.2)
        """
        n = at_least_zero("counts", counts)
        mean, c = float(n.mean()), positive("c", c, zero=True)
        if mean == 0:
            raise PlanError("counts must have a draw in some run")
        far = c * math.sqrt(mean)
        shares = (n == 0, n < mean - far, n > mean + far)
        return cls(mean, float((n * n).mean()), *(float(share.mean()) for share in shares))


def ratio_bounds(
    squares: float, count: Concentration, c: float, largest: float, default_error: float = 0.0
) -> tuple[float, float]:
    """Return bounds on E(S/N - mu)^2 for a random number N of draws with the sum S: lemma 3.

    Args:
        squares: E(S - N mu)^2.
        count: How N concentrates, for the same `c`.
        c: How many times sqrt(E N) is far.
        largest: d, an upper bound on the size of S/N - mu.
        default_error: a - mu, if the estimate is a while N = 0.

    With E N = m, the upper bound is (a - mu)^2 P(N = 0) + squares/m^2 (1 + 2c/sqrt(m))^2 +
    d^2 [P(N < m - c sqrt(m)) + 1{m < 4 c^2}]. The lower one is (a - mu)^2 P(N = 0) +
    squares/m^2 (1 - 2c/sqrt(m)) - d^2 E N^2/m^2 P(N > m + c sqrt(m)), or 0 if that is negative.

    >>> low, high = ratio_bounds(100.0, Concentration(100.0, 10_000.0), c=0.5, largest=1.0)
    >>> round(low, 4), round(high, 4)
    (0.009, 0.0121)
    """
    m, c = positive("count.mean", count.mean), positive("c", c, zero=True)
    error, d = default_error**2 * count.nothing, positive("largest", largest) ** 2
    part, far = positive("squares", squares, zero=True) / m**2, 2 * c / math.sqrt(m)
    low = error + part * (1 - far) - d * count.second_moment / m**2 * count.too_many
    high = error + part * (1 + far) ** 2 + d * (count.too_few + (m < 4 * c * c))
    return max(low, 0.0), high


def single_arm_bound(
    budget: ArrayLike,
    cost_per_draw: float,
    variance: float,
    largest: float,
    cap: ArrayLike,
    above: ArrayLike = 0.0,
) -> Floats:
    """Return a lower bound on E(S - (N-1) mu)^2 / (E N - 1)^2 of one arm at a budget: lemma 4.

    It is delta V/(t + b) - 2 B delta sqrt(delta V)/t^1.5 - V E[D 1{D > b}]/t, or 0 if that is
    negative, with all constants of the paper. `largest` is B, a bound on the distance of a draw
    from mu; `cap` and `above` are b and E[D 1{D > b}] as in `renewal_bounds`.

    >>> float(single_arm_bound(10_000, 1.0, 0.25, 0.5, cap=1.0))
    2.45e-05
    """
    t, b = at_least_zero("budget", budget), at_least_zero("cap", cap)
    tail = at_least_zero("above", above)
    delta, v = positive("cost_per_draw", cost_per_draw), positive("variance", variance)
    far = 2 * positive("largest", largest) * delta * math.sqrt(delta * v)
    return np.asarray(np.maximum(delta * v / (t + b) - far / t**1.5 - v * tail / t, 0.0))


def fewest_draws(budget: ArrayLike, costs: ArrayLike) -> Floats:
    """Return t/delta_max - 1: every allocation finishes that many draws in the mean (lemma 5).

    >>> float(fewest_draws(100, costs=[1.0, 4.0]))
    24.0
    """
    return np.asarray(at_least_zero("budget", budget) / at_least_zero("costs", costs).max() - 1)


def allocation_bound(
    budget: ArrayLike,
    costs: ArrayLike,
    variances: ArrayLike,
    suboptimal: ArrayLike,
    largest: float,
) -> Floats:
    """Return an upper bound on E(S - (N-1) mu)^2 / (E N - 1)^2 of an allocation: lemma 5.

    The paper states it as delta* V*/t + C/t^1.5 + C' f(t)/t^2 and leaves C and C' open. This is
    the line of the proof before them, at m = E N(t) - 1 >= t/delta_max - 1, where it is largest:

        (m delta* + delta* + f sum delta_k) (m V* + V* + f sum V_k + 2B sqrt(V_max (m + 1)) + V_max)
        divided by t m^2, the sums over all arms but the best

    Args:
        budget: t, at least 2 delta_max.
        costs: delta_k, the mean costs of a draw.
        variances: V_k.
        suboptimal: f(t), a bound on the mean draws of every arm but the best.
        largest: B, a bound on the distance of a draw from mu.

    >>> t = np.array([1e4, 1e6, 1e8])
    >>> bound = allocation_bound(t, [1.0, 2.0], [0.25, 0.25], 100.0, 0.5)
    >>> (bound * t / 0.25).round(4)  # it approaches delta* V*/t
    array([1.0909, 1.0034, 1.0003])
    """
    t, f = at_least_zero("budget", budget), at_least_zero("suboptimal", suboptimal)
    delta, v, best = _arms(costs, variances)
    if not (t >= 2 * delta.max()).all():
        raise PlanError(
            f"budget must be at least twice the largest cost, {2 * delta.max():g}, got {budget!r}"
        )
    others = np.arange(len(v)) != best
    m = fewest_draws(t, delta)
    spent = m * delta[best] + delta[best] + f * delta[others].sum()
    squares = m * v[best] + v[best] + f * v[others].sum()
    squares = squares + 2 * positive("largest", largest) * np.sqrt(v.max() * (m + 1)) + v.max()
    return np.asarray(spent * squares / (t * m * m))


def cost_regret_bound(
    budget: float,
    costs: ArrayLike,
    variances: ArrayLike,
    suboptimal: float,
    largest: float,
    *,
    c: float,
    ours: Concentration,
    best: Concentration,
    cap: float,
    above: float = 0.0,
    default_error: float = 0.0,
) -> float:
    """Return an upper bound on the regret R(A, t) at one budget: theorem 5, with its constants.

    The paper states it as (c + C) sqrt(t) + C_1 f(t) + C_2 t^2 P(N_k* is large) + C_3 t^2 P(N is
    small), and leaves the constants open. This is what the proof adds up: t^2 times the upper
    bound of lemma 3, with that of `allocation_bound`, minus the lower bound of lemma 3 for the best
    arm, with that of `single_arm_bound`.

    Args:
        budget: t.
        costs: delta_k.
        variances: V_k.
        suboptimal: f(t), as in `allocation_bound`.
        largest: B, a bound on the distance of a draw from mu.
        c: How many times sqrt(E N) is far; below sqrt(t/(8 delta_max)).
        ours: How the finished draws of the allocation concentrate, for the same c.
        best: The same for the best arm alone.
        cap: As in `renewal_bounds`, for the best arm.
        above: As in `renewal_bounds`, for the best arm.
        default_error: muhat_0 - mu, the error before the first draw is finished.

    >>> certain = Concentration(mean=1e6, second_moment=1e12)
    >>> bound = cost_regret_bound(
    ...     1e6, [1.0, 1.0], [0.1, 0.2], 100.0, 0.5, c=3.0, ours=certain, best=certain, cap=1.0
    ... )
    >>> round(bound)  # t delta* V* is 100 000
    2601
    """
    t = positive("budget", budget)
    delta, v, star = _arms(costs, variances)
    most = math.sqrt(t / (8 * delta.max()))
    if not positive("c", c) < most:
        raise PlanError(
            f"c must be below sqrt(t/(8 delta_max)) = {most:.4g}, got {c!r}: take a smaller c or a "
            "larger budget"
        )
    m, own = float(fewest_draws(t, delta)), t / float(delta[star]) - 1
    high = float(allocation_bound(t, delta, v, suboptimal, largest)) * m * m
    low = float(single_arm_bound(t, float(delta[star]), float(v[star]), largest, cap, above))
    _, of_ours = ratio_bounds(high, ours._replace(mean=m), c, largest, default_error)
    of_best, _ = ratio_bounds(low * own * own, best._replace(mean=own), c, largest, default_error)
    return t * t * (of_ours - of_best)


def _arms(costs: ArrayLike, variances: ArrayLike) -> tuple[Floats, Floats, int]:
    delta, v = at_least_zero("costs", costs), at_least_zero("variances", variances)
    if delta.shape != v.shape or delta.ndim != 1 or not delta.all():
        raise PlanError(
            f"costs must be above 0, and there must be as many variances, got {costs!r} and "
            f"{variances!r}"
        )
    return delta, v, int((delta * v).argmin())
