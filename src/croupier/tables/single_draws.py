"""SingleDraws: a fast loop of one draw at a time, around a table.

Booking one draw takes ten times as long as the decision of an index bandit. So the draws are only
noted here, and the table books them together when it is read.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.data.batch_moments import TOO_FAR
from croupier.data.draws import Batch
from croupier.data.plan import Plan
from croupier.policies.base import Policy, sprint_of
from croupier.tables.independent import IndependentArms

__all__ = ["SingleDraws"]

_LARGEST_DRAW: Final = math.nextafter(TOO_FAR, 0.0)

#: Every whole number up to this one is exactly a double.
_WHOLE: Final = 2**53


class SingleDraws:
    """The draws of a run from its first ticket: the `arms` asked for and the `values` told.

    A ticket is an index into both lists. Each list grows in one step, so an interrupt between two
    steps does not lose a draw or count it twice. The table takes everything that is not an
    ordinary draw: see `table_now`.
    """

    __slots__ = (
        "_choose", "_first", "_learn", "_limits", "_names", "_seed", "_sprint", "_table", "_torn",
        "arms", "batch", "values",
    )  # fmt: skip

    def __init__(self, table: IndependentArms) -> None:
        plan = table.plan
        self.arms: list[int] = []
        self.values: list[float] = []
        self.batch: Batch | None = None
        self._table, self._first = table, table.policy_state
        self._names, self._seed = plan.names, plan.seed
        known = [None] * len(plan.names) if plan.policy.get("clip", False) else plan.bounds
        self._limits = [
            (-_LARGEST_DRAW, _LARGEST_DRAW)
            if bounds is None
            else (max(bounds[0], -_LARGEST_DRAW), min(bounds[1], _LARGEST_DRAW))
            for bounds in known
        ]
        self._start()

    @staticmethod
    def fit(plan: Plan, policy: Policy, state: Any) -> bool:
        """Tell whether a plan deals single draws of cost 1, and its policy has a sprint.

        `state` is the state of the policy before its first decision.
        """
        single = plan.batch == "one" and plan.width == 1 and plan.unit == "draws"
        if not single or plan.log or plan.keep_values or plan.audit or plan.objective is not None:
            return False
        return sprint_of(policy, state) is not None

    def _start(self) -> None:
        """Start the sprint and let it learn what was told; this is repeated after an interrupt."""
        self._torn = True
        sprint = sprint_of(self._table.policy, self._first)
        assert sprint is not None  # `fit` has checked it
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
        """Take the one draw of the batch that is out; return False for anything else."""
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

    # -- the table, as if every draw had gone through it

    def booked(self) -> IndependentArms:
        """Return the table with all draws booked, for reading: the next ticket is not decided."""
        table, told = self._table, len(self.values)
        table.known.add_draws(self.arms[:told], self.values)
        table.known.components = (True, 1) if told else None
        table.tickets.skip(told)
        if self.batch is not None and len(self.arms) > told:
            table.tickets.put_out(self.batch)
        return table

    def table_now(self) -> IndependentArms:
        """Return the table to continue with, as if it had been asked and told every draw.

        After an interrupt, this can be repeated.
        """
        table = self.booked()
        if self._torn:
            self._start()
        table.policy_state = self._sprint.state()
        table.pending = np.zeros(len(self._names))
        table.decisions.clear()
        if table.tickets.out:
            table.pending[self.arms[-1]] = 1
        else:
            table.decide()
        return table


def _only(values: Any) -> Any:
    """Return the only number of a tuple or an array; None if there is not exactly one."""
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
