"""Mixture: the table of an importance family. All draws are weighted together.

Batches come in rounds. When a whole round was told, the next one is planned: the proportions are
learned from what the controls leave, and a normal proposal may be fitted. So the result does not
depend on the width, on the workers or on the order of arrival.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import Any, Final

import numpy as np

from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.history import Curve
from croupier.data.log_scale import arithmetic
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate, estimate_of
from croupier.estimates.intervals import FixedSize, Interval, half_width
from croupier.importance import mixture_formulas
from croupier.importance.mixture_answer import FITTED_TO, Weighed, Weighing
from croupier.importance.mixture_draws import extra_of
from croupier.importance.mixture_formulas import Ints
from croupier.importance.points import Normal
from croupier.results.make_result import result_of, untested
from croupier.results.result import Result
from croupier.tables.aim import Aim
from croupier.tables.base import Look, Progress, kind_of
from croupier.tables.books import Books
from croupier.tables.tickets import Tickets

__all__ = ["Mixture"]

#: The largest number of draws in one batch; a batch is one call of an arm.
LARGEST: Final = 10_000

#: If a tolerance may stop the run, a round grows it by at most 25 %, once it has 1000 draws.
_STEP: Final = 0.25
_ENOUGH: Final = 1_000

#: A fit waits for enough effective draws, for a quarter of the budget, or for so many draws.
_WAITED: Final = 50_000


class Mixture:
    """Deals a budget to the proposals of a family and weights all draws by their mixture.

    The plan's settings are ``{"proportions": "learned", "equal" or shares, "tune": the number of
    proposals to fit, "spread": whether their spread is fitted, "rounds": "pooled" or "own",
    "normalised": whether p is normalised}``. Each round doubles the draws. If the `aim` has a
    tolerance, the rounds are smaller.
    """

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        self.plan = plan
        self.interval: Interval = FixedSize() if interval is None else interval
        self.tickets = Tickets(plan.width)
        self.aim = Aim()
        settings = plan.settings
        self._shares, self._own_rounds = settings["proportions"], settings["rounds"] == "own"
        self._tune = int(settings["tune"])
        self._fixed = len(plan.names) - self._tune
        self._books = Books(plan)
        self._weighing = Weighing(plan)
        self._round = -1
        self._planned: Ints = np.empty(0, np.int64)
        self._queue: deque[tuple[int, int]] = deque()

    @property
    def tuned(self) -> tuple[Normal, ...]:
        """The normal proposals that were fitted so far."""
        return tuple(self._weighing.tuned)

    # -- ask

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch, within the budget that is left after everything told so far.

        None means: wait until the rest of the round is told, or nothing is left.
        """
        self.tickets.check_room()
        waiting = self.tickets.waiting
        if not self._queue and (waiting or not self._plan_round(draws_left, cost_left)):
            return None
        for proposal, planned in self._queue:  # if one is too expensive, another may fit
            size = self._affordable(proposal, planned, draws_left, cost_left)
            if size > 0:
                return self._put_out(proposal, size)
        return None

    def _put_out(self, proposal: int, size: int) -> Batch:
        self._take_from_queue(proposal, size)
        state: dict[str, Any] = {"round": self._round, "planned": tuple(self._planned.tolist())}
        if proposal >= self._fixed:
            normal = self._weighing.tuned[proposal - self._fixed]
            state |= {"mean": tuple(normal.mean.tolist()), "root": normal.root.tolist()}
        name, ticket = self.plan.names[proposal], self.tickets.asked
        return self.tickets.put_out(Batch(ticket, name, size, self.plan.seed, LARGEST, state))

    def _take_from_queue(self, proposal: int, size: int) -> None:
        left: deque[tuple[int, int]] = deque()
        while self._queue:
            ours, many = self._queue.popleft()
            taken = min(many, size) if ours == proposal else 0
            size -= taken
            if many > taken:
                left.append((ours, many - taken))
            if not size:
                break
        left.extend(self._queue)
        self._queue = left

    def _affordable(
        self, proposal: int, size: int, draws_left: int | None, cost_left: float | None
    ) -> int:
        """Cut a batch to the budget that is left after the batches not told yet."""
        if draws_left is not None:
            size = min(size, self.tickets.draws_left(draws_left))
        if cost_left is None:
            return size
        if not self._books.ledger.draws:
            return size if cost_left > 0 or not self.tickets.asked else 0
        price = self._prices()
        cost_left = self.tickets.cost_left(cost_left, lambda arm: price[self._books.index[arm]])
        if cost_left <= 0 or cost_left < price[proposal] / 2:
            return 0
        return min(size, max(1, int(cost_left / price[proposal])))

    # -- rounds

    def _plan_round(self, draws_left: int | None, cost_left: float | None) -> bool:
        """Plan the next round from everything told so far; False if no budget is left for it."""
        ledger = self._books.ledger
        t, J = int(ledger.draws), self._fixed
        left = math.inf if draws_left is None else float(draws_left)
        if cost_left is not None and t:
            left = min(left, cost_left / (ledger.spent / t))
        if left < 0.5:
            return False
        n = None if math.isinf(left) else t + max(1, int(left))
        if self._round < 1 and not self._weighing.tuned:
            if t == 0 and cost_left is not None:  # the first draws show what a draw costs
                missing = np.ones(J, np.int64)
            else:
                drawn = ledger.count[:J].astype(np.int64)
                missing = np.maximum(mixture_formulas.first_counts(J, n) - drawn, 0)
            if missing.any():
                self._begin_round(missing)
                return True
        self._weighing.look()
        size = self._size(t, n)
        if len(self._weighing.tuned) < self._tune and self._may_fit(t, n):
            self._weighing.fit()
        known = J + len(self._weighing.tuned)
        a = self._proportions(known)
        if self._own_rounds:  # each round must cover the whole target alone
            self._begin_round(mixture_formulas.own_counts(a, size))
        else:
            self._begin_round(mixture_formulas.next_counts(a, ledger.count[:known], size))
        return True

    def _may_fit(self, t: int, n: int | None) -> bool:
        """Tell whether enough draws are known for a fit, or whether waiting has cost enough."""
        return self._weighing.known() >= FITTED_TO or t >= (_WAITED if n is None else n / 4)

    def _begin_round(self, planned: Ints) -> None:
        self._round += 1
        self._planned = planned
        self._queue = deque(
            (k, min(LARGEST, int(count) - start))
            for k, count in enumerate(planned)
            for start in range(0, int(count), LARGEST)
        )

    def _size(self, t: int, n: int | None) -> int:
        if not self.aim.given or t < _ENOUGH:
            return mixture_formulas.round_size(t, n)
        step = _STEP
        if not self._own_rounds:  # a short round alone says little about the whole target
            _, weighed, pooled = self._weighing.looks[-1]
            step = min(step, self.aim.growth(self._seen(weighed, pooled)))
        b = max(1, int(step * t))
        return b if n is None or n - t >= 1.5 * b else n - t

    def _proportions(self, known: int) -> Floats:
        if self._shares == "equal":
            return np.full(known, 1 / known)
        if self._shares != "learned":
            return np.array(self._shares, float)
        price = None if self.plan.unit == "draws" else self._prices()[:known]
        return self._weighing.proportions(price)

    def _prices(self) -> Floats:
        """Return what a draw of each proposal costs; where it is not known, the mean of others."""
        price = self._books.ledger.price
        return np.where(np.isnan(price), np.nanmean(price), price)

    # -- tell

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a batch that was asked for. Outcomes may arrive in any order."""
        self.tickets.arrive(outcome)
        for told in self.tickets.in_order():
            self._books.add(told)
            self._weighing.add(told)
        if not self._queue and not self.tickets.waiting:
            self._weighing.look()  # now, so that its time counts before the next round is planned

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch of a stored outcome; None before its round has started.

        The outcome has the plan of its round, which does not depend on the present budget.
        """
        self.tickets.check_next(outcome, self._books.index)
        extra, proposal = extra_of(outcome), self._books.index[outcome.arm]
        if extra["round"] > self._round:
            if self.tickets.waiting:
                return None
            if self._weighing.told:
                self._weighing.look()
            if len(extra["planned"]) > self._fixed + len(self._weighing.tuned):
                self._weighing.fit()
            self._begin_round(np.array(extra["planned"], np.int64))
        if proposal >= self._fixed:  # the normal that was drawn from, to the last bit
            k = proposal - self._fixed
            self._weighing.replace(k, Normal(extra["mean"], extra["root"]))
        return self._put_out(proposal, outcome.size)

    # -- what is known

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; its estimate is the one at the end of the last round."""
        told, ended = self._weighing.told, not self._queue and not self.tickets.waiting

        def look() -> Look:
            if told != self._weighing.told:
                raise PlanError(
                    f"progress at ticket {told} is out of date: read it before the next tell"
                )
            if not told:
                raise PlanError("nothing has been told yet: there is no estimate")
            looks = self._weighing.looks
            _, weighed, pooled = looks[-1] if looks and not ended else self._weighing.look()
            seen = self._seen(weighed, pooled)
            return Look.of(seen, ready=ended and self.interval.ready(pooled))

        return self._books.progress(told, seconds, look)

    def _seen(self, weighed: Weighed, pooled: Pooled) -> Estimate:
        with arithmetic(log=True):
            return estimate_of(self.plan, _scale(weighed), pooled, self.interval)

    def result(self) -> Result:
        """Return the result from everything told so far."""
        early = self.tickets.early
        ledger, history = self._books.with_early(early)
        seen, weighed, pooled = self._weighing.of_all(early)
        warnings = self._weighing.warnings(seen, weighed, pooled)
        # If a number does not fit into a double, a warning says so.
        with arithmetic(log=True), np.errstate(invalid="ignore"):
            history.looks = self._curve(len(history), weighed, pooled)
            made = result_of(
                self.plan,
                ledger,
                estimate_of(self.plan, _scale(weighed), pooled, self.interval),
                history,
                warnings=[*warnings, *self._books.warnings(), *self.tickets.missing()],
                agreement=untested(1),
                meaning=kind_of(self.plan.table).rows,
            )
        return replace(made, details=self._details())

    def _details(self) -> dict[str, Any]:
        """Return the normals that were fitted, as plain data: `Normal(**each)` makes one again."""
        fitted = [{"mean": n.mean.tolist(), "root": n.root.tolist()} for n in self.tuned]
        return {"proposals": fitted} if fitted else {}

    def _curve(self, rows: int, weighed: Weighed, pooled: Pooled) -> Curve:
        """Return the estimates at the ends of the rounds, and the last one."""
        looks = [look for look in self._weighing.looks if look[0] < rows]
        looks.append((rows, weighed, pooled))
        halves = [half_width(self.interval, each, self.plan.confidence)[0] for *_, each in looks]
        exponents = [each.exponent for _, each, _ in looks]
        return Curve(
            np.array([told - 1 for told, *_ in looks]),
            np.ldexp([each.answer.mean for _, each, _ in looks], exponents),
            np.ldexp(halves, exponents),
        )


def _scale(weighed: Weighed) -> Scale:
    """Return the scale of an answer: its origin is 0, and its unit is ``2**exponent``."""
    return Scale(np.zeros(1), np.array([weighed.exponent]))
