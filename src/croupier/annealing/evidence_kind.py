"""The table of one model as a kind of table, for the registry in tables/base.py."""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.annealing.coordinates import coordinates_of
from croupier.annealing.evidence_arm import Evaluating
from croupier.annealing.evidence_table import PHASES, EvidenceTable, loss
from croupier.annealing.models import Model
from croupier.arms.base import Arm
from croupier.data.draws import Floats
from croupier.data.plan import Plan
from croupier.functions.function import LOG_LIKELIHOOD, Function
from croupier.results.rows import RowMeaning
from croupier.spaces.read_space import read_space
from croupier.tables.base import Example, Kind

__all__ = ["KIND"]


def _bowl(x: Floats) -> Floats:
    return np.asarray(-2 * np.square(x - 1).sum(axis=1))


def _example() -> Example:
    function = Function(_bowl, "all", LOG_LIKELIHOOD)
    model = Model("evidence", function, read_space(2), np.ones(2))
    arm = Evaluating(model, coordinates_of(model))
    plan = Plan(
        PHASES, 7, table="evidence", log=True,
        settings={"dimension": 2, "bounded": [False, False], "gradient": False},
        policy={"name": "evidence"}, combine="evidence",
    )  # fmt: skip
    return Example(plan, tuple([Arm(arm, name=name) for name in PHASES]))


KIND: Final = Kind(
    "evidence",
    make=EvidenceTable,
    shared_mean=False,
    anytime=False,
    example=_example,
    loss=loss,
    rows=RowMeaning(arms="phases", untested="only the fresh draws of the estimate count"),
)
