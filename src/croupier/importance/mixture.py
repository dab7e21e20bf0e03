"""Mixture: the table of an importance family, whose draws are all weighed together.

Batches come in rounds. When all of a round was told, the next one is planned: the proportions are
learned on what the controls leave, and a normal proposal may be fitted. So the result does not
depend on the width, on the workers or on the order of arrival.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.history import Curve, History, Rows
from croupier.data.ledger import Ledger
from croupier.data.log_scale import quiet
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled, mean
from croupier.estimates.intervals import FixedSize, Interval, half_width
from croupier.importance import mixing
from croupier.importance.mixing import Ints
from croupier.importance.mixture_draws import extra_of
from croupier.importance.points import Normal
from croupier.importance.weighing import Weighed, Weighing
from croupier.results.make_result import estimate_of, result_from, rows_of, shaped
from croupier.results.result import Result
from croupier.tables.base import Look, Progress

__all__ = ["Mixture"]

#: The draws of one batch at most: what an arm is called for at once.
LARGEST: Final = 10_000

#: A run that may stop at a tolerance grows by so much a round, once it has so many draws.
_STEP: Final = 0.25
_ENOUGH: Final = 1_000


class Mixture:
    """Deals a budget to the proposals of a family and weighs all draws against their mixture.

    The plan's policy is ``{"name": "mixture", "proportions": "learned", "equal" or shares,
    "tune": proposals to be fitted, "spread": whether their spread is, "rounds": "pooled" or
    "own", "normalised": whether p is}``. Rounds double; with `stopping`, if a tolerance may end
    the run, they grow more slowly.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        interval: Interval | None = None,
        stopping: bool = False,
    ) -> None:
        self.plan = plan
        self.interval: Interval = FixedSize() if interval is None else interval
        self._stopping = stopping
        policy = plan.policy
        self._shares, self._own_rounds = policy["proportions"], policy["rounds"] == "own"
        self._tune = int(policy["tune"])
        self._fixed = len(plan.names) - self._tune
        self._index = {name: k for k, name in enumerate(plan.names)}
        measured = plan.unit == "seconds"
        self._ledger = Ledger(len(plan.names), measured=measured)
        self._history = History(plan.names, mean, confidence=plan.confidence, measured=measured)
        self._weighing = Weighing(plan)
        self._arrived: dict[int, Outcome] = {}
        self._out: dict[int, Batch] = {}
        self._asked = 0
        self._reported = 0.0
        self._round = -1
        self._planned: Ints = np.empty(0, np.int64)
        self._queue: deque[tuple[int, int]] = deque()

    @property
    def width(self) -> int:
        """How many batches may be out at once."""
        return self.plan.width

    @property
    def asked(self) -> int:
        """How many tickets were asked for: the next one's number."""
        return self._asked

    @property
    def out(self) -> tuple[Batch, ...]:
        """The batches that are out, in the order of their tickets."""
        return tuple(self._out[ticket] for ticket in sorted(self._out))

    @property
    def tuned(self) -> tuple[Normal, ...]:
        """The normal proposals that were fitted so far."""
        return tuple(self._weighing.tuned)

    # -- ask

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch, within what is left of a budget after all that was told.

        None: nothing before the rest of the round is told, or nothing left.
        """
        if len(self._out) >= self.width:
            raise PlanError(
                f"{len(self._out)} batches are out and width is {self.width}: tell one of them "
                "first, or give a larger width"
            )
        if not self._queue and (self._waiting or not self._plan_round(draws_left, cost_left)):
            return None
        for proposal, planned in self._queue:  # what is too dear may leave something for another
            size = self._affordable(proposal, planned, draws_left, cost_left)
            if size > 0:
                return self._put_out(proposal, size)
        return None

    @property
    def _waiting(self) -> bool:
        return bool(self._out or self._arrived)

    def _put_out(self, proposal: int, size: int) -> Batch:
        self._take_from_queue(proposal, size)
        ticket, self._asked = self._asked, self._asked + 1
        state: dict[str, Any] = {"round": self._round, "planned": tuple(self._planned.tolist())}
        if proposal >= self._fixed:
            normal = self._weighing.tuned[proposal - self._fixed]
            state |= {"mean": tuple(normal.mean.tolist()), "root": normal.root.tolist()}
        name = self.plan.names[proposal]
        batch = Batch(ticket, name, size, self.plan.seed, LARGEST, state)
        self._out[ticket] = batch
        return batch

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
        """Cut a batch to what is left, less what is out or waits for an older ticket."""
        waiting = self._arrived.values()
        if draws_left is not None:
            draws_left -= sum(batch.size for batch in self._out.values())
            draws_left -= sum(outcome.size for outcome in waiting)
            size = min(size, draws_left)
        if cost_left is None:
            return size
        if not self._ledger.draws:
            return size if cost_left > 0 or not self._asked else 0
        price = self._prices()
        cost_left -= sum(b.size * price[self._index[b.arm]] for b in self._out.values())
        cost_left -= sum(outcome.cost for outcome in waiting)
        if cost_left <= 0 or cost_left < price[proposal] / 2:
            return 0
        return min(size, max(1, int(cost_left / price[proposal])))

    # -- rounds

    def _plan_round(self, draws_left: int | None, cost_left: float | None) -> bool:
        """Plan the next round on all that was told; False if nothing is left for it."""
        t, J = int(self._ledger.draws), self._fixed
        left = math.inf if draws_left is None else float(draws_left)
        if cost_left is not None and t:
            left = min(left, cost_left / (self._ledger.spent / t))
        if left < 0.5:
            return False
        n = None if math.isinf(left) else t + max(1, int(left))
        if self._round < 1 and not self._weighing.tuned:
            if t == 0 and cost_left is not None:  # what a draw costs nobody knows before the first
                missing = np.ones(J, np.int64)
            else:
                drawn = self._ledger.count[:J].astype(np.int64)
                missing = np.maximum(mixing.first_counts(J, n) - drawn, 0)
            if missing.any():
                self._begin_round(missing)
                return True
        size = self._size(t, n)
        self._weighing.look()
        if len(self._weighing.tuned) < self._tune:
            self._weighing.fit()
        known = J + len(self._weighing.tuned)
        a = self._proportions(known)
        if self._own_rounds:  # each must reach all of the target by itself
            self._begin_round(mixing.own_counts(a, size))
        else:
            self._begin_round(mixing.next_counts(a, self._ledger.count[:known], size))
        return True

    def _begin_round(self, planned: Ints) -> None:
        self._round += 1
        self._planned = planned
        self._queue = deque(
            (k, min(LARGEST, int(count) - start))
            for k, count in enumerate(planned)
            for start in range(0, int(count), LARGEST)
        )

    def _size(self, t: int, n: int | None) -> int:
        if not self._stopping or t < _ENOUGH:
            return mixing.round_size(t, n)
        b = max(1, int(_STEP * t))  # to double would overshoot the tolerance
        return b if n is None or n - t >= 1.5 * b else n - t

    def _proportions(self, known: int) -> Floats:
        if self._shares == "equal":
            return np.full(known, 1 / known)
        if self._shares != "learned":
            return np.array(self._shares, float)
        price = None if self.plan.unit == "draws" else self._prices()[:known]
        return self._weighing.proportions(price)

    def _prices(self) -> Floats:
        """Return the cost of a draw of each proposal; where nobody knows, the mean of the others.

        A short call measures the call and not the draws: then as little as any other's.
        """
        price = self._ledger.price
        if self.plan.unit == "seconds":
            told = self._ledger.telling > 0
            if not told.any():
                return np.full(len(price), self._ledger.spent / self._ledger.draws)
            least = float(price[told].min())
            price = np.where(told, price, np.fmin(price, least))
        return np.where(np.isnan(price), np.nanmean(price), price)

    # -- tell

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a batch that was asked for, in any order of arrival."""
        asked = self._out.get(outcome.ticket)
        if asked is None:
            told = 0 <= outcome.ticket < self._asked
            what = "told already" if told else "never asked for"
            raise PlanError(f"ticket {outcome.ticket} was {what}")
        if (outcome.arm, outcome.size) != (asked.arm, asked.size):
            raise PlanError(
                f"ticket {asked.ticket} asked for {asked.size} draws of {asked.arm!r}, "
                f"told were {outcome.size} of {outcome.arm!r}"
            )
        del self._out[outcome.ticket]
        self._arrived[outcome.ticket] = outcome
        while (first := self._arrived.pop(self._weighing.told, None)) is not None:
            arm = self._index[first.arm]
            self._ledger.add(arm, first)
            self._history.append(arm, first)
            self._reported += first.reported
            self._weighing.add(first)
        if not self._queue and not self._waiting:
            self._weighing.look()  # now, so that its time is known when the next round is planned

    def restore(self, outcome: Outcome) -> None:
        """Take a stored outcome, with its own arm and size, in place of the next ticket's ask."""
        if self.ask_again(outcome) is None:
            raise PlanError(f"ticket {outcome.ticket} is of a round that has not begun")
        self.tell(outcome)

    def hold(self, outcome: Outcome) -> None:
        """Take a stored outcome that an older one, which is missing, came before."""
        self._arrived[outcome.ticket] = outcome

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch that a stored outcome came of; None before its round has begun.

        The outcome says what its round was planned to be, whatever the budget is now.
        """
        if outcome.ticket != self._asked or outcome.arm not in self._index:
            raise PlanError(f"ticket {outcome.ticket} cannot be restored before {self._asked}")
        extra, proposal = extra_of(outcome), self._index[outcome.arm]
        if extra["round"] > self._round:
            if self._waiting:
                return None
            if self._weighing.told:
                self._weighing.look()
            if len(extra["planned"]) > self._fixed + len(self._weighing.tuned):
                self._weighing.fit()
            self._begin_round(np.array(extra["planned"], np.int64))
        if proposal >= self._fixed:  # what was drawn from, to the last bit
            k = proposal - self._fixed
            self._weighing.replace(k, Normal(extra["mean"], extra["root"]))
        return self._put_out(proposal, outcome.size)

    def snapshot(self) -> None:
        """Return nothing: a mixture weighs all its draws, and so it is told all of them again."""

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Refuse: there are no snapshots of a mixture."""
        raise PlanError("a mixture has no snapshots")

    # -- what is known

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; its estimate is that at the end of the last round."""
        told, ended = self._weighing.told, not self._queue and not self._waiting

        def look() -> Look:
            if told != self._weighing.told:
                raise PlanError(f"progress at ticket {told} is out of date: read it before a tell")
            if not told:
                raise PlanError("nothing has been told yet: there is no estimate")
            looks = self._weighing.looks
            _, weighed, pooled = looks[-1] if looks and not ended else self._weighing.look()
            with quiet():
                seen = estimate_of(self.plan, _unit(weighed.exponent), pooled, self.interval)
            numbers = (seen.value, seen.stderr, seen.half_width)
            value, stderr, width = (shaped(number, True) for number in numbers)
            return Look(value, stderr, width, ended and self.interval.ready(pooled))

        ledger = self._ledger
        leader = self.plan.names[int(ledger.cost.argmax())]
        return Progress(
            int(ledger.draws), ledger.spent, self._reported, told, seconds, leader, look
        )

    def result(self) -> Result:
        """Return the answer from everything told so far."""
        plan, ledger, history = self.plan, self._ledger.copy(), self._history.view(self.interval)
        late = [self._arrived[ticket] for ticket in sorted(self._arrived)]
        if not self._weighing.told and not late:
            raise PlanError("nothing has been told yet: there is no result")
        if late:  # told, but some older ticket is still out
            history.own()
            for outcome in late:
                ledger.add(self._index[outcome.arm], outcome)
                history.append(self._index[outcome.arm], outcome)
        seen, weighed, pooled = self._weighing.of_all(late)
        doubts = self._weighing.doubts(seen, weighed, pooled)
        if self._out:
            few = ", ".join(str(ticket) for ticket in sorted(self._out)[:5])
            doubts.append(f"missing: the draws of tickets {few}, which are still out")
        with quiet(), np.errstate(invalid="ignore"):  # what no double holds, a doubt says
            history.looks = self._curve(len(history), weighed, pooled)
            unit = _unit(weighed.exponent)
            return result_from(
                plan,
                ledger,
                estimate_of(plan, unit, pooled, self.interval),
                history,
                rows_of(plan, ledger, pooled, history),
                warnings=doubts,
                agreement=np.full(1, np.nan),  # a proposal by itself may miss a part of the target
                unit=unit,
            )

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


def _unit(exponent: int) -> Ledger:
    """Return a ledger of one arm whose means are in units of ``2**exponent``, from zero."""
    unit = Ledger(1)
    unit.origin, unit.exponent = np.zeros(1), np.array([exponent])
    return unit
