"""Books: the ledger and the history of what was told. An interrupt does not damage them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from croupier.data.draws import Outcome
from croupier.data.epochs import new_ledger
from croupier.data.history import Curve, History, LookBack
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.data.repeats import Repeats
from croupier.data.scale import Scale
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate, estimate_of
from croupier.estimates.independence import dependence_warnings
from croupier.estimates.intervals import Interval
from croupier.results.make_result import result_of, untested
from croupier.results.result import Result
from croupier.tables.base import Look, Progress, kind_of
from croupier.tables.tickets import Tickets

__all__ = ["Books"]

#: The scale of numbers that are already in the user's units.
_PLAIN: Final = Scale(np.zeros(1), np.zeros(1, np.int64))


class Books:
    """What was told, in ticket order; `index` has the number of every arm, by its name.

    `reported` is the total cost that the arms report, `failed` how many calls failed. `torn` is
    True after an interrupt between the history and the ledger. Then only the history is right.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.index = {name: k for k, name in enumerate(plan.names)}
        self.ledger = new_ledger(plan)
        self.history = History(plan.names, log=plan.log, like=self.ledger.empty())
        self.repeats: dict[int, Repeats] = {}
        self.reported = 0.0
        self.failed = 0
        self.torn = False

    def add(self, outcome: Outcome) -> int:
        """Book the outcome that is next in ticket order; return the number of its arm."""
        arm = self.index[outcome.arm]
        self.torn = True
        self.history.append(arm, outcome)
        self.ledger.add(arm, outcome)
        self.torn = False
        self.reported += outcome.reported
        self.failed += failed_in(outcome)
        if arm not in self.repeats:
            self.repeats[arm] = Repeats()
        self.repeats[arm].add(outcome.ticket, outcome.extremes)
        return arm

    def failures(self, early: Sequence[Outcome] = ()) -> dict[str, int]:
        """Return the number of failed calls, for the details of a result; nothing without any."""
        failed = self.failed + sum(map(failed_in, early))
        return {"failed": failed} if failed else {}

    def warnings(self) -> list[str]:
        """Return a warning for every arm whose draws are not independent."""
        return dependence_warnings(self.plan.names, self.history, self.repeats)

    def with_early(
        self, early: Sequence[Outcome], look_back: LookBack | None = None
    ) -> tuple[Ledger, History]:
        """Return a ledger and a history for a result, with everything told and what came early.

        They belong to the result: later batches do not change them.
        """
        history = self.history.view(look_back)
        ledger = history.ledger() if self.torn else self.ledger.copy()
        if early:
            history.own()
            for outcome in early:
                ledger.add(self.index[outcome.arm], outcome)
                history.append(self.index[outcome.arm], outcome)
        if ledger.origin is None:
            raise PlanError("nothing has been told yet: there is no result")
        return ledger, history

    def estimate(self, interval: Interval, value: float, stderr: float, df: float) -> Estimate:
        """Return an estimate that a table has made in its own way, in the user's units.

        `df` is the degrees of freedom of the standard error; 0 if the error is not known yet.
        """
        count = self.ledger.count[:, None]
        pooled = Pooled(
            mean=np.array([value]),
            variance=np.array([stderr**2]),
            df=np.array([max(df, 1.0)]),
            varies=np.array([df > 0 and stderr > 0]),
            weights=count / max(count.sum(), 1.0),
            draws=self.ledger.draws,
        )
        return estimate_of(self.plan, _PLAIN, pooled, interval)

    def result(self, tickets: Tickets, seen: Estimate) -> Result:
        """Return the result of an estimate that a table has made in its own way."""
        ledger, history = self.with_early(tickets.early)
        history.looks = Curve(np.array([len(history) - 1]), seen.value, seen.half_width)
        return result_of(
            self.plan,
            ledger,
            seen,
            history,
            warnings=[*self.warnings(), *tickets.missing()],
            agreement=untested(len(seen.value)),
            meaning=kind_of(self.plan.table).rows,
        )

    def progress(self, told: int, seconds: float, look: Callable[[], Look]) -> Progress:
        """Return where the run stands; `look` is called when the estimate is read."""
        ledger = self.ledger
        leader = self.plan.names[ledger.leader]
        return Progress(int(ledger.draws), ledger.spent, self.reported, told, seconds, leader, look)


def failed_in(outcome: Outcome) -> int:
    """Return how many calls of the user's function failed in a batch."""
    extras = outcome.extra.get("arm", ())
    return sum(each.get("failed", 0) for each in extras if isinstance(each, dict))
