"""The settings of a run: one frozen object, made and checked once, when the run is called.

The plan has everything that decides the numbers of a run. The rest is only here: when the run
stops, which processes draw, where it is stored and how its progress is shown.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, Unpack

from croupier.arms.base import Arm
from croupier.checks import choice, count_of, known_settings, positive
from croupier.data.plan import Batching, Clock, Plan, Unit
from croupier.errors import CroupierWarning, PlanError, callers_level
from croupier.estimates.bet_sums import Horizon
from croupier.estimates.intervals import Anytime, FixedSize, Guaranteed, Interval, ManyLooks
from croupier.running.stopping import (
    Rule,
    any_of,
    asked_to,
    out_of_cost,
    out_of_draws,
    out_of_time,
    precise,
)
from croupier.seeds import RandomLike, seed_from
from croupier.tables.aim import Aim
from croupier.tables.base import Progress

if TYPE_CHECKING:
    from croupier.engines.choose_engine import ExecutorLike, Executors
    from croupier.store.log import Store

__all__ = [
    "AnytimeKind",
    "ArmOptions",
    "Budget",
    "Options",
    "RunSettings",
    "anytime_kind_of",
    "settings_of",
    "split_options",
]  # fmt: skip


#: The intervals that hold at all times, by name.
AnytimeKind: TypeAlias = Literal["anytime", "guaranteed"]


class Options(TypedDict, total=False):
    """The keyword arguments of every run, at any table; `estimate` describes them."""

    seconds: float | None
    cost: float | None
    atol: float | None
    rtol: float | None
    confidence: float
    anytime: bool
    interval: AnytimeKind | None
    clock: Clock
    rng: RandomLike
    workers: int | None
    executor: ExecutorLike | None
    width: int | None
    store: str | os.PathLike[str] | Store | None
    progress: bool | None
    callback: Callable[[Progress], object] | None


class ArmOptions(Options, total=False):
    """The keyword arguments of a run of independent arms, except policy and combiner."""

    draws: float | None
    objective: Sequence[float] | None
    log: bool
    batch: Batching
    keep_values: bool
    audit: float | None
    names: Sequence[str] | None


@dataclass(frozen=True)
class Budget:
    """What a run may spend, and the unit of its costs."""

    draws: int | None
    seconds: float | None
    cost: float | None

    @property
    def unit(self) -> Unit:
        """The unit of the costs: seconds if they are given, otherwise cost, otherwise draws."""
        if self.seconds is not None:
            return "seconds"
        return "draws" if self.cost is None else "cost"

    @property
    def limit(self) -> float:
        """The largest cost, in the unit of the costs; infinite if draws alone are limited."""
        limit = self.cost if self.seconds is None else self.seconds
        return math.inf if limit is None else limit

    def left(self, progress: Progress, seconds: float) -> tuple[int | None, float | None]:
        """Return the draws and the cost that are left; for seconds, the time left for the arms."""
        draws = None if self.draws is None else self.draws - progress.draws
        if self.seconds is not None:
            # A second of the run is not a second in the arms, with either clock.
            # A clock that stands still says nothing about it.
            rate = progress.cost / seconds if progress.cost and seconds > 0 else 1.0
            return draws, (self.seconds - seconds) * rate
        return draws, None if self.cost is None else self.cost - progress.cost

    def spent(self, progress: Progress) -> float:
        """Return the share of the budget that is used up, from 0 to 1."""
        used = (progress.draws, progress.seconds, progress.reported)
        limits = (self.draws, self.seconds, self.cost)
        return max(u / limit for u, limit in zip(used, limits, strict=True) if limit is not None)

    def rules(self) -> list[Rule]:
        """Return the rules that stop a run when its budget is used up."""
        rules = []
        if self.draws is not None:
            rules.append(out_of_draws(self.draws))
        if self.seconds is not None:
            rules.append(out_of_time(self.seconds))
        if self.cost is not None:
            rules.append(out_of_cost(self.cost))
        return rules


@dataclass(frozen=True)
class RunSettings:
    """All settings of a run. If no `rng` was given, `seed` is new and `seeded` is False.

    `aim` has the tolerance. `kept` is the name of an interval that holds at all times, if one was
    asked for. `started` has workers that run already.
    """

    budget: Budget
    aim: Aim
    kept: AnytimeKind | None
    confidence: float
    clock: Clock
    seed: int
    seeded: bool
    width: int | None
    workers: int | None
    executor: ExecutorLike | None
    store: str | os.PathLike[str] | Store | None
    progress: bool | None
    callback: Callable[[Progress], object] | None
    started: Executors | None = None

    @property
    def interval(self) -> Interval:
        """The interval that is valid for the way in which the run may stop."""
        if self.kept == "anytime":
            return Anytime()
        if self.kept == "guaranteed":
            return Guaranteed((self._horizon(),))
        return ManyLooks() if self.aim.given else FixedSize()

    @property
    def anytime(self) -> bool:
        """Whether the interval holds at all times, for every reason to stop."""
        return self.kept is not None

    def _horizon(self) -> Horizon:
        """Return what the run may spend. How many draws a second buys is not known before."""
        budget, aim = self.budget, self.aim
        cost = budget.cost if budget.unit == "cost" else None
        return Horizon(0, budget.draws, cost, aim.atol, aim.rtol)

    def limits(self, executors: Executors | None) -> dict[str, float]:
        """Return the budget, the tolerance and the number of workers, as far as they are given."""
        messages = {
            **vars(self.budget),
            "atol": self.aim.atol,
            "rtol": self.aim.rtol,
            "workers": None if executors is None else executors.workers,
        }
        return {name: limit for name, limit in messages.items() if limit is not None}

    def of(self, plan: Plan) -> RunSettings:
        """Return these settings with the seed and the width of an existing plan."""
        return replace(self, seed=plan.seed, seeded=True, width=plan.width)

    def bound_to(self, components: tuple[int, ...] | None) -> RunSettings:
        """Return these settings with a tolerance for these components only."""
        return replace(self, aim=replace(self.aim, components=components))

    def rule(self) -> Rule:
        """Return the rule that stops the run."""
        watched = [] if self.callback is None else [asked_to(self.callback)]
        wanted = [precise(self.aim)] if self.aim.given else []
        return any_of(*watched, *wanted, *self.budget.rules())

    def executors(self, arms: Sequence[Arm]) -> Executors | None:
        """Return the executors that perform the batches; None means this process."""
        if self.started is not None:
            return self.started
        if self.workers is None and self.executor is None:
            for arm in arms:
                if arm.timeout is not None:
                    raise PlanError(
                        f"arm {arm.name!r} has a timeout, but only a batch in another process can "
                        "be stopped when it hangs: give workers=1 or more"
                    )
            return None
        from croupier.engines.choose_engine import executors_of

        return executors_of(self.workers, self.executor, self.width)

    def plan(self, arms: Sequence[Arm], executors: Executors | None, **fields: Any) -> Plan:
        """Return the plan of a run with these settings, these arms and the fields of its table."""
        return Plan(
            names=tuple([str(arm.name) for arm in arms]),
            seed=self.seed,
            unit=self.budget.unit,
            confidence=self.confidence,
            width=self.width or (executors.ahead * executors.workers if executors else 1),
            clock=self.clock,
            **fields,
        )


#: The options of every run, at any table.
_EVERY_RUN: Final = frozenset({"draws", *Options.__annotations__})


def split_options(
    function: str, given: ArmOptions, own: Sequence[str] = ()
) -> tuple[RunSettings, dict[str, Any]]:
    """Return the settings of a run, and the other options of a function of independent arms.

    `own` has the named arguments of the function. Any other name is an error.
    """
    known_settings(function, given, (*own, *ArmOptions.__annotations__))
    shared: dict[str, Any] = {k: value for k, value in given.items() if k in _EVERY_RUN}
    return settings_of(**shared), {k: v for k, v in given.items() if k not in _EVERY_RUN}


def settings_of(draws: float | None = None, **options: Unpack[Options]) -> RunSettings:
    """Check the options of a run once, and return them as its settings.

    >>> settings_of(draws=1e4, rng=7).budget
    Budget(draws=10000, seconds=None, cost=None)
    """
    callback, width, rng = options.get("callback"), options.get("width"), options.get("rng")
    if callback is not None and not callable(callback):
        raise PlanError(f"callback must be a function of the progress, got {callback!r}")
    budget = _budget(draws, options.get("seconds"), options.get("cost"))
    return RunSettings(
        budget=budget,
        aim=Aim(
            _tolerance("atol", options.get("atol")),
            _tolerance("rtol", options.get("rtol")),
            math.inf if budget.draws is None else budget.draws,
            budget.limit,
        ),
        kept=anytime_kind_of(options.get("interval"), options.get("anytime", False)),
        confidence=options.get("confidence", 0.95),  # the plan checks it, and the clock
        clock=options.get("clock", "wall"),
        seed=seed_from(rng),
        seeded=rng is not None,
        width=None if width is None else count_of("width", width),
        workers=options.get("workers"),
        executor=options.get("executor"),
        store=options.get("store"),
        progress=options.get("progress"),
        callback=callback,
    )


def anytime_kind_of(interval: AnytimeKind | None, anytime: bool) -> AnytimeKind | None:
    """Return the name of the interval that was asked for, if it holds at all times."""
    if anytime not in (True, False):
        raise PlanError(f"anytime must be True or False, got {anytime!r}")
    if interval is None:
        return "anytime" if anytime else None
    choice("interval", interval, AnytimeKind)
    if anytime and interval != "anytime":
        raise PlanError(
            f"anytime=True and interval={interval!r} are two intervals: a guaranteed one holds at "
            "all times, too; leave anytime out"
        )
    return interval


def _budget(draws: float | None, seconds: float | None, cost: float | None) -> Budget:
    if draws is None and seconds is None and cost is None:
        raise PlanError(
            "no budget: give draws=, seconds= or cost= (a tolerance alone may never be reached)"
        )
    return Budget(
        draws=None if draws is None else count_of("draws", draws),
        seconds=None if seconds is None else positive("seconds", seconds),
        cost=None if cost is None else positive("cost", cost),
    )


def _tolerance(name: str, value: float | None) -> float | None:
    tolerance = None if value is None else positive(name, value, zero=True)
    if name == "rtol" and tolerance is not None and tolerance >= 1:
        warnings.warn(
            f"rtol={tolerance:g} is {100 * tolerance:g} % of the value (of a log, ±{tolerance:g}): "
            f"almost any run is so precise; for {tolerance:g} % give rtol={tolerance / 100:g}",
            CroupierWarning,
            stacklevel=callers_level(),
        )
    return tolerance
