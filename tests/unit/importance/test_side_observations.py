"""Side observations: the variance of every arm from the points of all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.data.ledger import Ledger
from croupier.importance import Family, SideThompson
from croupier.importance.side_observations import SHOWN, side_variance

#: E exp(x): the variance of shift a is exp(1) (exp((1 - a)^2) - 1).
SHIFTS = np.array([0.0, 0.5, 0.8, 1.6])
FAMILY = Family.tilted(lambda x: np.exp(x[:, 0]), SHIFTS)
EXACT = np.e * (np.exp(np.square(1 - SHIFTS)) - 1)


def seen(draws: int, scale: float = 1.0) -> tuple[object, Ledger]:
    """Return the state and the ledger after `draws` draws of each arm."""
    family = Family.tilted(lambda x: scale * np.exp(x[:, 0]), SHIFTS)
    table = cr.Allocator(list(family.names), rng=7)
    policy = SideThompson(memory=10**6)
    state = policy.start(table.plan)
    ledger = Ledger(len(family))
    for j, arm in enumerate(family.arms(side=True)):
        from croupier.data.draws import Batch
        from croupier.engines.perform import perform

        for ticket in range(draws // SHOWN):
            batch = Batch(100 * j + ticket, str(arm.name), SHOWN, 7)
            outcome = perform(table.plan, arm, batch, policy.digest)
            ledger.add(j, outcome)
            state = policy.learn(state, ledger, j, outcome.extra["policy"])
    return state, ledger


@pytest.mark.parametrize("scale", [1.0, 2.0**300, 2.0**-300])
def test_every_variance_is_known_from_the_points_of_all(scale: float) -> None:
    state, ledger = seen(1600, scale)
    V, df = side_variance(state, ledger)  # type: ignore[arg-type]
    measured = np.ldexp(V[:, 0] / scale / scale, 2 * int(ledger.exponent[0]))
    z = (measured / EXACT - 1) / np.sqrt(2 / df[:, 0])
    assert np.abs(z).max() < 4
    # Far better known than from the own draws of each arm.
    assert (df > 2 * ledger.df).all()


def test_what_a_proposal_does_not_reach_is_not_known_from_others() -> None:
    family = Family(stats.uniform(), {"half": stats.uniform(0, 0.5), "whole": stats.uniform()})
    result = cr.estimate(family.arms(side=True), draws=2000, policy=SideThompson(), rng=7)
    assert result.draws == 2000


def test_less_is_spent_on_finding_out() -> None:
    def spent_well(policy: cr.policies.Policy | str) -> float:
        arms = FAMILY.arms(side=True)
        runs = [cr.estimate(arms, draws=400, policy=policy, rng=seed) for seed in range(20)]
        shares = np.array([[row.draws for row in run.arms] for run in runs]) / 400
        return float((shares @ EXACT).mean() / EXACT.min())

    assert spent_well(SideThompson()) < spent_well("auto")


def test_the_same_bits_on_workers_and_with_a_memory_that_is_full() -> None:
    arms, policy = FAMILY.arms(side=True), SideThompson(memory=100)
    settings = {"draws": 3000, "policy": policy, "rng": 7, "width": 4}
    serial = cr.estimate(arms, **settings)  # type: ignore[arg-type]
    assert cr.estimate(arms, workers=2, **settings).value == serial.value  # type: ignore[arg-type]


def test_arms_without_points_are_refused() -> None:
    with pytest.raises(cr.PlanError, match=r"give arms=family\.arms\(side=True\)"):
        cr.estimate(FAMILY.arms(), draws=100, policy=SideThompson(), rng=7)
    arms = [*FAMILY.arms(side=True), *Family(stats.norm(), {"x": stats.norm()}).arms(side=True)]
    with pytest.raises(cr.PlanError, match="all arms of one family and no other arms"):
        cr.estimate(arms, draws=100, policy=SideThompson(), rng=7)
