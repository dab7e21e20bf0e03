"""What the points of the leading family have not seen, according to the other families.

A fit can hide a heavy tail from its own points: they are rare where f divided by their density is
largest, so their largest value is too small, and so is their mean. The points of the other families
are elsewhere. A narrow peak may have no point of the leader, and one of another family.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats

__all__ = ["Seen", "hidden", "outlying"]

#: Values that stand far out count so much, however few they are.
_OUTLYING: Final = 0.5

#: A value stands far out if it is farther from the ends than this part of their distance.
_FAR: Final = 0.5


class Seen(NamedTuple):
    """Values (n, m) of f/p at points with the density p, and q/p, with q the leader's density.

    Points where f is 0 may be left out; `points` counts all.
    """

    values: Floats
    relative: Floats
    points: int


def hidden(ends: Floats, parts: Iterable[Seen]) -> Floats:
    """Return the part of the integral above and below all values of the leader, per component.

    The values of the leader are f/q, and all of them lie between `ends` (2, m). What they have not
    seen is the integral of max(f - high q, 0) + max(low q - f, 0). The points of the others, with
    density p, give the mean of this divided by p. It counts minus its standard error, so that
    a single point does not decide, unless it stands far out: see `outlying`.
    """
    found = outlying(ends, parts := list(parts))
    for part in parts:
        beyond = _beyond(ends, part)
        sure = beyond.sum(axis=0) - np.sqrt(np.square(beyond).sum(axis=0))
        found = np.maximum(found, sure / part.points)
    return found


def outlying(ends: Floats, parts: Iterable[Seen]) -> Floats:
    """Return half of the part of the integral that lies far beyond all values of the leader.

    A value f/q is far beyond if its distance from the ends is more than half of theirs. A
    single such point of another family is a peak that the leader has missed, or a heavy tail. Its
    share of the integral is known to about its own size, so half of it counts.
    """
    found = np.zeros(ends.shape[1])
    for part in parts:
        beyond = _beyond(ends, part)
        far = beyond > _FAR * (ends[1] - ends[0]) * part.relative[:, None]
        found = np.maximum(found, _OUTLYING * (beyond * far).sum(axis=0) / part.points)
    return found


def _beyond(ends: Floats, part: Seen) -> Floats:
    """Return how far each value lies beyond the ends, times q/p."""
    low, high = ends[:, None, :] * part.relative[:, None]
    return np.asarray(np.maximum(part.values - high, 0.0) + np.maximum(low - part.values, 0.0))
