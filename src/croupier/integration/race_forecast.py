"""What is left to do in a race: how far away the tolerance is, and how much work that is."""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.estimates.estimate import Estimate
from croupier.integration.runner import Runner
from croupier.tables.aim import Aim

__all__ = ["may_end", "needed", "work_left"]

#: Nets of so many points are doubled one by one. Smaller ones are if the variance that is wanted
#: is at least the predicted one of the doubled nets divided by this: each batch takes time.
_ALONE: Final = 128
_NEAR: Final = 2.0


def needed(seen: Estimate, aim: Aim) -> float:
    """Return the half-width relative to the wanted one, the largest; infinite if none is wanted."""
    if not aim.given:
        return np.inf
    wanted = np.broadcast_to(aim.wanted(seen.value), seen.half_width.shape)
    ratio = np.divide(seen.half_width, wanted, out=np.full(wanted.shape, np.inf), where=wanted > 0)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max())


def work_left(leader: Runner, ratio: float) -> float:
    """Return the points that the leader is predicted to need beside those that it has.

    `ratio` is its half-width relative to the wanted one, which falls like n^(-a/2).
    """
    rate = float(leader.error.rate.min())
    return float(leader.points * (max(ratio, 1.0) ** (2 / rate) - 1))


def may_end(runner: Runner, ratio: float) -> bool:
    """Tell whether a look after each net is worth it while the nets of a runner are doubled."""
    falls = 2 ** float(runner.error.rate.min())
    return runner.n >= _ALONE or ratio**2 <= _NEAR * falls
