"""ArmBooks: what independent arms have told, and the estimate, warnings and result from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from croupier.data.cross_sums import CrossSums
from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.extremes import Tail
from croupier.data.ledger import Ledger
from croupier.data.log_scale import arithmetic
from croupier.data.plan import Plan
from croupier.errors import ArmError, PlanError
from croupier.estimates.bet_sums import Told, told_in
from croupier.estimates.combiners import Combiner, Pooled, pool
from croupier.estimates.diagnostics import warnings_of
from croupier.estimates.estimate import Estimate, look_back
from croupier.estimates.intervals import Interval
from croupier.results.result import Result
from croupier.tables.aim import Aim
from croupier.tables.base import Progress, kind_of
from croupier.tables.books import Books
from croupier.tables.tickets import Tickets

__all__ = ["ArmBooks"]


class ArmBooks:
    """The books of arms whose draws are independent, and the way from them to an estimate.

    `tails` has the extreme draws of every arm, by its number, and `cross` how the components of its
    vectors vary together; None if that is not known. `interval` makes the error bar.
    `learns` has the names of the arms that learn.
    """

    def __init__(
        self, plan: Plan, combiner: Combiner, interval: Interval, learns: Collection[str] = ()
    ) -> None:
        self.plan, self.combiner = plan, combiner
        self.books = Books(plan)
        self.interval = interval
        self.tails: dict[int, Tail] = {}
        self.cross: dict[int, CrossSums | None] = {}
        self.components: tuple[bool, int] | None = None
        self.aim = Aim()
        self._learns = learns
        self._pooled: Pooled | None = None
        self._estimated: Estimate | None = None

    @property
    def interval(self) -> Interval:
        """How the error bar is made."""
        return self._interval

    @interval.setter
    def interval(self, interval: Interval) -> None:
        """Set an interval. A guaranteed one follows all batches, those that were told too."""
        interval = interval.seated(self.plan, kind_of(self.plan.table).shared_mean)
        if interval.follows:
            for told in told_in(self.books.history.rows()):
                interval.add(told)
        self._interval = interval

    def check_components(self, outcome: Outcome) -> None:
        """Refuse draws with another number of components than the first draws that arrived."""
        scalar, size = self.components = self.components or (outcome.scalar, outcome.origin.size)
        objective = self.plan.objective
        if objective is not None and len(objective) != size:
            raise PlanError(
                f"objective has {len(objective)} weights, but the draws have {size} "
                f"component{'s' * (size != 1)}: give one weight per component"
            )
        if (scalar, size) != (outcome.scalar, outcome.origin.size):
            before = "a number" if scalar else f"{size} components"
            now = "a number" if outcome.scalar else f"{outcome.origin.size} components"
            way = "every arm must estimate the same quantities"
            if size == outcome.origin.size:
                way += "; let every arm return the shape (size,), as values[:, 0] has, or (size, 1)"
            raise ArmError(
                f"the draws are {now} each, but earlier draws were {before} each: {way}",
                arm=outcome.arm,
                ticket=outcome.ticket,
                value=outcome.origin.shape,
            )

    def batch(self, ticket: int, arm: str, size: int, state: Any = None) -> Batch:
        """Return the batch of a ticket, divided into calls whose arrays fit in the cache."""
        return Batch(ticket, arm, size, self.plan.seed, self.books.ledger.most_in_a_call, state)

    # -- what was told

    def tell(
        self,
        tickets: Tickets,
        outcome: Outcome,
        then: Callable[[int, Outcome], None] | None = None,
    ) -> None:
        """Take an outcome, and book everything that is next in ticket order.

        After each, `then` is called with the number of its arm.
        """
        tickets.asked_for(outcome)
        self.check_components(outcome)
        tickets.arrive(outcome)
        with arithmetic(log=True) if self.plan.log else nullcontext():
            for told in tickets.in_order():
                arm = self.add(told)
                if self._interval.looking:
                    self._look(arm, told)
                if then is not None:
                    then(arm, told)

    def _look(self, arm: int, told: Outcome) -> None:
        """Let the interval learn from an outcome that was booked."""
        if self._interval.follows:
            cost, origin, exponent = told.cost, told.origin, told.exponent
            self._interval.add(
                Told(told.ticket, arm, told.size, cost, origin, exponent, told.moments)
            )
            return
        ledger, end = self.books.ledger, None
        if self.aim != Aim():
            end = self.aim.expected_end(self._estimate(), ledger.draws, ledger.spent)
        self._interval = self._interval.look(self._pool(), self.plan.confidence, end)

    def add(self, outcome: Outcome) -> int:
        """Book the outcome that is next in ticket order; return the number of its arm."""
        self._pooled = None
        arm = self.books.add(outcome)
        if arm not in self.tails or outcome.arm in self._learns:
            self.tails[arm] = Tail()  # draws from before the arm learned do not belong to its tail
        self.tails[arm].add(outcome.extremes, outcome.inspected)
        if not outcome.scalar:
            self.cross[arm] = _with_batch(self.cross, arm, outcome)
        return arm

    # -- the estimate and the result

    def growth(self) -> float | None:
        """Return the predicted need of a run with a tolerance, as a share of the cost so far."""
        if not self.aim.given or not self.books.ledger.spent:
            return None
        with arithmetic(self.plan.log):
            return self.aim.growth(self._estimate())

    def _pool(self) -> Pooled:
        """Combine the arms, once for all readers of the same books."""
        if self._pooled is None:
            self._pooled = pool(self.books.ledger, self.combiner)
        return self._pooled

    def _estimate(self) -> Estimate:
        """Return the estimate from everything told; it is made only once too."""
        pooled, known = self._pool(), self._estimated
        if known is None or known.pooled is not pooled or known.interval is not self.interval:
            ledger = self.books.ledger
            known = Estimate(self.plan, ledger.scale, pooled, self.interval, ledger)
            self._estimated = known
        return known

    def progress(self, tickets: Tickets, seconds: float) -> Progress:
        """Return where the run stands, from what was told in ticket order without a gap."""

        def estimate() -> Estimate:
            with arithmetic(self.plan.log):
                return self._estimate()

        return self.books.progress(tickets, seconds, estimate, _ready)

    def result(self, tickets: Tickets) -> Result:
        """Return the result from everything told so far."""
        plan, early = self.plan, tickets.early
        with arithmetic(plan.log):
            interval = self.interval.kept()
            back = look_back(plan, self.combiner, interval, self.books.history.rows)
            ledger, history = self.books.with_early(early, back)
            torn = bool(early) or self.books.torn
            pooled = pool(ledger, self.combiner) if torn else self._pool()
            if not history.scalar:
                pooled = pooled._replace(covariance=self._joint(pooled, ledger, early))
            estimate = Estimate(plan, ledger.scale, pooled, interval, ledger)
            warnings, agreement = warnings_of(
                plan,
                ledger,
                estimate.pooled,
                self.tails,
                exact=estimate.ends.exact,
                one_estimator=kind_of(plan.table).rows.one_estimator,
            )
            result = self.books.result(
                tickets,
                ledger,
                history,
                estimate,
                warnings=[*warnings, *self.books.warnings()],
                agreement=agreement,
            )
            failures = self.books.failures(early)
            return replace(result, details=failures) if failures else result

    def _joint(self, pooled: Pooled, ledger: Ledger, early: Sequence[Outcome]) -> Floats | None:
        """Return sum_k w_k w_k' M_k/n_k^2, the covariance of the components, in the user's units.

        M_k are the products of the distances of an arm's draws from the estimate, or from the mean
        of a stratum, as in `pool`. None if an arm does not know them.
        """
        cross, index = dict(self.cross), self.books.index
        for outcome in early:
            cross[index[outcome.arm]] = _with_batch(cross, index[outcome.arm], outcome)
        total: Any = 0.0
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # then it is unknown
            for arm, known in cross.items():
                if known is None:
                    return None
                sums = known.sums
                if pooled.shared:
                    apart = known.origin + known.mean - ledger.scale.value_of(pooled.mean)
                    sums = sums + known.draws * np.outer(apart, apart)
                weight = pooled.weights[arm] / known.draws
                total = total + np.outer(weight, weight) * sums
        return total if np.ndim(total) and np.isfinite(total).all() else None


def _ready(seen: Estimate) -> bool:
    with arithmetic(seen.plan.log):
        return seen.interval.ready(seen.pooled)


def _with_batch(
    cross: Mapping[int, CrossSums | None], arm: int, outcome: Outcome
) -> CrossSums | None:
    """Return what an arm knows of its vectors with one more batch."""
    new = CrossSums.of(outcome)
    if arm not in cross or new is None:
        return new
    return None if (old := cross[arm]) is None else old.merged(new)
