"""Snapshots of independent arms: the whole state of a run as plain data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from croupier.data.cross_sums import CrossSums
from croupier.data.extremes import Tail
from croupier.data.history import Rows
from croupier.data.ledger import Ledger
from croupier.data.repeats import Repeats
from croupier.tables.sizing import Decision

if TYPE_CHECKING:
    from croupier.tables.arm_books import ArmBooks
    from croupier.tables.independent import IndependentArms

__all__ = ["books_from", "go_on_from", "snapshot_of"]


def snapshot_of(table: IndependentArms) -> dict[str, Any] | None:
    """Return the whole state of a run except its history; None while an outcome is early.

    The arrays are not copies.
    """
    if table.tickets.early:
        return None
    known, index = table.known, table.known.books.index
    ahead: list[tuple[Any, ...]] = [
        (True, index[batch.arm], batch.size, {batch.arm: batch.state})
        for batch in table.tickets.out
    ]
    ahead += [(False, *decided) for decided in table.decisions]
    names = table.plan.names
    return {
        "told": table.tickets.told,
        "reported": known.books.reported,
        "failed": known.books.failed,
        "components": known.components,
        "ledger": dict(vars(known.books.ledger)),
        "tails": {names[arm]: dict(vars(tail)) for arm, tail in known.tails.items()},
        "cross": {
            names[arm]: None if sums is None else sums._asdict()
            for arm, sums in known.cross.items()
        },
        "repeats": {names[arm]: seen.state() for arm, seen in known.books.repeats.items()},
        "interval": known.interval.state(),
        "pending": table.pending,
        "ahead": ahead,
        "policy": table.policy_state,
        "states": dict(table.arm_states),
    }


def books_from(known: ArmBooks, snapshot: Mapping[str, Any], rows: Rows) -> None:
    """Restore the books of a run from a snapshot; `rows` is the history up to it."""
    books = known.books
    if snapshot["components"] != (rows.scalar, rows.moments.shape[2]):
        raise ValueError(f"the snapshot has draws of {snapshot['components']!r:.50}")
    interval = known.interval.resumed(snapshot["interval"])
    if interval is None:
        raise ValueError(
            "the snapshot has another kind of interval, so this interval has learned nothing"
        )
    ledger = Ledger.from_state(snapshot["ledger"], books.ledger)
    tails = {name: Tail.from_state(tail) for name, tail in snapshot["tails"].items()}
    repeats = {name: Repeats.from_state(state) for name, state in snapshot["repeats"].items()}
    known.cross = {
        books.index[name]: None if sums is None else CrossSums.from_state(sums)
        for name, sums in snapshot["cross"].items()
    }
    books.repeats = {books.index[name]: seen for name, seen in repeats.items()}
    known.tails = {books.index[name]: tail for name, tail in tails.items()}
    known.components = snapshot["components"]
    books.ledger, books.reported = ledger, snapshot["reported"]
    books.failed = snapshot.get("failed", 0)
    books.history.take(rows)
    known.interval = interval  # last: a guaranteed interval follows the rows


def go_on_from(table: IndependentArms, snapshot: Mapping[str, Any], rows: Rows) -> None:
    """Restore a table from a snapshot, with the batches that were out and the decisions."""
    tickets, names = table.tickets, table.plan.names
    _check(snapshot, len(names), table.plan.width)
    books_from(table.known, snapshot, rows)
    tickets.skip(snapshot["told"])
    table.pending = snapshot["pending"]
    table.policy_state, table.arm_states = snapshot["policy"], snapshot["states"]
    table.decisions.clear()
    for asked, arm, size, states in snapshot["ahead"]:
        if asked:
            state = states[names[arm]]
            tickets.put_out(table.known.batch(tickets.asked, names[arm], size, state))
        else:
            table.decisions.append(Decision(arm, size, states))


def _check(snapshot: Mapping[str, Any], arms: int, width: int) -> None:
    """Refuse a snapshot whose decisions are not those of a table."""
    pending, ahead = snapshot["pending"], snapshot["ahead"]
    if pending.shape != (arms,) or not np.isfinite(pending).all():
        raise ValueError(f"the snapshot has pending = {pending!r:.50}")
    out = 0
    for asked, arm, size, states in ahead:
        counts = type(asked) is bool and type(arm) is type(size) is int
        if not (counts and 0 <= arm < arms and size >= 1 and isinstance(states, dict)):
            raise ValueError(f"the snapshot has a decision {(asked, arm, size)!r:.50}")
        out += asked
    if out > width:
        raise ValueError(f"the snapshot has {out} batches that are out, in a run of width {width}")
