"""The audit: a share of the budget that lets another arm contradict the leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.tables.audit import audit_of

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def normal(mean: float = 1.0, spread: float = 1.0) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(mean, spread, size)


def euler(steps: int, cost: float) -> Callable[..., Any]:
    """Return growth by Euler steps: its mean is (1 + 1/steps)^steps, and not e."""

    def draw(rng: np.random.Generator, size: int) -> cr.Draws:
        growth = (1 + 1 / steps) ** steps
        return cr.Draws(rng.normal(growth, 1.0, size), np.full(size, cost))

    return draw


def test_another_arm_gets_its_share_when_the_leader_has_nearly_everything() -> None:
    arms = {"fine": normal(spread=0.1), "rough": normal(spread=3.0)}
    audited = cr.estimate(arms, draws=200_000, rng=7)
    alone = cr.estimate(arms, draws=200_000, rng=7, audit=0)
    assert alone.arms["rough"].share < 0.005
    assert 0.009 < audited.arms["rough"].share < 0.015
    assert audited.unnoticed < 0.6 * alone.unnoticed


def test_an_audit_spends_no_more_than_its_share() -> None:
    arms = {"fine": normal(spread=0.1), "rough": normal(spread=3.0), "bad": normal(spread=9.0)}
    result = cr.estimate(arms, draws=100_000, rng=7, audit=0.05)
    assert 0.045 < 1 - result.arms["fine"].share < 0.07


def test_a_cheap_biased_arm_is_contradicted_by_the_audit() -> None:
    """Step counts as arms: the coarse arm leads, and the others do not testify without an audit."""
    arms = {f"euler-{n}": euler(n, float(n)) for n in (8, 64, 512)}
    policy = cr.policies.VarianceThompson(floor=0)
    without = cr.estimate(arms, cost=8e6, rng=7, policy=policy, audit=0)
    audited = cr.estimate(arms, cost=8e6, rng=7, policy=policy)
    assert audited.leader == without.leader == "euler-8"
    assert not any("disagree" in warning for warning in without.warnings)
    assert any("disagree" in warning for warning in audited.warnings)


def test_a_result_says_which_bias_would_not_have_been_noticed() -> None:
    arms = {"fine": normal(spread=0.1), "rough": normal(spread=3.0)}
    result = cr.estimate(arms, draws=20_000, rng=7)
    rough, fine = result.arms["rough"], result.arms["fine"]
    joint = np.hypot(rough.stderr, fine.stderr)
    assert result.unnoticed == pytest.approx((3.2905 + 1) * joint, rel=1e-3)
    assert "in 'fine' would not have been noticed" in str(result)
    assert result.to_dict()["unnoticed"] == result.unnoticed


def test_a_bias_that_is_larger_than_that_is_noticed() -> None:
    arms = {"fine": normal(spread=0.1), "rough": normal(spread=3.0)}
    limit = cr.estimate(arms, draws=20_000, rng=7).unnoticed
    noticed = 0
    for seed in range(40):
        biased = {"fine": normal(1 + limit, 0.1), "rough": normal(spread=3.0)}
        result = cr.estimate(biased, draws=20_000, rng=seed)
        noticed += any("disagree" in warning for warning in result.warnings)
    assert 27 <= noticed <= 39  # 84 % of 40 is 33.6, with a standard error of 2.3


def test_nothing_is_unnoticed_where_nothing_is_compared() -> None:
    assert cr.estimate({"a": normal()}, draws=1000, rng=7).unnoticed is None
    strata = cr.stratify({"a": normal(), "b": normal(2.0)}, [0.5, 0.5], draws=1000, rng=7)
    assert strata.unnoticed is None
    assert "noticed" not in str(strata)


def test_vectors_have_one_unnoticed_bias_for_each_component() -> None:
    def pair(spread: float) -> Callable[..., Any]:
        return lambda rng, size: rng.normal([1.0, 10.0], spread, (size, 2))

    result = cr.estimate({"fine": pair(0.1), "rough": pair(1.0)}, draws=20_000, rng=7)
    assert result.unnoticed.shape == (2,)
    assert "(component 0) would not have been noticed" in str(result)


def test_the_paper_and_strata_are_not_audited() -> None:
    usual = {"name": "variance-thompson"}
    assert audit_of(usual, "growing", shared_mean=True) == 0.01
    assert audit_of(usual, "one", shared_mean=True) == 0
    assert audit_of(usual, "growing", shared_mean=False) == 0
    assert audit_of({"name": "ucb1"}, "growing", shared_mean=True) == 0


@pytest.mark.parametrize("audit", [-0.1, 1.0, "much"])
def test_a_share_that_is_none_is_refused(audit: Any) -> None:
    with pytest.raises(cr.PlanError, match="audit must be"):
        cr.estimate({"a": normal(), "b": normal()}, draws=100, audit=audit)


def test_an_audit_of_strata_is_refused() -> None:
    with pytest.raises(cr.PlanError, match="nothing to audit"):
        cr.stratify({"a": normal(), "b": normal()}, [0.5, 0.5], draws=100, audit=0.01)
