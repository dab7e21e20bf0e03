"""Continuum: the arms are points of a box. They are dealt and combined like independent arms."""

from __future__ import annotations

from typing import Any, Final

from croupier.data.plan import Plan
from croupier.estimates.combiners import Combiner, as_combiner
from croupier.estimates.neighbour_weights import NeighbourWeights
from croupier.results.rows import RowMeaning
from croupier.tables.base import Example
from croupier.tables.independent import example_arms, kind_of_arms

__all__ = ["KIND", "continuum_of"]


def continuum_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan that make its arms points of a box.

    >>> continuum_of({"box": {"drift": [0.0, 1.0]}, "points": [[0.0], [1.0]]})["table"]
    'continuum'
    """
    return {"table": KIND.name, "settings": settings}


def _combiner(plan: Plan) -> Combiner:
    if plan.combine == NeighbourWeights.name:
        return NeighbourWeights(plan.settings["points"])
    return as_combiner(plan.combine)


def _example() -> Example:
    settings = {"box": {"spread": [0.0, 2.0]}, "points": [[0.0], [1.0], [2.0]]}
    policy = {"name": "smooth-thompson"}
    return Example(
        Plan(
            ("a", "b", "c"),
            7,
            policy=policy,
            combine=NeighbourWeights.name,
            **continuum_of(settings),
        ),
        example_arms(),
    )


KIND: Final = kind_of_arms(
    "continuum",
    _combiner,
    example=_example,
    rows=RowMeaning(arms="points", one_estimator=True),
)
