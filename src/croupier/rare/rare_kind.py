"""The table of one limit state as a kind of table, for the registry in tables/base.py."""

from __future__ import annotations

from typing import Final

from croupier.arms.base import Arm
from croupier.data.draws import Floats
from croupier.data.plan import Plan
from croupier.functions.function import LIMIT_STATE, Function
from croupier.rare.limit_state import Evaluated, LimitState
from croupier.rare.rare_table import PHASES, RareTable, loss
from croupier.results.rows import RowMeaning
from croupier.spaces.read_space import read_space
from croupier.tables.base import Example, Kind

__all__ = ["KIND"]


def _corner(x: Floats) -> Floats:
    return 3.0 - x[:, 0]


def _example() -> Example:
    limit = LimitState(Function(_corner, "all", LIMIT_STATE), read_space(2), 0.0)
    plan = Plan(
        PHASES, 7, table="probability", settings={"dimension": 2, "states": 1},
        policy={"name": "probability"}, combine="probability",
    )  # fmt: skip
    return Example(plan, tuple([Arm(Evaluated(limit), name=name) for name in PHASES]))


KIND: Final = Kind(
    "probability",
    make=RareTable,
    shared_mean=False,
    anytime=False,
    example=_example,
    loss=loss,
    rows=RowMeaning(arms="phases", untested="only the fresh draws of the estimate count"),
)
