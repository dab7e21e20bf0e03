"""Rounds: the base of tables that plan a round at a time.

Batches come in rounds, and a round is planned when everything before it was told. So the result
does not depend on the workers or on the order of arrival. A table of this sort writes its
mathematics: what a round is, what an outcome says, and the answer. Queue, budgets, tickets,
restoring, progress and the result are here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from croupier.data.call_prices import CHUNK
from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.history import Curve
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate
from croupier.estimates.intervals import FixedSize, Interval
from croupier.results.result import Result
from croupier.tables.aim import Aim
from croupier.tables.base import Progress
from croupier.tables.books import Books
from croupier.tables.tickets import Tickets

__all__ = ["Answer", "Piece", "Rounds", "extra_of", "pieces"]


class Piece(NamedTuple):
    """A part of a round for one batch: `size` draws of an arm, the round's draws from `start` on.

    `state` is what the arm needs to know, if the table does not make it from the piece.
    """

    arm: str
    size: int
    start: int = 0
    state: Any = None


def pieces(arm: str, size: int, most: int) -> list[Piece]:
    """Cut draws of an arm into pieces of at most so many.

    >>> [(piece.size, piece.start) for piece in pieces("a", 5, 2)]
    [(2, 0), (2, 2), (1, 4)]
    """
    return [Piece(arm, min(most, size - start), start) for start in range(0, size, most)]


class Answer(NamedTuple):
    """The answer of a table: its pooled numbers and their scale, and its warnings.

    `scale` is None for numbers in the user's units. `finish` adds rows and details to the result.
    """

    pooled: Pooled
    scale: Scale | None = None
    warnings: Sequence[str] = ()
    finish: Callable[[Result, Estimate], Result] = lambda result, _: result


def extra_of(outcome: Outcome) -> Mapping[str, Any]:
    """Return what the arm of an outcome has sent beside its values."""
    (extra,) = outcome.extra["arm"]
    found: Mapping[str, Any] = extra
    return found


class Rounds(ABC):
    """A table that plans a round when everything before it was told.

    A round is a list of pieces. The budget may cut a piece; what is left of it stays in the queue.
    A stored outcome must say in its `extra` all that `plan_again` needs to begin its round again.
    `fresh` is True while the last outcome has completed something: only then a tolerance may stop
    the run.
    """

    #: The largest number of draws in one call of an arm.
    most_in_a_call: ClassVar[int] = CHUNK

    #: Whether the budget may cut a piece, and put out a part of it.
    cuts: ClassVar[bool] = True

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        self.plan = plan
        self.interval: Interval = FixedSize() if interval is None else interval
        self.tickets = Tickets(plan.width)
        self.aim = Aim()
        self.books = Books(plan)
        self.queue: list[Piece] = []
        self.round = -1
        self.fresh = False
        self._begun = False
        self._looks: list[tuple[int, Answer]] = []

    # -- the mathematics, which each table writes

    @abstractmethod
    def plan_round(self, left: float) -> Sequence[Piece]:
        """Plan the next round from everything told so far; `left` draws are about in the budget.

        It is empty if the budget is too small.
        """

    @abstractmethod
    def plan_again(self, outcome: Outcome) -> Sequence[Piece]:
        """Plan the round again whose first outcome is stored, whatever the budget is now."""

    @abstractmethod
    def add(self, outcome: Outcome) -> None:
        """Take the next outcome, in ticket order."""

    @abstractmethod
    def end_round(self) -> None:
        """Learn from a round that was told completely."""

    @abstractmethod
    def answer(self, early: Sequence[Outcome]) -> Answer:
        """Return the answer from everything told, and from outcomes that came early."""

    def seen(self) -> Answer:
        """Return the answer that progress shows: that of the last look."""
        return self._looks[-1][1] if self._looks else self.answer(())

    def ready(self, seen: Estimate) -> bool:
        """Tell whether enough is known for a tolerance to stop the run."""
        return self.interval.ready(seen.pooled)

    def state_of(self, piece: Piece) -> Any:
        """Return what the arm of a piece needs to know."""
        return piece.state

    def left_over(self, draws: int) -> Piece | None:
        """Return what uses up draws that are too few for the next piece or round, if anything."""
        return None

    def outside(self, outcome: Outcome) -> Piece | None:
        """Return the piece of a stored outcome that `left_over` has made; None for any other."""
        return None

    # -- ask

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch, within the budget that is left after everything told so far.

        None means: wait until the rest of the round is told, or nothing is left.
        """
        self.tickets.check_room()
        if not self.queue:
            left = self._left(draws_left, cost_left)
            if self.tickets.waiting or left < 0.5:
                return None
            if not (planned := self.plan_round(left)):
                affordable = draws_left is not None and left >= draws_left
                rest = self.left_over(int(left)) if affordable else None
                return None if rest is None else self._put_out(rest)
            self._begin(planned)
        for k, piece in enumerate(self.queue):  # if one arm is too expensive, another may fit
            size = self._affordable(piece, draws_left, cost_left)
            if size == piece.size or (size > 0 and self.cuts):
                return self._put_out(self._take(k, size))
            if size > 0 and (rest := self.left_over(size)) is not None:
                return self._put_out(rest)
        return None

    def _left(self, draws_left: int | None, cost_left: float | None) -> float:
        """Return about how many draws the budget buys."""
        left = math.inf if draws_left is None else float(draws_left)
        ledger = self.books.ledger
        if cost_left is not None and ledger.draws:
            left = min(left, cost_left / (ledger.spent / ledger.draws))
        return left

    def _affordable(self, piece: Piece, draws_left: int | None, cost_left: float | None) -> int:
        """Cut a piece to the budget that is left after the batches not told yet."""
        size = piece.size
        if draws_left is not None:
            size = min(size, self.tickets.draws_left(draws_left))
        if cost_left is None:
            return size
        if not (self.cuts and self.books.ledger.draws):
            return size if cost_left > 0 or not self.tickets.asked else 0
        prices, index = self.prices(), self.books.index
        cost_left = self.tickets.cost_left(cost_left, lambda arm: float(prices[index[arm]]))
        price = float(prices[index[piece.arm]])
        if cost_left <= 0 or cost_left < price / 2:
            return 0
        return min(size, max(1, int(cost_left / price))) if price > 0 else size

    def prices(self) -> Floats:
        """Return what a draw of each arm costs; where it is not known, the mean of the others."""
        price = self.books.ledger.price
        return np.where(np.isnan(price), np.nanmean(price), price)

    def _begin(self, planned: Sequence[Piece]) -> None:
        self.round += 1
        self.queue, self._begun = list(planned), True

    def _take(self, k: int, size: int) -> Piece:
        """Take so many draws of a piece of the queue; the rest of it stays."""
        piece = self.queue.pop(k)
        if size < piece.size:
            rest = piece._replace(size=piece.size - size, start=piece.start + size)
            self.queue.insert(k, rest)
        return piece._replace(size=size)

    def _put_out(self, piece: Piece) -> Batch:
        ticket, seed = self.tickets.asked, self.plan.seed
        state = self.state_of(piece)
        return self.tickets.put_out(
            Batch(ticket, piece.arm, piece.size, seed, self.most_in_a_call, state)
        )

    # -- tell

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a batch that was asked for. Outcomes may arrive in any order."""
        self.tickets.arrive(outcome)
        for told in self.tickets.in_order():
            self.fresh = False
            self.books.add(told)
            self.add(told)
        if self._begun and not self.queue and not self.tickets.waiting:
            self._begun, self.fresh = False, True
            self.end_round()

    def look(self, answer: Answer) -> None:
        """Keep an answer for progress, and for the curve of the result."""
        self._looks.append((self.tickets.told, Answer(answer.pooled, answer.scale)))

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch of a stored outcome; None before its round can begin."""
        self.tickets.check_next(outcome, self.books.index)
        if (rest := self.outside(outcome)) is not None:
            return self._put_out(rest)
        if not self.queue:
            if self.tickets.waiting:
                return None
            self._begin(self.plan_again(outcome))
        for k, piece in enumerate(self.queue):
            if piece.arm == outcome.arm and piece.size >= outcome.size:
                return self._put_out(self._take(k, outcome.size))
        raise PlanError(
            f"ticket {outcome.ticket} has {outcome.size} draws of {outcome.arm!r}, which its round "
            "does not have: was the store made by another version of croupier?"
        )

    # -- what is known

    def estimate(self, answer: Answer) -> Estimate:
        """Return the estimate of an answer, with its error."""
        m = len(answer.pooled.mean)
        scale = answer.scale or Scale(np.zeros(m), np.zeros(m, np.int64))
        return Estimate(self.plan, scale, answer.pooled, self.interval)

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; its estimate is that of the last look."""
        return self.books.progress(
            self.tickets,
            seconds,
            lambda: self.estimate(self.seen()),
            lambda seen: self.fresh and self.ready(seen),
        )

    def result(self) -> Result:
        """Return the result from everything told so far."""
        early = self.tickets.early
        ledger, history = self.books.with_early(early)
        answer = self.answer(early)
        seen = self.estimate(answer)
        history.looks = self._curve(len(history), seen, scalar=history.scalar)
        made = self.books.result(self.tickets, ledger, history, seen, warnings=answer.warnings)
        return answer.finish(made, seen)

    def _curve(self, rows: int, seen: Estimate, *, scalar: bool) -> Curve:
        """Return the estimates of all looks, each after so many rows, and the last one."""
        looks = [(told, self.estimate(then)) for told, then in self._looks if told < rows]
        looks.append((rows, seen))
        column: Any = 0 if scalar else slice(None)
        pairs = [
            (then.value, then.half_width) if then.logs is None else (then.logs[0], then.logs[2])
            for _, then in looks
        ]
        return Curve(
            np.array([told - 1 for told, _ in looks]),
            np.array([value[column] for value, _ in pairs]),
            np.array([half[column] for _, half in pairs]),
        )
