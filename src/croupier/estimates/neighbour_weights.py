"""The combiner of a continuum: the weight of a point follows its neighbours, not its own draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.estimates.combiners import mean
from croupier.policies.smooth import in_unit_box, known_variances
from croupier.policies.smooth_surface import Surface

__all__ = ["NeighbourWeights"]


@dataclass(frozen=True)
class NeighbourWeights:
    """Weight the points of a box by what their neighbours say about their variances.

    A skewed point that has not seen its tail has a low mean and a low variance together. If it is
    weighted by its own variance, low means count for more, and the sum over many points is too low
    by up to a standard error. So the variance of a point is that of a smooth surface through the
    others (`Surface.left_out`), one standard deviation higher: v_k. Its own draws do not change
    its weight. A point that the surface does not know well counts for little.

    weight_k ~ n_k min(1, v_L/v_k), L the leading point. With costs, no draw counts for more per
    cost than one of the leader: weight_k ~ n_k min(d_k/d_L, v_L/v_k), d the cost per draw.
    """

    points: Sequence[Sequence[float]]

    #: The name in a plan.
    name: ClassVar[str] = "neighbours"

    @cached_property
    def _at(self) -> Floats:
        return in_unit_box(self.points)

    def __call__(self, ledger: Ledger) -> Floats:
        """Return the weights of the points, the same for all components."""
        s2 = ledger.variance
        middle = np.array([np.median(own[own > 0]) if own.any() else np.inf for own in s2.T])
        known = known_variances(ledger, 1 / middle)
        if known is None:  # nothing varies
            return mean(ledger)
        opened, logs, noise = known
        among, unsure = Surface.fit(self._at[opened], logs, noise).left_out()
        high = np.full(len(ledger), np.inf)
        high[opened] = among + unsure
        leader = ledger.leader
        if not np.isfinite(high[leader]):
            return mean(ledger)
        price = np.where(ledger.count > 0, ledger.price, 1.0)
        worth = np.exp(np.minimum(high[leader] - high, 700.0))
        weights = ledger.count * np.minimum(price / price[leader], worth)
        return np.asarray(weights / weights.sum())
