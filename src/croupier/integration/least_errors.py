"""Least errors: what the values of the nets cannot know about the error of their mean.

Each rule returns a standard error below which the mean of all nets is not believed, one number per
component. The variance of a runner is at least the square of the largest. `RULES` names them;
CONTRIBUTING says what each one prevents, with figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.data.extremes import HEAVIEST, HEAVY
from croupier.integration.net_errors import least_of_smooth

__all__ = [
    "RULES",
    "Evaluated",
    "error_of_jump",
    "highest_jump",
    "least_error",
]

#: The error of a constant, as if f differed by as much as its value in 1.4/points of the domain.
_UNSEEN_CONSTANT: Final = 1.4

#: An indicator or a staircase has at most so many distinct values.
_FEW: Final = 8


class Evaluated(NamedTuple):
    """What the rules read: R `nets` of `n` points, their `points` in all, and their values.

    `ends` are the smallest and the largest value, `spread` is the variance of one value, `shape`
    and `excess` are the Pareto shape of the extreme values and their mean excess over the largest.
    `constant` says where all values are alike. `jump` is the highest jump.
    """

    nets: int
    n: int
    points: int
    ends: Floats
    mean: Floats
    spread: Floats
    shape: Floats
    excess: Floats
    constant: NDArray[np.bool_]
    jump: Floats

    @property
    def largest(self) -> Floats:
        """The largest size of a value."""
        return np.asarray(np.abs(self.ends).max(axis=0))


def _rounding(seen: Evaluated) -> Floats:
    return np.asarray(np.finfo(float).eps * seen.largest)


def _smooth(seen: Evaluated) -> Floats:
    """A net is exact for some f, but P points cannot know this."""
    return least_of_smooth(seen.spread, seen.mean, seen.points)


def _constant(seen: Evaluated) -> Floats:
    """If all values are c, f may still differ somewhere."""
    return np.where(seen.constant, _UNSEEN_CONSTANT * seen.largest, 0.0) / seen.points


def _heavy_tail(seen: Evaluated) -> Floats:
    """With a Pareto shape k > 1/2, the part beyond the largest value x is about x/(P (1 - k))."""
    k = np.minimum(np.where(seen.shape > HEAVY, seen.shape, np.nan), HEAVIEST)
    return np.where(np.isnan(k), 0.0, seen.largest / (1 - k)) / seen.points


def _beyond_largest(seen: Evaluated) -> Floats:
    """The part beyond the largest value is about the mean excess over it, divided by P."""
    return seen.excess / seen.points


def _jump(seen: Evaluated) -> Floats:
    """A jump may be on the same side of all nets."""
    return error_of_jump(seen.nets) * seen.jump / seen.n


def error_of_jump(nets: int) -> float:
    """Return the standard error of the mean of equal nets, in units of (height of the jump)/n.

    The mean of a net of n points of an indicator is a multiple of 1/n. If f jumps across one axis
    only, just one point of the net decides between two neighbouring multiples. With four nets, all
    of them often fall on the same side. Then their means are equal, or nearly so, and so are those
    of their halves: the spread of the means says nothing about their error.

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


RULES: Final[Mapping[str, Callable[[Evaluated], Floats]]] = MappingProxyType(
    {
        "rounding": _rounding,
        "smooth": _smooth,
        "constant": _constant,
        "heavy tail": _heavy_tail,
        "beyond the largest": _beyond_largest,
        "jump": _jump,
    }
)


def least_error(seen: Evaluated) -> Floats:
    """Return the largest of all least errors, per component."""
    found = np.zeros_like(seen.mean)
    for rule in RULES.values():
        found = np.maximum(found, rule(seen))
    return found
