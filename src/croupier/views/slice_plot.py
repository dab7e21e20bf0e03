"""The picture of a surrogate: where it says that a limit state fails, and the calls it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from croupier.views.summary import Slice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_slice"]

SAFE, FAILS, LIMIT = "#0072B2", "#8B2500", "#333333"
BANDS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def draw_slice(axes: Axes, found: Slice) -> None:
    """Draw a plane of normal space: the chance of failure, its limit, and all calls of g."""
    at, chance = np.array(found["at"]), np.array(found["chance"])
    axes.contourf(at, at, chance, BANDS, colors=[_shade(k) for k in range(len(BANDS) - 1)])
    limit = np.array(found["limit"])
    if limit.min() < 0 < limit.max():
        axes.contour(at, at, limit, [0.0], colors=LIMIT, linewidths=1.2)
    points, fails = np.array(found["points"]), np.array(found["fails"], bool)
    fresh = np.array(found["fresh"], bool)
    for kind, marker, of_kind in (("learned", "o", ~fresh), ("fresh", "^", fresh)):
        for outcome, colour, which in (("safe", SAFE, ~fails), ("fails", FAILS, fails)):
            x, y = points[of_kind & which].T
            axes.scatter(
                x, y, 13, color=colour, marker=marker, linewidths=0.3, edgecolors="white",
                label=f"{kind}, {outcome}",
            )  # fmt: skip
    first, second = (f"coordinate {k + 1}" for k in found["axes"])
    axes.set_xlabel(f"{first} (standard normal)")
    axes.set_ylabel(second)
    axes.set_title("What was learned" + " (slice)" * found["through"])
    axes.set_aspect("equal")
    axes.legend(fontsize=6.5, ncols=2, loc="best", framealpha=0.8, handletextpad=0.1)


def _shade(band: int) -> Any:
    """Return the colour of a band: white where g is surely safe."""
    return (0.9, 0.45, 0.1, 0.5 * band / (len(BANDS) - 2))
