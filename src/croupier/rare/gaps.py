"""Gaps: points in the largest holes between everything that was evaluated so far.

No slope leads to a small failing region inside of a safe one. Independent scouts leave gaps that
it may lie in. A few points that fill the largest gaps (farthest first; Gonzalez, Theoretical
Computer Science 38, 1985) find it more often than as many scouts.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal

__all__ = ["GAPS_UP_TO", "gap_points", "squares_between"]

#: Above this dimension every region is a gap.
GAPS_UP_TO: Final = 3

_MOST: Final = 100
_CANDIDATES: Final = 3000

#: A gap counts if it could hide this share of the probability.
_HIDDEN: Final = 0.05


def gap_points(x: Floats, probability: float, rng: np.random.Generator) -> Floats:
    """Return up to 100 points (k, d) in the largest gaps between points x (n, d).

    A gap is a ball around a point without any point of x in it. It counts if its share of the
    normal distribution is at least 5 % of `probability`.

    >>> rng = np.random.default_rng(7)
    >>> found = gap_points(rng.normal(size=(300, 2)), 1e-3, rng)
    >>> found.shape, bool(np.linalg.norm(found, axis=1).mean() > 2)
    ((100, 2), True)
    """
    from scipy.special import chdtri, gammaln

    d, hidden = x.shape[1], _HIDDEN * min(max(probability, 1e-300), 1.0)
    farthest = math.sqrt(float(chdtri(d, hidden)))  # beyond it, all is less than such a gap
    direction = rng.standard_normal((_CANDIDATES, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = farthest * rng.random(_CANDIDATES) ** (1 / d)
    places = direction * radius[:, None]
    parts = np.array_split(x, len(x) // 1000 + 1)
    gap = np.min([squares_between(places, part).min(axis=1) for part in parts], axis=0)
    log_ball = 0.5 * d * math.log(math.pi) - float(gammaln(0.5 * d + 1))
    # Of the radius to the power d.
    log_least = math.log(hidden) - log_standard_normal(places) - log_ball
    least = np.exp(np.minimum(2 / d * log_least, 600.0))
    found: list[Floats] = []
    while len(found) < _MOST and (gap >= least).any():
        chosen = places[int(np.where(gap >= least, gap, -1.0).argmax())]
        found.append(chosen)
        gap = np.minimum(gap, squares_between(places, chosen[None])[:, 0])
    return np.array(found).reshape(len(found), d)


def squares_between(x: Floats, y: Floats) -> Floats:
    """Return the squared distances (n, m) of points (n, d) and (m, d)."""
    squares = x @ y.T
    squares *= -2.0
    squares += np.square(y).sum(axis=1)
    squares += np.square(x).sum(axis=1)[:, None]
    return np.maximum(squares, 0.0, out=squares)
