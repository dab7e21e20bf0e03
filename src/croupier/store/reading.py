"""open_run: a stored run without its arms: what came of it, and whether it goes on."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from croupier.data.extremes import Tail
from croupier.data.history import History
from croupier.data.ledger import Ledger
from croupier.data.log_scale import quiet
from croupier.data.plan import MIXTURE, Plan
from croupier.errors import PlanError, StoreError
from croupier.estimates.combiners import Combiner, as_combiner, mean, pool
from croupier.estimates.intervals import Anytime, FixedSize, Interval, ManyLooks
from croupier.results.make_result import result_of
from croupier.results.result import Result
from croupier.store.codec import decoded
from croupier.store.contents import (
    calls_in,
    contents_in,
    outcomes_in,
    plan_in,
    records_in,
    rows_in,
    snapshot_in,
)
from croupier.store.database import Database, damaged
from croupier.store.lock import owner_of
from croupier.store.records import Records

__all__ = ["Status", "StoredRun", "open_run"]

_INTERVALS: Final[dict[str, Interval]] = {
    kind.name: kind for kind in (FixedSize(), ManyLooks(), Anytime())
}


@dataclass(frozen=True)
class Status:
    """Where a stored run stands.

    `seconds` is its wall time over all `calls`; `owner` who writes it now ({"pid", "host",
    "since"}), or None; `stopped` why the last call ended, None if it goes on or was killed;
    `missing` the tickets that were out when later ones arrived.
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

    @property
    def running(self) -> bool:
        """Whether somebody is writing to the store."""
        return self.owner is not None

    def __str__(self) -> str:
        from croupier.views import formats

        if self.owner is not None:
            who = self.owner
            state = f"running: pid {who['pid']} on {who['host']} since {who['since']}"
        elif self.stopped is None:
            state = "not finished: run the same call again to go on"
        else:
            state = f"finished: {self.stopped}"
        calls = f"{self.calls} call{'s' * (self.calls != 1)}"
        began = f", begun {self.began}" if self.began else ""
        return (
            f"{self.path}: {state}\n{self.tickets:,} batches of {len(self.arms)} arms, "
            f"{self.draws:,} draws, {formats.cost(self.seconds, 'seconds')} in {calls}{began}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class StoredRun:
    """A run as it was in its store at one moment; open it again to see what has been added."""

    status: Status
    _result: Result | None

    def result(self) -> Result:
        """Return the answer from all that is stored."""
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
    """Look at a stored run, without its arms, while it goes on or after its end.

    Returns an object with ``result()``, ``history``, ``plan`` and ``status``. `combine` is needed
    only for a run whose combiner was a function of your own: the file holds no code.

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
    file = Path(path)
    owner = owner_of(file)
    with closing(Database.read(file)) as database:
        plan = plan_in(database)
        learns = contents_in(database)["learns"]
        records, calls = records_in(database, plan.names), calls_in(database)
        try:
            whole = plan.combine == MIXTURE  # such a run has no use for a combiner
            combiner = mean if whole else combine or as_combiner(plan.combine, plan.weights)
        except PlanError:
            raise StoreError(
                f"{file} was combined by {plan.combine!r}, a function that a file cannot hold: "
                "give it, cr.open_run(path, combine=...)"
            ) from None
        call = calls[-1] if calls else None
        interval = _INTERVALS.get(call["interval"] if call else FixedSize.name)
        if interval is None:
            raise damaged(file, "an interval of no known kind")
        stopped = call["stopped"] if call and owner is None else None
        seconds = max([records.elapsed, *(each["seconds"] for each in calls)])
        result = None
        if len(records):
            learning = {name for name, learned in zip(plan.names, learns, strict=True) if learned}
            if whole:
                result = _of_mixture(database, plan, records, interval)
            else:
                result = _result(database, plan, records, combiner, interval, learning)
            doubts = call["doubts"] if call and stopped else result.warnings
            # A run that nobody goes on with has been interrupted, even if it could not say so.
            why = stopped if stopped or owner else "interrupted"
            result = replace(result, stopped=why, seconds=seconds, warnings=tuple(doubts))
        status = Status(
            path=str(path),
            tickets=len(records),
            draws=int(records.numbers[:, 2].sum()),
            cost=float(records.columns(len(records))[0][:, 3].sum()),
            unit=plan.unit,
            seconds=seconds,
            arms=plan.names,
            plan=plan,
            calls=len(calls),
            began=calls[0]["began"] if calls else None,
            owner=owner,
            stopped=stopped,
            missing=records.missing,
        )
    return StoredRun(status, result)


def _of_mixture(database: Database, plan: Plan, records: Records, interval: Interval) -> Result:
    """Tell the outcomes to the table that the run was played at."""
    # It is built on runs, and so above this layer: loaded where a file asks for it.
    table = import_module("croupier.importance.mixture").Mixture(plan, interval=interval)
    for outcome in outcomes_in(database, records, 0):
        if outcome.ticket < records.contiguous:
            table.restore(outcome)
        else:
            table.hold(outcome)
    result: Result = table.result()
    return result


def _result(
    database: Database,
    plan: Plan,
    records: Records,
    combiner: Combiner,
    interval: Interval,
    learning: set[str],
) -> Result:
    """Book all outcomes as the table did: those behind a gap count, but were not looked at."""
    if plan.log:
        with quiet():
            return _booked(database, plan, records, combiner, interval, learning)
    return _booked(database, plan, records, combiner, interval, learning)


def _booked(
    database: Database,
    plan: Plan,
    records: Records,
    combiner: Combiner,
    interval: Interval,
    learning: set[str],
) -> Result:
    measured = plan.unit == "seconds"
    ledger = Ledger(len(plan.names), measured=measured, positive=plan.log)
    tails, told = dict[int, Tail](), 0
    parts = snapshot_in(database)
    if parts is not None:
        try:
            kind, known = decoded(parts["interval"]), decoded(parts["ledger"])
            ends = {name: Tail.from_state(t) for name, t in decoded(parts["tails"]).items()}
            if kind["name"] == interval.name or not interval.looking:
                ledger, told = Ledger.from_state(known, ledger), int(decoded(parts["told"]))
                tails = {plan.names.index(name): tail for name, tail in ends.items()}
                if isinstance(interval, Anytime):
                    interval = Anytime(kind["rho2"])
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise damaged(database.path, f"its snapshot is none ({error})") from error
    contiguous = records.contiguous
    for outcome in outcomes_in(database, records, told):
        arm = plan.names.index(outcome.arm)
        ledger.add(arm, outcome)
        if outcome.ticket >= contiguous:
            continue
        if arm not in tails or outcome.arm in learning:
            tails[arm] = Tail()
        tails[arm].add(outcome.extremes, outcome.inspected)
        if interval.looking:
            interval = interval.look(pool(ledger, combiner), plan.confidence)
    history = History(
        plan.names, combiner, confidence=plan.confidence, measured=measured, log=plan.log
    )
    history.take(rows_in(database, records, len(records)))
    return result_of(plan, ledger, history.view(interval), combiner, interval, tails)
