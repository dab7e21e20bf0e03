"""open_run: a stored run without its arms: its result, and whether it is still running."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from croupier.data.history import History
from croupier.data.plan import Plan
from croupier.errors import PlanError, StoreError
from croupier.estimates.combiners import Combiner
from croupier.estimates.intervals import INTERVALS, FixedSize
from croupier.results.result import Result
from croupier.store.contents import (
    calls_in,
    contents_in,
    outcomes_in,
    plan_in,
    records_in,
    restored,
)
from croupier.store.database import Database
from croupier.store.lock import owner_of
from croupier.store.log import as_store
from croupier.store.outcome_rows import Records
from croupier.store.place import resolved
from croupier.store.store_errors import all_is_damage, damaged
from croupier.tables.base import Reading, Table, kind_of, restore

__all__ = ["Status", "StoredRun", "copy_run", "open_run"]


@dataclass(frozen=True)
class Status:
    """Where a stored run stands.

    `seconds` is its wall time over all `calls`. `owner` is the process that writes it now
    ({"pid", "host", "since"}), or None. `stopped` says why the last call ended; None if it is
    still running or was killed. `missing` are the tickets that were out when later ones arrived.
    `run_id` is the random number of the run in hexadecimal digits. A copy of a store has the same.
    `limits` has the budget, the tolerance and the workers of the last call. `busy` is how many
    workers were busy lately, from the times of the last batches. `interval` is the name of the
    interval of the last call.
    """

    path: str
    tickets: int
    draws: int
    cost: float
    unit: str
    seconds: float
    arms: tuple[str, ...]
    plan: Plan = field(repr=False)
    calls: int = 0
    began: str | None = None
    owner: dict[str, Any] | None = None
    stopped: str | None = None
    missing: tuple[int, ...] = ()
    run_id: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    busy: float | None = None
    interval: str = FixedSize.name

    @property
    def running(self) -> bool:
        """Whether a process is writing to the store."""
        return self.owner is not None

    @property
    def by_hand(self) -> bool:
        """Whether the run is asked and told by hand: then nobody knows its time."""
        return self.tickets > 0 and self.seconds == 0

    @property
    def spent(self) -> tuple[float, str] | None:
        """The share of the budget that is used up, from 0 to 1, and that budget; None: unknown."""
        from croupier.views import formats

        used = {"draws": self.draws, "seconds": self.seconds}
        if self.unit == "cost":
            used["cost"] = self.cost
        shares = [
            (min(used[name] / limit, 1.0), name, limit)
            for name, limit in self.limits.items()
            if name in used and limit > 0
        ]
        if not shares:
            return None
        share, name, limit = max(shares)
        if name == "draws":
            return share, formats.count(int(limit), "draw")
        cost = f"a cost of {formats.compact(limit)}"
        return share, formats.duration(limit) if name == "seconds" else cost

    def __str__(self) -> str:
        from croupier.views import formats

        printable = formats.printable
        if self.owner is not None:
            who = {name: printable(messages) for name, messages in self.owner.items()}
            state = f"running: pid {who['pid']} on {who['host']} since {who['since']}"
        elif self.stopped is None:
            state = "not finished: run the same call again to continue"
            if self.by_hand:
                state = "asked and told by hand"
        elif self.stopped == "interrupted":
            state = "interrupted: run the same call again to continue"
        else:
            state = f"finished: {printable(self.stopped)}"
        if (spent := self.spent) is not None:
            state += f" ({100 * spent[0]:.0f}% of {spent[1]})"
        calls = f"{self.calls} call{'s' * (self.calls != 1)}"
        took = f"{formats.cost(self.seconds, 'seconds')} in "
        began = f", started {printable(self.began)}" if self.began else ""
        return (
            f"{printable(self.path)}: {state}\n{self.tickets:,} batches of {len(self.arms)} arms, "
            f"{self.draws:,} draws, {'' if self.by_hand else took}{calls}{began}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class StoredRun:
    """A run as it was in its store at one moment; open it again to see what has been added."""

    status: Status
    _result: Result | None

    def result(self) -> Result:
        """Return the result from everything that is stored."""
        if self._result is None:
            raise PlanError(f"{self.status.path} has no outcome yet: there is no result")
        return self._result

    @property
    def history(self) -> History:
        """The history of the run, one row per batch."""
        return self.result().history

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.status.plan

    def __repr__(self) -> str:
        return f"<StoredRun {str(self.status).partition(chr(10))[0]}>"


def open_run(path: str | os.PathLike[str], *, combine: Combiner | None = None) -> StoredRun:
    """Read a stored run without its arms, while it is running or after its end.

    Returns an object with ``result()``, ``history``, ``plan`` and ``status``. `combine` is needed
    only if the combiner of the run was your own function, because the file holds no code.

    >>> import croupier as cr, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/run.db"
    >>> arms = {"coin": lambda rng, size: rng.random(size) < 0.5}
    >>> result = cr.estimate(arms, draws=1000, rng=7, store=path)
    >>> run = cr.open_run(path)
    >>> run.status.draws, run.status.stopped, run.result().value == result.value
    (1000, 'draws', True)
    >>> folder.cleanup()
    """
    file = resolved(as_store(path).path)
    owner = owner_of(file)
    with closing(Database.read(file)) as database:
        plan = plan_in(database)
        records, calls = records_in(database, plan), calls_in(database)
        call = calls[-1] if calls else None
        stopped = call["stopped"] if call and owner is None else None
        seconds = max([records.elapsed, *(each["seconds"] for each in calls)])
        result = None
        if len(records):
            result = _told_again(database, plan, records, call, combine)
            warnings = call["warnings"] if call and stopped else result.warnings
            # If no process writes the run and it has not ended, it was interrupted.
            why = stopped if stopped or owner else "interrupted"
            result = result.of_run(database.run_id.hex())
            result = replace(result, stopped=why, seconds=seconds, warnings=tuple(warnings))
        status = Status(
            path=str(path),
            tickets=len(records),
            draws=records.draws,
            cost=records.cost,
            unit=plan.unit,
            seconds=seconds,
            arms=plan.names,
            plan=plan,
            calls=len(calls),
            began=calls[0]["began"] if calls else None,
            owner=owner,
            stopped=stopped,
            missing=records.missing,
            run_id=database.run_id.hex(),
            limits=call["limits"] if call else {},
            busy=records.busy if owner is not None else None,
            interval=call["interval"]["name"] if call else FixedSize.name,
        )
    return StoredRun(status, result)


def _told_again(
    database: Database,
    plan: Plan,
    records: Records,
    call: Mapping[str, Any] | None,
    combine: Combiner | None,
) -> Result:
    """Tell the outcomes to a table of the kind that the run was played at.

    Outcomes after a missing ticket count too, as they did when the run was interrupted.
    """
    state = call["interval"] if call else FixedSize().state()
    contents = contents_in(database)
    with all_is_damage(database.path):
        interval = INTERVALS[state["name"]].after(state, records.last + 1)
        interval = interval.resumed(state) or interval
        learning = zip(plan.names, contents["learns"], strict=True)
        learns = frozenset(name for name, learned in learning if learned)
    reading = Reading(interval, combine, learns)
    table = _table(database.path, plan, reading)
    told = restored(database, table, records)
    with all_is_damage(database.path) if combine is None else nullcontext():
        for outcome in outcomes_in(database, records, told):
            if outcome.ticket < records.contiguous:
                restore(table, outcome)
            else:
                table.tickets.hold(outcome)
        return table.result()


def _table(path: Path, plan: Plan, reading: Reading) -> Table:
    try:
        kind = kind_of(plan.table)
    except PlanError as error:
        raise StoreError(f"{path} was played at a table that is not registered: {error}") from None
    try:
        return kind.read_back(plan, reading)
    except PlanError as error:
        if kind.combiner is None:
            raise damaged(path, error) from error
        raise StoreError(
            f"{path} was combined by the function {plan.combine!r}, which a file cannot hold: "
            "give the function, cr.open_run(path, combine=...)"
        ) from None


def copy_run(source: Path, target: Path) -> None:
    """Copy a store, with all outcomes of this moment, to a path where nothing is yet."""
    with closing(Database.read(resolved(source))) as database:
        if os.path.lexists(target):
            raise StoreError(f"{target} exists already: give another path for the copy")
        database.copy_to(target)
