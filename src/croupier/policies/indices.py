"""The index formulas of the policies, written once and elementwise.

numpy evaluates them on a live run, and numba compiles the same functions for the simulator.

The paper's indices are upper bounds B on a mean payoff in [0, 1]. Here each is 1 - B, a lower
bound on a mean loss: the smallest is played, and what is close to a payoff of 1 keeps its digits.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats

__all__ = [
    "NEWTON_STEPS",
    "catoni_mean",
    "kl_excess",
    "kl_level",
    "kl_newton",
    "kl_slope",
    "kl_start",
    "kl_ucb",
    "least_draws",
    "log_variance_bound",
    "median_of_means",
    "moss",
    "others_off",
    "price_draw",
    "robust_width",
    "shared_mean_guard",
    "subgaussian_ucb",
    "truncated_mean",
    "ucb1",
    "ucb_v",
    "variance_draw",
    "visit",
    "waits",
]

_TINY: Final = float(np.finfo(float).tiny)

#: The guard visits up to this many variances arm by arm. It sweeps over more of them at once, at
#: most 12 times, until none moves by more than 30 %.
_FEW: Final = 400
_SWEEPS: Final = 12
_STILL: Final = 0.3

#: The third and the fourth draw of an expensive arm cost at most this share of what was spent on
#: the other arms: in a short run they would take the budget. An arm is expensive if another arm
#: costs less than this share of its price.
_FIRST: Final = 0.125

#: Newton steps of KL-UCB, at most: it converges quadratically and from one side.
NEWTON_STEPS: Final = 60


def ucb1(loss: Floats, count: Floats, log_time: float, scale: float = 2.0) -> Floats:
    """Return 1 - B of UCB1: Auer, Cesa-Bianchi and Fischer (2002), figure 1, with scale 2."""
    bound: Floats = loss - np.sqrt(scale * log_time / count)
    return bound


def ucb_v(
    loss: Floats, variance: Floats, count: Floats, log_time: float, zeta: float, c: float
) -> Floats:
    """Return 1 - B of UCB-V: Audibert, Munos and Szepesvári (TCS 410, 2009)."""
    level = zeta * log_time / count
    bound: Floats = loss - np.sqrt(2 * variance * level) - 3 * c * level
    return bound


def kl_level(time: float, f: float = 3.0) -> float:
    """Return f(t) = log t + f log log t, and f(3) before that, where it would be negative.

    Garivier and Cappé (COLT 2011), algorithm 1, with c = 3.
    """
    time = max(time, 3.0)
    return math.log(time) + f * math.log(math.log(time))


def kl_ucb(loss: Floats, level: Floats) -> Floats:
    """Return w = -log(1 - q) for the largest q with kl(1 - loss, q) <= level.

    Garivier and Cappé (COLT 2011), algorithm 1. At small counts q is closer to 1 than a double
    can say, so the unknown is w. There kl is convex, with a slope that is known exactly; Newton's
    method started above the root comes down to it and never passes it.

    >>> np.exp(-kl_ucb(np.array([0.5, 1.0]), np.array([0.2, 2.0])))  # 1 - q
    array([0.2130, 0.1353])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        least, log_mean = -np.log(loss), np.log1p(-loss)
        w = np.where(loss < 1, kl_start(loss, level, least, (1 - loss) * log_mean), level)
        w = np.where(loss > 0, w, np.inf)
        for _ in range(NEWTON_STEPS):
            lower = kl_newton(loss, level, w, least, log_mean)
            if not (lower < w).any():
                break
            w = np.where(lower < w, lower, w)
    return np.asarray(w)


def kl_start(loss: Floats, level: Floats, least: Floats, m_log_m: Floats) -> Floats:
    """Return a w above that of `kl_ucb`: kl >= loss (w - least) + m log m, and kl >= 2 (q - m)^2.

    m is 1 - loss, and `least` is -log(loss), where kl is zero.
    """
    above = least + (level - m_log_m) / loss
    room = loss - np.sqrt(level / 2)
    start: Floats = np.minimum(above, -np.log(np.maximum(room, 0.0)))
    return start


def kl_newton(loss: Floats, level: Floats, w: Floats, least: Floats, log_mean: Floats) -> Floats:
    """Return what one step of Newton's method makes of w, which lies above the root.

    At the root, and where rounding hides the slope, the step is not below w.
    """
    excess = kl_excess(loss, level, w, least, log_mean, np.log(-np.expm1(-w)))
    slope = kl_slope(loss, w)
    lower: Floats = np.maximum(w - (slope > 0) * excess / slope, least)
    return lower


def kl_excess(
    loss: Floats, level: Floats, w: Floats, least: Floats, log_mean: Floats, log_q: Floats
) -> Floats:
    """Return kl(1 - loss, q) - level at q = 1 - exp(-w), all by their logarithms."""
    excess: Floats = loss * (w - least) + (1 - loss) * (log_mean - log_q) - level
    return excess


def kl_slope(loss: Floats, w: Floats) -> Floats:
    """Return how fast `kl_excess` grows with w: loss - (1 - loss)/(exp(w) - 1)."""
    slope: Floats = loss - (1 - loss) / np.expm1(w)
    return slope


def moss(loss: Floats, count: Floats, rounds: float) -> Floats:
    """Return 1 - B of MOSS with `rounds` = n/K: Audibert and Bubeck (COLT 2009)."""
    bound: Floats = loss - np.sqrt(np.maximum(np.log(rounds / count), 0.0) / count)
    return bound


def subgaussian_ucb(
    loss: Floats, count: Floats, log_time: float, sigma: float, alpha: float
) -> Floats:
    """Return the bound for losses with subgaussian coefficient sigma.

    The (alpha, psi)-UCB of Bubeck and Cesa-Bianchi (2012), section 2.2, with psi = sigma^2 x^2/2;
    with sigma = 1/2, that of losses in [0, 1], and alpha = 4 it is UCB1.
    """
    bound: Floats = loss - sigma * np.sqrt(2 * alpha * log_time / count)
    return bound


# -- means that one wild loss does not spoil: Bubeck, Cesa-Bianchi and Lugosi, Bandits with heavy
# -- tail (IEEE Trans. Inf. Theory 59, 2013); `level` is log(1/delta), `moment` bounds the moment
# -- of order 1 + eps


def robust_width(count: float, level: float, moment: float, eps: float, mean: str) -> float:
    """Return how far a robust mean is off with probability delta at most."""
    power = eps / (1 + eps)
    if mean == "truncated":
        return float(4 * moment ** (1 / (1 + eps)) * (level / count) ** power)
    if mean == "median-of-means":
        return float((12 * moment) ** (1 / (1 + eps)) * (16 * (level + 1 / 8) / count) ** power)
    # Catoni's mean has no bound before it has seen enough.
    return math.inf if count < 4 * level else 2 * math.sqrt(moment * level / count)


def truncated_mean(losses: Floats, level: float, moment: float, eps: float) -> float:
    """Return the mean of the losses, those left out that are above a slowly growing threshold."""
    order = np.arange(1, len(losses) + 1)
    threshold = (moment * order / max(level, _TINY)) ** (1 / (1 + eps))
    return float(np.where(np.abs(losses) <= threshold, losses, 0.0).mean())


def median_of_means(losses: Floats, level: float) -> float:
    """Return the median of the means of about 8 level blocks of equal length."""
    blocks = max(1, int(min(8 * level + 1, len(losses) / 2)))
    length = len(losses) // blocks
    return float(np.median(losses[: blocks * length].reshape(blocks, length).sum(axis=1) / length))


def catoni_mean(losses: Floats, level: float, moment: float) -> float:
    """Return the root in theta of sum psi(alpha (x - theta)), by bisection.

    psi(x) = sign(x) log(1 + |x| + x^2/2) grows like a logarithm; `moment` bounds the variance.
    """
    n = len(losses)
    spare = max(n - 2 * level, _TINY)
    alpha = math.sqrt(2 * level / (n * (moment + 2 * moment * level / spare)))
    low, high = float(losses.min()), float(losses.max())
    while high - low > 1e-12 * max(abs(low), abs(high)):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        away = alpha * (losses - middle)
        if (np.sign(away) * np.log1p(np.abs(away) + away * away / 2)).sum() > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


# -- the default policies


def waits(price: Floats, cheapest: float, elsewhere: Floats) -> NDArray[np.bool_]:
    """Return whether an arm is too expensive for its third draw; `elsewhere`: what others cost."""
    early: NDArray[np.bool_] = (price > _FIRST * elsewhere) & (_FIRST * price > cheapest)
    return early


def variance_draw(variance: Floats, df: Floats, chi2: Floats) -> Floats:
    """Return a draw of the variance's posterior: df s2 / chi2_df, the scaled inverse chi-square.

    Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.2, with the effective df.
    """
    return df * variance / chi2


def price_draw(score: Floats, error: Floats, normal: Floats) -> Floats:
    """Return the score with its price drawn: times exp(z e), e the price's relative error."""
    drawn: Floats = score * np.exp(error * normal)
    return drawn


def least_draws(
    floor: float,
    even: float,
    count: Floats,
    variance: Floats,
    guarded: Floats,
    price: Floats,
    best: float,
) -> Floats:
    """Return the least number of draws that an arm must have; `floor` for most arms.

    If the guard alone keeps an arm from being the best, because it makes the variance r times as
    large, the doubt is tested by draws. After r times its draws the guard would no longer object,
    if the new draws have the mean of the other arms. The test has up to 1/r^2 of an `even` share of
    all draws. The larger the doubt, the fewer draws may be lost on it.
    """
    doubt = guarded / np.maximum(variance, _TINY)
    test = np.minimum(count * doubt, even / np.maximum(doubt * doubt, 1.0))
    untested = (doubt > 1) & (price * variance < best)
    return np.where(untested, np.maximum(floor, test), floor)


def log_variance_bound(variance: Floats, df: Floats, total: float) -> Floats:
    """Return a lower confidence bound: s2 exp(-z sqrt(2/df)), z = sqrt(log(t)/2)."""
    z = np.sqrt(np.log(total) / 2)
    return np.asarray(variance * np.exp(-z * np.sqrt(2 / df)))


def shared_mean_guard(
    count: Floats, mean: Floats, variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Raise the variance of an arm whose mean disagrees with those of more variable arms.

    All arms share one mean, so an arm that claims a small variance must agree with those that
    claim larger ones. Visiting arms in descending variance, with A = sum n/V and M = sum n x/V
    over those visited: D = |x - M/A| - z/sqrt(A), V = max(s2, n max(D, 0)^2/4), and z by
    `others_off`.

    Returns V (K, d), of no meaning for arms that have not varied, and, per component, the
    precision A and mean M/A of all arms that vary.
    """
    z = others_off(float(count.sum()))
    if variance.size > _FEW:
        return _swept(count, mean, variance, z)
    n, visited = count.tolist(), []
    for x, s2 in zip(mean.T.tolist(), variance.T.tolist(), strict=True):
        order = sorted(range(len(s2)), key=s2.__getitem__, reverse=True)
        visited.append(visit(order, n, x, s2, z))
    v, a, m = zip(*visited, strict=True)
    return np.array(v).T, np.array(a), np.array(m)


def others_off(total: float) -> float:
    """Return by how many of its standard errors the mean of the other arms may be off.

    z = max(2, sqrt(2/3 log t)): 2 in the first 400 draws, 3 at 10^6. A long run looks often, so
    some look finds the means 2 standard errors apart by chance. That doubt would last, because
    the mean of an arm with many draws hardly moves.

    >>> [round(others_off(t), 2) for t in (100.0, 1e4, 1e6)]
    [2.0, 2.48, 3.03]
    """
    return math.sqrt(max(4.0, 2 / 3 * math.log(total)))


def visit(
    order: list[int], n: list[float], x: list[float], s2: list[float], z: float
) -> tuple[list[float], float, float]:
    """Visit the arms of one component in an order of descending variance; return V, A and M/A.

    >>> visit([0, 1], [100.0, 100.0], [0.0, 3.0], [1.0, 0.01], 2.0)  # the second claims too much
    ([1.0, 196.0], 100.510, 0.01523)
    """
    v = s2.copy()
    a = centre = 0.0
    for k in order:
        variance = s2[k]
        if variance == 0:
            break
        off = x[k] - centre
        if a * off * off > z * z:  # the first has no other to agree with: a is zero
            d = abs(off) - z / math.sqrt(a)
            v[k] = variance = max(variance, n[k] * d * d / 4)
        weight = n[k] / variance
        a += weight
        centre += off * weight / a
    return v, a, centre


def _swept(
    count: Floats, mean: Floats, variance: Floats, z: float
) -> tuple[Floats, Floats, Floats]:
    """Return the same for many arms: all at once, again and again until it settles."""
    order = _descending(variance)
    # One component is indexed by rows, which is much faster than by pairs.
    rows = order[:, 0] if order.shape[1] == 1 else (order, np.arange(order.shape[1]))
    n, x, s2 = count[order], mean[rows], variance[rows]
    if not s2.all():  # arms that do not vary have no say
        n, s2 = np.where(s2 > 0, n, 0.0), np.where(s2 > 0, s2, 1.0)
    v = s2.copy()
    pair = 1 + 1j * x  # a cumulative sum of complex numbers is two in the time of one
    for _ in range(_SWEEPS):
        sums = (n / v * pair).cumsum(axis=0)
        a, m = np.maximum(sums.real, _TINY), sums.imag
        # An arm is compared with those visited before it; the first has no other to agree with.
        d = np.abs(x[1:] - m[:-1] / a[:-1]) - z / np.sqrt(a[:-1])
        new = np.maximum(s2[1:], n[1:] * np.square(np.maximum(d, 0.0)) / 4)
        settled = (np.abs(new - v[1:]) <= _STILL * new).all()
        v[1:] = new
        if settled:
            break
    guarded = np.empty_like(v)
    guarded[rows] = v
    return guarded, np.where(n.any(axis=0), a[-1], 0.0), m[-1] / a[-1]


def _descending(variance: Floats) -> NDArray[np.intp]:
    """Return the order of descending variance to within 1 %, in linear time.

    The upper half of a float32 sorts like the number itself, and 16-bit keys sort by radix: ten
    times faster than an exact sort, which a run of 10 000 arms would feel.
    """
    keys = variance.astype(np.float32).view(np.uint32) >> np.uint32(16)
    return (~keys.astype(np.uint16)).argsort(axis=0, kind="stable")
