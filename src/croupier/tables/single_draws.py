"""Lane: the short way of a table through the plain loop of one draw at a time.

To book a draw by itself takes ten times as long as an index bandit's decision. So draws are only
noted here, and the table books them together when somebody reads.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.data.batch_moments import TOO_FAR
from croupier.data.draws import Batch
from croupier.data.plan import Plan
from croupier.policies.base import Policy, sprint_of

__all__ = ["Lane"]

_MOST: Final = math.nextafter(TOO_FAR, 0.0)

#: Whole numbers up to here are doubles too.
_WHOLE: Final = 2**53


class Lane:
    """The draws of a run from its first ticket on: `arms` that were asked, `values` that were told.

    A ticket is an index into both lists, and each of them grows in one step: an interrupt between
    two steps neither loses a draw nor doubles it. What is not an ordinary draw is left to the
    table, which knows what to make of it.
    """

    __slots__ = (
        "_choose", "_first", "_learn", "_limits", "_names", "_policy", "_seed", "_sprint", "_torn",
        "arms", "batch", "values",
    )  # fmt: skip

    def __init__(self, plan: Plan, policy: Policy, state: Any) -> None:
        self.arms: list[int] = []
        self.values: list[float] = []
        self.batch: Batch | None = None
        self._policy, self._first = policy, state
        self._names, self._seed = plan.names, plan.seed
        known = [None] * len(plan.names) if plan.policy.get("clip", False) else plan.bounds
        self._limits = [
            (-_MOST, _MOST) if bounds is None else (max(bounds[0], -_MOST), min(bounds[1], _MOST))
            for bounds in known
        ]
        self._start()

    @classmethod
    def of(cls, plan: Plan, policy: Policy, state: Any) -> Lane | None:
        """Return the lane of a plan, if it deals single draws of cost 1 and its policy sprints.

        `state` is the policy's before the first decision.
        """
        single = plan.batch == "one" and plan.width == 1 and plan.unit == "draws"
        if not single or plan.log or plan.keep_values or plan.objective is not None:
            return None
        return None if sprint_of(policy, state) is None else cls(plan, policy, state)

    def _start(self) -> None:
        """Begin the sprint and learn what was told, again if an interrupt has torn it."""
        self._torn = True
        sprint = sprint_of(self._policy, self._first)
        assert sprint is not None  # or there would be no lane
        self._sprint = sprint
        self._choose, self._learn = sprint.choose, sprint.learn
        for arm, value in zip(self.arms, self.values, strict=False):
            self._learn(arm, value)
        self._torn = False

    def ask(self) -> Batch | None:
        """Return the next batch; None if one is out."""
        arms = self.arms
        ticket = len(arms)
        if ticket != len(self.values):
            return None
        if self._torn:
            self._start()
        arm = self._choose()
        self.batch = batch = Batch(ticket, self._names[arm], 1, self._seed)
        arms.append(arm)
        return batch

    def tell(self, batch: Any, values: Any) -> bool:
        """Take the one draw of the batch that is out; False if it is anything else."""
        told = self.values
        if batch is not self.batch or len(told) == len(self.arms):
            return False
        value = values[0] if type(values) is list and len(values) == 1 else _only(values)
        if type(value) is not float:
            value = _number(value)
        arm = self.arms[-1]
        low, high = self._limits[arm]
        if not low <= value <= high:
            return False
        try:
            if not self._learn(arm, value):
                return False
            told.append(value)
        except BaseException:
            self._torn = True
            raise
        return True

    def out(self) -> dict[int, Batch]:
        """Return the batch that is out, if any, by its ticket."""
        if self.batch is None or len(self.arms) == len(self.values):
            return {}
        return {self.batch.ticket: self.batch}

    def state(self) -> Any:
        """Return the state of the policy after what was told."""
        if self._torn:
            self._start()
        return self._sprint.state()


def _only(values: Any) -> Any:
    """Return the only number of a tuple or an array, None if there is no such thing."""
    if type(values) is tuple and len(values) == 1:
        return values[0]
    if type(values) is np.ndarray and values.shape == (1,) and values.dtype.kind in "fiub":
        return values.item()
    return None


def _number(value: Any) -> float:
    """Return a plain number as a float, NaN for anything else."""
    kind = type(value)
    if kind is np.float64 or kind is bool or (kind is int and -_WHOLE <= value <= _WHOLE):
        return float(value)
    return math.nan
