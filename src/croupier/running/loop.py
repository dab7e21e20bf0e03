"""The loop around a table: ask -> perform -> tell -> stop?

Every table is played by this code, with settings, clock, store, workers, progress and warnings.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from croupier.arms.base import Arm
from croupier.data.central_moments import FEW
from croupier.data.plan import Plan
from croupier.engines.hold_interrupts import interrupts_held, released
from croupier.engines.perform import Engine, Serial, own_arithmetic
from croupier.errors import CroupierWarning, callers_level
from croupier.estimates.diagnostics import MISALLOCATED
from croupier.estimates.intervals import FixedSize, Interval, ManyLooks
from croupier.results.result import Result
from croupier.running.check_arms import check_arms
from croupier.running.settings import Budget, RunSettings
from croupier.running.stopping import Rule, Stop
from croupier.store.recorded_engine import Recorded
from croupier.tables.base import Table, kind_of
from croupier.views.progress import Watch, watching

if TYPE_CHECKING:
    from croupier.engines.choose_engine import Executors
    from croupier.policies.base import Digest
    from croupier.store.log import Log

__all__ = ["MakeTable", "conduct", "loop"]

#: How long an interrupted run waits for the batches that are out, in seconds.
GRACE: Final = 3.0

MakeTable: TypeAlias = Callable[[Plan, Interval], Table]


def loop(table: Table, engine: Recorded, budget: Budget, rule: Rule, watch: Watch) -> Stop:
    """Play a table until a rule stops it or the budget buys nothing more.

    Outcomes are told in ticket order. The rule is applied once per ticket, before the ticket that
    is `width` later is asked for. Batches that are out when the run stops still count.
    """
    progress = table.progress()
    stop: Stop | None = None
    for batch in table.tickets.out:
        engine.submit(batch)
    try:
        while True:
            while (stop is None or engine.behind(table)) and len(engine) < table.plan.width:
                left = budget.left(progress, engine.clock())
                if (asked := engine.ask(table, *left)) is None:
                    break
                engine.submit(asked)
            if not len(engine):
                return stop or budget.unit
            engine.tell(table, engine.next())
            progress = table.progress(engine.seconds)
            reason = rule(progress)
            stop = stop or reason
            if stop is None:
                engine.leave_snapshot(table, progress.tickets)
            if watch.due():
                watch.update(progress, budget.spent(progress))
    except KeyboardInterrupt:
        if not progress.draws or engine.behind(table):
            raise  # nothing is known yet, or the store knows more than this table
        for outcome in engine.rest(GRACE, table.tickets.out):
            engine.tell(table, outcome)
        return "interrupted"


def conduct(
    make: MakeTable,
    plan: Plan,
    arms: Sequence[Arm],
    settings: RunSettings,
    executors: Executors | None,
) -> Result:
    """Play the table that `make` makes from a plan and an interval, with store and workers."""
    watched = watching(settings.progress, plan.unit)  # its clock starts with the call
    record = None if settings.store is None else _log(settings)
    if record is not None:
        plan = record.plan_for(plan, seed=settings.seeded, width=settings.width is not None)
    table = make(plan, settings.interval)
    if hasattr(table, "aim"):  # not all tables use it
        table.aim = settings.aim
    with own_arithmetic(), interrupts_held(), record or nullcontext():
        if record is not None:
            learns = {str(arm.name) for arm in arms if arm.learner is not None}
            whole, limits = settings.callback is not None, settings.limits(executors)
            record.begin(table, learns, whole=whole, limits=limits)
        digest = getattr(table, "digest", None)

        def performing() -> Engine:
            if record is not None and record.check:
                check_arms(record, plan, arms, digest)
            return _engine(plan, arms, digest, executors)

        engine = Recorded(performing, record, time.perf_counter)
        with closing(engine), watched as watch, released:
            stopped = loop(table, engine, settings.budget, settings.rule(), watch)
        if stopped == "callback" and isinstance(table.interval, FixedSize):
            table.interval = ManyLooks()  # the callback has looked more than once
        result = table.result()
        messages = _warnings(result, stopped, settings)
        elapsed = engine.clock()
        if record is not None:
            record.finish(table.interval, stopped, elapsed, messages)
    for text in (*messages, *_seconds_would_pay(result, engine.inside)):
        warnings.warn(text, CroupierWarning, stacklevel=callers_level())
    if record is not None:
        result = result.of_run(record.run_id)
    return replace(result, stopped=stopped, seconds=elapsed, warnings=tuple(messages))


def _engine(
    plan: Plan, arms: Sequence[Arm], digest: Digest | None, executors: Executors | None
) -> Engine:
    named = {str(arm.name): arm for arm in arms}
    if executors is None:
        return Serial(plan, named, digest)
    from croupier.engines.executor_engine import Pool

    return Pool(plan, named, digest, executors)


def _log(settings: RunSettings) -> Log:
    from croupier.store.log import Log, as_store  # only a run with a store loads sqlite

    assert settings.store is not None
    return Log(as_store(settings.store))


def _warnings(result: Result, stopped: Stop, settings: RunSettings) -> list[str]:
    """Return the warnings of a result, and the warnings about how the run ended."""
    messages = [*result.warnings, *_relative_to_zero(result, settings)]
    if stopped in ("draws", "seconds", "cost"):
        messages.extend(_not_reached(result, stopped, settings))
    if stopped == "callback" and not settings.anytime:
        way_out = "; anytime=True gives one that is" if kind_of(result.plan.table).anytime else ""
        messages.append(
            "a callback stopped the run: the interval is valid if you stop because the error is "
            f"small enough, but not for every reason to stop{way_out}"
        )
    if stopped == "interrupted":
        messages.insert(0, "the run was interrupted: its budget is not used up")
    return messages


def _not_reached(result: Result, stopped: Stop, settings: RunSettings) -> list[str]:
    """Say that the budget ended before the tolerance was reached, and what would have done."""
    if not settings.aim.given:
        return []
    log = result.plan.log
    low, high = (np.ravel(end) for end in result.log_interval or result.interval)
    half = (high - low) / 2
    wanted = np.broadcast_to(settings.aim.wanted(np.ravel(result.value), log=log), half.shape)
    half, wanted = settings.aim.bound(half), settings.aim.bound(wanted)
    ratio = np.where(half > 0, half / np.maximum(wanted, np.finfo(float).tiny), 0.0)
    worst = int(ratio.argmax())
    if not ratio[worst] > 1:
        return []
    given = {name: getattr(settings.aim, name) for name in ("atol", "rtol")}
    asked = ", ".join(f"{name}={value:g}" for name, value in given.items() if value)
    messages = f"{asked} was not reached: the half-width is {half[worst]:.2g}"
    if not np.isfinite(ratio[worst]) or not wanted[worst] > 0:
        return [f"{messages}, and it is not known which budget would do"]
    budget = getattr(settings.budget, stopped) * ratio[worst] ** 2
    return [
        f"{messages}, not {wanted[worst]:.2g}; an error that falls like 1/sqrt({stopped}) needs "
        f"{stopped}={budget:.2g}"
    ]


def _seconds_would_pay(result: Result, inside: Mapping[str, float]) -> list[str]:
    """Say that another arm is far better per second than the one that got most of the draws.

    This is said once and is not a part of the result, which must not depend on a clock. A run of
    less than a second is short enough.
    """
    plan, kind = result.plan, kind_of(result.plan.table)
    if plan.unit != "draws" or kind.own_arms or not kind.shared_mean or sum(inside.values()) < 1:
        return []
    rows = [row for row in result.arms if row.draws >= FEW and inside[row.name]]
    if not plan.audit or np.ndim(result.value) or len(rows) < 2:
        return []
    loss = {row.name: inside[row.name] / row.draws * float(row.variance) for row in rows}
    most = max(rows, key=lambda row: row.draws).name
    best = min(loss, key=lambda name: loss[name])
    if not loss[most] > MISALLOCATED * loss[best]:
        return []
    return [
        f"{most!r} got most of the draws, but {best!r} is {loss[most] / loss[best]:.2g} times as "
        "efficient per second: give seconds= in place of draws= if time is what counts"
    ]


def _relative_to_zero(result: Result, settings: RunSettings) -> list[str]:
    aim = settings.aim
    low, high = (aim.bound(end) for end in result.interval)
    if result.plan.log:  # then both tolerances are relative
        return []
    around_zero = np.any((np.asarray(low) <= 0) & (np.asarray(high) >= 0))
    if not aim.rtol or aim.atol or not around_zero:
        return []
    ends = np.column_stack((np.ravel(low), np.ravel(high)))
    first, last = ends[int(np.argmax((ends[:, 0] <= 0) & (ends[:, 1] >= 0)))]
    return [
        f"rtol={aim.rtol:g} is relative to a value that may be zero (interval {first:.3g} to "
        f"{last:.3g}) and may never be reached: give atol= too"
    ]
