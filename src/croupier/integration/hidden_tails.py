"""What the points of the leading family have not seen, according to the other families.

A fit can hide a heavy tail from its own points: they are rare where f divided by their density is
largest, so their largest value is too small, and so is their mean. The points of the other families
are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.integration.changes import Change
from croupier.integration.net_arm import Segment

__all__ = ["hidden"]

Ints: TypeAlias = NDArray[np.int64]


def hidden(
    change: Change, ends: Floats, parts: Iterable[tuple[Segment, Ints, Floats]], dimension: int
) -> Floats:
    """Return the part of the integral above and below all values of the leader, per component.

    The values of the leader are f/q, and all of them lie between `ends` (2, m). What they have not
    seen is the integral of max(f - high q, 0) + max(low q - f, 0). The points of each other family,
    with density 1/jac, give the mean of this times jac. It counts minus its standard error, so that
    a single point does not decide, and the largest of all families counts. `parts` are segments of
    the other families, with the values f jac that are not 0 and their numbers.
    """
    low, high = ends
    sums: dict[int, Floats] = {}
    points: dict[int, int] = {}
    for segment, at, values in parts:
        key = segment.runner
        points[key] = points.get(key, 0) + segment.size
        moved = segment.change.move(segment.points(dimension)[at])
        q = change.density_at(moved)[:, None]
        if moved.jac is not None:
            q = q * moved.jac[:, None]
        beyond = np.maximum(values - high * q, 0.0) + np.maximum(low * q - values, 0.0)
        both = np.array((beyond.sum(axis=0), np.square(beyond).sum(axis=0)))
        sums[key] = sums.get(key, np.zeros_like(both)) + both
    found = np.zeros(len(low))
    for key, (total, squares) in sums.items():
        found = np.maximum(found, (total - np.sqrt(squares)) / points[key])
    return found
