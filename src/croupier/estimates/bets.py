"""Bets: two gamblers bet on the mean that all arms share, batch by batch, from its moments.

One bets that the mean is above m, the other that it is below, for every m at once. The fraction
that is staked on a batch is fixed before the batch is asked for, so their wealth at the true mean
is a martingale under any allocation and for any reason to stop: see `betting`. How well the
fraction is chosen decides how short the interval is, never whether it holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Self

import numpy as np

from croupier.checks import Range
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.estimates.bet_sums import (
    ArmSums,
    BetSums,
    Horizon,
    Scaled,
    Told,
    fractions,
    horizon_at,
    left_of,
    variance_of,
)

__all__ = ["Bets", "common_range"]


def common_range(bounds: Sequence[Range]) -> Range:
    """Return the numbers that lie within the bounds of every arm.

    >>> common_range([(0.0, 1.0), (-1.0, 0.6)])
    (0.0, 0.6)
    """
    low, high = np.array(bounds, dtype=float).T
    first, last = float(low.max()), float(high.min())
    if first >= last:
        raise PlanError(
            f"the bounds of the arms have no number in common (a lower bound is {first:g}, an "
            f"upper bound {last:g}), so the arms cannot share one mean: correct the bounds"
        )
    return first, last


class Bets:
    """Bets on the mean that all arms share.

    `level` is log(2/alpha) of the plan: the bets are best at this level, and hold at every level.
    The bet on ticket t depends on the outcomes 0..t-width alone, and on the horizon.
    """

    def __init__(
        self, bounds: Sequence[Range], level: float, width: int, horizons: Sequence[Horizon]
    ) -> None:
        self._range = common_range(bounds)
        self._level, self._width, self._horizons = level, width, tuple(horizons)
        self._bets = BetSums(bounds)
        self._reach = self._bets.high - self._bets.low
        self._arms: ArmSums | None = None

    def copy(self) -> Self:
        """Return bets that later batches do not change."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin._bets = self._bets.copy()
        if self._arms is not None:
            twin._arms, twin._precision = self._arms.copy(), self._precision.copy()
            twin._information, twin._goals = self._information.copy(), self._goals.copy()
        return twin

    # -- what was told

    def add(self, told: Told) -> None:
        """Bet on the batch that is next in ticket order."""
        arms = self._arms or self._start(len(told.origin))
        arm, reach = told.arm, self._reach[told.arm]
        batch = Scaled.of(told, float(self._bets.low[arm]), float(self._bets.high[arm]))
        numbers = fractions(self._goals[0] / reach, arms.before(arm))
        self._bets.add(arm, numbers, batch)
        self._information -= arms.sums[arm, 0] * self._precision[arm]
        arms.add(arm, batch)
        self._precision[arm] = 1 / (variance_of(arms.sums[arm]) * reach**2)
        self._information += arms.sums[arm, 0] * self._precision[arm]
        self._draws += told.size
        self._spent += told.cost
        self._goals.append(self._goal(told.ticket + self._width))

    def _start(self, components: int) -> ArmSums:
        arms = self._arms = ArmSums(len(self._reach), components, self._width)
        self._precision = self._precisions(arms)
        self._information = np.zeros(components)
        self._draws = self._spent = 0.0
        first = [self._goal(ticket) for ticket in range(self._width)]
        self._goals = deque(first, maxlen=self._width)
        return arms

    def _precisions(self, arms: ArmSums) -> Floats:
        return np.asarray(1 / (variance_of(arms.sums) * np.square(self._reach)[:, None]))

    def _goal(self, ticket: int) -> Floats:
        """Return the half-width that the run is expected to end with, per component.

        It is sqrt(2 log(2/alpha)/I) at the information I = sum n_k/V_k of the end, or the
        tolerance if that is larger.
        """
        horizon = horizon_at(self._horizons, ticket)
        left = left_of(horizon, self._draws, self._spent)
        information = self._information + left * self._precision.max(axis=0)
        half = np.sqrt(2 * self._level / np.maximum(information, np.finfo(float).tiny))
        wanted = np.maximum(horizon.atol or 0.0, (horizon.rtol or 0.0) * np.abs(self._centre()))
        return np.asarray(np.maximum(half, wanted))

    def _centre(self) -> Floats:
        """Return the mean of all draws, weighted by inverse variance."""
        assert self._arms is not None
        n, s1 = self._arms.sums[:, 0], self._arms.sums[:, 1]
        low, reach = self._bets.low[:, None], self._reach[:, None]
        total = (self._precision * (n * low + s1 * reach)).sum(axis=0)
        weight = (self._precision * n).sum(axis=0)
        middle = np.full_like(total, sum(self._range) / 2)
        return np.asarray(np.divide(total, weight, out=middle, where=weight > 0))

    # -- the interval

    def won(self, m: Floats) -> Floats:
        """Return the log of the wealth of both gamblers at a mean m, (2, d); never more than it."""
        return self._bets.won(np.array((m, m))[:, :, None])[:, :, 0]

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Return both ends of the interval, (d,) each; `level` is log(2/alpha)."""
        first, last = self._range
        if self._arms is None:
            return np.array([first]), np.array([last])
        centre = self._centre()[:, None]
        low, high = self._bets.ends(
            level, centre, np.full_like(centre, first), np.full_like(centre, last)
        )
        return low[:, 0], high[:, 0]

    @classmethod
    def merged(cls, runs: Sequence[Self], bounds: Sequence[Range], apart: bool) -> Self:
        """Return the bets of independent runs as if they were one run: their wealth multiplies.

        With `apart`, every run has its own arms, and `bounds` has the arms of all runs.
        """
        merged = cls(bounds, runs[0]._level, 1, runs[0]._horizons)
        first, parts = 0, []
        for run in runs:
            merged._bets.merge(run._bets, first)
            if run._arms is not None:
                parts.append((first, run._arms.sums))
            first += len(run._reach) if apart else 0
        if parts:
            arms = merged._start(parts[0][1].shape[2])
            for start, sums in parts:
                arms.sums[start : start + len(sums)] += sums
            merged._precision = merged._precisions(arms)
        return merged
