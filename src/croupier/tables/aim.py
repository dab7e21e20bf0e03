"""Aim: where a run is expected to stop, so that its last batches are not larger than needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate
from croupier.estimates.intervals import ExpectedEnd

__all__ = ["LEAST_STEP", "Aim"]

#: Close to its stop, a run grows in steps of this share of what it has spent.
LEAST_STEP: Final = 1 / 128

#: If the error is small enough but not known well enough, a step is this share.
_UNKNOWN: Final = 1 / 32


@dataclass(frozen=True)
class Aim:
    """The tolerance of a run, and what its budget buys: `cost` is in the unit of the plan.

    The loop gives it to every table that has an `aim`. `components` are those that the tolerance
    binds, by index; None means all.

    >>> Aim(atol=0.1).wanted(5.0), float(Aim(rtol=0.1).wanted(5.0)), Aim().given
    (0.1, 0.5, False)
    """

    atol: float | None = None
    rtol: float | None = None
    draws: float = math.inf
    cost: float = math.inf
    components: tuple[int, ...] | None = None

    @property
    def given(self) -> bool:
        """Whether there is a tolerance."""
        return self.atol is not None or self.rtol is not None

    def wanted(self, value: Any, *, log: bool = False) -> Any:
        """Return the half-width that stops the run; in a run of logs, that of the log."""
        atol, rtol = self.atol or 0.0, self.rtol or 0.0
        if log:
            return max(atol, rtol)
        return np.maximum(atol, rtol * np.abs(value)) if rtol else atol

    def bound(self, numbers: Any) -> Any:
        """Return the numbers of the components that the tolerance binds."""
        return numbers if self.components is None else np.asarray(numbers)[list(self.components)]

    def known(self, pooled: Pooled) -> Pooled:
        """Return how well the components are known that the tolerance binds."""
        bound = self.bound
        weights = bound(pooled.weights.T).T
        return pooled._replace(varies=bound(pooled.varies), df=bound(pooled.df), weights=weights)

    def growth(self, seen: Estimate) -> float:
        """Return the share of what was spent that the run still needs, by prediction.

        A half-width falls like the root of the cost. So a run whose half-width is r times the
        wanted one needs r^2 - 1 times what it has spent. It is at least a small share.
        """
        half = seen.half_width if seen.logs is None else seen.logs[2]
        ratio = self.ratio(half, seen)
        return max(ratio**2 - 1, LEAST_STEP) if ratio > 1 else _UNKNOWN

    def expected_end(self, seen: Estimate, draws: float, spent: float) -> ExpectedEnd:
        """Return what is known about the end of a run that has made this many draws."""
        error = seen.stderr if seen.logs is None else seen.logs[1]
        buys = min(self.draws, draws * self.cost / spent if spent > 0 else math.inf)
        return ExpectedEnd(self.ratio(error, seen) if self.given else math.inf, buys)

    def ratio(self, error: Floats, seen: Estimate) -> float:
        """Return the largest error of the bound components, relative to the wanted half-width.

        It is infinite if no tolerance is given.
        """
        wanted = np.broadcast_to(self.wanted(seen.value, log=seen.logs is not None), error.shape)
        ratio = np.divide(error, wanted, out=np.full(error.shape, np.inf), where=wanted > 0)
        return float(self.bound(np.where(np.isnan(ratio), np.inf, ratio)).max())
