"""Which modes were found by chance: where some are hard to find, others may be missing."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from croupier.annealing.mixtures import Mixture

__all__ = ["NOTABLE", "by_chance", "few"]

#: A mode is rare if fewer starts than this led to it, or a smaller share of them, and not every
#: search saw it. If rare modes hold more than the last number of the posterior, others are probably
#: missing.
RARE: Final = 10
HARD: Final = 1 / 500
NOTABLE: Final = 0.01

#: Two components are parts of one mode if the log-density falls by less between them.
VALLEY: Final = 4.0


def few(starts: int) -> float:
    """Return the number of starts below which a mode is rare.

    More starts find rarer modes, and modes that are rarer still remain. So not only the number
    counts, but also the share.

    >>> few(3000), few(20_000)
    (10, 40.0)
    """
    return max(RARE, HARD * starts)


def by_chance(law: Mixture, everywhere: Any, arrivals: Any, starts: int) -> Any:
    """Return which components are modes that were found by chance, (K,).

    `everywhere` says which components every search saw, and `arrivals` how many of the `starts` led
    to each. A component that is part of a mode with one that is not rare is not a mode of its own.

    >>> roots = np.repeat(np.eye(2)[None], 3, axis=0)
    >>> law = Mixture(np.full(3, 1 / 3), np.array([[0, 0], [1, 0], [20, 0.0]]), roots, 8.0)
    >>> by_chance(law, np.array([True, False, False]), np.array([900, 3, 3]), 906).tolist()
    [False, False, True]
    """
    rare = ~np.asarray(everywhere) & (np.asarray(arrivals) < few(starts))
    return rare & ~_adjoining(law, rare)


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
