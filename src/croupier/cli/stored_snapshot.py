"""A stored run as the plain data that `watch` and `serve` show. They only read the store."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from croupier.errors import StoreError
from croupier.views.run_view import Snapshot

if TYPE_CHECKING:
    from croupier.results.result import Result
    from croupier.store.reading import Status

__all__ = ["snapshot_of"]


def snapshot_of(path: Path) -> Snapshot:
    """Return a stored run as it is now; a store that is not there yet is no error."""
    from croupier.store.reading import open_run

    empty = Snapshot(
        path=str(path), state=f"{path}: not there yet", running=False, over=False, spent=None,
        left=None, workers=None, busy=None, batches=0, summary=None, cost=[], value=[],
        half_width=[],
    )  # fmt: skip
    if not path.exists():
        return empty
    try:
        run = open_run(path)
    except StoreError as error:
        return {**empty, "state": str(error)}
    status, workers = run.status, run.status.limits.get("workers")
    spent = status.spent
    about: dict[str, Any] = {
        "state": str(status),
        "running": status.running,
        "over": status.stopped is not None,
        "spent": None if spent is None else spent[0],
        "workers": None if workers is None else int(workers),
        "busy": status.busy,
        "batches": status.tickets,
    }
    if not status.tickets:
        return {**empty, **about}  # type: ignore[typeddict-item]
    result = run.result()
    curve = result.history.curve(100)
    value, half = (x if x.ndim == 1 else x[:, 0] for x in (curve.value, curve.half_width))
    about |= {
        "left": _left(status, result, spent),
        "summary": result.as_summary(),
        "cost": result.history.cost[curve.row].tolist(),
        "value": value.tolist(),
        "half_width": half.tolist(),
    }
    return {**empty, **about}  # type: ignore[typeddict-item]


def _left(status: Status, result: Result, spent: tuple[float, str] | None) -> float | None:
    """Return the seconds until the budget is used up, or until the tolerance is reached.

    An error falls like 1/sqrt(time), so a tolerance needs (half-width/tolerance)^2 of the time.
    """
    if not status.seconds:
        return None
    shares = [] if spent is None else [spent[0]]
    low, high = (np.asarray(end) for end in result.interval)
    half = (high - low) / 2
    wanted = np.maximum(
        status.limits.get("atol", 0.0), status.limits.get("rtol", 0.0) * np.abs(result.value)
    )
    if not result.plan.log and np.all(wanted > 0) and np.all(np.isfinite(half)) and np.any(half):
        shares.append(float(np.min(np.square(wanted / half))))
    share = max(shares, default=0.0)
    return max(status.seconds * (1 - share) / share, 0.0) if 0 < share < math.inf else None
