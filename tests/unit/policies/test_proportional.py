"""Given shares: what is refused, and what the counts are."""

from __future__ import annotations

import math
from typing import Any

import pytest

import croupier as cr
from croupier.policies import Proportional

PARTS: dict[str, Any] = {s: lambda rng, n, s=s: rng.normal(0.0, float(s), n) for s in ("1", "3")}


def test_counts_follow_the_shares_and_else_the_weights() -> None:
    for policy, wanted in ((Proportional([1, 4]), [200, 800]), ("proportional", [700, 300])):
        result = cr.stratify(PARTS, [0.7, 0.3], draws=1000, policy=policy, rng=7)
        assert [row.draws for row in result.arms] == pytest.approx(wanted, abs=40)  # a batch
        assert "epochs" not in result.plan.settings  # the draws decide nothing


@pytest.mark.parametrize("wrong", [(0.0, 1.0), (-1.0, 2.0), (math.nan, 1.0), (math.inf, 1.0)])
def test_shares_that_are_no_shares_are_refused(wrong: tuple[float, float]) -> None:
    with pytest.raises(cr.PlanError, match="finite and above 0"):
        Proportional(wrong)


def test_every_stratum_needs_a_share() -> None:
    with pytest.raises(cr.PlanError, match=r"one entry per arm \(2 in all\), got 3"):
        cr.stratify(PARTS, [0.7, 0.3], draws=100, policy=Proportional([1, 1, 1]), rng=7)
