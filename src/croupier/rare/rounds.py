"""Rounds: what is evaluated next, and the events that limit states make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.rare.components import Frozen

__all__ = ["Round", "active", "events_of"]


class Round(NamedTuple):
    """What is evaluated next: `size` draws of a mixture, or given points.

    `phase` is "search", "descent", "walk", "gaps" or "estimate".
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
