"""Rounds: what is evaluated next, and the events that limit states make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.rare.components import Frozen

__all__ = ["Round", "active", "bound_by_default", "events_of", "failures", "gathered"]


class Round(NamedTuple):
    """What is evaluated next: `size` draws of a mixture, or given points.

    `phase` is "plain", "learning", "fresh", "search", "descent", "gaps" or "estimate".
    """

    phase: str
    size: int
    mixture: Frozen | None = None
    points: Floats | None = None


def events_of(g: Floats) -> Floats:
    """Return g (n, m) with two more columns if m > 1: any (the least) and all (the largest).

    >>> events_of(np.array([[1.0, -2.0]])).tolist()
    [[1.0, -2.0, -2.0, 1.0]]
    """
    if g.shape[1] == 1:
        return g
    return np.column_stack((g, g.min(axis=1), g.max(axis=1)))


def active(g: Floats, slope: Floats, event: int) -> tuple[Floats, Floats]:
    """Return the limit state (n,) of an event and its gradient (n, d), from (n, m) and (n, m, d).

    >>> active(np.array([[1.0, -2.0]]), np.array([[[1.0], [5.0]]]), 3)  # all: the largest
    (array([1.]), array([[1.]]))
    """
    rows, m = np.arange(len(g)), g.shape[1]
    if event < m:
        which = np.full(len(g), event)
    else:
        which = g.argmin(axis=1) if event == m else g.argmax(axis=1)
    return g[rows, which], slope[rows, which]


def bound_by_default(components: int) -> tuple[int, ...] | None:
    """Return what a tolerance binds if nothing else is said: not "all", the last of several.

    That all limit states fail may be less probable than any of them by many orders.
    """
    return tuple(range(components - 1)) if components > 1 else None


def gathered(extras: Sequence[Any]) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return the points, the values of g and the components that batches of draws have."""
    x, g, own = (np.concatenate([extra[name] for extra in extras]) for name in ("x", "g", "own"))
    return x, g, own


def failures(extras: Sequence[Any]) -> tuple[Floats, Floats]:
    """Return the failing points in normal space and in the coordinates of the user."""
    if not extras:
        return np.empty((0, 0)), np.empty((0, 0))
    x, g, _ = gathered(extras)
    return x[(g < 0).any(axis=1)], np.concatenate([extra["there"] for extra in extras])
