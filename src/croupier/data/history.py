"""The history of a run: one row per batch, from which every earlier estimate can be made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from croupier.data.draws import Floats, Outcome
from croupier.data.ledger import Ledger
from croupier.data.log_scale import arithmetic, exp
from croupier.errors import MissingExtraError, PlanError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["BATCH", "Curve", "History", "LookBack", "Rows"]

#: The columns of a batch; `cost_m2` is the sum of the squared deviations of its costs.
BATCH: Final = np.dtype(
    [("ticket", "i8"), ("arm", "i8"), ("size", "i8"), ("cost", "f8"), ("cost_m2", "f8")]
)

#: Returns the estimate and its half-width from a ledger, d numbers each; logs in a run of logs.
LookBack: TypeAlias = Callable[[Ledger], tuple[Floats, Floats]]


class Curve(NamedTuple):
    """The estimate as it was after some of the batches; logs in a run of logs."""

    row: NDArray[np.int64]
    value: Floats
    half_width: Floats


class Rows(NamedTuple):
    """The rows of a history in its own format.

    `batches` has the columns of `BATCH`. `moments` has origin, exponent, mean, M2, M3, M4 of every
    component. `values` has the draws of each batch, if the run kept them.
    """

    batches: NDArray[np.void]
    moments: Floats
    scalar: bool
    values: list[Floats]


class _Row(NamedTuple):
    # The parts of an outcome that a ledger reads.
    size: int
    origin: Floats
    exponent: NDArray[np.int64]
    moments: Floats
    cost: float
    cost_m2: float


class History:
    """Columns, one row per batch in ticket order: `ticket, arm, size, cost, draws`.

    `arm` is an index into `names`; `cost` and `draws` are totals that include the batch.
    `look_back` makes the estimate that was available after some of the batches, from a ledger of
    these batches. `like` is a ledger of this kind, if it is not an ordinary one. A table that does
    not make its estimates from a ledger sets `looks` instead.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        look_back: LookBack | None = None,
        *,
        measured: bool = False,
        log: bool = False,
        like: Ledger | None = None,
    ) -> None:
        self.names = names
        self.scalar = True
        self.looks: Curve | None = None
        self._look_back = look_back
        self._log = log
        self._like = like or Ledger(len(names), measured=measured, positive=log)
        self._rows = 0
        self._batches: NDArray[np.void] = np.empty(16, BATCH)
        self._moments: Floats = np.empty((16, 6, 1))
        self._values: list[Floats] = []

    def append(self, arm: int, outcome: Outcome) -> None:
        """Add the row of one batch."""
        row = self._rows
        if row == 0:
            self.scalar = outcome.scalar
            self._moments = np.empty((len(self._batches), 6, outcome.origin.size))
        self._make_room(row + 1)
        self._batches[row] = (
            outcome.ticket, arm, outcome.size, outcome.cost, outcome.cost_m2,
        )  # fmt: skip
        self._moments[row, 0] = outcome.origin
        self._moments[row, 1] = outcome.exponent
        self._moments[row, 2:] = outcome.moments
        if outcome.values is not None:
            self._values.append(outcome.values)
        self._rows = row + 1

    def _make_room(self, rows: int) -> None:
        while rows > len(self._batches):
            # This makes a new buffer, because the views of this history keep the old one.
            self._moments, self._batches = _doubled(self._moments), _doubled(self._batches)

    def take(self, rows: Rows) -> None:
        """Replace all rows by rows that were stored."""
        self._rows, self.scalar = len(rows.batches), rows.scalar
        self._batches, self._moments, self._values = rows.batches, rows.moments, rows.values

    def rows(self) -> Rows:
        """Return all rows; the arrays are copies."""
        rows = slice(0, self._rows)
        parts = self._batches[rows].copy(), self._moments[rows].copy()
        return Rows(*parts, self.scalar, list(self._values))

    def view(self, look_back: LookBack | None = None) -> History:
        """Return the history as it is now, for a result: later batches do not appear in it."""
        twin = History.__new__(History)
        vars(twin).update(vars(self), _look_back=look_back, _values=list(self._values))
        return twin

    def own(self) -> None:
        """Copy the buffers that this view shares with its history, before rows are added."""
        self._batches, self._moments = self._batches.copy(), self._moments.copy()

    @property
    def measured(self) -> bool:
        """Whether the costs are times that were measured."""
        return self._like.measured

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<History of {self._rows} batches from {len(self.names)} arms>"

    def _column(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = self._batches[name][: self._rows].copy()
        return column

    @property
    def ticket(self) -> NDArray[np.int64]:
        """The ticket of each batch."""
        return self._column("ticket")

    @property
    def arm(self) -> NDArray[np.int64]:
        """The arm of each batch, as an index into `names`."""
        return self._column("arm")

    @property
    def size(self) -> NDArray[np.int64]:
        """The number of draws of each batch."""
        return self._column("size")

    @property
    def batch_cost(self) -> Floats:
        """What each batch cost."""
        return self._column("cost")

    @property
    def cost(self) -> Floats:
        """What had been spent after each batch."""
        return np.cumsum(self._column("cost"))

    @property
    def draws(self) -> NDArray[np.int64]:
        """The number of draws after each batch."""
        return np.cumsum(self.size)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name: ticket, arm (its name), size, batch_cost, cost, draws."""
        return {
            "ticket": self.ticket,
            "arm": np.array(self.names, object)[self.arm],
            "size": self.size,
            "batch_cost": self.batch_cost,
            "cost": self.cost,
            "draws": self.draws,
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the history as a DataFrame, one row per batch, indexed by ticket."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise MissingExtraError("to_pandas needs", "pandas", "pandas") from None
        return pd.DataFrame(self.columns()).set_index("ticket")

    def to_xarray(self) -> xr.Dataset:
        """Return the history as a Dataset over `ticket`."""
        try:
            import xarray as xr
        except ModuleNotFoundError:
            raise MissingExtraError("to_xarray needs", "xarray", "xarray") from None
        columns = self.columns()
        tickets, names = columns.pop("ticket"), columns.pop("arm")
        data = {name: ("ticket", column) for name, column in columns.items()}
        return xr.Dataset({"arm": ("ticket", names.astype(str)), **data}, {"ticket": tickets})

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
        # For an arm that was never drawn: no draws, with the number of components of the others.
        return np.concatenate([self._values[0][:0], *parts])

    def first_component(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
        """Return arm, size, mean and M2 of every batch, for the first component.

        Means are relative to the first draw of the run, in a unit that is comfortable for all.
        """
        origin, exponent, mean, m2 = (self._moments[: self._rows, row, 0] for row in range(4))
        k = exponent.astype(np.int64)
        unit = k.max(initial=0)
        gap = origin - (origin[0] if len(origin) else 0.0)
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            x = np.ldexp(gap, -unit) + np.ldexp(mean, k - unit)
            return self.arm, self.size, x, np.ldexp(m2, 2 * (k - unit))

    def ledger(self) -> Ledger:
        """Return the ledger of these batches, booked again in their order."""
        ledger = self._like.empty()
        with arithmetic(self._log):
            self._book(ledger, 0, self._rows)
        return ledger

    def at(self, cost: float, default: ArrayLike = math.nan) -> Any:
        """Return the estimate that was available when `cost` had been spent, the paper's muhat(t).

        It combines the batches that were finished by then. `default` is what is known before the
        first of them, the paper's muhat_0: one number, or one for each component.
        """
        value = self._at(cost)
        if value is None:
            return self._known_before(default)
        value = exp(value) if self._log else value
        return value.item() if self.scalar else value

    def log_at(self, cost: float, default: ArrayLike = math.nan) -> Any:
        """Return the log of `at(cost)` in a run of logs, even if `at(cost)` is not a double.

        `default` is a log too.
        """
        if not self._log:
            raise PlanError("this run was made without log=True: take the log of history.at")
        value = self._at(cost)
        if value is None:
            return self._known_before(default)
        return value.item() if self.scalar else value

    def _at(self, cost: float) -> Any:
        """Return the estimate of the batches that were finished; None if there were none."""
        finished = int(np.searchsorted(self.cost, cost * (1 + 1e-12), side="right"))
        return self._estimates(np.array([finished - 1])).value[0] if finished else None

    def _known_before(self, default: ArrayLike) -> Any:
        d = self._moments.shape[2]
        try:
            known = np.broadcast_to(np.asarray(default, float), d).copy()
        except (TypeError, ValueError):
            many = "a number" if self.scalar else f"a number, or {d} of them"
            raise PlanError(f"default must be {many}, got {default!r}") from None
        return known.item() if self.scalar else known

    def curve(self, points: int = 200) -> Curve:
        """Return the estimate after at most `points` batches, evenly spaced in log cost."""
        cost = self.cost
        if len(cost) <= points:
            return self._estimates(np.arange(len(cost)))
        marks = np.geomspace(cost[0], cost[-1], points)
        return self._estimates(np.unique(np.minimum(np.searchsorted(cost, marks), len(cost) - 1)))

    def _estimates(self, rows: NDArray[np.int64]) -> Curve:
        """Replay the batches and combine the arms after each of the given rows (ascending)."""
        if self.looks is not None:
            return _latest(self.looks, rows)
        if self._look_back is None:
            raise PlanError("this history has no estimates: use the history of a result")
        ledger = self._like.empty()
        values, halves, start = [], [], 0
        with arithmetic(self._log):
            for stop in rows + 1:
                self._book(ledger, start, stop)
                start = stop
                value, half = self._look_back(ledger)
                values.append(value)
                halves.append(half)
        column = 0 if self.scalar else slice(None)
        return Curve(rows, np.array(values)[:, column], np.array(halves)[:, column])

    def _book(self, ledger: Ledger, start: int, stop: int) -> None:
        """Add the batches of some rows to a ledger."""
        for (_, arm, size, cost, cost_m2), part in zip(
            self._batches[start:stop].tolist(), self._moments[start:stop], strict=True
        ):
            exponent = part[1].astype(np.int64)
            row = _Row(size, part[0], exponent, part[2:], cost, cost_m2)
            ledger.add(arm, row)


def _doubled(rows: NDArray[Any]) -> NDArray[Any]:
    """Return a copy with room for as many rows again: `concatenate` is slow with named columns."""
    roomy = np.empty((2 * len(rows), *rows.shape[1:]), rows.dtype)
    roomy[: len(rows)] = rows
    return roomy


def _latest(looks: Curve, rows: NDArray[np.int64]) -> Curve:
    """Return the last look at or before each of some rows; NaN before the first."""
    at = np.searchsorted(looks.row, rows, side="right") - 1
    value, half = looks.value[at], looks.half_width[at]
    value[at < 0] = half[at < 0] = np.nan
    return Curve(rows, value, half)
