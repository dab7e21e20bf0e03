"""Outcomes as rows of numbers, and back. Every length and every number is checked."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats, Outcome
from croupier.data.history import BATCH, Rows
from croupier.data.log_scale import EMPTY
from croupier.data.plan import Plan
from croupier.errors import StoreError
from croupier.store.codec import NotPlainError, decoded, encoded
from croupier.store.database import checksum

__all__ = ["COLUMNS", "DETAILS", "Records", "rows_of"]

#: The columns that `Records` reads, and those of the details.
COLUMNS: Final = "ticket, arm, size, head, checksum"
DETAILS: Final = "ticket, extremes, extra, drawn, checksum"

#: The first numbers of a head. Then origin, exponent, mean, M2, M3 and M4 of every component.
_WHOLE: Final = ("ticket", "arm", "size", "scalar", "components", "inspected")
_COSTS: Final = ("cost", "cost_m2", "reported", "seconds", "elapsed")
HEAD: Final = np.dtype([(name, "<f8") for name in (*_WHOLE, *_COSTS)])
_FIXED: Final = len(_WHOLE) + len(_COSTS)
_MOST_COMPONENTS: Final = 10**7
_LARGEST_COUNT: Final = 2**53

#: This many tickets may be missing in any store; in a store of a wide run, as many as it is wide.
_MISSING: Final = 1000

#: How busy the workers are is seen from this many batches.
_LATELY: Final = 50


def rows_of(
    outcome: Outcome, arm: int, elapsed: float, salt: int
) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the rows that hold one outcome; `elapsed` is the time of the run in seconds.

    What could not be read again is refused here, before it is stored.
    """
    ticket, size, d = outcome.ticket, outcome.size, outcome.origin.size
    numbers = (  # in the order of HEAD
        ticket, arm, size, outcome.scalar, d, outcome.inspected,
        outcome.cost, outcome.cost_m2, outcome.reported,
        max(outcome.seconds, 0.0), max(elapsed, 0.0),
    )  # fmt: skip
    parts = (numbers, outcome.origin, outcome.exponent, outcome.moments.ravel())
    whole = np.concatenate(parts)
    costs = outcome.cost > 0 and outcome.cost_m2 >= 0 and outcome.reported >= 0
    if not (np.isfinite(whole).all() and costs):
        raise StoreError(
            f"arm {outcome.arm!r}, ticket {ticket}: the powers of its draws or costs are too large "
            "to be stored; rescale them, so that they lie below 1e75"
        )
    head = _bytes(whole)
    try:
        extra = encoded(dict(outcome.extra)) if outcome.extra else None
    except (NotPlainError, UnicodeError) as error:
        raise StoreError(
            f"arm {outcome.arm!r}, ticket {ticket}: extra cannot be stored, because it holds "
            f"{error}; use numbers, strings, lists, dicts and numpy arrays, or leave store= out"
        ) from error
    drawn = None if outcome.values is None else _bytes(outcome.values)
    details = (ticket, _bytes(outcome.extremes), extra, drawn)
    return [
        ("outcomes", (ticket, arm, size, head, zlib.crc32(head, salt))),
        ("details", (*details, checksum(salt, "details", *details))),
    ]


def _bytes(numbers: Floats) -> bytes:
    return np.ascontiguousarray(numbers).astype("<f8", copy=False).tobytes()


@dataclass(eq=False)
class Records:
    """Outcomes as columns, by ticket; ValueError for anything that croupier does not write.

    `heads` has the columns of `HEAD`. `moments` has origin, exponent, mean, M2, M3 and M4 of every
    component; its shape is (n, 6, d).
    """

    plan: Plan
    heads: NDArray[np.void]
    moments: Floats
    scalar: bool
    salt: int

    @classmethod
    def read(cls, rows: Sequence[tuple[Any, ...]], plan: Plan, salt: int) -> Records:
        """Return the outcomes of rows with the columns `COLUMNS`, in the order of their tickets.

        A million rows take about a second, because whole columns are read at once.
        """
        if not rows:
            return cls(plan, np.empty(0, HEAD), np.empty((0, 6, 1)), True, salt)
        ticket, arm, size, head, stored = zip(*rows, strict=True)
        if {*map(type, head)} != {bytes} or {*map(type, ticket + arm + size + stored)} != {int}:
            raise ValueError("an outcome has columns of the wrong types")
        sums = map(zlib.crc32, head, repeat(salt))
        for row, (found, expected) in enumerate(zip(sums, stored, strict=True)):
            if found != expected:
                raise ValueError(f"the checksum of ticket {ticket[row]} is wrong")
        if len(head[0]) < 8 * _FIXED or len({*map(len, head)}) != 1:
            raise ValueError("the outcomes have different lengths")
        numbers = np.frombuffer(b"".join(head), "<f8").astype(float, copy=False)
        numbers = numbers.reshape(len(rows), -1)
        whole = numbers[:, : len(_WHOLE)]
        if not ((whole == np.rint(whole)) & (whole >= 0) & (whole < _LARGEST_COUNT)).all():
            raise ValueError("impossible counts")
        heads = np.ascontiguousarray(numbers[:, :_FIXED]).view(HEAD)[:, 0]
        scalar, d = int(heads["scalar"][0]), int(heads["components"][0])
        one = scalar in (0, 1) and 1 <= d <= (1 if scalar else _MOST_COMPONENTS)
        alike = (heads["scalar"] == scalar).all() and (heads["components"] == d).all()
        if not one or not alike or numbers.shape[1] != _FIXED + 6 * d:
            raise ValueError(f"the draws have {d} components, or are of several kinds")
        told = {"ticket": ticket, "arm": arm, "size": size}
        if any((heads[name] != np.array(column)).any() for name, column in told.items()):
            raise ValueError("the head of an outcome has another ticket, arm or size")
        moments = numbers[:, _FIXED:].reshape(len(rows), 6, d)
        records = cls(plan, heads, moments, bool(scalar), salt)
        records._check(numbers)
        return records

    def _check(self, numbers: Floats) -> None:
        heads, exponent = self.heads, self.moments[:, 1]
        most = max(self.plan.width, _MISSING)
        right = {
            "tickets": (np.diff(heads["ticket"]) > 0).all() and self._gaps <= most,
            "arms": (heads["arm"] < len(self.plan.names)).all(),
            "sizes": (heads["size"] >= 1).all() and (heads["inspected"] <= heads["size"]).all(),
            "numbers": np.isfinite(numbers).all(),
            "costs": all((heads[name] >= 0).all() for name in _COSTS) and (heads["cost"] > 0).all(),
            "exponents": (exponent == np.rint(exponent)).all() and (abs(exponent) <= -EMPTY).all(),
        }
        if wrong := [name for name, fine in right.items() if not fine]:
            raise ValueError(f"impossible {', '.join(wrong)}")

    @property
    def _gaps(self) -> int:
        """How many tickets are not stored although later ones are."""
        return int(self.heads["ticket"][-1]) + 1 - len(self)

    def __len__(self) -> int:
        return len(self.heads)

    @cached_property
    def ticket(self) -> NDArray[np.int64]:
        """The tickets, in ascending order."""
        return self.heads["ticket"].astype(np.int64)

    @property
    def last(self) -> int:
        """The last ticket, -1 if there is none."""
        return int(self.ticket.max(initial=-1))

    @property
    def draws(self) -> int:
        """The number of draws."""
        return int(self.heads["size"].sum())

    @property
    def cost(self) -> float:
        """The cost of all draws."""
        return float(self.heads["cost"].sum())

    def row_of(self, ticket: int) -> int | None:
        """Return the row of a ticket, or None if it is not stored."""
        if ticket < self.contiguous:
            return ticket
        row = int(np.searchsorted(self.ticket, ticket))
        return row if row < len(self) and self.ticket[row] == ticket else None

    @cached_property
    def contiguous(self) -> int:
        """How many tickets 0, 1, 2, ... there are without a gap."""
        gaps = np.flatnonzero(self.ticket != np.arange(len(self)))
        return int(gaps[0]) if len(gaps) else len(self)

    @property
    def missing(self) -> tuple[int, ...]:
        """The tickets that are not stored although later ones are."""
        if self.contiguous == len(self):
            return ()
        tickets = self.ticket[self.contiguous :].tolist()
        return tuple(sorted({*range(self.contiguous, tickets[-1])} - {*tickets}))

    @property
    def elapsed(self) -> float:
        """The seconds that the run had lasted when the last outcome was stored."""
        return float(self.heads["elapsed"].max()) if len(self) else 0.0

    @property
    def busy(self) -> float | None:
        """How many workers were busy: the time in the arms per second, over the last batches."""
        latest = self.heads[-_LATELY:]
        span = float(latest["elapsed"].max() - latest["elapsed"].min()) if len(latest) > 1 else 0.0
        return float(latest["seconds"][1:].sum()) / span if span > 0 else None

    def elapsed_at(self, row: int) -> float:
        """Return the seconds that the run had lasted when the outcome of a row was stored."""
        return float(self.heads["elapsed"][row])

    def rows(self, told: int, values: list[Floats]) -> Rows:
        """Return the first rows as rows of a history; `values` are their draws, if kept."""
        if not 0 <= told <= self.contiguous:
            raise ValueError(f"{told} outcomes were told, but {self.contiguous} are stored")
        batches = np.empty(told, BATCH)
        for name in BATCH.names or ():
            batches[name] = self.heads[name][:told]
        return Rows(batches, self.moments[:told].copy(), self.scalar, values)

    def outcomes(self, details: Iterable[tuple[Any, ...]]) -> dict[int, Outcome]:
        """Return the outcomes that rows of details belong to, by ticket."""
        found = {}
        for ticket, extremes, extra, drawn, stored in details:
            row = self.row_of(ticket) if type(ticket) is int else None
            if (
                row is None
                or checksum(self.salt, "details", ticket, extremes, extra, drawn) != stored
            ):
                raise ValueError(f"the checksum of the details of ticket {ticket!r:.20} is wrong")
            found[ticket] = self._outcome(row, extremes, extra, drawn)
        return found

    def _outcome(self, row: int, extremes: Any, extra: Any, drawn: Any) -> Outcome:
        head, moments = self.heads[row], self.moments[row]
        ticket, size, d = int(head["ticket"]), int(head["size"]), moments.shape[1]
        learned = {} if extra is None else decoded(extra)
        if not isinstance(learned, dict):
            raise ValueError(f"the extra of ticket {ticket} is not a dict")
        if (drawn is not None) != self.plan.keep_values:
            raise ValueError(f"the draws of ticket {ticket} are missing, or were not to be kept")
        return Outcome(
            ticket=ticket,
            arm=self.plan.names[int(head["arm"])],
            size=size,
            origin=moments[0].copy(),
            exponent=moments[1].astype(np.int64),
            moments=moments[2:].copy(),
            scalar=self.scalar,
            cost=float(head["cost"]),
            cost_m2=float(head["cost_m2"]),
            reported=float(head["reported"]),
            seconds=float(head["seconds"]),
            extremes=_numbers(extremes, -1, d),
            inspected=int(head["inspected"]),
            extra=learned,
            values=None if drawn is None else self.values(drawn, size),
        )

    def values(self, drawn: bytes, size: int) -> Floats:
        """Return the draws of a batch that a run kept."""
        return (
            _numbers(drawn, size) if self.scalar else _numbers(drawn, size, self.moments.shape[2])
        )


def _numbers(data: bytes, *shape: int) -> Floats:
    return np.frombuffer(data, "<f8").astype(float).reshape(shape)
