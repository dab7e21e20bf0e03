"""Slices: what a surrogate has learned, in two coordinates at a time, as data for a picture."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.rare.learning import Learning
from croupier.searching.one_thread import one_thread

__all__ = ["slices_of"]

#: The coordinates that are shown, the most important ones, and the steps of a grid.
_SHOWN: Final = 3
_STEPS: Final = 31


def slices_of(learning: Learning, centre: Floats) -> list[dict[str, Any]]:
    """Return planes through a point (d,) of normal space, for every pair of its largest numbers.

    Each has the surrogate and its chance of failure on a grid, and all calls, seen from above. In
    one dimension there is no plane.
    """
    from scipy.special import ndtr

    if learning.surrogate is None:
        return []
    x, g = learning.called
    axes = sorted(np.argsort(-np.square(centre), kind="stable")[:_SHOWN].tolist())
    steps = np.linspace(-1.05, 1.05, _STEPS) * float(np.abs(x[:, axes]).max())
    across, up = (grid.ravel() for grid in np.meshgrid(steps, steps))
    found = []
    for i, j in combinations(axes, 2):
        points = np.tile(centre, (len(across), 1))
        points[:, i], points[:, j] = across, up
        with one_thread():
            h, s = learning.surrogate.predict(points)
        found.append(
            {
                "axes": [i, j],
                "at": steps.round(4).tolist(),
                "chance": ndtr(-h / s).reshape(_STEPS, _STEPS).round(4).tolist(),
                "limit": (h / np.abs(h).max()).reshape(_STEPS, _STEPS).round(4).tolist(),
                "points": x[:, [i, j]].tolist(),
                "fails": (g < 0).tolist(),
                "fresh": (learning.phases == "fresh").tolist(),
                "through": len(centre) > 2,
            }
        )
    return found
