"""The mixture as a kind of table, for the registry in tables/base.py."""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.arms.base import Arm
from croupier.data.draws import Floats
from croupier.data.plan import Plan
from croupier.importance.family import Family
from croupier.importance.mixture_table import Mixture
from croupier.importance.proposal_arms import Proposed
from croupier.results.rows import RowMeaning
from croupier.tables.base import Example, Kind

__all__ = ["KIND"]


def _example() -> Example:
    """Return a run of 20 proposals in equal proportions: every round has 20 tickets."""
    family = Family.tilted(_call, np.linspace(-1, 3, 20))
    settings = {
        "proportions": "equal", "tune": 0, "spread": True, "normalised": True,
    }  # fmt: skip
    named = enumerate(family.names)
    arms = tuple([Arm(Proposed(family, k, name, None), name=name) for k, name in named])
    plan = Plan(
        family.names, 7, table="mixture", settings=settings, policy={"name": "mixture"},
        combine="mixture",
    )  # fmt: skip
    return Example(plan, arms)


def _call(x: Floats) -> Floats:
    return np.maximum(x[:, 0] - 1, 0)


KIND: Final = Kind(
    "mixture",
    make=Mixture,
    anytime=False,
    example=_example,
    rows=RowMeaning(arms="proposals", untested="a single proposal may miss a part of the target"),
)
