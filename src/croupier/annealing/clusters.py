"""Find the modes of a cloud of points, and fit a mixture to it.

Points that are far apart are told apart by their neighbours: a group whose nearest neighbours are
all in the group is a mode, however small its share is. Within a group, a normal distribution is
split in two if its points have a gap along some line, and as long as the Bayesian information
criterion prefers two (for curved shapes). In many dimensions the gap is the better witness: a
covariance has so many parameters that the criterion would join modes that are far apart.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.annealing.mixtures import Mixture
from croupier.annealing.pilots import covariance_root
from croupier.data.draws import Floats

__all__ = ["fit_groups", "fit_mixture", "refit"]

#: Neighbours that tie a point to its group.
NEIGHBOURS: Final = 6

#: Neighbours are searched among this many points with the largest weights.
MOST_POINTS: Final = 2000

#: In at most so many dimensions, a tree finds neighbours faster than all distances do.
_TREE: Final = 10

#: The largest number of components, and the points for each dimension that a component needs.
MOST: Final = 32
ENOUGH: Final = 4.0

#: Two halves of a line of points are two modes if their means are this many times the sum of
#: their standard deviations apart: 1.3 for a normal distribution, 1.7 for a uniform one.
APART: Final = 2.5

#: A gap needs at least this many points, and each side of it five.
GAP: Final = 40
FIVE: Final = 5.0

#: Rounds of expectation and maximisation.
ROUNDS: Final = 8

#: A split that is far too expensive after this round is given up.
HOPELESS: Final = 2

#: The smallest share of a component.
LEAST: Final = 1e-3


def fit_mixture(points: Floats, weights: Floats, spread: Floats, freedom: float) -> Mixture:
    """Return a mixture fitted to weighted points; equal points count as one."""
    points, weights, groups = _grouped(points, weights)
    parts: list[Any] = []
    for rows in groups:
        parts += _split(rows, points, weights, spread)
    law = _of_parts(parts, points, weights, spread, freedom)
    return refit(law, points, weights, spread) if len(parts) > len(groups) else law


def fit_groups(points: Floats, weights: Floats, spread: Floats, freedom: float) -> Mixture:
    """Return a mixture with one component for each group of weighted points, curved or not.

    >>> x = np.random.default_rng(7).normal(0, 1, (400, 2))
    >>> x[300:] += 20
    >>> fit_groups(x, np.full(400, 1 / 400), np.ones(2), 8.0).shares.tolist()
    [0.75, 0.25]
    """
    points, weights, groups = _grouped(points, weights)
    return _of_parts(groups, points, weights, spread, freedom)


def _grouped(points: Floats, weights: Floats) -> tuple[Floats, Floats, list[Any]]:
    """Return different points, their weights, and the rows of each group."""
    same: Any = np.unique(points, axis=0, return_inverse=True)
    points = np.asarray(same[0])
    weights = np.asarray(np.bincount(np.ravel(same[1]), weights, len(points)), dtype=float)
    alive = weights > 0
    points, weights = points[alive], weights[alive] / weights.sum()
    groups = _groups(points, weights)
    return points, weights, [np.flatnonzero(groups == k) for k in range(int(groups.max()) + 1)]


def _of_parts(
    parts: list[Any], points: Floats, weights: Floats, spread: Floats, freedom: float
) -> Mixture:
    """Return a component for each part, at most the heaviest `MOST`."""
    if len(parts) > MOST:
        parts = sorted(parts, key=lambda rows: -weights[rows].sum())[:MOST]
    member = np.zeros((len(points), len(parts)))
    for k, rows in enumerate(parts):
        member[rows, k] = 1.0
    return _maximised(points, weights, member, spread, freedom)


def refit(law: Mixture, points: Floats, weights: Floats, spread: Floats) -> Mixture:
    """Return the mixture after some rounds of expectation and maximisation."""
    for _ in range(ROUNDS):
        logs = law.log_parts(points)
        member = np.exp(logs - logs.max(axis=1, keepdims=True))
        member /= member.sum(axis=1, keepdims=True)
        law = _maximised(points, weights, member, spread, law.freedom)
    return law


def _groups(points: Floats, weights: Floats) -> Any:
    """Return the group of every point, by the graph of nearest neighbours."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(points)
    if n < 2 * NEIGHBOURS + 2:
        return np.zeros(n, dtype=int)
    centre = weights @ points
    scale = np.sqrt(np.maximum(weights @ (points - centre) ** 2, 1e-300))
    scaled = (points - centre) / scale
    heavy = np.sort(np.argsort(-weights, kind="stable")[:MOST_POINTS])
    near = _nearest(scaled[heavy], scaled[heavy], NEIGHBOURS + 1)
    rows = np.repeat(np.arange(len(heavy)), NEIGHBOURS + 1)
    graph = coo_matrix((np.ones(len(rows)), (rows, near.ravel())), (len(heavy),) * 2)
    _, found = connected_components(graph, directed=True, connection="weak")
    if n > len(heavy):
        found = found[_nearest(scaled, scaled[heavy], 1)[:, 0]]
    return found


def _nearest(points: Floats, others: Floats, number: int) -> Any:
    """Return the nearest of the others for each of the points, (m, number), in any order."""
    if points.shape[1] <= _TREE:
        from scipy.spatial import cKDTree

        return cKDTree(others).query(points, number)[1].reshape(len(points), number)
    points, others = points.astype(np.float32), others.astype(np.float32)  # twice as fast
    squares = np.einsum("ij,ij->i", others, others)
    found = []
    for block in np.array_split(points, max(1, len(points) // 500)):
        away = squares - 2 * (block @ others.T)
        if number == 1:
            found.append(away.argmin(axis=1)[:, None])
        else:
            found.append(np.argpartition(away, number - 1, axis=1)[:, :number])
    return np.concatenate(found)


def _split(rows: Any, points: Floats, weights: Floats, spread: Floats) -> list[Any]:
    """Return the rows in one or more parts, each about normal."""
    n, d = len(rows), points.shape[1]
    if n < GAP:
        return [rows]
    x, w = points[rows], weights[rows] / weights[rows].sum()
    effective = 1 / float(w @ w)
    few = n < 2 * ENOUGH * d + 8 or effective < 2 * ENOUGH * d
    if few and effective < GAP:
        return [rows]
    mean, root = covariance_root(x, w, effective, spread)
    z = (x - mean) @ np.linalg.inv(root).T
    if few:  # too few for covariances, but a line of points may show a gap
        gap = _gap(z, w, FIVE / effective)
        return [rows] if gap is None else _halves(rows, gap, points, weights, spread)
    one = _log_normal(x, mean, root)
    best: tuple[float, Any] = (0.0, None)
    # Directions in which the whitened points are least normal: coordinates, and those of the
    # covariance weighted by the distance (the first axes of the fourth moments).
    fourth = (w[:, None] * (z * z).sum(axis=1, keepdims=True) * z).T @ z
    axes = np.concatenate([np.eye(d), np.linalg.eigh(fourth)[1].T])
    along = z @ axes.T
    gap = _gap(along, w, LEAST)
    if gap is not None:
        return _halves(rows, gap, points, weights, spread)
    flat = w @ along**4 - 3 * (w @ along**2) ** 2
    price = 0.5 * (1 + d + d * (d + 1) / 2) * math.log(effective)
    for a in dict.fromkeys([*np.argsort(flat)[:2].tolist(), int(np.argmax(flat))]):
        side = (along[:, a] > w @ along[:, a]).astype(float)
        for rounds in range(ROUNDS):
            shares, logs, ok = [], [], True
            for member in (side, 1 - side):
                v = w * member
                share = float(v.sum())
                if share < LEAST or share**2 / float(v @ v) < ENOUGH * d:
                    ok = False
                    break
                part = covariance_root(x, v / share, share**2 / float(v @ v), spread)
                shares.append(share)
                logs.append(math.log(share) + _log_normal(x, *part))
            if not ok:
                break
            both = np.logaddexp(*logs)
            side = np.exp(logs[0] - both)
            gain = effective * float(w @ (both - one)) - price
            if rounds == HOPELESS and gain < -0.3 * price:
                break
        if ok and gain > best[0]:
            best = gain, side > 0.5
    return [rows] if best[1] is None else _halves(rows, best[1], points, weights, spread)


def _halves(rows: Any, side: Any, points: Floats, weights: Floats, spread: Floats) -> list[Any]:
    """Return the parts of the rows on each side."""
    return [*_split(rows[side], points, weights, spread),
            *_split(rows[~side], points, weights, spread)]  # fmt: skip


def _gap(along: Floats, weights: Floats, least: float) -> Any:
    """Return which points are on one side of the widest gap of the columns, None if none is wide.

    Two means for each column (Lloyd 1982), from the two sides of its mean. Each side has at least
    a share of `least`.
    """
    middle, total, whole = weights @ along, weights @ along, weights @ along**2
    for _ in range(ROUNDS):
        above = along > middle
        share = np.clip(weights @ above, 1e-12, 1 - 1e-12)
        mean = weights @ (along * above)
        high, low = mean / share, (total - mean) / (1 - share)
        middle = 0.5 * (high + low)
    square = weights @ (along**2 * above)
    widths = [square / share - high**2, (whole - square) / (1 - share) - low**2]
    both = np.sqrt(np.maximum(widths, 0.0)).sum(axis=0)
    ratio = np.where(np.minimum(share, 1 - share) > least, (high - low) / (both + 1e-300), 0.0)
    widest = int(np.argmax(ratio))
    return above[:, widest] if ratio[widest] > APART else None


def _log_normal(points: Floats, mean: Floats, root: Floats) -> Floats:
    z = (points - mean) @ np.linalg.inv(root).T
    logs = float(np.log(root.diagonal()).sum()) + 0.5 * len(mean) * math.log(2 * math.pi)
    return np.asarray(-0.5 * np.einsum("ij,ij->i", z, z) - logs)


def _maximised(
    points: Floats, weights: Floats, member: Floats, spread: Floats, freedom: float
) -> Mixture:
    """Return the mixture of the components that the points are members of."""
    shares, means, roots = [], [], []
    for k in range(member.shape[1]):
        v = weights * member[:, k]
        share = float(v.sum())
        if share <= 0:
            continue
        effective = share**2 / float(v @ v)
        mean, root = covariance_root(points, v / share, effective, spread)
        shares.append(max(share, LEAST))
        means.append(mean)
        roots.append(root)
    total = np.array(shares)
    return Mixture(total / total.sum(), np.array(means), np.array(roots), freedom)
