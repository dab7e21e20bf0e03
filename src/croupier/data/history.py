"""The history of a run: one row per batch, from which every earlier estimate can be had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.batch_moments import FLAT
from croupier.data.draws import Floats, Outcome
from croupier.data.ledger import Ledger
from croupier.data.log_scale import log_of, quiet, relative
from croupier.errors import PlanError
from croupier.estimates.combiners import Combiner, pool
from croupier.estimates.intervals import FixedSize, Interval, half_width

__all__ = ["Curve", "History", "Rows"]


class Curve(NamedTuple):
    """The estimate as it was after some of the batches; of a run of logs, on their scale."""

    row: NDArray[np.int64]
    value: Floats
    half_width: Floats


class Rows(NamedTuple):
    """The rows of a history as it holds them.

    `numbers` has the columns ticket, arm, size, cost and cost_m2; `moments` origin, exponent,
    mean, M2, M3, M4 of every component; `values` are the draws of each, if they were kept.
    """

    numbers: Floats
    moments: Floats
    scalar: bool
    values: list[Floats]


class _Row(NamedTuple):
    # What a ledger reads of an outcome.
    size: int
    origin: Floats
    exponent: NDArray[np.int64]
    moments: Floats
    cost: float
    cost_m2: float


class History:
    """Columns, one row per batch in ticket order: `ticket, arm, size, cost, draws`.

    `arm` is an index into `names`; `cost` and `draws` are totals up to and with the batch. `looks`
    are the estimates that a table made itself, if they cannot be had from the rows.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        combiner: Combiner,
        *,
        confidence: float = 0.95,
        interval: Interval | None = None,
        measured: bool = False,
        log: bool = False,
    ) -> None:
        self.names = names
        self.scalar = True
        self.looks: Curve | None = None
        self._combiner = combiner
        self._confidence = confidence
        self._interval: Interval = FixedSize() if interval is None else interval
        self._measured = measured
        self._log = log
        self._rows = 0
        self._numbers: Floats = np.empty((16, 5))
        self._moments: Floats = np.empty((16, 6, 1))
        self._values: list[Floats] = []

    def append(self, arm: int, outcome: Outcome) -> None:
        """Add the row of one batch."""
        row = self._rows
        if row == 0:
            self.scalar = outcome.scalar
            self._moments = np.empty((len(self._numbers), 6, outcome.origin.size))
        self._make_room(row + 1)
        self._numbers[row] = (
            outcome.ticket, arm, outcome.size, outcome.cost, outcome.cost_m2,
        )  # fmt: skip
        self._moments[row, 0] = outcome.origin
        self._moments[row, 1] = outcome.exponent
        self._moments[row, 2:] = outcome.moments
        if outcome.values is not None:
            self._values.append(outcome.values)
        self._rows = row + 1

    def append_draws(self, ticket: int, arms: Sequence[int], values: Sequence[float]) -> None:
        """Add the rows of single draws that cost 1 each, from a ticket on."""
        start, stop = self._rows, self._rows + len(values)
        self._make_room(stop)
        numbers, moments = self._numbers[start:stop], self._moments[start:stop]
        numbers[:, 0] = np.arange(ticket, ticket + len(values))
        numbers[:, 1] = arms
        numbers[:, 2:] = 1, 1, 0
        moments[:, 0, 0] = values
        moments[:, 1] = FLAT
        moments[:, 2:] = 0
        self._rows = stop

    def _make_room(self, rows: int) -> None:
        while rows > len(self._numbers):
            # A new buffer, not a resized one: a history that was handed out keeps the old one.
            self._moments = np.concatenate((self._moments, np.empty_like(self._moments)))
            self._numbers = np.concatenate((self._numbers, np.empty_like(self._numbers)))

    def take(self, rows: Rows) -> None:
        """Take rows that were stored, all at once, in place of those that are here."""
        self._rows, self.scalar = len(rows.numbers), rows.scalar
        self._numbers, self._moments, self._values = rows.numbers, rows.moments, rows.values

    def rows(self) -> Rows:
        """Return all rows; the arrays are copies."""
        rows = slice(0, self._rows)
        parts = self._numbers[rows].copy(), self._moments[rows].copy()
        return Rows(*parts, self.scalar, list(self._values))

    def view(self, interval: Interval) -> History:
        """Return the history as it is now, for a result: later batches do not show in it."""
        twin = History.__new__(History)
        vars(twin).update(vars(self), _interval=interval, _values=list(self._values))
        return twin

    def own(self) -> None:
        """Part with the buffers of the history that this is a view of, to append to it."""
        self._numbers, self._moments = self._numbers.copy(), self._moments.copy()

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<History of {self._rows} batches from {len(self.names)} arms>"

    def _column(self, index: int) -> Floats:
        return self._numbers[: self._rows, index]

    @property
    def ticket(self) -> NDArray[np.int64]:
        """The ticket of each batch."""
        return self._column(0).astype(np.int64)

    @property
    def arm(self) -> NDArray[np.int64]:
        """The arm of each batch, as an index into `names`."""
        return self._column(1).astype(np.int64)

    @property
    def size(self) -> NDArray[np.int64]:
        """The number of draws of each batch."""
        return self._column(2).astype(np.int64)

    @property
    def batch_cost(self) -> Floats:
        """What each batch cost."""
        return self._column(3).copy()

    @property
    def cost(self) -> Floats:
        """What had been spent after each batch."""
        return np.cumsum(self._column(3))

    @property
    def draws(self) -> NDArray[np.int64]:
        """The number of draws after each batch."""
        return np.cumsum(self.size)

    def values(self, name: str) -> Floats | None:
        """Return every draw of one arm in ticket order, if the run kept them."""
        if not self._values:
            return None
        rows = np.flatnonzero(self.arm == self.names.index(name))
        return self._joined([self._values[row] for row in rows])

    def all_values(self) -> dict[str, Floats] | None:
        """Return the draws of every arm by its name, each in ticket order, if they were kept."""
        if not self._values:
            return None
        parts: list[list[Floats]] = [[] for _ in self.names]
        for arm, values in zip(self.arm.tolist(), self._values, strict=True):
            parts[arm].append(values)
        return {name: self._joined(own) for name, own in zip(self.names, parts, strict=True)}

    def _joined(self, parts: list[Floats]) -> Floats:
        # An arm that was never drawn has no draws, of as many components as the others'.
        return np.concatenate([self._values[0][:0], *parts])

    def ledger(self) -> Ledger:
        """Return the ledger that these batches make, booked anew in their order."""
        ledger = self._empty()
        self._book(ledger, 0, self._rows)
        return ledger

    def _empty(self) -> Ledger:
        return Ledger(len(self.names), measured=self._measured, positive=self._log)

    def at(self, cost: float) -> Any:
        """Return the estimate that was available when `cost` had been spent; NaN before any.

        It is the combination of the batches that were finished by then: the paper's muhat(t).
        """
        value = self._at(cost)
        if self._log:
            with quiet():
                value = np.exp(value)
        return value.item() if self.scalar else value

    def log_at(self, cost: float) -> Any:
        """Return the log of `at(cost)`, also where no double holds it: of a run of logs."""
        if not self._log:
            raise PlanError("this run was not one of logs: take the log of history.at")
        value = self._at(cost)
        return value.item() if self.scalar else value

    def _at(self, cost: float) -> Any:
        finished = int(np.searchsorted(self.cost, cost * (1 + 1e-12), side="right"))
        if finished:
            return self._estimates(np.array([finished - 1])).value[0]
        missing = np.full(self._moments.shape[2], np.nan)
        return missing[0] if self.scalar else missing

    def curve(self, points: int = 200) -> Curve:
        """Return the estimate after at most `points` batches, evenly spaced in log cost."""
        cost = self.cost
        if len(cost) <= points:
            return self._estimates(np.arange(len(cost)))
        marks = np.geomspace(cost[0], cost[-1], points)
        return self._estimates(np.unique(np.minimum(np.searchsorted(cost, marks), len(cost) - 1)))

    def _estimates(self, rows: NDArray[np.int64]) -> Curve:
        """Replay the batches and combine after each of the given rows (ascending)."""
        if self.looks is not None:
            return _latest(self.looks, rows)
        if self._log:
            with quiet():
                return self._replayed(rows)
        return self._replayed(rows)

    def _replayed(self, rows: NDArray[np.int64]) -> Curve:
        ledger = self._empty()
        values, halves, start = [], [], 0
        for stop in rows + 1:
            self._book(ledger, start, stop)
            start = stop
            pooled = pool(ledger, self._combiner)
            half = half_width(self._interval, pooled, self._confidence)
            if self._log:
                values.append(log_of(pooled.mean, ledger.exponent))
                halves.append(relative(half, pooled.mean))
            else:
                values.append(ledger.value_of(pooled.mean))
                halves.append(ledger.spread_of(half))
        column = 0 if self.scalar else slice(None)
        return Curve(rows, np.array(values)[:, column], np.array(halves)[:, column])

    def _book(self, ledger: Ledger, start: int, stop: int) -> None:
        """Add the batches of some rows to a ledger."""
        for (_, arm, size, cost, cost_m2), part in zip(
            self._numbers[start:stop].tolist(), self._moments[start:stop], strict=True
        ):
            exponent = part[1].astype(np.int64)
            row = _Row(int(size), part[0], exponent, part[2:], cost, cost_m2)
            ledger.add(int(arm), row)


def _latest(looks: Curve, rows: NDArray[np.int64]) -> Curve:
    """Return the last look at or before each of some rows; NaN before the first."""
    at = np.searchsorted(looks.row, rows, side="right") - 1
    value, half = (np.where(at < 0, np.nan, each[at]) for each in (looks.value, looks.half_width))
    return Curve(rows, value, half)
