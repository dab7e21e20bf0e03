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
from croupier.integration.changes import Change
from croupier.spaces.base import Moved

__all__ = ["Seen", "hidden", "outlying"]

#: Values that stand far out count so much, however few they are.
_OUTLYING: Final = 0.5

#: A value stands far out if it is farther from the ends than this part of their distance.
_FAR: Final = 0.5


class Seen(NamedTuple):
    """Points of a runner and their `values` (n, m), f jac. Points where f is 0 may be left out.

    `points` is the number of all points. The nodes of a cubature with the weights w are points with
    jac = w points.
    """

    runner: int
    moved: Moved
    values: Floats
    points: int


class _Beyond(NamedTuple):
    """What the points of one family say: sums of values beyond the ends, and of their squares.

    `outlying` is the sum of those that are far from the ends: more than half of their distance.
    """

    total: Floats
    squares: Floats
    outlying: Floats
    points: int


def hidden(change: Change, ends: Floats, parts: Iterable[Seen]) -> Floats:
    """Return the part of the integral above and below all values of the leader, per component.

    The values of the leader are f/q, and all of them lie between `ends` (2, m). What they have not
    seen is the integral of max(f - high q, 0) + max(low q - f, 0). The points of each other family,
    with density 1/jac, give the mean of this times jac. It counts minus its standard error, so that
    a single point does not decide, unless it stands far out: see `outlying`. The largest of all
    families counts.
    """
    found = np.zeros(ends.shape[1])
    for one in _beyond(change, ends, parts):
        found = np.maximum(found, (one.total - np.sqrt(one.squares)) / one.points)
        found = np.maximum(found, _OUTLYING * one.outlying / one.points)
    return found


def outlying(change: Change, ends: Floats, parts: Iterable[Seen]) -> Floats:
    """Return half of the part of the integral that lies far beyond all values of the leader.

    A value f/q is far beyond if its distance from the ends is more than half of theirs. A
    single such point of another family is a peak that the leader has missed, or a heavy tail. Its
    share of the integral is known to about its own size, so half of it counts.
    """
    found = np.zeros(ends.shape[1])
    for one in _beyond(change, ends, parts):
        found = np.maximum(found, _OUTLYING * one.outlying / one.points)
    return found


def _beyond(change: Change, ends: Floats, parts: Iterable[Seen]) -> list[_Beyond]:
    """Return the sums of each family."""
    low, high = ends
    found: dict[int, _Beyond] = {}
    for part in parts:
        q = change.density_at(part.moved)[:, None]
        if part.moved.jac is not None:
            q = q * part.moved.jac[:, None]
        beyond = np.maximum(part.values - high * q, 0.0) + np.maximum(low * q - part.values, 0.0)
        far = np.where(beyond > _FAR * (high - low) * q, beyond, 0.0)
        none = np.zeros(len(low))
        before = found.get(part.runner, _Beyond(none, none, none, 0))
        found[part.runner] = _Beyond(
            before.total + beyond.sum(axis=0),
            before.squares + np.square(beyond).sum(axis=0),
            before.outlying + far.sum(axis=0),
            before.points + part.points,
        )
    return list(found.values())
