"""Outcomes as rows of numbers, and back: every length and every number is checked on the way."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats, Outcome
from croupier.data.log_scale import EMPTY
from croupier.errors import StoreError
from croupier.store.codec import NotPlainError, decoded, encoded
from croupier.store.database import checksum

__all__ = ["COLUMNS", "DETAILS", "Records", "rows_of"]

#: The columns that `Records` reads, and those of the details.
COLUMNS: Final = "ticket, arm, size, head, checksum"
DETAILS: Final = "ticket, extremes, extra, drawn, checksum"

#: What comes once in a head, before origin, exponent, mean, M2, M3 and M4 of every component:
#: ticket, arm, size, scalar, components, inspected, cost, cost_m2, reported, seconds, elapsed.
_FIXED: Final = 11
_COST, _ELAPSED = 6, 10
_MOST_COMPONENTS: Final = 10**7
_MOST: Final = 2**53


def rows_of(outcome: Outcome, arm: int, elapsed: float) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the rows that hold one outcome; `elapsed` are the seconds of the run so far."""
    ticket, size, d = outcome.ticket, outcome.size, outcome.origin.size
    numbers = (
        ticket, arm, size, outcome.scalar, d, outcome.inspected,
        outcome.cost, outcome.cost_m2, outcome.reported, outcome.seconds, elapsed,
    )  # fmt: skip
    parts = (numbers, outcome.origin, outcome.exponent, outcome.moments.ravel())
    head = _bytes(np.concatenate(parts))
    try:
        extra = encoded(dict(outcome.extra)) if outcome.extra else None
    except (NotPlainError, UnicodeError) as error:
        raise StoreError(
            f"arm {outcome.arm!r}, ticket {ticket}: its extra cannot be stored, it holds "
            f"{error}; use numbers, strings, lists, dicts and numpy arrays, or no store="
        ) from error
    drawn = None if outcome.values is None else _bytes(outcome.values)
    details = (ticket, _bytes(outcome.extremes), extra, drawn)
    return [
        ("outcomes", (ticket, arm, size, head, zlib.crc32(head))),
        ("details", (*details, checksum("details", *details))),
    ]


def _bytes(numbers: Floats) -> bytes:
    return np.ascontiguousarray(numbers).astype("<f8", copy=False).tobytes()


@dataclass(eq=False)
class Records:
    """Outcomes as columns, by ticket; ValueError for whatever croupier would not have written.

    `numbers` has the columns ticket, arm, size and inspected; `heads` are all of each row.
    """

    names: tuple[str, ...]
    numbers: NDArray[np.int64]
    heads: Floats
    scalar: bool
    components: int

    @classmethod
    def read(cls, rows: Sequence[tuple[Any, ...]], names: tuple[str, ...]) -> Records:
        """Return the outcomes of rows with the columns `COLUMNS`, in the order of their tickets.

        Column by column: a million rows take about a second.
        """
        if not rows:
            return cls(names, np.empty((0, 4), np.int64), np.empty((0, _FIXED + 6)), True, 1)
        ticket, arm, size, head, stored = zip(*rows, strict=True)
        if {*map(type, head)} != {bytes} or {*map(type, ticket + arm + size + stored)} != {int}:
            raise ValueError("an outcome has columns of other types")
        for row, (found, expected) in enumerate(zip(map(zlib.crc32, head), stored, strict=True)):
            if found != expected:
                raise ValueError(f"ticket {ticket[row]} does not have its checksum")
        if len(head[0]) < 8 * _FIXED or len({*map(len, head)}) != 1:
            raise ValueError("outcomes of different lengths")
        heads = np.frombuffer(b"".join(head), "<f8").astype(float, copy=False)
        heads = heads.reshape(len(rows), -1)
        whole = heads[:, :6]
        if not ((whole == np.rint(whole)) & (whole >= 0) & (whole < _MOST)).all():
            raise ValueError("impossible counts")
        scalar, d = whole[0, 3:5].astype(int).tolist()
        one = scalar in (0, 1) and 1 <= d <= (1 if scalar else _MOST_COMPONENTS)
        if not one or heads.shape[1] != _FIXED + 6 * d or (whole[:, 3:5] != (scalar, d)).any():
            raise ValueError(f"draws of {d} components, or of several kinds")
        if (whole[:, :3] != np.array((ticket, arm, size)).T).any():
            raise ValueError("an outcome of another ticket, arm or size")
        numbers = whole[:, (0, 1, 2, 5)].astype(np.int64)
        records = cls(names, numbers, heads, bool(scalar), d)
        records._check()
        return records

    def _check(self) -> None:
        ticket, arm, size, inspected = self.numbers.T
        costs = self.heads[:, _COST:_FIXED]
        exponent = self.heads[:, _FIXED + self.components : _FIXED + 2 * self.components]
        right = {
            "tickets": (np.diff(ticket) > 0).all(),
            "arms": (arm < len(self.names)).all(),
            "sizes": (size >= 1).all() and (inspected <= size).all(),
            "numbers": np.isfinite(self.heads).all(),
            "costs": (costs >= 0).all() and (costs[:, 0] > 0).all(),
            "exponents": (exponent == np.rint(exponent)).all() and (abs(exponent) <= -EMPTY).all(),
        }
        if wrong := [name for name, fine in right.items() if not fine]:
            raise ValueError(f"impossible {', '.join(wrong)}")

    def __len__(self) -> int:
        return len(self.numbers)

    def row_of(self, ticket: int) -> int | None:
        """Return the row of a ticket, or None if it is not there."""
        if ticket < self.contiguous:
            return ticket
        row = int(np.searchsorted(self.numbers[:, 0], ticket))
        return row if row < len(self) and self.numbers[row, 0] == ticket else None

    @cached_property
    def contiguous(self) -> int:
        """How many tickets 0, 1, 2, ... there are without a gap."""
        tickets = self.numbers[:, 0]
        gaps = np.flatnonzero(tickets != np.arange(len(tickets)))
        return int(gaps[0]) if len(gaps) else len(tickets)

    @property
    def missing(self) -> tuple[int, ...]:
        """The tickets that are not there although later ones are."""
        if self.contiguous == len(self):
            return ()
        tickets = self.numbers[self.contiguous :, 0].tolist()
        return tuple(sorted({*range(self.contiguous, tickets[-1])} - {*tickets}))

    @property
    def elapsed(self) -> float:
        """The seconds that the run had lasted when the last of them was stored."""
        return float(self.heads[:, _ELAPSED].max()) if len(self) else 0.0

    def elapsed_at(self, row: int) -> float:
        """Return the seconds that the run had lasted when the outcome of a row was stored."""
        return float(self.heads[row, _ELAPSED])

    def columns(self, told: int) -> tuple[Floats, Floats]:
        """Return the columns of a History of the first so many rows."""
        numbers = np.empty((told, 5))
        numbers[:, :3] = self.numbers[:told, :3]
        numbers[:, 3:] = self.heads[:told, _COST : _COST + 2]
        moments = self.heads[:told, _FIXED:].reshape(told, 6, self.components).copy()
        return numbers, moments

    def outcomes(self, details: Iterable[tuple[Any, ...]]) -> dict[int, Outcome]:
        """Return the outcomes that rows of details belong to, by ticket."""
        found = {}
        for ticket, extremes, extra, drawn, stored in details:
            row = self.row_of(ticket) if type(ticket) is int else None
            if row is None or checksum("details", ticket, extremes, extra, drawn) != stored:
                raise ValueError(f"the details of ticket {ticket!r:.20} do not have their checksum")
            found[ticket] = self._outcome(row, extremes, extra, drawn)
        return found

    def _outcome(self, row: int, extremes: Any, extra: Any, drawn: Any) -> Outcome:
        ticket, arm, size, inspected = self.numbers[row].tolist()
        d, head = self.components, self.heads[row]
        cost, cost_m2, reported, seconds = head[_COST:_ELAPSED].tolist()
        learned = {} if extra is None else decoded(extra)
        if not isinstance(learned, dict):
            raise ValueError(f"the extra of ticket {ticket} is no dict")
        return Outcome(
            ticket=ticket,
            arm=self.names[arm],
            size=size,
            origin=head[_FIXED : _FIXED + d].copy(),
            exponent=head[_FIXED + d : _FIXED + 2 * d].astype(np.int64),
            moments=head[_FIXED + 2 * d :].reshape(4, d).copy(),
            scalar=self.scalar,
            cost=cost,
            cost_m2=cost_m2,
            reported=reported,
            seconds=seconds,
            extremes=_numbers(extremes, -1, d),
            inspected=inspected,
            extra=learned,
            values=None if drawn is None else self.values(drawn, size),
        )

    def values(self, drawn: bytes, size: int) -> Floats:
        """Return the draws of a batch that a run kept."""
        return _numbers(drawn, size) if self.scalar else _numbers(drawn, size, self.components)


def _numbers(data: bytes, *shape: int) -> Floats:
    return np.frombuffer(data, "<f8").astype(float).reshape(shape)
