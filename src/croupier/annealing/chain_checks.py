"""What the user's own draws of a posterior say of an answer, and the answer of them."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from croupier.annealing.bridge import Bridge, bridge
from croupier.annealing.evidence_rounds import Search
from croupier.data.draws import Floats
from croupier.distributions.weights import effective_size_of_logs, log_mean_exp

__all__ = ["bridged", "chain_warnings"]

#: The user's draws contradict the run if they are off by so many errors: an error is known from 20
#: parts only, and is compared in up to 32 places.
_APART: Final = 5.0
_PARTS: Final = 20
_COMPARED: Final = 2000


def chain_warnings(search: Search, logs: Floats) -> list[str]:
    """Compare the user's own draws with fresh draws, whose log weights are `logs`."""
    warnings = []
    if (found := bridged(search, logs)) is not None:
        value, own = float(log_mean_exp(logs)), 1 / effective_size_of_logs(logs) - 1 / len(logs)
        error = math.hypot(found.log_stderr, math.sqrt(max(own, 0.0)))
        if abs(found.log_value - value) > _APART * error:
            warnings.append(
                f"log Z is {value:.4g} by fresh draws and {found.log_value:.4g} ± {error:.2g} by a "
                "bridge with the chains: they may belong to another density than log_joint"
            )
    if (told := _told_apart(search)) is not None:
        warnings.append(
            f"{told}: the chains have missed a part of the posterior, have not converged, or "
            "belong to another density than log_joint; the estimate rests on fresh draws"
        )
    return warnings


def _told_apart(search: Search) -> str | None:
    """Return where the user's draws and the posterior differ most, None if they agree.

    Shares of the components of the fitted mixture and means of the coordinates are compared. The
    errors of the chains come from the means of contiguous parts: neighbours depend on each other.
    """
    held, epoch = search.held, search.epoch
    if held is None or epoch is None or epoch.source.mixture is None:
        return None
    mixture, seen = epoch.source.mixture, search.population
    logs = seen.log_weights()
    weights = np.cumsum(np.exp(logs - logs.max()))
    rows = np.searchsorted(weights, weights[-1] * (np.arange(_COMPARED) + 0.5) / _COMPARED)

    def columns(points: Floats) -> Floats:
        return np.concatenate((mixture.responsibilities(points), points), axis=1)

    there, own = columns(seen.points[rows]), columns(held.points)
    parts = np.array([part.mean(axis=0) for part in np.array_split(own, _PARTS)])
    n = min(effective_size_of_logs(logs), float(_COMPARED))
    variance = there.var(axis=0) / n + parts.var(axis=0, ddof=1) / _PARTS
    first, second = own.mean(axis=0), there.mean(axis=0)
    off = np.abs(first - second) / np.sqrt(variance + 1 / n**2)
    k = int(off.argmax())
    if off[k] <= _APART:
        return None
    if k < len(mixture):
        return f"{first[k]:.1%} of the chains lie where {second[k]:.1%} of the posterior does"
    away = abs(first[k] - second[k]) / there[:, k].std()
    return f"the chains' mean of coordinate {k - len(mixture)} is {away:.2g} deviations off"


def bridged(search: Search, logs: Floats) -> Bridge | None:
    """Return the answer of a bridge between fresh draws and the user's own, if there are some."""
    held, epoch = search.held, search.epoch
    if held is None or epoch is None:
        return None
    return bridge(logs, epoch.logs(held))
