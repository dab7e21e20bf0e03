"""Plays the mixture of a family with its settings, and returns the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.arms.base import Arm
from croupier.checks import count_of, shares_of
from croupier.errors import PlanError
from croupier.importance.mixture_table import Mixture
from croupier.importance.proposal_arms import Proposed
from croupier.importance.proposals import in_order
from croupier.results.result import Result
from croupier.running.loop import conduct
from croupier.running.settings import RunSettings

if TYPE_CHECKING:
    from croupier.importance.family import Family

__all__ = ["MixtureOptions", "run_mixture", "tuned_names"]


#: The kind of table, and what its plan says where others name a policy and a combiner.
MIXED: Final = "mixture"


@dataclass(frozen=True)
class MixtureOptions:
    """How a mixture is dealt: see `Family.estimate` and `Family.tune`.

    `tune` is the number of normal proposals that are fitted during the run. `spread` says whether
    their covariance is fitted too.
    """

    proportions: str | Mapping[str, float] | Sequence[float] = "learned"
    tune: int = 0
    spread: bool = True


def run_mixture(family: Family, options: MixtureOptions, settings: RunSettings) -> Result:
    """Play the mixture of a family."""
    _check(family, settings)
    shares = _shares(family, options.proportions)
    learned = _fitted_names(family, options.tune, shares)
    arms = _arms(family, learned)
    executors = settings.executors(arms)
    plan = settings.plan(
        arms,
        executors,
        table=MIXED,
        settings={
            "proportions": shares,
            "tune": len(learned),
            "spread": bool(options.spread),
            "normalised": family.normalised,
        },
        policy={"name": MIXED},
        combine=MIXED,
    )
    return conduct(Mixture, plan, arms, settings, executors)


def _check(family: Family, settings: RunSettings) -> None:
    budget = settings.budget
    if settings.kept == "guaranteed":
        raise PlanError(
            "interval='guaranteed' is not possible for a mixture: every look weights all draws "
            "again, so its draws have no bounds that are known before; use "
            "cr.estimate(family.arms(), interval='guaranteed') with bounds for every arm"
        )
    if settings.anytime:
        raise PlanError(
            "anytime=True is not possible for a mixture: every look weights all draws again, and "
            "no interval is known that holds at all looks; give rtol= or atol= to stop early, or "
            "use cr.estimate(family.arms(), anytime=True)"
        )
    if budget.draws is not None and budget.draws < 2 * len(family):
        raise PlanError(
            f"draws={budget.draws} is too small for {len(family)} proposals: give at least "
            f"{2 * len(family)} draws, better {32 * len(family)}, or fewer proposals"
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
        raise PlanError(f"proportions must be {len(family)} numbers, got {proportions!r}")
    return list(shares)


def _fitted_names(family: Family, tune: int, shares: str | list[float]) -> tuple[str, ...]:
    fit = 0 if tune == 0 else count_of("tune", tune)
    if fit and not isinstance(shares, str):
        raise PlanError(
            "proportions has no number for the proposals that tune= fits: give "
            "proportions='learned' or proportions='equal', or leave tune out"
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


def tuned_names(names: Sequence[str], tune: int) -> tuple[str, ...]:
    """Return names for the proposals that will be fitted; none of them is in `names`."""
    prefix = "tuned"
    while any(name.startswith(f"{prefix} ") for name in names):
        prefix += "'"
    return tuple(f"{prefix} {k + 1}" for k in range(tune))
