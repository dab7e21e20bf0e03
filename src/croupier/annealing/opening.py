"""The first calls of the arms: how many chains they have, and which arms a budget cannot start.

Many chains move together, so a call costs far more than a chain. In a budget of seconds, the first
calls must be short: nothing is known about the arms before, so they would divide the budget.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from croupier.annealing.annealed import Annealed
from croupier.annealing.models import pilot_stream
from croupier.annealing.pilot_limits import Limits
from croupier.annealing.pilot_meter import Meter
from croupier.annealing.preparing import Prepared
from croupier.annealing.rungs import Later, Rung
from croupier.annealing.vectorised import is_compiled

__all__ = ["Opening", "annealing_of"]

#: The most and the fewest chains of a first call.
_MOST: Final = 300
_FEWEST: Final = 4

#: The first calls of all arms take at most this share of a budget of evaluations or seconds.
#: Otherwise the most expensive arm would get most of it, and not the best arm.
_FIRST: Final = 0.1

#: And at most this many evaluations; otherwise chains of slices would exceed a budget of seconds.
_EVALUATIONS: Final = 200_000

#: Arms that cannot start within this share of a budget of cost or seconds are left out.
_SHARE: Final = 0.2

#: A few chains make this many moves, to be timed, if a point takes fewer seconds than this.
_MOVES: Final = 5
_QUICK: Final = 1e-3

#: A move of a few chains takes at most as long as this many points and so many seconds: the points
#: that timed the likelihood were in calls of up to 16.
_CALL: Final = 16
_OWN: Final = 5e-3


class Opening(NamedTuple):
    """What the first calls take: the seconds of a move of a few chains, and of one more chain.

    `seconds` and `cost` are the budgets, if they are given.
    """

    few: float = 0.0
    more: float = 0.0
    seconds: float | None = None
    cost: float | None = None

    @classmethod
    def of(cls, ready: Prepared, limits: Limits, cost: float | None, meter: Meter) -> Opening:
        """Return what a move takes; moves of a quick likelihood are timed."""
        if not meter.decided(lambda: float(limits.seconds is not None)):
            return cls(cost=cost)
        each, long = ready.each, annealing_of(ready.arms)
        arm = min(long, key=lambda arm: arm.evaluations, default=None)
        few = _FEWEST * each
        if arm is not None and each <= _QUICK:
            least = cls(few, each, limits.seconds, cost)
            most = least._replace(few=_CALL * each + _OWN)
            if (
                each
                and not meter.recorded
                and least.decides(ready.arms, long) == most.decides(ready.arms, long)
            ):
                return least  # what a move takes does not matter
            taken = _timed(arm, meter)
            few = meter.decided(partial(max, few, taken))
        return cls(few, each or few / _FEWEST, limits.seconds, cost)

    def decides(self, arms: Sequence[Rung], long: Sequence[Annealed]) -> tuple[int, int]:
        """Return how many arms can start, and how many chains the first calls have."""
        return self.arms_within(sorted(long, key=lambda arm: arm.evaluations), 1), self.chains(arms)

    def arms_within(self, long: Sequence[Annealed], workers: int) -> int:
        """Return how many arms, the shortest first, can start within their share of a budget."""
        if not long:
            return 0
        taken = np.cumsum([arm.evaluations for arm in long])
        seconds = np.inf if self.seconds is None else self.seconds * workers / max(self.few, 1e-12)
        cost = np.inf if self.cost is None else self.cost / _FEWEST
        return int(np.searchsorted(taken, _SHARE * min(seconds, cost), "right"))

    def chains(self, arms: Sequence[Rung]) -> int:
        """Return how many chains the first call of each arm has; 0 means growing calls."""
        last = arms[-1]
        if isinstance(last, Later):
            return last.after
        if not last.model.vectorised and not is_compiled(last.model.log_likelihood):
            return 0
        each = sum(arm.evaluations for arm in arms if not isinstance(arm, Later))
        most = (_EVALUATIONS if self.cost is None else _FIRST * self.cost) / each
        if self.seconds is not None and self.more:
            left = _FIRST * self.seconds / each - self.few
            most = min(most, _FEWEST + left / self.more)
        return int(np.clip(most, _FEWEST, _MOST))


def annealing_of(arms: Sequence[Rung]) -> list[Annealed]:
    """Return the arms that anneal."""
    return [arm for arm in arms if isinstance(arm, Annealed) and len(arm.betas) > 2]


def _timed(arm: Annealed, meter: Meter) -> float:
    """Return the seconds of a move of a few chains, of a chain with few temperatures."""
    some = np.unique(np.linspace(0, len(arm.betas) - 1, _MOVES + 2).astype(int))
    short = replace(arm, model=replace(arm.model, meter=meter), betas=arm.betas[some])
    began = time.perf_counter()
    short(pilot_stream(), _FEWEST)
    return (time.perf_counter() - began) / short.evaluations
