"""How MC-UCB plans an epoch: deviations that are shrunk, and two draws of every stratum."""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr
from croupier.policies.stratified import shares_of_at_least, shrunk_deviation


def test_deviations_that_differ_by_chance_become_equal() -> None:
    rng = np.random.default_rng(7)
    variance = rng.chisquare(3, 200) / 3
    s, error = shrunk_deviation(variance, np.full(200, np.sqrt(2 / 3)))
    assert s.std() / s.mean() < 0.1 < 0.3 < np.sqrt(variance).std() / np.sqrt(variance).mean()
    assert (error < 0.5 * np.sqrt(2 / 3)).all()


def test_deviations_that_clearly_differ_are_left_alone() -> None:
    variance, error = np.array([1e-4, 1.0, 1e4]), np.full(3, 0.1)
    s, after = shrunk_deviation(variance, error)
    assert s == pytest.approx(np.sqrt(variance), rel=0.01)
    assert after == pytest.approx(error, rel=0.01)


def test_a_stratum_that_has_not_varied_stays_at_zero() -> None:
    s, error = shrunk_deviation(np.array([0.0, 1.0, 2.0]), np.array([1.4, 0.5, 0.5]))
    assert s[0] == 0
    assert error[0] == 1.4
    assert (s[1:] > 0).all()
    alone, _ = shrunk_deviation(np.array([0.0, 4.0]), np.array([1.4, 0.5]))
    assert alone == pytest.approx([0.0, 2.0])


def test_every_stratum_gets_its_least_and_the_rest_is_shared() -> None:
    shares = shares_of_at_least(np.array([1e-9, 1.0, 3.0]), 42.0, np.full(3, 2.0))
    assert shares == pytest.approx([2, 10, 30])
    few = shares_of_at_least(np.array([1e-9, 1.0, 3.0]), 3.0, np.full(3, 2.0))
    assert few == pytest.approx([1, 1, 1])


def dealt(spoilt_from: int, draws: int) -> list[tuple[int, str, int]]:
    """Return what is asked for if every draw after the first `spoilt_from` is far off."""
    table = cr.Allocator([f"s{k}" for k in range(5)], weights=(0.3, 0.25, 0.2, 0.15, 0.1), rng=7)
    asked, told = [], 0
    while told < draws:
        batch = table.ask()
        values = batch.rng().exponential(1.0, batch.size)
        if told >= spoilt_from:
            values = values * 1000.0 if batch.arm == "s0" else values
        asked.append((told, batch.arm, batch.size))
        table.tell(batch, values)
        told += batch.size
    return asked


def test_the_counts_of_an_epoch_do_not_follow_its_own_draws() -> None:
    # Epochs end at 20, 40, 80, 160, 320 and 640 draws.
    plain, spoilt = dealt(10**9, 640), dealt(160, 640)
    until = [[one for one in run if one[0] < 320] for run in (plain, spoilt)]
    assert until[0] == until[1]
    assert plain != spoilt  # the next epoch does follow them
    starts = {start for start, _, _ in plain}
    assert {20, 40, 80, 160, 320} <= starts  # no batch lies in two epochs
    for low, high in ((20, 40), (40, 80), (80, 160), (160, 320), (320, 640)):
        counts = dict.fromkeys([f"s{k}" for k in range(5)], 0)
        for start, arm, size in plain:
            counts[arm] += size if low <= start < high else 0
        assert min(counts.values()) >= 2
