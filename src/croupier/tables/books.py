"""Books: the ledger and the history of what was told. An interrupt does not damage them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from croupier.data.draws import Floats, Outcome
from croupier.data.epochs import new_ledger
from croupier.data.history import History, LookBack
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.data.repeats import Repeats
from croupier.errors import PlanError
from croupier.estimates.estimate import Estimate
from croupier.estimates.independence import dependence_warnings
from croupier.results.make_result import result_of, untested
from croupier.results.result import Result
from croupier.tables.base import Progress, kind_of
from croupier.tables.tickets import Tickets

__all__ = ["Books"]


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

    def progress(
        self,
        tickets: Tickets,
        seconds: float,
        estimate: Callable[[], Estimate],
        ready: Callable[[Estimate], bool],
    ) -> Progress:
        """Return where the run stands; `estimate` and `ready` are called when they are read."""
        told, ledger = tickets.told, self.ledger

        def estimate_now() -> Estimate:
            if told != tickets.told:
                raise PlanError(
                    f"progress at ticket {told} is out of date: read it before the next tell"
                )
            if not told:
                raise PlanError("nothing has been told yet: there is no estimate")
            return estimate()

        return Progress(
            draws=int(ledger.draws),
            cost=ledger.spent,
            reported=self.reported,
            tickets=told,
            seconds=seconds,
            leader=self.plan.names[ledger.leader],
            scalar=self.history.scalar,
            estimate_now=estimate_now,
            ready_now=ready,
        )

    def result(
        self,
        tickets: Tickets,
        ledger: Ledger,
        history: History,
        estimate: Estimate,
        *,
        warnings: Sequence[str] = (),
        agreement: Floats | None = None,
    ) -> Result:
        """Return the result of an estimate, from a ledger and a history of `with_early`.

        `agreement` is None if the arms are not tested for it.
        """
        kind = kind_of(self.plan.table)
        return result_of(
            self.plan,
            ledger,
            estimate,
            history,
            warnings=[*warnings, *tickets.missing()],
            agreement=untested(len(estimate.value)) if agreement is None else agreement,
            loss=kind.loss,
            meaning=kind.rows,
        )


def failed_in(outcome: Outcome) -> int:
    """Return how many calls of the user's function failed in a batch."""
    extras = outcome.extra.get("arm")
    if not extras:
        return 0
    return sum(each.get("failed", 0) for each in extras if isinstance(each, dict))
