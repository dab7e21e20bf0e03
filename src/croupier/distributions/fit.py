"""Fits to weighted points: one normal, or a mixture by expectation and maximisation.

A mixture starts from the parts of the points. A part is cut in two along an axis, at the best place
of all, as long as the Bayesian information criterion (Schwarz, Annals of Statistics 6, 1978)
prefers two. Every covariance is shrunk by one rule: see `shrunk`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import inverse_of, root_of, turned
from croupier.distributions.weights import effective_size, log_sum_exp

__all__ = ["Shrink", "bic", "fit", "fit_normal", "moments", "nearest_centres", "parts", "shrunk"]

#: Gives the covariance of a component: from its weighted covariance, mean and effective size.
Shrink: TypeAlias = Callable[[Floats, Floats, float], Floats]

#: A variance is at least this share of that of all points: a coordinate may have one value only.
_NARROWEST: Final = 1e-12

#: A round of EM that raises the mean log density by less is the last: it changes no estimate.
_ENOUGH: Final = 1e-3

#: Two sides of a line are modes of their own if their means are so many times the sum of their
#: standard deviations apart: 1.3 for a normal distribution cut in half, 1.7 for a uniform one. In
#: many dimensions a covariance has so many parameters that the criterion would join far modes.
_APART: Final = 2.5


def shrunk(covariance: Floats, mean: Floats, effective: float) -> Floats:
    """Return a covariance from n = `effective` points, shrunk towards independent coordinates.

    The diagonal counts as d points (an inverse Wishart prior: Fraley and Raftery, Journal of
    Classification 24, 2007). That is right for coordinates that look independent, whose
    correlation matrix has the least eigenvalue (1 - sqrt(d/n))^2 (Marchenko and Pastur 1967). If it
    is a factor c smaller, the diagonal counts c times as much: a narrow direction stays narrow.

    >>> float(shrunk(np.array([[1.0, 0.5], [0.5, 1.0]]), np.zeros(2), 2.0)[0, 1])
    0.25
    >>> narrow = np.array([[1.0, 0.9999], [0.9999, 1.0]])
    >>> bool(1 - shrunk(narrow, np.zeros(2), 98.0)[0, 1] < 1.1e-4)
    True
    """
    d = len(covariance)
    if d == 1:
        return covariance
    share, variances = d / (d + effective), covariance.diagonal()
    if effective > d:
        deviations = np.sqrt(variances)
        least = np.linalg.eigvalsh(covariance / np.outer(deviations, deviations))[0]
        share *= float(np.clip(least / (1 - math.sqrt(d / effective)) ** 2, 1e-12, 1.0))
    found = (1 - share) * covariance
    found.flat[:: d + 1] = variances
    return np.asarray(found)


def moments(points: Floats, weights: Floats) -> tuple[Floats, Floats, float]:
    """Return the weighted mean and covariance of points (n, d), and the effective size."""
    v = weights / weights.sum()
    mean = v @ points
    away = points - mean
    return mean, (away * v[:, None]).T @ away, float(effective_size(v))


def fit_normal(points: Floats, weights: Floats, *, shrink: Shrink = shrunk) -> Mixture | None:
    """Return the normal distribution with the weighted moments; None if too few points have weight.

    With the weights |f| p/q it is the normal distribution nearest to the best proposal of all,
    |f| p (cross-entropy: Rubinstein and Kroese 2004).

    >>> fit_normal(np.array([[0.0], [2.0]]), np.ones(2)).roots.tolist()
    [[[1.0]]]
    """
    total = float(weights.sum())
    if not 0 < total < math.inf:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean, covariance, effective = moments(points, weights)
    # Two points have a covariance.
    if (
        effective < 1.5
        or not (covariance.diagonal() > 0).all()
        or not np.isfinite(covariance).all()
    ):
        return None
    try:
        root = root_of(shrink(covariance, mean, effective))
    except np.linalg.LinAlgError:
        return None
    return Mixture(np.ones(1), mean[None], root[None])


def fit(
    points: Floats,
    weights: Floats,
    start: Mixture | Floats | None = None,
    *,
    most: int = 32,
    df: float | None = None,
    steps: int = 5,
    shrink: Shrink = shrunk,
) -> Mixture:
    """Return a mixture fitted to weighted points (n, d) by expectation and maximisation.

    Args:
        points: The points; a point without weight does not count.
        weights: Their weights, in any unit.
        start: A mixture, responsibilities (n, k), or None for at most `most` `parts`.
        most: The largest number of components.
        df: Degrees of freedom of Student's distributions (Peel and McLachlan, Statistics and
            Computing 10, 2000), or None for normal ones.
        steps: The largest number of rounds.
        shrink: What makes a covariance from that of the points of a component.

    >>> rng = np.random.default_rng(7)
    >>> x = np.concatenate((rng.normal(4, 0.3, (60, 2)), rng.normal(-4, 0.3, (60, 2))))
    >>> fit(x, np.ones(120)).shares.tolist()
    [0.5, 0.5]
    """
    used = weights > 0
    x, w = points[used], weights[used] / weights[used].sum()
    if start is None:
        start = np.eye(most)[parts(x, w, most, shrink=shrink)]
    elif not isinstance(start, Mixture):
        start = start[used]
    floor = _NARROWEST * moments(x, w)[1].diagonal() + 1e-300
    best = start if isinstance(start, Mixture) else _maximised(x, w, start, None, df, floor, shrink)
    before = -math.inf
    # One normal is known at once.
    for _ in range(steps if len(best) > 1 or df is not None else 0):
        joint = best.joint(x)
        total = log_sum_exp(joint)
        now = float(w @ total)
        if now - before < _ENOUGH:
            break
        before = now
        best = _maximised(x, w, np.exp(joint - total[:, None]), best, df, floor, shrink)
    return best


def bic(mixture: Mixture, points: Floats, weights: Floats, numbers: float | None = None) -> float:
    """Return -2 log likelihood + parameters x log n, with n the effective size: less is better.

    `numbers` is how many numbers the covariances have, if they were shrunk to fewer than all.
    """
    k, d = mixture.means.shape
    n = float(effective_size(weights))
    parameters = k * (1 + d) - 1 + (k * d * (d + 1) / 2 if numbers is None else numbers)
    mean = float(weights @ mixture.log_density(points) / weights.sum())
    return float(-2 * n * mean + parameters * math.log(max(n, 2.0)))


def nearest_centres(
    points: Floats, weights: Floats, k: int, rng: np.random.Generator, *, rounds: int = 3
) -> NDArray[np.intp]:
    """Return the nearest of k centres for every point: k-means++ and some rounds of Lloyd.

    Arthur and Vassilvitskii, SODA 2007, with weights.
    """
    w = weights / weights.sum()
    centres = points[[rng.choice(len(points), p=w)]]
    away = np.square(points - centres[0]).sum(axis=1)
    while len(centres) < k:
        score = away * w
        p = score / score.sum() if score.any() else w
        centres = np.vstack((centres, points[rng.choice(len(points), p=p)]))
        away = np.minimum(away, np.square(points - centres[-1]).sum(axis=1))
    for step in range(rounds + 1):
        squares = np.square(centres).sum(axis=1) - 2 * (points @ centres.T)
        nearest = squares.argmin(axis=1)
        if step == rounds:
            break
        for j in range(k):
            own = nearest == j
            if (mass := w[own].sum()) > 0:
                centres[j] = w[own] @ points[own] / mass
    return np.asarray(nearest, np.intp)


def _maximised(
    x: Floats,
    w: Floats,
    member: Floats,
    before: Mixture | None,
    df: float | None,
    floor: Floats,
    shrink: Shrink,
) -> Mixture:
    """Return the mixture in which point i belongs to component k with the share member[i, k]."""
    shares, means, roots = [], [], []
    mass = w @ member
    for k in np.flatnonzero(mass > 0):
        v = w * member[:, k]
        effective = float(effective_size(v))
        # A single point has no covariance, and d/4 points hardly any: four fifths would be prior.
        if effective < max(2.0, x.shape[1] / 4) and mass[k] < mass.max():
            continue
        if df is not None and before is not None:
            # The expected precision of a point, whose normal distribution has a random scale.
            squares = before.squared_distances(x, int(k))
            v = v * (df + x.shape[1]) / (df + squares)
        mean, covariance, _ = moments(x, v)
        if df is not None and before is not None:
            covariance *= v.sum() / mass[k]
        covariance.flat[:: len(mean) + 1] = np.maximum(covariance.diagonal(), floor)
        shares.append(mass[k])
        means.append(mean)
        roots.append(root_of(shrink(covariance, mean, effective)))
    total = np.array(shares)
    return Mixture(total / total.sum(), np.array(means), np.array(roots), df)


class _Cut(NamedTuple):
    """What a cut gains, in nats for each point, one of the sides, and how far they are apart."""

    gain: float
    side: NDArray[np.bool_]
    apart: float


def parts(points: Floats, weights: Floats, most: int, *, shrink: Shrink = shrunk) -> Any:
    """Return the part, from 0 to at most `most` - 1, of every weighted point.

    The part with the largest gain is cut first.

    >>> x = np.random.default_rng(7).normal(0, 1, (400, 2))
    >>> x[300:] += 20
    >>> np.bincount(parts(x, np.ones(400), 32)).tolist()
    [100, 300]
    """
    label = np.zeros(len(points), np.intp)
    heap: list[tuple[float, int, Any, Any]] = []

    def offer(k: int, rows: Any) -> None:
        cut = _best_cut(points[rows], weights[rows], shrink)
        if cut is not None:
            heapq.heappush(heap, (-cut.gain, k, rows, cut.side))

    offer(0, np.arange(len(points)))
    for new in range(1, most):
        if not heap:
            break
        _, k, rows, side = heapq.heappop(heap)
        one, other = rows[~side], rows[side]
        label[other] = new
        offer(k, one)
        offer(new, other)
    return label


def _best_cut(x: Floats, weights: Floats, shrink: Shrink) -> _Cut | None:
    """Return how a part is best cut in two; None if one normal is better."""
    d, w = x.shape[1], weights / weights.sum()
    mean, covariance, n = moments(x, w)
    if n < 2 * (d + 1):  # a side with fewer points than d + 1 has no covariance
        return None
    covariance.flat[:: d + 1] = np.maximum(covariance.diagonal(), 1e-300)
    root = root_of(shrink(covariance, mean, n))
    z = turned(x - mean, inverse_of(root))
    # The directions in which the points are least normal: coordinates, and the axes of the
    # covariance weighted by the squared distance (the fourth moments).
    squares = np.einsum("ij,ij->i", z, z)
    lines = [*_standardised(x - mean, w).T]
    if d > 1:
        scaled = np.column_stack(lines)
        main = np.linalg.eigh((scaled * w[:, None]).T @ scaled)[1]
        fourth = np.linalg.eigh((z * (w * squares)[:, None]).T @ z)[1]
        lines += [*_standardised(scaled @ main, w).T, *_standardised(z @ fourth, w).T]
    line = max((_cut_of_line(along, w, d + 1) for along in lines), key=lambda cut: cut.gain)
    # A share, a mean and a variance more, and one of several axes.
    gap = n * line.gain - 1.5 * math.log(n) - math.log(len(lines))
    best = _Cut(gap, line.side, line.apart) if gap > 0 and line.apart > _APART else None
    # Without a gap: a line for curved shapes, or the distance for a narrow part within a wide one.
    one = bic(Mixture(np.ones(1), mean[None], root[None]), x, w)
    radius = _cut_of_line(np.sqrt(squares), w, d + 1)
    for cut in (line, radius):
        if cut.gain == -math.inf:
            continue
        two = fit(x, w, np.column_stack((~cut.side, cut.side)).astype(float), shrink=shrink)
        side = two.joint(x).argmax(axis=1) == 1
        gain = 0.5 * (one - bic(two, x, w))
        enough = min(effective_size(w[side]), effective_size(w[~side])) >= d + 1
        if enough and gain > (best.gain if best else 0.0):
            best = _Cut(gain, side, cut.apart)
    return best


def _standardised(columns: Floats, w: Floats) -> Floats:
    """Return columns with the weighted mean 0 divided by their deviations; constant ones stay 0."""
    deviations = np.sqrt(w @ np.square(columns))
    return np.asarray(columns / np.where(deviations > 0, deviations, 1.0))


def _cut_of_line(along: Floats, w: Floats, fewest: float) -> _Cut:
    """Return the best place of all to cut a line of points, of variance 1, in two normals.

    The gain of the mean log density is p log p + (1 - p) log(1 - p) - (p log v1 + (1 - p) log v2)/2
    where p is the share and v1 the variance of one side. A variance counts for as many points as
    the weights of its side are worth: a few heavy points that lie close are no narrow part. Each
    side has at least as many effective points as `fewest`.
    """
    n = effective_size(w)
    order = np.argsort(along, kind="stable")
    y, v = along[order], w[order]
    terms = np.array((v, v * y, v * y * y, v * v))
    low = terms.cumsum(axis=1)[:, :-1]
    high = terms[:, ::-1].cumsum(axis=1)[:, -2::-1]
    gain = np.zeros(len(v) - 1)
    width, apart = np.zeros_like(gain), np.zeros_like(gain)
    with np.errstate(divide="ignore", invalid="ignore"):
        for mass, first, second, square in (low, high):
            mean = first / mass
            variance = np.maximum(second / mass - mean * mean, 1e-12)
            count = np.minimum(mass, mass * mass / square / n)
            gain += mass * np.log(mass) - 0.5 * count * np.log(variance)
            gain[~(mass * mass >= fewest * square)] = -math.inf
            width, apart = width + np.sqrt(variance), mean - apart
    gain[y[1:] == y[:-1]] = -math.inf
    at = int(np.argmax(gain))
    side = np.zeros(len(w), bool)
    side[order[at + 1 :]] = True
    return _Cut(
        float(gain[at]), side, float(apart[at] / width[at]) if gain[at] > -math.inf else 0.0
    )
