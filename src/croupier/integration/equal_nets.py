"""Nets whose means are equal although f varies: a least error for jumps.

The mean of a net of n points of an indicator is a multiple of 1/n. If f jumps across one axis only,
just one point of the net decides between two neighbouring multiples: it falls on one of the sides
of the jump. With four nets, all of them often fall on the same side. Then their means are equal, or
nearly so, and so are those of their halves. The spread of the means says nothing about their error.

On a line, a jump shows as a difference between neighbours, and in any dimension as few distinct
values. Other jumps show only if the blocks of the nets vary and the nets do not.
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

#: The variance of nets of a smooth f falls like n^-3 (Owen, Annals of Statistics 25, 1997), or
#: faster.
_FASTEST: Final = 3.0

#: That of a jump across one axis falls like n^-2.
_OF_JUMP: Final = 2.0

#: The square of the height of a jump is at least this part of the variance of f.
_HIGH: Final = 2.0

#: Differences of halves, quarters, eighths and sixteenths are compared.
_LEVELS: Final = 4

#: An indicator or a staircase has at most so many distinct values.
_FEW: Final = 8


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


def highest_jump(points: Floats, values: Floats, jac: Floats | None = None) -> Floats:
    """Return the largest jump that the values (n, m) at points (n, d) show, for each component.

    On a line it is the largest difference between neighbours. Smooth functions have differences of
    the size 1/n, so the error of such a jump, which falls like n^-2, is far below that of their
    nets, n^-3/2. In more dimensions it is the largest gap between distinct values if these are at
    most eight, otherwise 0. If the values are f jac, those of f are counted, and the gap is made
    wider as the values are.

    >>> u = np.array([[0.1], [0.9], [0.4], [0.6]])
    >>> highest_jump(u, np.where(u < 0.5, u, u + 7)).round(9).tolist()
    [7.2]
    >>> highest_jump(np.zeros((4, 3)), np.array([[0.0, 1], [5, 2], [5, 3], [2, 4]])).tolist()
    [3.0, 1.0]
    """
    if points.shape[1] == 1:
        steps = np.diff(values[np.argsort(points[:, 0])], axis=0)
        return np.asarray(np.abs(steps).max(axis=0, initial=0.0))
    if jac is None:
        return np.array([_largest_gap(f) for f in values.T])
    largest = np.abs(values / jac[:, None]).max(axis=0)
    f = np.round(values / jac[:, None] / np.where(largest > 0, largest, 1.0), 12)
    gaps = [_largest_gap(one) / max(float(np.ptp(one)), 1e-12) for one in f.T]
    return np.asarray(gaps * np.ptp(values, axis=0))


def _largest_gap(values: Floats) -> float:
    """Return the largest gap between few distinct values; 0 if there are many, or only one."""
    if len(np.unique(values[: 4 * _FEW])) > _FEW:
        return 0.0  # most functions end here
    distinct = np.unique(values)
    return float(np.diff(distinct).max(initial=0.0)) if len(distinct) <= _FEW else 0.0


def least_of_equal_nets(blocks: Floats, n: int, spread: Floats) -> Floats:
    """Return a least variance of the mean if the nets are too equal for a smooth f, otherwise 0.

    `blocks` (R, B, m) are the means of the blocks of R nets with n points, `spread` is the variance
    of one value. Let D_l be the mean square of half the differences between neighbours of size
    n/2^l. If the variance V of a net falls like n^-a, V = D_l/((2^a - 1) 2^(a (l - 1))). A smooth f
    has a >= 3, a jump across an axis a = 2 and V = h^2/(6 n^2) for the height h, on average over
    its place. If the means of the nets vary much less than a = 3 says for some l, and if h is large
    enough for a jump, V is at least what a = 2 says. Additive smooth functions have equal nets too,
    but their h falls with n.

    >>> blocks = np.tile([[1.0], [3.0]], (4, 8, 1))  # the blocks differ, the nets do not
    >>> least_of_equal_nets(blocks, 256, np.array([4.0])).round(6).tolist()
    [0.001302]
    """
    R = len(blocks)
    between = blocks.mean(axis=1).var(axis=0, ddof=1)
    D = [np.square(each).mean(axis=0) for each in differences(blocks, _LEVELS)]
    if not D:
        return np.zeros_like(between)  # the last stage of a budget was no doubling
    smooth = np.max([_whole(each, level, _FASTEST) for level, each in enumerate(D)], axis=0)
    jump = np.max([_whole(each, level, _OF_JUMP) for level, each in enumerate(D)], axis=0)
    equal = between < _TOO_EQUAL * smooth
    high = 6 * jump * n**2 > _HIGH * spread
    return np.asarray(np.where(equal & high, jump / R, 0.0))


def _whole(D: Floats, level: int, a: float) -> Floats:
    """Return the variance of a whole net from the mean square of the differences of a level."""
    return np.asarray(D / ((2**a - 1) * 2 ** (a * level)))
