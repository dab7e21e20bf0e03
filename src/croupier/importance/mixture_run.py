"""From a family and its settings to a run of the mixture, and so to a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from croupier.arms.base import Arm
from croupier.checks import count_of, fraction_of, shares_of
from croupier.data.plan import MIXTURE, Clock, Plan
from croupier.errors import PlanError
from croupier.estimates.intervals import Interval
from croupier.importance.mixture import Mixture
from croupier.importance.mixture_draws import Proposed, tuned_names
from croupier.importance.proposals import in_order
from croupier.results.result import Result
from croupier.running.estimate import Budget, budget_of, conduct, staff_for
from croupier.seeds import RandomLike, seed_from
from croupier.tables.base import Progress

if TYPE_CHECKING:
    from croupier.engines.executors import ExecutorLike
    from croupier.importance.family import Family
    from croupier.store.log import Store

__all__ = ["run_mixture"]


def run_mixture(
    family: Family,
    draws: float | None,
    proportions: str | Mapping[str, float] | Sequence[float],
    tune: int,
    spread: bool,
    unbiased: bool,
    *,
    seconds: float | None = None,
    cost: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    confidence: float = 0.95,
    anytime: bool = False,
    clock: Clock = "wall",
    rng: RandomLike = None,
    workers: int | None = None,
    executor: ExecutorLike | None = None,
    width: int | None = None,
    store: str | os.PathLike[str] | Store | None = None,
    progress: bool | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> Result:
    """Play the mixture of a family: see `Family.estimate` and `Family.tune`."""
    budget = budget_of(draws, seconds, cost)
    _check(family, budget, anytime)
    shares = _shares(family, proportions)
    learned = _fitted_names(family, tune, shares)
    arms = _arms(family, learned)
    if width is not None:
        width = count_of("width", width)
    staff = staff_for(arms, workers, executor, width)
    plan = Plan(
        names=(*family.names, *learned),
        seed=seed_from(rng),
        unit=budget.unit,
        policy={
            "name": MIXTURE,
            "proportions": shares,
            "tune": len(learned),
            "spread": bool(spread),
            "rounds": "own" if unbiased else "pooled",
            "normalised": family.normalised,
        },
        combine=MIXTURE,
        confidence=fraction_of("confidence", confidence),
        width=width or (2 * staff.workers if staff else 1),
        clock=clock,
    )
    stopping = atol is not None or rtol is not None

    def table(plan: Plan, interval: Interval) -> Mixture:
        return Mixture(plan, interval=interval, stopping=stopping)

    return conduct(
        table,
        plan,
        arms,
        budget,
        staff,
        atol=atol,
        rtol=rtol,
        seeded=rng is not None,
        wide=width is not None,
        store=store,
        progress=progress,
        callback=callback,
    )


def _check(family: Family, budget: Budget, anytime: bool) -> None:
    if anytime:
        raise PlanError(
            "anytime=True is not for a mixture: it weighs all draws anew at every look, and no "
            "interval is known that would hold at all of them; give rtol= or atol= to stop early, "
            "or cr.estimate(family.arms(), anytime=True)"
        )
    if budget.draws is not None and budget.draws < 2 * len(family):
        raise PlanError(
            f"draws={budget.draws} do not suffice for {len(family)} proposals: give at least "
            f"{2 * len(family)}, better {32 * len(family)}, or fewer proposals"
        )
    if budget.cost is not None and family.costs is None:
        raise PlanError("cost= is a budget, but the family has no costs: give Family(costs=...)")


def _shares(family: Family, proportions: Any) -> str | list[float]:
    if isinstance(proportions, str):
        if proportions not in ("learned", "equal"):
            raise PlanError(
                f"proportions must be 'learned', 'equal' or one number per proposal, "
                f"got {proportions!r}"
            )
        return proportions
    proportions = in_order("proportions", family.names, proportions)
    shares = shares_of("proportions", proportions)
    if shares is None or len(shares) != len(family):
        raise PlanError(f"proportions needs {len(family)} numbers, got {proportions!r}")
    return list(shares)


def _fitted_names(family: Family, tune: int, shares: str | list[float]) -> tuple[str, ...]:
    fit = 0 if tune == 0 else count_of("tune", tune)
    if fit and not isinstance(shares, str):
        raise PlanError(
            "proportions are fixed, but there is no number for a proposal that is fitted: "
            "use 'learned' or 'equal', or leave tune out"
        )
    return tuned_names(family.names, fit)


def _arms(family: Family, learned: Sequence[str]) -> list[Arm]:
    costs: list[float | None] = [None] * (len(family) + len(learned))
    if family.costs is not None:
        costs = [*family.costs, *([float(np.mean(family.costs))] * len(learned))]
    return [
        Arm(Proposed(family, k, name, costs[k]), name=name)
        for k, name in enumerate((*family.names, *learned))
    ]
