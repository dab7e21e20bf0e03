"""The race of nets as a kind of table, for the registry in tables/base.py."""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.arms.base import Arm
from croupier.data.draws import Floats
from croupier.data.plan import Plan
from croupier.functions.function import INTEGRAND, Function
from croupier.integration.net_arm import NetArm
from croupier.integration.race import Race
from croupier.results.rows import RowMeaning
from croupier.spaces.axes import Axes, Bounds
from croupier.tables.base import Example, Kind

__all__ = ["KIND"]


def _example() -> Example:
    """Return the integral of exp(x + y) max(x - y, 0) over the unit square."""
    integrand, square = Function(_kinked, "all", INTEGRAND), Axes((Bounds(0.0, 1.0),) * 2)
    names = ("identity", "separable", "normal")
    plan = Plan(
        names, 7, table="race", settings={"dimension": 2}, policy={"name": "race"}, combine="race"
    )
    arms = [Arm(NetArm(integrand, square, name), name) for name in names]
    return Example(plan, tuple(arms))


def _kinked(x: Floats) -> Floats:
    return np.asarray(np.exp(x.sum(axis=1)) * np.maximum(x[:, 0] - x[:, 1], 0))


KIND: Final = Kind(
    "race",
    make=Race,
    anytime=False,
    own_arms=True,
    example=_example,
    rows=RowMeaning(
        arms="families",
        untested="the points of a net are not independent",
        efficiency="precision per evaluation of the nets so far, relative to the best family",
    ),
)
