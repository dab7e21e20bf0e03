"""Strata: arms with different means and known weights. They are dealt like independent arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from croupier.checks import shares_of
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.combiners import Stratified
from croupier.policies import MCUCB, Policy
from croupier.policies.base import epochs_of
from croupier.results.rows import RowMeaning
from croupier.tables.base import Example
from croupier.tables.independent import example_arms, kind_of_arms

__all__ = ["KIND", "combiner_of", "loss", "strata_of"]


def combiner_of(plan: Plan) -> Stratified:
    """Return the combiner that weights strata by the weights in the settings of a plan."""
    weights = shares_of("weights", plan.settings.get("weights"))
    if weights is None:
        raise PlanError("strata need weights: give settings={'weights': [...]}, or use cr.stratify")
    if len(weights) != len(plan.names):
        raise PlanError(
            f"weights must have one entry per arm ({len(plan.names)} in all), got {weights!r}"
        )
    growth = plan.settings.get("epochs")
    if growth is not None and not (isinstance(growth, int | float) and 1.1 <= growth <= 100):
        raise PlanError(f"epochs must be a number between 1.1 and 100, got {growth!r}")
    if plan.combine != Stratified.name:
        raise PlanError(
            f"strata are combined by their weights: give combine={Stratified.name!r}, "
            f"got combine={plan.combine!r}"
        )
    return Stratified(weights)


def strata_of(weights: Sequence[float], policy: Policy) -> dict[str, Any]:
    """Return the fields of a plan that make its arms strata with these weights.

    The plan also needs ``combine="strata"``. If the policy deals in epochs, the plan says how they
    grow, and the means of the strata are taken epoch by epoch: see `croupier.data.epochs`.

    >>> strata_of([0.5, 0.5], MCUCB())
    {'table': 'strata', 'settings': {'weights': [0.5, 0.5], 'epochs': 2.0}}
    """
    settings: dict[str, Any] = {"weights": list(weights)}
    if (growth := epochs_of(policy)) is not None:
        settings["epochs"] = growth
    return {"table": KIND.name, "settings": settings}


def loss(plan: Plan, ledger: Ledger, price: Floats, variance: Floats) -> Floats:
    """Return the inverse of what one more draw adds to the precision, per cost.

    One more draw of a stratum reduces the variance of the estimate by w^2 V/n^2.
    """
    w = np.array(plan.settings["weights"])
    return np.asarray(price * np.square(ledger.count / w) / variance)


def _example() -> Example:
    plan = Plan(
        ("a", "b", "c"), 7, policy={"name": "mc-ucb"}, combine=Stratified.name,
        **strata_of([0.5, 0.3, 0.2], MCUCB()),
    )  # fmt: skip
    return Example(plan, example_arms())


KIND: Final = kind_of_arms(
    "strata",
    combiner_of,
    example=_example,
    shared_mean=False,
    rows=RowMeaning(
        arms="strata",
        untested="each stratum has its own mean",
        efficiency="what one more draw would add to the precision, per cost, relative to the best",
    ),
    loss=loss,
)
