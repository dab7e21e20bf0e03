"""Combiners: what each weighs, and what the guarded one survives."""

from __future__ import annotations

import numpy as np
import pytest

from croupier.data.draws import Batch, Draws
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.data.reduce_batch import chunks_of, outcome_of
from croupier.errors import PlanError
from croupier.estimates.combiners import (
    as_combiner,
    guarded,
    inverse_variance,
    mean,
    name_of,
    pool,
)


def ledger_of(*samples, costs=None, first=0):
    """Return the ledger of arms with the given draws (and a cost per draw each)."""
    names = tuple(f"arm {k}" for k in range(len(samples)))
    plan = Plan(names=names, seed=0, unit="draws" if costs is None else "cost")
    ledger = Ledger(len(samples), first=first)
    for k, sample in enumerate(samples):
        if len(sample):
            batch = Batch(k, names[k], len(sample), 0)
            cost = None if costs is None else costs[k]
            ledger.add(k, outcome_of(plan, batch, chunks_of(batch, Draws(sample, cost))))
    return ledger


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_mean_weighs_every_draw_alike():
    assert mean(ledger_of(np.ones(30), np.arange(10.0))).ravel().tolist() == [0.75, 0.25]


def test_inverse_variance_weighs_a_draw_by_its_arms_precision():
    weights = inverse_variance(ledger_of([0.0, 2.0], [0.0, 1.0]))
    assert weights.ravel() == pytest.approx([0.2, 0.8])


def test_inverse_variance_gives_an_arm_that_never_varied_no_weight():
    weights = inverse_variance(ledger_of([0.0, 2.0, 1.0], [5.0, 5.0, 5.0]))
    assert weights.ravel().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("combiner", [mean, inverse_variance, guarded])
def test_arms_that_all_stood_still_are_averaged_plainly(combiner):
    weights = combiner(ledger_of(np.full(3, 2.0), np.full(1, 2.0)))
    assert weights.ravel().tolist() == [0.75, 0.25]


def test_guarded_weights_of_equal_arms_are_those_of_their_draws():
    ledger = ledger_of(*(rng(seed).normal(size=1000) for seed in range(5)))
    assert guarded(ledger).ravel() == pytest.approx(np.full(5, 0.2), rel=0.02)


def test_guarded_weights_survive_an_arm_that_has_not_yet_seen_its_rare_event():
    rare = np.zeros(50)
    ledger = ledger_of(rng().normal(1.0, 1.0, 5000), rare)
    pooled = pool(ledger, guarded)
    assert pooled.weights[1, 0] < 0.01
    assert abs(ledger.scale.value_of(pooled.mean)[0] - 1.0) < 4 / np.sqrt(5000)


def test_guarded_weights_forgive_an_arm_that_looks_a_little_worse():
    """Without forgiveness many equal skewed arms lose weight exactly when they have seen a tail."""
    leader, lucky = rng(1).exponential(size=2000), rng(2).exponential(size=100)
    worse = 1 + (lucky - 1) * 1.1
    share = guarded(ledger_of(leader, worse)).ravel()[1] / (100 / 2100)
    assert share == pytest.approx(1.0, rel=0.01)


def test_guarded_weights_distrust_a_mean_that_disagrees_with_the_leader():
    leader, odd = rng(3).normal(1.0, 1.0, 5000), rng(4).normal(9.0, 0.01, 100)
    assert guarded(ledger_of(leader, odd))[1, 0] < 1e-3


def test_no_arm_counts_for_more_per_cost_than_the_leader():
    """A cheap arm with a tiny sample variance does not take the estimate over."""
    ledger = ledger_of(rng(5).normal(size=1000), rng(6).normal(0, 1e-3, 100), costs=[10.0, 1.0])
    weights = guarded(ledger).ravel()
    assert weights[1] / weights[0] == pytest.approx(0.1 * 100 / 1000)


def test_the_leaders_weight_is_never_guarded():
    ledger = ledger_of(rng(7).normal(0, 5.0, 1000), rng(8).normal(0, 0.1, 900))
    weights = guarded(ledger).ravel()
    assert weights[0] / weights[1] == pytest.approx(1000 / 900)


def test_components_are_weighed_apart_from_each_other():
    one = rng(9).normal(size=(1000, 2)) * [1.0, 10.0]
    other = rng(10).normal(size=(1000, 2)) * [10.0, 1.0]
    weights = inverse_variance(ledger_of(one, other))
    assert weights[0, 0] > 0.98
    assert weights[1, 1] > 0.98


def test_the_pooled_variance_of_one_arm_is_its_variance_over_its_draws():
    draws = rng(11).normal(3.0, 2.0, 400)
    ledger = ledger_of(draws)
    pooled = pool(ledger, guarded)
    assert ledger.scale.value_of(pooled.mean)[0] == pytest.approx(draws.mean(), rel=1e-12)
    stderr = ledger.scale.spread_of(np.sqrt(pooled.variance))[0]
    assert stderr == pytest.approx(draws.std(ddof=1) / 20, rel=1e-12)
    assert pooled.df[0] == pytest.approx(ledger.df[0, 0])


def test_arms_that_disagree_widen_the_pooled_variance_by_their_distance():
    one, other = [0.0, 1.0] * 50, [10.0, 11.0] * 50
    ledger = ledger_of(one, other)
    stderr = ledger.scale.spread_of(np.sqrt(pool(ledger, mean).variance))[0]
    assert stderr**2 == pytest.approx(np.var([*one, *other], ddof=1) / 200, rel=1e-12)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (1, 5, 30), (400, 3, 1)])
def test_with_equal_weights_the_pooled_variance_is_that_of_one_sample(sizes):
    samples = [rng(k).exponential(size=size) for k, size in enumerate(sizes)]
    ledger = ledger_of(*samples)
    together = np.concatenate(samples)
    stderr = ledger.scale.spread_of(np.sqrt(pool(ledger, mean).variance))[0]
    assert stderr == pytest.approx(together.std(ddof=1) / np.sqrt(len(together)), rel=1e-12)


def test_the_leader_is_the_arm_that_got_most_beyond_its_first_draws():
    """Four draws at a price of 300 do not lead three hundred draws at a price of 1."""
    expensive, cheap = rng(12).normal(0.0, 1.0, 4), rng(13).normal(0.0, 1.0, 300)
    # Without first draws, it is the arm with the most cost.
    assert ledger_of(expensive, cheap, costs=[300.0, 1.0]).leader == 0
    ledger = ledger_of(expensive, cheap, costs=[300.0, 1.0], first=4)
    assert ledger.leader == 1
    assert ledger.preferred.tolist() == [0.0, 296.0]
    assert guarded(ledger)[1, 0] > 0.9


def test_an_arm_with_the_most_cost_leads_while_there_are_first_draws_only():
    ledger = ledger_of([1.0, 2.0], [1.0, 3.0, 2.0], costs=[3.0, 1.0], first=4)
    assert ledger.leader == 0
    assert not ledger.is_led


def test_many_arms_with_few_draws_are_averaged_plainly():
    """The lucky arms among a hundred look precise: weights by their variances would choose them."""
    samples = [rng(k).normal(size=3) for k in range(100)]
    samples[7] = rng(7).normal(size=53)
    assert ledger_of(*samples, first=2).is_led
    ledger = ledger_of(*samples, first=4)
    assert not ledger.is_led  # the leader has 49 draws more, less than half a draw per arm
    assert np.array_equal(guarded(ledger), mean(ledger))


def test_unknown_combiners_are_refused_with_the_list_of_known_ones():
    with pytest.raises(PlanError, match=r"'best'.*guarded, mean, inverse-variance"):
        as_combiner("best")


def test_a_combiner_of_ones_own_is_used_and_named():
    def first(ledger):
        return np.eye(len(ledger))[0]

    ledger = ledger_of([1.0, 2.0], [5.0, 6.0])
    assert ledger.scale.value_of(pool(ledger, first).mean)[0] == 1.5
    assert name_of(as_combiner(first)).endswith("first")
    assert name_of(guarded) == "guarded"


def test_weights_that_do_not_sum_to_one_are_refused():
    with pytest.raises(PlanError, match="must sum to 1"):
        pool(ledger_of([1.0, 2.0]), lambda ledger: np.full((1, 1), 0.5))
