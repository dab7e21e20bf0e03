"""Store and Log: a run writes every outcome to a file and reads it back when it continues."""

from __future__ import annotations

import json
import os
import secrets
import socket
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, Self

from croupier.checks import choice
from croupier.data.draws import Outcome
from croupier.data.plan import Plan
from croupier.errors import CroupierWarning, PlanError, StoreError, text_of
from croupier.estimates.intervals import Interval, learned
from croupier.store.codec import NotPlainError, encoded
from croupier.store.contents import (
    FORM,
    calls_in,
    contents_in,
    contents_of,
    differences,
    outcomes_in,
    plan_in,
    records_in,
    restored,
    run_row,
)
from croupier.store.database import (
    RUN_ID_BYTES,
    Database,
    Durability,
    checksum,
)
from croupier.store.lock import Lock
from croupier.store.outcome_rows import Records, rows_of
from croupier.store.place import resolved
from croupier.store.store_errors import all_is_damage, damaged
from croupier.tables.base import Snapped, Table, kind_of
from croupier.views.formats import printable

__all__ = ["Log", "Store", "as_store"]

#: A snapshot is stored after this many outcomes. To tell them again takes half a second.
_SNAPSHOT_EVERY: Final = 5_000

#: This many outcomes are read from the file at once.
_AHEAD: Final = 1_000


@dataclass(frozen=True)
class Store:
    """The file that a run survives in: ``estimate(..., store=Store("run.db"))``.

    Everything that is stored survives the end of the process, also after a crash. A power failure
    may lose the outcomes of the last moments; they are drawn again. With `durability` "full" it
    loses nothing, but every outcome waits for the disk.

    When a run is continued, one stored batch of every arm is drawn again, for at most 1 % of the
    cost so far. If something else comes, the arm was edited, and the run is refused. With
    ``check=False`` this is left out, for arms that do not draw from their `rng` alone.

    >>> import croupier as cr, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = cr.Store(f"{folder.name}/run.db", durability="full")
    >>> arms = {"coin": lambda rng, size: rng.random(size) < 0.5}
    >>> first = cr.estimate(arms, draws=1000, rng=7, store=store)
    >>> more = cr.estimate(arms, draws=5000, store=store)  # continues where the first ended
    >>> more.seed, more.draws, int(more.history.size[: len(first.history)].sum())
    (7, 5000, 1000)
    >>> folder.cleanup()
    """

    path: str | os.PathLike[str]
    durability: Durability = "normal"
    check: bool = True

    def __post_init__(self) -> None:
        choice("durability", self.durability, Durability)
        if not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path):
            raise PlanError(f"store must be a path or a cr.Store, got {self.path!r}")
        object.__setattr__(self, "path", _readable(os.fsdecode(self.path)))


def _readable(path: str) -> str:
    """Return a path that sqlite and a message can show; refuse any other path."""
    if "\0" in path:
        raise PlanError(f"store must be a path without a null character, got {path!r}")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise PlanError(f"store must be a path in UTF-8, got {path!r}: rename it") from None
    return path


def as_store(store: str | os.PathLike[str] | Store) -> Store:
    """Return a store from a path; a store is returned unchanged."""
    return store if isinstance(store, Store) else Store(store)


def _call_row(salt: int, number: int, call: dict[str, Any]) -> tuple[Any, ...]:
    content = json.dumps(call)
    return (number, content, checksum(salt, "calls", number, content))


class Log:
    """The one writer of a store. As a context manager it closes the file and frees the lock.

    `seconds` is the time that the run has taken in earlier calls. `run_id` is the random number of
    the run, in hexadecimal digits.
    """

    def __init__(self, store: Store) -> None:
        self.path, self._durability = resolved(store.path), store.durability
        self.check = store.check
        self.seconds = 0.0
        self.run_id = ""
        self._planned: Plan | None = None
        if self.path.exists():
            database = Database.read(self.path, thoroughly=False)
            with closing(database):
                self._planned = plan_in(database)
        self._lock = Lock(self.path)
        self._database: Database | None = None
        self._read_ahead: dict[int, Outcome] = {}

    # -- the plan

    def plan_for(self, plan: Plan, *, seed: bool, width: bool) -> Plan:
        """Return the plan, with seed, width and names of the store if they were not given.

        First draws and audit are always those of the store.
        """
        if (known := self._planned) is None:
            return plan
        return replace(
            plan,
            first=known.first,
            audit=known.audit,
            seed=plan.seed if seed else known.seed,
            width=plan.width if width else known.width,
            components=plan.components or known.components,
        )

    # -- begin and end

    def begin(
        self,
        table: Table,
        learns: Collection[str] = (),
        *,
        whole: bool = False,
        limits: Mapping[str, float] | None = None,
    ) -> None:
        """Lock the store, make it if it is new, and restore a table from its last snapshot.

        `learns` has the names of the arms that learn. With `whole`, no snapshot is used: every
        outcome is told again. `limits` has the budget and the tolerance of this call, for those
        who look at the store.
        """
        plan = table.plan
        self._lock.take()
        self._arms = {name: k for k, name in enumerate(plan.names)}
        self._like, told = table.snapshot() if isinstance(table, Snapped) else None, 0
        if self.path.exists():
            with closing(Database.read(self.path)) as database:
                # Everything is read and checked before anything in the file is changed.
                self._agree(contents_in(database), plan, learns)
                self._records, calls = records_in(database, plan), calls_in(database)
            if calls:
                with all_is_damage(self.path):
                    states = [call["interval"] for call in reversed(calls)]
                    interval = table.interval.after(states[0], self._records.last + 1)
                    table.interval = learned(interval, states)
            self._database = Database.write(self.path, self._durability)
            if not whole:
                told = restored(self._open, table, self._records, self._like)
        else:
            row = run_row(self.path, plan, learns, secrets.token_bytes(RUN_ID_BYTES))
            self._database = Database.create(self.path, self._durability, {"run": row})
            self._records, calls = Records.read([], plan, self._database.salt), []
        self.run_id = self._database.run_id.hex()
        self._last = self._records.last
        self._new: set[int] = set()
        self._snapped = told
        self.seconds = max([self._records.elapsed, *(call["seconds"] for call in calls)])
        self._number = len(calls)
        self._call = {
            "began": datetime.now().astimezone().isoformat(timespec="seconds"),
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "interval": table.interval.state(),
            "stopped": None,
            "seconds": self.seconds,
            "warnings": [],
            "out": calls[-1]["out"] if calls else [],
            "limits": dict(limits or {}),
        }
        self._write_call()

    def _agree(self, stored: dict[str, Any], plan: Plan, learns: Collection[str]) -> None:
        now = contents_of(plan, learns)
        with all_is_damage(self.path):
            differing = differences(stored, now)
        if differing:
            lines = "".join(f"\n  {line}" for line in differing)
            way = "give the same arms and settings to continue it, or another store= for a new run"
            other_arms = len(differing) == 1 and stored["names"] != now["names"]
            if other_arms and kind_of(plan.table).own_arms:
                way = (
                    "these arms are croupier's own, so the run was begun with another version of "
                    f"croupier. Read its result with cr.open_run({str(self.path)!r}).result(), and "
                    "give another store= for a new run"
                )
            raise StoreError(f"{self.path} holds another run (stored -> now):{lines}\n{way}")

    def finish(self, interval: Interval, stopped: str, seconds: float, messages: list[str]) -> None:
        """Store how the call ended: what stopped it, and what it warned of."""
        self._call |= {
            "interval": interval.state(),
            "stopped": stopped,
            "seconds": max(seconds, self.seconds),
            "warnings": messages,
        }
        self._write_call()

    def _write_call(self) -> None:
        self._write([("calls", _call_row(self._open.salt, self._number, self._call))])

    def _write(self, rows: Sequence[tuple[str, Sequence[Any]]], *after: str) -> None:
        self._lock.check()
        self._open.insert(rows, *after)

    @property
    def _open(self) -> Database:
        if self._database is None:
            raise StoreError(f"{self.path} is not open: call begin first")
        return self._database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        left = None
        try:
            if self._database is not None:
                left = self._database.close()
        finally:
            self._database = None
            self._lock.release()
        if left is not None:
            warnings.warn(
                f"{self.path}: its last outcomes are still in {left}: do not delete or move one of "
                "the two files without the other; the next call with this store puts them together",
                CroupierWarning,
                stacklevel=2,
            )

    # -- outcomes

    def append(self, *outcomes: Outcome, seconds: float = 0.0) -> None:
        """Store outcomes, in any order of their tickets: all of them, or none after an error.

        `seconds` is how long the run has taken so far. When this returns, the outcomes are in the
        file.
        """
        rows = []
        for outcome in outcomes:
            if outcome.ticket in self:
                raise StoreError(f"{self.path} already has an outcome of ticket {outcome.ticket}")
            rows += rows_of(outcome, self._arms[outcome.arm], seconds, self._open.salt)
        self._write(rows)
        self._new.update(outcome.ticket for outcome in outcomes)

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which every error means that the store is damaged."""
        return all_is_damage(self.path)

    def damaged(self, what: str) -> StoreError:
        """Return the error for a store that croupier cannot have written."""
        return damaged(self.path, what)

    @property
    def cost(self) -> float:
        """What the outcomes of earlier calls cost."""
        return self._records.cost

    def __contains__(self, ticket: int) -> bool:
        return ticket in self._new or self._records.row_of(ticket) is not None

    def behind(self, ticket: int) -> bool:
        """Tell whether this ticket, or a later one, was stored by an earlier call."""
        return ticket <= self._last

    def stored(self, ticket: int) -> tuple[Outcome, float] | None:
        """Return the outcome that an earlier call stored, and the seconds of the run until then."""
        if ticket > self._last or (row := self._records.row_of(ticket)) is None:
            return None
        if ticket not in self._read_ahead:
            ahead = islice(outcomes_in(self._open, self._records, ticket), _AHEAD)
            self._read_ahead = {outcome.ticket: outcome for outcome in ahead}
        if ticket not in self._read_ahead:
            raise damaged(self.path, f"the outcome of ticket {ticket} has no details")
        return self._read_ahead[ticket], self._records.elapsed_at(row)

    def tell_again(self, table: Table, outcome: Outcome) -> None:
        """Tell a table a stored outcome, which an arm or a policy of the user's own may learn from.

        What they cannot learn from was forged, or stored for other code of theirs.
        """
        try:
            table.tell(outcome)
        except Exception as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{self.path}: arm {outcome.arm!r}, ticket {outcome.ticket}: what is stored cannot "
                f"be told again, {type(error).__name__}: {printable(text_of(error))[:500]}; if the "
                "code that learns from it was edited, use the code of the first call; if not, the "
                "file is damaged: use a copy of it, or give another store= to start again"
            ) from error

    # -- batches that are out, for a table that is asked and told by hand

    @property
    def out(self) -> dict[int, tuple[str, int]]:
        """The arm and the size of the batches that were out at the last ask, by ticket."""
        return {ticket: (arm, size) for ticket, arm, size in self._call["out"]}

    def note_out(self, table: Table) -> None:
        """Store which batches are out, before they are sent anywhere."""
        out = [(batch.ticket, batch.arm, batch.size) for batch in table.tickets.out]
        self._call |= {"out": out, "interval": table.interval.state()}
        self._write_call()

    # -- snapshots

    def snapshot(self, table: Table, told: int) -> None:
        """Store the state of a run, if the last snapshot is old and the state can be stored."""
        if self._like is None or told < self._snapped + _SNAPSHOT_EVERY:
            return
        if not isinstance(table, Snapped) or (state := table.snapshot()) is None:
            return
        try:
            parts = {name: encoded(part, self._like[name]) for name, part in state.items()}
        except (NotPlainError, UnicodeError):
            self._like = None  # then the whole run is told again when it continues
            return
        content = json.dumps({"croupier": FORM, **parts})
        row = (told, content, checksum(self._open.salt, "snapshots", told, content))
        self._write([("snapshots", row)], f"DELETE FROM snapshots WHERE ticket < {told}")
        self._snapped = told
