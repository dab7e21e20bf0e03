"""The ledger of epochs: means and variances that are taken epoch by epoch, in fixed proportions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from croupier.data.batch_moments import Tally
from croupier.data.epochs import EpochLedger, Schedule, new_ledger, schedule_of
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan

WEIGHTS = np.array([0.5, 0.3, 0.2])
SCHEDULE = Schedule(first=6, growth=2.0)


@dataclass
class Entry:
    size: int
    origin: Any
    exponent: Any
    moments: Any
    cost: float
    cost_m2: float = 0.0


def entry(values: Any) -> Entry:
    tally = Tally()
    tally.add(np.asarray(values, float), arm="a", ticket=0)
    moments = tally.moments()
    exponent = np.atleast_1d(np.asarray(tally.exponent, np.int64))
    return Entry(len(values), np.atleast_1d(tally.origin), exponent, moments, float(len(values)))


def empty() -> EpochLedger:
    return EpochLedger(Ledger(3), SCHEDULE, WEIGHTS)


def batches(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> list[tuple[int, Any]]:
    """Return an opening of two draws each, an epoch of 6, one of 12, and a part of the next."""
    sizes = [2, 2, 2, 1, 3, 2, 5, 2, 4, 1, 3, 1, 2]
    arms = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 1, 2]
    scale = [1.0, 10.0, 300.0]  # the unit of the ledger is raised on the way
    return [
        (arm, 7.0 + scale[arm] * rng.exponential(1.0, (size, *shape)))
        for arm, size in zip(arms, sizes, strict=True)
    ]


def by_hand(told: list[tuple[int, Any]], arm: int) -> tuple[Any, Any]:
    """Return the mean of a stratum and its variance, from the formula."""
    epochs, draws = [6, 12, 24, 48], 0
    parts: list[list[Any]] = [[] for _ in epochs]
    sizes = np.zeros(len(epochs))
    for k, values in told:
        e = next(e for e, end in enumerate(epochs) if draws < end)
        draws += len(values)
        sizes[e] += len(values)
        if k == arm:
            parts[e].append(values)
    everything = np.concatenate([one for part in parts for one in part])
    C, mean, variance = 0.0, 0.0, 0.0
    for e, part in enumerate(parts):
        if not part:
            continue
        x = np.concatenate(part)
        c = len(x) / WEIGHTS[arm] if e == 0 else sizes[e]
        s2 = (x if len(x) > 1 else everything).var(axis=0, ddof=1)
        C, mean, variance = C + c, mean + c * x.mean(axis=0), variance + c * c * s2 / len(x)
    return mean / C, variance / C**2


@pytest.mark.parametrize("shape", [(), (2,)], ids=["numbers", "vectors"])
def test_means_and_variances_are_those_of_the_formula(shape: tuple[int, ...]) -> None:
    ledger, told = empty(), batches(np.random.default_rng(7), shape)
    for arm, values in told:
        ledger.add(arm, entry(values))
    seen = ledger.for_estimate
    for arm in range(3):
        mean, variance = by_hand(told, arm)
        error2 = seen.variance[arm] / seen.count[arm]
        found = ledger.scale.value_of(seen.mean)[arm]
        assert found == pytest.approx(np.atleast_1d(mean), rel=1e-12)
        assert ledger.scale.spread_of(np.sqrt(error2)) == pytest.approx(
            np.sqrt(np.atleast_1d(variance)), rel=1e-9
        )
    # The means differ from the plain ones, and are worth at most as many draws.
    assert not np.allclose(seen.mean, ledger.mean, rtol=1e-3, atol=0)
    assert (seen.count <= ledger.count + 1e-9).all()
    assert ledger.draws == sum(len(values) for _, values in told)


def test_equal_counts_in_every_epoch_give_the_plain_means() -> None:
    ledger = EpochLedger(Ledger(3), SCHEDULE, np.full(3, 1 / 3))
    rng = np.random.default_rng(7)
    for _ in range(10):
        for arm in range(3):
            ledger.add(arm, entry(rng.normal(arm, 1.0, 2)))
    seen = ledger.for_estimate
    assert seen.mean == pytest.approx(ledger.mean, rel=1e-12)
    assert seen.count == pytest.approx(ledger.count, rel=1e-12)


def test_a_copy_and_a_state_know_the_same() -> None:
    ledger, told = empty(), batches(np.random.default_rng(7))
    for arm, values in told[:8]:
        ledger.add(arm, entry(values))
    copied, restored = ledger.copy(), Ledger.from_state(vars(ledger.copy()), empty())
    for arm, values in told[8:]:
        for one in (ledger, copied, restored):
            one.add(arm, entry(values))
    for one in (copied, restored):
        assert type(one) is EpochLedger
        assert np.array_equal(one.for_estimate.mean, ledger.for_estimate.mean)
        assert np.array_equal(one.for_estimate.variance, ledger.for_estimate.variance)
    with pytest.raises(ValueError, match="not a ledger of 3 arms: schedule"):
        Ledger.from_state({**vars(ledger), "schedule": None}, empty())


def test_merged_runs_keep_their_own_epochs() -> None:
    runs = [batches(np.random.default_rng(seed)) for seed in (1, 2, 3)]
    ledgers = [empty() for _ in runs]
    for ledger, told in zip(ledgers, runs, strict=True):
        for arm, values in told:
            ledger.add(arm, entry(values))
    merged = ledgers[0].copy()
    merged.merge(ledgers[1])
    merged.merge(ledgers[2])
    again = merged.empty()  # all batches, one run after the other
    for arm, values in [batch for told in runs for batch in told]:
        again.add(arm, entry(values))
    for name in ("mean", "variance", "count"):
        seen, expected = (getattr(one.for_estimate, name) for one in (merged, again))
        assert seen == pytest.approx(expected, rel=1e-9), name
    # With the same proportions in every run, the means are averaged.
    x = np.mean([ledger.scale.value_of(ledger.for_estimate.mean) for ledger in ledgers], axis=0)
    assert merged.scale.value_of(merged.for_estimate.mean) == pytest.approx(x, rel=1e-12)


def test_a_stratum_that_is_constant_has_no_variance() -> None:
    ledger = empty()
    for _ in range(7):
        for arm, values in enumerate(([0.1, 0.1], [1.0, 2.0], [3.0, 5.0])):
            ledger.add(arm, entry(values))
    seen = ledger.for_estimate
    assert seen.variance[0] == 0
    assert ledger.scale.value_of(seen.mean)[0] == pytest.approx(0.1, rel=1e-15)


def test_a_stratum_of_logs_with_a_low_mean_has_not_missed_anything() -> None:
    plan = Plan(("a", "b"), 7, settings={"weights": [0.5, 0.5], "epochs": 2}, log=True)
    assert new_ledger(plan).positive is False


def test_only_a_plan_with_epochs_has_such_a_ledger() -> None:
    plan = Plan(("a", "b"), 7, settings={"weights": [0.5, 0.5]}, table="strata")
    assert schedule_of(plan) is None
    assert type(new_ledger(plan)) is Ledger
    dealt = Plan(("a", "b"), 7, settings={"weights": [0.5, 0.5], "epochs": 2}, table="strata")
    assert schedule_of(dealt) == Schedule(8, 2.0)
    assert type(new_ledger(dealt)) is EpochLedger
    slow = Plan(("a", "b"), 7, settings=dealt.settings, table="strata", batch=50)
    assert schedule_of(slow) == Schedule(100, 2.0)
