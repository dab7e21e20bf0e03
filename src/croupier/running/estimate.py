"""estimate: several unbiased estimators of one quantity, one budget, one result."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from croupier.arms.base import Arm, ArmLike, as_arms
from croupier.arms.careful_draws import careful_arms
from croupier.arms.continuum import Continuum
from croupier.checks import arguments_suggested, choice, seed_of
from croupier.data.plan import Batching, Clock, Plan
from croupier.errors import CroupierWarning, PlanError
from croupier.estimates.combiners import Combiner, as_combiner, name_of
from croupier.estimates.intervals import Interval
from croupier.estimates.neighbour_weights import NeighbourWeights
from croupier.estimates.skewed_ends import LOGNORMAL
from croupier.functions.failures import named_ends
from croupier.policies import Policy, SmoothThompson, as_policy, describe
from croupier.results.result import Result
from croupier.running.loop import conduct
from croupier.running.settings import AnytimeKind, RunSettings, settings_of
from croupier.seeds import RandomLike
from croupier.tables.audit import audit_of
from croupier.tables.base import Progress
from croupier.tables.continuum_kind import continuum_of
from croupier.tables.independent import IndependentArms

if TYPE_CHECKING:
    from croupier.engines.choose_engine import ExecutorLike
    from croupier.store.log import Store

__all__ = ["Dealing", "deal", "estimate"]

#: If a run has fewer draws per arm than this, every arm starts with 2 draws instead of 4.
_SCARCE = 10


@dataclass(frozen=True)
class Dealing:
    """How a budget is dealt to independent arms, and how they become one estimate.

    `table` has the fields of the plan that another kind of table needs.
    """

    policy: str | Policy = "auto"
    combine: str | Combiner = "guarded"
    objective: Sequence[float] | None = None
    log: bool = False
    batch: Batching = "growing"
    keep_values: bool = False
    audit: float | None = None
    names: Sequence[str] | None = None
    table: Mapping[str, Any] | None = None


@arguments_suggested
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
    interval: AnytimeKind | None = None,
    policy: str | Policy = "auto",
    combine: str | Combiner = "guarded",
    objective: Sequence[float] | None = None,
    log: bool = False,
    batch: Batching = "growing",
    clock: Clock = "wall",
    keep_values: bool = False,
    audit: float | None = None,
    names: Sequence[str] | None = None,
    on_failure: Literal["raise", "bounds"] = "raise",
    retries: int = 0,
    rng: RandomLike = None,
    workers: int | None = None,
    executor: ExecutorLike | None = None,
    width: int | None = None,
    store: str | os.PathLike[str] | Store | None = None,
    progress: bool | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> Result:
    """Spend a budget on several unbiased estimators of one quantity, most of it on the best one.

    Args:
        arms: A mapping name -> arm, or a sequence of named arms. An arm is a callable
            ``(rng, size)`` that returns `size` values, an array (size, d) for d quantities at
            once, or `Draws(values, costs)`; see `Arm` and `scalar`. A `continuum` has an arm for
            every point of a box.
        draws: Budget in draws, met exactly; every draw costs 1.
        seconds: Budget in wall time; costs are the measured times of the arms' calls.
        cost: Budget in the cost that the arms report with `Draws(values, costs)`.
            Give at least one of `draws`, `seconds` and `cost`. The first one that runs out stops
            the run.
        atol: Stop when the half-width of the interval is at most max(atol, rtol * |value|).
        rtol: See `atol`. With ``log=True`` both are tolerances of the log: the run stops when the
            half-width of `log_value` is at most max(atol, rtol).
        confidence: The level of the interval.
        anytime: Report an interval that holds at all times at once, for every reason to stop.
        interval: "guaranteed" reports an interval that holds at all times and in finite samples. It
            needs the bounds of every arm, `Arm(draw, bounds=(low, high))`, and is about 1.4 times
            as long. "anytime" is the same as ``anytime=True``. By default, the interval fits the
            way in which the run may stop.
        policy: How the budget is dealt: the name of a policy in `croupier.policies`, or a policy.
        combine: How the arms become one estimate: "guarded", "mean", "inverse-variance",
            or a function of the ledger. For a `continuum`, "guarded" is "neighbours".
        objective: For vectors, the weight of each component's variance in the allocation. With
            ``log=True``, the weight of its relative variance.
        log: The arms return logs of draws (-inf for a draw of zero), or
            `Draws(log_values=..., costs=...)`. Use it for quantities that do not fit into a
            double, such as the evidence e^-1000 of a model. The result has `log_value`,
            `log_stderr` and `log_interval`.
        batch: "growing", or "one" for the paper's draw-by-draw loop. A number also means growing
            batches, and the first call of each arm makes this number of draws. Give a number if a
            call costs far more than a draw.
        clock: What measures costs in seconds: "wall" or "cpu". The deadline is always wall.
        keep_values: Keep every draw, in ``result.arms[name].values``.
        audit: The share of the budget that may go to the test whether the arms agree, so that an
            arm beside the leading one is known well enough to contradict it. The default is 0.01
            for the default policy and "variance-lcb", and 0 for other policies. The result says
            which bias would not have been noticed: see `Result.unnoticed`.
        names: The names of the components of a vector, for tables, data frames and JSON.
        on_failure: What a draw means that raises or is not finite. "raise" ends the run with its
            ticket. "bounds" gives two estimates, "at least" and "at most", with either end of the
            arm's `bounds` in place of the missing draw; ``result.between`` covers both. A call that
            raises loses all of its draws: wrap a function of one draw in `cr.scalar`.
        retries: How often a call that fails is repeated first, with the same random numbers.
        rng: None, a non-negative integer, a SeedSequence or a Generator.
        workers: The number of processes that draw. By default, the arms draw in this process.
        executor: Draws instead of these processes: an executor of ``concurrent.futures`` (threads,
            processes, Dask, Ray, MPI), or a function that makes one. With a function, a broken
            executor can be replaced.
        width: How many batches may be out at once. The result depends on it, but not on the number
            of workers. The default is 1, or twice the number of workers (on Dask four times).
        store: A path or a `Store`: the file that the run survives in. The same call again continues
            where the last one ended, also with a larger budget or another tolerance. If `rng` or
            `width` is left out, the value in the store is used.
        progress: Show a progress bar. By default, it is shown in a terminal or a notebook.
        callback: Called with a `Progress` after every batch. If it returns True, the run stops.

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
    choice("on_failure", on_failure, Literal["raise", "bounds"])
    repeated = seed_of("retries", retries)
    named = careful_arms(as_arms(arms), on_failure, repeated, names, log=log)
    if on_failure == "bounds":
        names = named_ends(None, 1)
    settings = settings_of(
        draws=draws,
        seconds=seconds,
        cost=cost,
        atol=atol,
        rtol=rtol,
        confidence=confidence,
        anytime=anytime,
        interval=interval,
        clock=clock,
        rng=rng,
        workers=workers,
        executor=executor,
        width=width,
        store=store,
        progress=progress,
        callback=callback,
    )
    table = None
    if isinstance(arms, Continuum):
        table = continuum_of(arms.settings)
        policy = SmoothThompson() if policy == "auto" else policy
        if combine in ("guarded", NeighbourWeights.name):
            combine = NeighbourWeights(arms.points)
    dealing = Dealing(policy, combine, objective, log, batch, keep_values, audit, names, table)
    return deal(named, settings, dealing)


def deal(arms: Sequence[Arm], settings: RunSettings, dealing: Dealing) -> Result:
    """Play a table of independent arms, for every function that deals to arms."""
    for arm in arms:
        if not dealing.log and getattr(arm.draw, "logs", False):
            raise PlanError(f"arm {arm.name!r} returns logs: give estimate(..., log=True)")
    executors = settings.executors(arms)
    policy, combiner = as_policy(dealing.policy), as_combiner(dealing.combine)
    draws = settings.budget.draws
    scarce = draws is not None and draws < _SCARCE * len(arms)
    described, shared = describe(policy), getattr(combiner, "shared_mean", True)
    if dealing.audit and not shared:
        raise PlanError(
            f"strata have means of their own, so there is nothing to audit: leave out "
            f"audit={dealing.audit!r}"
        )
    usual = audit_of(described, dealing.batch, shared_mean=shared)
    plan = settings.plan(
        arms,
        executors,
        policy=described,
        combine=name_of(combiner),
        objective=dealing.objective,
        batch=dealing.batch,
        first=2 if scarce else 4,
        keep_values=dealing.keep_values,
        versions=tuple([arm.version for arm in arms]),
        bounds=tuple([arm.bounds for arm in arms]),
        cost_bounds=tuple([arm.cost_bounds for arm in arms]),
        log=dealing.log,
        audit=usual if dealing.audit is None else dealing.audit,
        components=dealing.names,
        **_table(arms, dealing),
    )
    learners = {str(arm.name): arm.learner for arm in arms if arm.learner is not None}

    def make(plan: Plan, interval: Interval) -> IndependentArms:
        return IndependentArms(plan, interval, policy=policy, combiner=combiner, learners=learners)

    return _with_blind_spots(conduct(make, plan, arms, settings, executors), arms)


def _table(arms: Sequence[Arm], dealing: Dealing) -> Mapping[str, Any]:
    """Return the table of a plan; its settings name the arms whose draws are about lognormal."""
    table = dealing.table or {}
    lognormal = [arm.name for arm in arms if getattr(arm.draw, "lognormal", False)]
    if not lognormal or "settings" in table or dealing.log:
        return table
    return {**table, "settings": {LOGNORMAL: lognormal}}


def _with_blind_spots(result: Result, arms: Sequence[Arm]) -> Result:
    """Warn if proposals of one integral were dealt as arms and could not contradict each other."""
    proposals = sum(getattr(arm.draw, "shares_blind_spots", False) for arm in arms)
    if proposals < 2 or not np.any(np.isnan(np.array(result.agreement, float))):
        return result
    messages = (
        f"the arms are {proposals} proposals of one integral, and too little is known about some "
        "to test whether they agree: a part that the leading one does not reach is missing without "
        "a trace; use family.estimate(), which weights all draws together"
    )
    warnings.warn(messages, CroupierWarning, stacklevel=4)
    return replace(result, warnings=(*result.warnings, messages))
