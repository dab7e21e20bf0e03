"""Which modes were found by chance: where some are hard to find, others may be missing."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from croupier.annealing.mixtures import Mixture

__all__ = ["NOTABLE", "by_chance", "few", "hard_to_find"]

#: A mode is rare if fewer points of the prior than this showed it, and not every search saw it. If
#: rare modes hold more than the second number of the posterior, others are probably missing.
RARE: Final = 10
NOTABLE: Final = 0.01

#: The basin of a mode that is narrower by this factor is smaller by its d-th power, and a mode is
#: seldom missed if so many points are expected to show it.
NARROWER: Final = 1.1
SEEN: Final = 3.0

#: A mode that fewer points of the prior show is hard to find, and another may be harder.
EASY: Final = 100

#: Two components are parts of one mode if the log-density falls by less between them.
VALLEY: Final = 4.0


def few(dimensions: int) -> float:
    """Return the number of points below which a mode is rare.

    In many dimensions it is larger: a mode that is a tenth narrower would have been missed.

    >>> few(8), round(few(20)), round(few(30))
    (10, 20, 52)
    """
    return max(RARE, SEEN * NARROWER**dimensions)


def by_chance(law: Mixture, everywhere: Any, sightings: Any) -> Any:
    """Return which components are modes that were found by chance, (K,).

    `everywhere` says which components every search saw, and `sightings` how many points of the
    prior showed each. A component that is part of a mode with one that is not rare is not a mode of
    its own.

    >>> roots = np.repeat(np.eye(2)[None], 3, axis=0)
    >>> law = Mixture(np.full(3, 1 / 3), np.array([[0, 0], [1, 0], [20, 0.0]]), roots, 8.0)
    >>> by_chance(law, np.array([True, False, False]), np.array([900, 3, 3])).tolist()
    [False, False, True]
    """
    rare = ~np.asarray(everywhere) & (np.asarray(sightings) < few(law.dimensions))
    return rare & ~_adjoining(law, rare)


def hard_to_find(law: Mixture, sightings: Any) -> Any:
    """Return which components are modes that few points of the prior show, (K,).

    They must hold more than `NOTABLE` of the posterior.

    >>> roots = np.repeat(np.eye(2)[None], 3, axis=0)
    >>> law = Mixture(np.full(3, 1 / 3), np.array([[0, 0], [1, 0], [20, 0.0]]), roots, 8.0)
    >>> hard_to_find(law, np.array([900, 30, 30])).tolist()
    [False, False, True]
    """
    hard = (law.shares > NOTABLE) & (np.asarray(sightings) < EASY)
    return hard & ~_adjoining(law, hard)


def _adjoining(law: Mixture, rare: Any) -> Any:
    """Return which components are part of a mode with one that is not rare.

    On the straight way between their means the density does not fall below both by `VALLEY`.
    """
    height, parts = law.log_density(law.means), np.array([0.25, 0.5, 0.75])[:, None]
    found = np.zeros(len(rare), dtype=bool)
    for i in np.flatnonzero(rare):
        for j in np.flatnonzero(~rare):
            way = law.log_density(law.means[i] + parts * (law.means[j] - law.means[i]))
            found[i] |= bool(way.min() > min(height[i], height[j]) - VALLEY)
    return found
