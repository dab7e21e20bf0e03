"""Mixture: the table of an importance family, whose draws are all weighed together.

Batches come in rounds. When all of a round was told, the next one is planned: the proportions are
learned on what the controls leave, and a normal proposal may be fitted. So the result does not
depend on the width, on the workers or on the order of arrival.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.answer import estimate_of, result_from, rows_of, stderr_of
from croupier.combine import Pooled, mean
from croupier.draws import Batch, Floats, Outcome
from croupier.errors import PlanError
from croupier.history import Curve, History, Rows
from croupier.importance import mixing
from croupier.importance.drawn import Seen, extra_of, fitted, gathered, joined
from croupier.importance.mixing import Answer, Controlled, Ints, Mixed
from croupier.importance.points import Normal, Points
from croupier.importance.suspicion import suspicions
from croupier.intervals import FEW, FixedSize, Interval, half_width
from croupier.ledger import Ledger
from croupier.logs import log_of, quiet
from croupier.plan import Plan
from croupier.result import Result
from croupier.table import Look, Progress
from croupier.tails import Tail, extremes_of

__all__ = ["Mixture"]

#: The draws of one batch at most: what an arm is called for at once.
LARGEST: Final = 10_000

#: A run that may stop at a tolerance grows by so much a round, once it has so many draws.
_STEP: Final = 0.25
_ENOUGH: Final = 1_000

#: A Pareto shape above 0.5 means an infinite variance. Weights of a good mixture, which are
#: bounded, look like that too now and then, but then their variance is well known: df is a large
#: part of the draws.
_HEAVY: Final = 0.5
_UNKNOWN: Final = 0.04

#: A value with a larger logarithm, either way, is zero or infinite as a double, or its error is.
_DOUBLE: Final = 690.0

#: About so many draws are searched for mistakes in the family.
_SUSPECTS: Final = 50_000


class _Weighed(NamedTuple):
    """What the draws come to: their weights, what the controls leave of them, and the answer."""

    mixed: Mixed
    left: Controlled
    answer: Answer
    exponent: int


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
        self._normalised = bool(policy["normalised"])
        self._shares, self._own_rounds = policy["proportions"], policy["rounds"] == "own"
        self._tune, self._spread = int(policy["tune"]), bool(policy["spread"])
        self._fixed = len(plan.names) - self._tune
        self._index = {name: k for k, name in enumerate(plan.names)}
        measured = plan.unit == "seconds"
        self._ledger = Ledger(len(plan.names), measured=measured)
        self._history = History(plan.names, mean, confidence=plan.confidence, measured=measured)
        self._told = 0
        self._fresh: list[Outcome] = []
        self._arrived: dict[int, Outcome] = {}
        self._out: dict[int, Batch] = {}
        self._asked = 0
        self._reported = 0.0
        self._round = -1
        self._planned: Ints = np.empty(0, np.int64)
        self._queue: deque[tuple[int, int]] = deque()
        self._tuned: list[Normal] = []
        self._gathered: Seen | None = None
        self._looks: list[tuple[int, _Weighed, Pooled]] = []

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
        return tuple(self._tuned)

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
            normal = self._tuned[proposal - self._fixed]
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
        if self._round < 1 and not self._tuned:
            if t == 0 and cost_left is not None:  # what a draw costs nobody knows before the first
                missing = np.ones(J, np.int64)
            else:
                drawn = self._ledger.count[:J].astype(np.int64)
                missing = np.maximum(mixing.first_counts(J, n) - drawn, 0)
            if missing.any():
                self._begin_round(missing)
                return True
        size = self._size(t, n)
        self._look()
        if len(self._tuned) < self._tune:
            self._fit()
        known = J + len(self._tuned)
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
        _, weighed, _ = self._look()
        H = weighed.mixed.H
        for normal in self._tuned[H.shape[1] - self._fixed :]:
            density = normal.logpdf(self._seen().points.statistic)
            H = np.column_stack((H, mixing.ratio(density, weighed.mixed.log_mixture)))
        price = None if self.plan.unit == "draws" else self._prices()[:known]
        return mixing.proportions(weighed.left.u, H, price)

    def _fit(self) -> None:
        """Fit one more normal proposal to the statistic, weighed by |y|."""
        _, weighed, _ = self._look()
        statistic = self._seen().points.statistic
        if not statistic.shape[1]:
            raise PlanError(
                "a normal proposal cannot be fitted to points that are counts or labels: "
                "leave tune out"
            )
        normal = fitted(statistic, np.abs(weighed.mixed.y), spread=self._spread)
        if normal is not None:
            self._tuned.append(normal)

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
        while (first := self._arrived.pop(self._told, None)) is not None:
            arm = self._index[first.arm]
            self._ledger.add(arm, first)
            self._history.append(arm, first)
            self._reported += first.reported
            self._fresh.append(first)
            self._told += 1
        if not self._queue and not self._waiting:
            self._look()  # now, so that its time is known when the next round is planned

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
            if self._told:
                self._look()
            if len(extra["planned"]) > self._fixed + len(self._tuned):
                self._fit()
            self._begin_round(np.array(extra["planned"], np.int64))
        if proposal >= self._fixed:  # what was drawn from, to the last bit
            k = proposal - self._fixed
            self._tuned[k : k + 1] = [Normal(extra["mean"], extra["root"])]
        return self._put_out(proposal, outcome.size)

    def snapshot(self) -> None:
        """Return nothing: a mixture weighs all its draws, and so it is told all of them again."""

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Refuse: there are no snapshots of a mixture."""
        raise PlanError("a mixture has no snapshots")

    # -- what is known

    def _seen(self) -> Seen:
        """Return all that was told, as arrays; the outcomes themselves are let go."""
        if self._fresh:
            new = gathered(self._fresh, self._index)
            self._gathered = new if self._gathered is None else joined(self._gathered, new)
            self._fresh = []
        assert self._gathered is not None
        return self._gathered

    def _look(self) -> tuple[int, _Weighed, Pooled]:
        """Look at all that was told; the same again until more is."""
        told = self._told
        if not self._looks or self._looks[-1][0] < told:
            if self._looks:  # of an old look, only the answer is still wanted
                row, weighed, pooled = self._looks[-1]
                self._looks[-1] = row, weighed._replace(mixed=_NO_DRAWS, left=_NOTHING_LEFT), pooled
            weighed = self._weigh(self._seen())
            self._looks.append((told, weighed, self._pooled(self._seen(), weighed)))
        return self._looks[-1]

    def _densities(self, points: Points) -> Floats:
        """Return the log densities of all proposals, the fitted ones too."""
        fitted = [normal.logpdf(points.statistic) for normal in self._tuned]
        return np.column_stack((points.log_q, *fitted)) if fitted else points.log_q

    def _weigh(self, seen: Seen) -> _Weighed:
        points, log_q = seen.points, self._densities(seen.points)
        counts = np.bincount(seen.own, minlength=log_q.shape[1]).astype(float)
        mixed = mixing.mixed(points.log_size, points.sign, log_q, counts)
        left = mixing.controls(mixed.y, mixed.H[:, counts > 0], mixing.folds_of(seen.own))
        if self._own_rounds:
            own, exponent = mixing.by_round(
                points.log_size, points.sign, log_q, seen.own, seen.round
            )
            return _Weighed(mixed, left, own, exponent)
        return _Weighed(mixed, left, mixing.answer(left), mixed.exponent)

    def _pooled(self, seen: Seen, weighed: _Weighed) -> Pooled:
        found, t = weighed.answer, len(seen.own)
        counts = np.bincount(seen.own, minlength=len(self.plan.names))
        return Pooled(
            mean=np.array([found.mean]),
            variance=np.array([found.stderr**2]),
            df=np.array([found.df]),
            varies=np.array([found.stderr > 0]),
            weights=counts[:, None] / t,
            draws=t,
        )

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; its estimate is that at the end of the last round."""
        told, ended = self._told, not self._queue and not self._waiting

        def look() -> Look:
            if told != self._told:
                raise PlanError(f"progress at ticket {told} is out of date: read it before a tell")
            if not told:
                raise PlanError("nothing has been told yet: there is no estimate")
            _, weighed, pooled = self._looks[-1] if self._looks and not ended else self._look()
            half = half_width(self.interval, pooled, self.plan.confidence)
            with quiet():
                value, stderr, width = (
                    float(np.ldexp(number, weighed.exponent))
                    for number in (pooled.mean[0], stderr_of(pooled)[0], half[0])
                )
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
        if not self._told and not late:
            raise PlanError("nothing has been told yet: there is no result")
        if late:  # told, but some older ticket is still out
            history.own()
            for outcome in late:
                ledger.add(self._index[outcome.arm], outcome)
                history.append(self._index[outcome.arm], outcome)
            seen = gathered(late, self._index)
            seen = joined(self._seen(), seen) if self._told else seen
            weighed = self._weigh(seen)
            pooled = self._pooled(seen, weighed)
        else:
            seen = self._seen()
            _, weighed, pooled = self._look()
        doubts = self._doubts(seen, weighed, pooled)
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

    def _curve(self, rows: int, weighed: _Weighed, pooled: Pooled) -> Curve:
        """Return the estimates at the ends of the rounds, and the last one."""
        looks = [look for look in self._looks if look[0] < rows] + [(rows, weighed, pooled)]
        halves = [half_width(self.interval, each, self.plan.confidence)[0] for *_, each in looks]
        exponents = [each.exponent for _, each, _ in looks]
        return Curve(
            np.array([told - 1 for told, *_ in looks]),
            np.ldexp([each.answer.mean for _, each, _ in looks], exponents),
            np.ldexp(halves, exponents),
        )

    def _doubts(self, seen: Seen, weighed: _Weighed, pooled: Pooled) -> list[str]:
        """Return what makes one doubt the answer, as far as its draws can tell."""
        names, some = self.plan.names, slice(None, None, 1 + len(seen.own) // _SUSPECTS)
        points = Points(*(part[some] for part in seen.points))
        log_q = self._densities(points)
        found = suspicions(points.log_p, log_q, seen.own[some], names, normalised=self._normalised)
        log_value = float(log_of(np.abs(pooled.mean), np.array([weighed.exponent]))[0])
        if math.isfinite(log_value) and abs(log_value) > _DOUBLE:
            found.append(
                f"the value is about e^{log_value:.0f}, beyond the range of doubles: add a "
                "constant to the log of the target, or use cr.estimate(family.arms(log=True), "
                "log=True)"
            )
        if not pooled.varies[0]:
            what = (
                "every draw of f is 0" if not points.sign.any() else "no draw differs from another"
            )
            found.append(f"{what}: nothing is known about the error; add proposals, or draw more")
        elif pooled.df[0] < FEW:
            found.append(
                f"the error bar rests on {pooled.df[0]:.0f} effective degrees of freedom and may "
                "be too short: draw more"
            )
        tail = Tail()
        tail.add(extremes_of(weighed.mixed.y), len(seen.own))
        shape = float(tail.shape()[0])
        if shape > _HEAVY and pooled.df[0] < _UNKNOWN * len(seen.own):
            found.append(
                f"the variance of the mixture looks infinite (Pareto shape of the extreme draws "
                f"{shape:.2f}, above 0.5): add a proposal with wider tails"
            )
        if self._out:
            few = ", ".join(str(ticket) for ticket in sorted(self._out)[:5])
            found.append(f"missing: the draws of tickets {few}, which are still out")
        return found


_NO_DRAWS: Final = Mixed(np.empty(0), np.empty((0, 0)), 0, np.empty(0))
_NOTHING_LEFT: Final = Controlled(np.empty(0), np.empty(0))


def _unit(exponent: int) -> Ledger:
    """Return a ledger of one arm whose means are in units of ``2**exponent``, from zero."""
    unit = Ledger(1)
    unit.origin, unit.exponent = np.zeros(1), np.array([exponent])
    return unit
