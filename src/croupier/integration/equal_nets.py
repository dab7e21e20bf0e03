"""Nets whose means are equal although f varies: a least error for jumps.

The mean of a net of n points of an indicator is a multiple of 1/n. If f jumps across one axis only,
just one point of the net decides between two neighbouring multiples: it falls on one of the sides
of the jump. With four nets, all of them often fall on the same side. Then their means are equal, or
nearly so, and so are those of their halves. The spread of the means says nothing about their error.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from croupier.data.draws import Floats
from croupier.integration.net_errors import differences

__all__ = ["error_of_jump", "highest_jump", "least_of_equal_nets"]

#: Means are equal by the grid of the points if their variance is this small, relative to the
#: smallest that fits to a net without a jump. By chance 0.3 % of normal means are as equal.
_TOO_EQUAL: Final = 0.01

#: No variance of nets falls faster than n^-3 (Owen, Annals of Statistics 25, 1997).
_FASTEST: Final = 3.0

#: That of a jump across one axis falls like n^-2.
_OF_JUMP: Final = 2.0


def error_of_jump(nets: int) -> float:
    """Return the standard error of the mean of equal nets, in units of (height of the jump)/n.

    A net has the jump on the left of its point with the chance t, the share of the cell of width
    1/n that is left of the jump. Before the draw, t is uniform. If all R nets agree, its density is
    (R + 1) t^R (Laplace's rule of succession), and the error of the mean, 1 - t, has the mean
    square 2/((R + 2)(R + 3)).

    >>> round(error_of_jump(4), 3)
    0.218
    """
    return math.sqrt(2 / ((nets + 2) * (nets + 3)))


def highest_jump(u: Floats, values: Floats) -> Floats:
    """Return the largest difference between neighbours on a line, for each column of `values`.

    Smooth functions have differences of the size 1/n, so the error of such a jump, which falls like
    n^-2, is far below that of their nets, n^-3/2.

    >>> u = np.array([0.1, 0.9, 0.4, 0.6])
    >>> highest_jump(u, np.where(u < 0.5, u, u + 7)[:, None]).round(9).tolist()
    [7.2]
    """
    steps = np.diff(values[np.argsort(u)], axis=0)
    return np.asarray(np.abs(steps).max(axis=0, initial=0.0))


def least_of_equal_nets(blocks: Floats, n: int, spread: Floats, width: Floats) -> Floats:
    """Return a least variance of the mean if the nets are too equal for a smooth f, otherwise 0.

    `blocks` (R, B, m) are the means of the blocks of R nets with n points, `spread` is the variance
    of one value and `width` the largest value minus the smallest. Let D_l be the mean square of
    half the differences between neighbours of size n/2^l. If the variance V of a net falls like
    n^-a, V = D_l/((2^a - 1) 2^(a (l - 1))). A smooth f has a <= 3. If the means of the nets vary
    much less than a = 3 says for some l, f has a jump, and V is at least what a = 2 says. If the
    blocks are equal too, and all vary much less than spread/n^3, the jump is as high as `width`.

    >>> half = np.full((4, 16, 1), 0.5)  # 4 nets see f = 1 at half of their points, and 0 elsewhere
    >>> least = least_of_equal_nets(half, 256, np.array([0.25]), np.array([1.0]))
    >>> round(float(np.sqrt(least[0])) * 256, 3)
    0.218
    """
    R = len(blocks)
    means = blocks.mean(axis=1)
    between = means.var(axis=0, ddof=1)
    D = [np.square(each).mean(axis=0) for each in differences(blocks)]
    smooth = np.max([_whole(each, level, _FASTEST) for level, each in enumerate(D)], axis=0,
                    initial=0.0)  # fmt: skip
    jump = np.max([_whole(each, level, _OF_JUMP) for level, each in enumerate(D)], axis=0,
                  initial=0.0)  # fmt: skip
    seen = np.where(between < _TOO_EQUAL * smooth, jump / R, 0.0)
    grid = np.maximum(between, smooth) < _TOO_EQUAL * spread / float(n) ** _FASTEST
    return np.asarray(np.where(grid, np.square(error_of_jump(R) * width / n), seen))


def _whole(D: Floats, level: int, a: float) -> Floats:
    """Return the variance of a whole net from the mean square of the differences of a level."""
    return np.asarray(D / ((2**a - 1) * 2 ** (a * level)))
