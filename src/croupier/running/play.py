"""play: a run at your own table, with workers, store, stops and views like any other run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from croupier.arms.base import Arm, ArmLike, as_arms
from croupier.checks import known_settings
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.intervals import Interval
from croupier.results.result import Result
from croupier.running.loop import conduct
from croupier.running.settings import Options, RunSettings, settings_of
from croupier.tables.base import Table, kind_of

__all__ = ["play"]


def play(
    table: str | Table,
    arms: Mapping[str, ArmLike] | Iterable[ArmLike],
    *,
    draws: float | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Result:
    """Play your own table, with the same loop, workers, store, stops and views as `estimate`.

    Args:
        table: The name of a registered kind of table, or a table. Only a registered kind can be
            read back from a store: see `croupier.tables.base.register`.
        arms: As in `estimate`.
        draws: Budget in draws. You can also give `seconds` or `cost`.
        settings: The settings of this kind of table, as plain data. The plan records them.
        **options: Budgets, tolerances, ``rng=``, ``workers=``, ``store=`` and all other options of
            `estimate`. An existing table has its own seed, width, confidence and clock, and its
            own store if it was made with one.

    Returns:
        The result of the table, with the reason why the run stopped and with its time.

    >>> import croupier as cr
    >>> table = cr.Allocator(["rough", "fine"], policy="uniform", rng=7)
    >>> arms = {name: lambda rng, size: rng.normal(1.0, 0.1, size) for name in ("rough", "fine")}
    >>> result = cr.play(table, arms, draws=1000)
    >>> result.draws, result.stopped
    (1000, 'draws')
    """
    known_settings("play", options, ("draws", "settings", *Options.__annotations__))
    named, run_settings = as_arms(arms), settings_of(draws, **options)
    if isinstance(table, str):
        return _play_kind(table, named, run_settings, settings or {})
    lacking = [name for name in _NEEDED if not hasattr(table, name)]
    if lacking:
        raise PlanError(
            f"table must be a kind of table or a table; {table!r} has no {', '.join(lacking)}"
        )
    own = {"rng", "width", "confidence", "clock"} & set(options)
    if getattr(table, "store", None) is not None and options.get("store") is not None:
        own.add("store")
    if own or settings is not None:
        given = ", ".join(sorted({*own, *([] if settings is None else ["settings"])}))
        raise PlanError(
            f"the table has its own {given}: leave this out, or give the name of a kind of table"
        )
    return _play_table(table, named, run_settings)


#: The attributes of a table that the loop uses.
_NEEDED = ("plan", "tickets", "interval", "ask", "tell", "ask_again", "progress", "result")


def _play_kind(
    name: str, arms: tuple[Arm, ...], run_settings: RunSettings, settings: Mapping[str, Any]
) -> Result:
    kind = kind_of(name)
    if run_settings.kept == "guaranteed" and kind.combiner is None:
        raise PlanError(
            f"interval='guaranteed' is not possible at a table of the kind {name!r}, because it "
            "does not bet on every batch: use cr.estimate, cr.stratify or a cr.Allocator"
        )
    if run_settings.anytime and not kind.anytime:
        raise PlanError(
            f"anytime=True is not possible at a table of the kind {name!r}: give rtol= or atol= to "
            "stop early"
        )
    if kind.combiner is not None:
        raise PlanError(
            f"a table of the kind {name!r} needs a policy and a combiner: use cr.estimate or "
            "cr.stratify, or play a cr.Allocator"
        )
    executors = run_settings.executors(arms)
    plan = run_settings.plan(
        arms,
        executors,
        table=name,
        settings=settings,
        policy={"name": name},
        combine=name,
        versions=tuple([arm.version for arm in arms]),
        bounds=tuple([arm.bounds for arm in arms]),
        cost_bounds=tuple([arm.cost_bounds for arm in arms]),
    )
    return conduct(kind.make, plan, arms, run_settings, executors)


def _play_table(table: Table, arms: tuple[Arm, ...], run_settings: RunSettings) -> Result:
    plan, names = table.plan, {str(arm.name) for arm in arms}
    if names != set(plan.names):
        differing = ", ".join(sorted(names ^ set(plan.names)))
        raise PlanError(f"arms must have the same names as in the table; not in both: {differing}")
    if plan.unit != (unit := run_settings.budget.unit):
        raise PlanError(
            f"the unit of the table is {plan.unit}, but the budget is in {unit}: "
            "give a budget in the unit of the table"
        )

    def make(planned: Plan, interval: Interval) -> Table:
        if planned != plan:
            raise PlanError(
                "the store has another seed or width than the table: give the name of a kind of "
                "table to continue the stored run"
            )
        if run_settings.aim.given or run_settings.anytime:
            table.interval = interval
        return table

    return conduct(make, plan, arms, run_settings.of(plan), run_settings.executors(arms))
