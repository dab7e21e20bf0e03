"""estimate: the loop around a table, ask -> perform -> tell -> stop?, and the run's clock."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypedDict

from croupier.arms.base import Arm, ArmLike, as_arms
from croupier.checks import count_of, fraction_of, positive, weights_of
from croupier.data.plan import MIXTURE, Batching, Clock, Plan, Unit
from croupier.engines.workers import Engine, Serial
from croupier.errors import CroupierWarning, PlanError
from croupier.estimates.combiners import Combiner, as_combiner, name_of, weights_known_to
from croupier.estimates.intervals import Anytime, FixedSize, Interval, ManyLooks
from croupier.policies import Policy, as_policy, describe
from croupier.policies.base import digest_of
from croupier.results.result import Result
from croupier.running.stopping import (
    Rule,
    Stop,
    any_of,
    asked_to,
    out_of_cost,
    out_of_draws,
    out_of_time,
    precise,
)
from croupier.seeds import RandomLike, seed_from
from croupier.store.replay import Recorded
from croupier.tables.allocator import Allocator
from croupier.tables.base import Progress, Table
from croupier.views.live import Watch, watching

if TYPE_CHECKING:
    from croupier.engines.executors import ExecutorLike, Staff
    from croupier.policies.base import Digest
    from croupier.store.log import Log, Snapped, Store

    class Seated(Table, Snapped, Protocol):
        """A table that a run can be conducted at."""


__all__ = ["ArmSettings", "Budget", "Settings", "budget_of", "conduct", "estimate", "staff_for"]

#: How long an interrupted run waits for the batches that are out, in seconds.
GRACE: Final = 3.0


def play(table: Table, engine: Recorded, budget: Budget, rule: Rule, watch: Watch) -> Stop:
    """Play a table until a rule stops it or the budget buys nothing more.

    Outcomes are told, and stops judged, once per ticket and in ticket order, before the ticket
    `width` later is asked for; batches that are out when the run stops still count.
    """
    progress = table.progress()
    stop: Stop | None = None
    for batch in table.out:
        engine.submit(batch)
    try:
        while True:
            while (stop is None or engine.behind(table)) and len(engine) < table.width:
                left = budget.left(progress, engine.clock())
                if (asked := engine.ask(table, *left)) is None:
                    break
                engine.submit(asked)
            if not len(engine):
                return stop or budget.unit
            table.tell(engine.next())
            progress = table.progress(engine.seconds)
            reason = rule(progress)
            stop = stop or reason
            if stop is None:
                engine.leave_snapshot(table, progress.tickets)
            if watch.due():
                watch.update(progress, budget.spent(progress))
    except KeyboardInterrupt:
        if not progress.draws:
            raise
        for outcome in engine.rest(GRACE):
            table.tell(outcome)
        return "interrupted"


@dataclass(frozen=True)
class Budget:
    """What a run may use up, and in which unit it economises."""

    draws: int | None
    seconds: float | None
    cost: float | None

    @property
    def unit(self) -> Unit:
        """What you budget is what it economises: seconds, then cost, then draws."""
        if self.seconds is not None:
            return "seconds"
        return "draws" if self.cost is None else "cost"

    def left(self, progress: Progress, seconds: float) -> tuple[int | None, float | None]:
        """Return the draws and the cost that are left; of seconds, what arms can make of them."""
        draws = None if self.draws is None else self.draws - progress.draws
        if self.seconds is not None:
            # A second of the run is less than a second of the arms, on whichever clock.
            rate = progress.cost / seconds if progress.cost else 1.0
            return draws, (self.seconds - seconds) * rate
        return draws, None if self.cost is None else self.cost - progress.cost

    def spent(self, progress: Progress) -> float:
        """Return the share of the budget that is used up, from 0 to 1."""
        used = (progress.draws, progress.seconds, progress.reported)
        limits = (self.draws, self.seconds, self.cost)
        return max(u / limit for u, limit in zip(used, limits, strict=True) if limit is not None)

    def rules(self) -> list[Rule]:
        """Return the rules that stop a run which has used up its budget."""
        rules = []
        if self.draws is not None:
            rules.append(out_of_draws(self.draws))
        if self.seconds is not None:
            rules.append(out_of_time(self.seconds))
        if self.cost is not None:
            rules.append(out_of_cost(self.cost))
        return rules


class Settings(TypedDict, total=False):
    """The settings that every run has, at whichever table; `estimate` describes them."""

    seconds: float | None
    cost: float | None
    atol: float | None
    rtol: float | None
    confidence: float
    anytime: bool
    clock: Clock
    rng: RandomLike
    workers: int | None
    executor: ExecutorLike | None
    width: int | None
    store: str | os.PathLike[str] | Store | None
    progress: bool | None
    callback: Callable[[Progress], object] | None


class ArmSettings(Settings, total=False):
    """Those of a run of independent arms, `estimate` itself aside from policy and combiner."""

    draws: float | None
    objective: Sequence[float] | None
    log: bool
    batch: Batching
    keep_values: bool


def estimate(
    arms: Mapping[str, ArmLike] | Iterable[ArmLike],
    *,
    draws: float | None = None,
    seconds: float | None = None,
    cost: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    confidence: float = 0.95,
    anytime: bool = False,
    policy: str | Policy = "auto",
    combine: str | Combiner = "guarded",
    objective: Sequence[float] | None = None,
    log: bool = False,
    batch: Batching = "growing",
    clock: Clock = "wall",
    keep_values: bool = False,
    rng: RandomLike = None,
    workers: int | None = None,
    executor: ExecutorLike | None = None,
    width: int | None = None,
    store: str | os.PathLike[str] | Store | None = None,
    progress: bool | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> Result:
    """Spend a budget on several unbiased estimators of one quantity, most on the best of them.

    Args:
        arms: A mapping name -> arm, or a sequence of named arms. An arm is a callable
            ``(rng, size)`` that returns `size` values, an array (size, d) for d quantities at
            once, or `Draws(values, costs)`; see `Arm` and `scalar`.
        draws: Budget in draws, met exactly; every draw costs 1.
        seconds: Budget in wall time; costs are the measured times of the arms' calls.
        cost: Budget in the cost that the arms report with `Draws(values, costs)`.
            At least one of the three is needed; the first that runs out stops the run.
        atol: Stop when the half-width of the interval is at most this,
        rtol: or at most this times the value (whichever is larger). With ``log=True`` both are
            tolerances of the log: the half-width of `log_value` is to be at most the larger one.
        confidence: The level of the interval.
        anytime: Report an interval that holds at all times at once, whatever stopped the run.
        policy: How the budget is dealt: a name of `croupier.policies`, or a policy.
        combine: How the arms become one estimate: "guarded", "mean", "inverse-variance", or a
            function of the ledger.
        objective: For vectors, the weight of each component's variance in the allocation; of its
            relative variance, with ``log=True``.
        log: The arms return logs of draws, -inf for zero, or `Draws(log_values=..., costs=...)`:
            for quantities that are no double, such as the evidence e^-1000 of a model. The result
            has `log_value`, `log_stderr` and `log_interval`.
        batch: "growing", "one" for the paper's draw-by-draw loop, or a number: growing, from so
            many draws in the first call of each arm, where a call costs far more than a draw.
        clock: What measures costs in seconds: "wall" or "cpu". The deadline is always wall.
        keep_values: Keep every draw, in ``result.arms[name].values``.
        rng: None, a non-negative integer, a SeedSequence or a Generator.
        workers: The number of processes that draw; by default it is done right here.
        executor: Who draws instead: an executor of ``concurrent.futures`` (threads, processes,
            Dask, Ray, MPI), or a function that makes one, so that a broken one can be replaced.
        width: How many batches may be out at once; it decides the result, which does not depend
            on the number of workers. By default 1, and twice the number of workers if there are.
        store: A path, or a `Store`: the file that the run survives in. The same call again goes
            on where the last one ended, also with a larger budget or another tolerance; `rng` and
            `width`, if they are left out, are those of the store.
        progress: Show a progress bar; by default when somebody is watching.
        callback: Called with a `Progress` after every batch; returning True stops the run.

    Returns:
        A `Result`: value, stderr, interval, one row per arm, warnings, history.

    >>> import croupier as cr
    >>> def rough(rng, size):
    ...     return rng.normal(1.0, 1.0, size)
    >>> def fine(rng, size):
    ...     return rng.normal(1.0, 0.1, size)
    >>> result = cr.estimate({"rough": rough, "fine": fine}, draws=10_000, rng=7)
    >>> result.stopped, result.draws, abs(result.value - 1) < 4 * result.stderr
    ('draws', 10000, True)
    """
    named = as_arms(arms)
    for arm in named:
        if not log and getattr(arm.draw, "logs", False):
            raise PlanError(f"arm {arm.name!r} returns logs: say estimate(..., log=True)")
    budget = budget_of(draws, seconds, cost)
    if width is not None:
        width = count_of("width", width)
    staff = staff_for(named, workers, executor, width)
    chosen, combiner = as_policy(policy), as_combiner(combine)
    scarce = budget.draws is not None and budget.draws < 10 * len(named)
    plan = Plan(
        names=tuple([str(arm.name) for arm in named]),
        seed=seed_from(rng),
        unit=budget.unit,
        policy=describe(chosen),
        combine=name_of(combiner),
        confidence=fraction_of("confidence", confidence),
        objective=weights_of("objective", objective),
        batch=batch,
        width=width or (2 * staff.workers if staff else 1),
        first=2 if scarce else 4,
        clock=clock,
        keep_values=keep_values,
        versions=tuple([arm.version for arm in named]),
        bounds=tuple([arm.bounds for arm in named]),
        cost_bounds=tuple([arm.cost_bounds for arm in named]),
        weights=weights_known_to(combiner),
        log=log,
    )
    learners = {str(arm.name): arm.learner for arm in named if arm.learner is not None}

    def table(plan: Plan, interval: Interval) -> Allocator:
        return Allocator(
            plan, policy=chosen, combine=combiner, interval=interval, learners=learners
        )

    return conduct(
        table,
        plan,
        named,
        budget,
        staff,
        digest=digest_of(chosen),
        atol=atol,
        rtol=rtol,
        anytime=anytime,
        seeded=rng is not None,
        wide=width is not None,
        store=store,
        progress=progress,
        callback=callback,
    )


def conduct(
    make: Callable[[Plan, Interval], Seated],
    plan: Plan,
    arms: Sequence[Arm],
    budget: Budget,
    staff: Staff | None,
    *,
    digest: Digest | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    anytime: bool = False,
    seeded: bool = True,
    wide: bool = True,
    store: str | os.PathLike[str] | Store | None = None,
    progress: bool | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> Result:
    """Play the table that `make` makes of a plan and an interval, with everything around it.

    `seeded` and `wide` tell whether the seed and the width were given: else those of the store.
    """
    if callback is not None and not callable(callback):
        raise PlanError(f"callback must be a function of the progress, got {callback!r}")
    record = None if store is None else _log(store)
    if record is not None:
        plan = record.plan_for(plan, seed=seeded, width=wide)
    tolerant, interval = _tolerance(atol, rtol, anytime)
    table = make(plan, interval)
    watched = [] if callback is None else [asked_to(callback)]
    rule = any_of(*watched, *tolerant, *budget.rules())
    with record or nullcontext():
        if record is not None:
            learns = {str(arm.name) for arm in arms if arm.learner is not None}
            record.begin(table, learns, whole=callback is not None)
        with (
            closing(_engine(plan, arms, digest, staff)) as performing,
            watching(progress, plan.unit) as watch,
        ):
            engine = Recorded(performing, record, time.perf_counter)
            stopped = play(table, engine, budget, rule, watch)
        if stopped == "callback" and isinstance(table.interval, FixedSize):
            table.interval = ManyLooks()  # the callback has looked, and more than once
        result = table.result()
        doubts = [*result.warnings, *_relative_to_zero(result, atol, rtol)]
        if stopped == "callback" and not anytime:
            way_out = "" if plan.combine == MIXTURE else "; anytime=True does"
            doubts.append(
                "a callback stopped the run: the interval allows for many looks at a precision, "
                f"but not for every reason to stop{way_out}"
            )
        if stopped == "interrupted":
            doubts.insert(0, "the run was interrupted: its budget is not used up")
        elapsed = engine.clock()
        if record is not None:
            record.finish(table.interval, stopped, elapsed, doubts)
    for doubt in doubts:
        warnings.warn(doubt, CroupierWarning, stacklevel=_callers())
    return replace(result, stopped=stopped, seconds=elapsed, warnings=tuple(doubts))


def staff_for(
    arms: Sequence[Arm], workers: int | None, executor: ExecutorLike | None, width: int | None
) -> Staff | None:
    """Return who performs the batches, None for the driver itself."""
    if workers is None and executor is None:
        for arm in arms:
            if arm.timeout is not None:
                raise PlanError(
                    f"arm {arm.name!r} has a timeout, and a batch that hangs can be ended in "
                    "another process only: give workers=1, or more"
                )
        return None
    from croupier.engines.executors import staff_of

    return staff_of(workers, executor, width)


def _engine(plan: Plan, arms: Sequence[Arm], digest: Digest | None, staff: Staff | None) -> Engine:
    named = {str(arm.name): arm for arm in arms}
    if staff is None:
        return Serial(plan, named, digest)
    from croupier.engines.executors import Pool

    return Pool(plan, named, digest, staff)


def _log(store: str | os.PathLike[str] | Store) -> Log:
    from croupier.store.log import Log, as_store  # sqlite, only where it is wanted

    return Log(as_store(store))


def _callers() -> int:
    """Return the stack level of the line that called croupier, for a warning to point at."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__package__")):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(package: str | None) -> bool:
    return package is not None and package.partition(".")[0] == "croupier"


def budget_of(draws: float | None, seconds: float | None, cost: float | None) -> Budget:
    """Return the budget of a run, at least one of the three."""
    if draws is None and seconds is None and cost is None:
        raise PlanError(
            "no budget: give draws=, seconds= or cost= (a tolerance alone may never be reached)"
        )
    return Budget(
        draws=None if draws is None else count_of("draws", draws),
        seconds=None if seconds is None else positive("seconds", seconds),
        cost=None if cost is None else positive("cost", cost),
    )


def _tolerance(
    atol: float | None, rtol: float | None, anytime: bool
) -> tuple[list[Rule], Interval]:
    """Return the rule that a tolerance makes, if any, and the interval that allows for it."""
    if atol is None and rtol is None:
        return [], Anytime() if anytime else FixedSize()
    absolute = 0.0 if atol is None else positive("atol", atol, zero=True)
    relative = 0.0 if rtol is None else positive("rtol", rtol, zero=True)
    return [precise(absolute, relative)], Anytime() if anytime else ManyLooks()


def _relative_to_zero(result: Result, atol: float | None, rtol: float | None) -> list[str]:
    import numpy as np

    low, high = result.interval
    if result.plan.log:  # there, both are relative
        return []
    if not rtol or atol or not np.any((np.asarray(low) <= 0) & (np.asarray(high) >= 0)):
        return []
    return [
        f"rtol={rtol:g} is relative to a value that may be zero (interval {low} to {high}) and "
        "may never be reached: give atol= too"
    ]
