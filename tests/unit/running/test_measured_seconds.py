"""Runs with measured seconds: the first calls of slow arms, and runs that go on from a store."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.running import loop
from croupier.store import log
from tests.conftest import Clock
from tests.marks import slow


@pytest.mark.parametrize("seconds", [4, 7])
def test_the_first_draws_of_a_slow_arm_do_not_take_a_short_run(
    seconds: float, clock: Clock
) -> None:
    arms = {"slow": clock.arm(1.0, 0.0, 1.0), "fast": clock.arm(1.0, 0.0, 1e-3)}
    result = cr.estimate(arms, seconds=seconds, rng=7)
    assert result.arms["slow"].draws == 2
    assert result.seconds == pytest.approx(seconds, rel=0.05)


def test_a_slow_arm_gets_its_first_draws_when_they_are_a_small_part_of_the_run(
    clock: Clock,
) -> None:
    arms = {"slow": clock.arm(0.01, 0.0, 1.0), "fast": clock.arm(1.0, 0.0, 1e-3)}
    result = cr.estimate(arms, seconds=100, rng=7)
    assert result.arms["slow"].share > 0.5


def test_equally_slow_arms_get_all_their_first_draws(clock: Clock) -> None:
    arms = {name: clock.arm(1.0, 0.0, 0.1) for name in "abc"}
    result = cr.estimate(arms, seconds=2, rng=7)
    assert sorted(result.history.arm[:12]) == [0] * 4 + [1] * 4 + [2] * 4


def arms_of(clock: Clock) -> dict[str, Any]:
    return {"plain": clock.arm(8.0, 3e-5, 5e-6), "looped": clock.arm(2.9, 5e-3, 3e-6)}


@pytest.mark.parametrize("every", [3, 5_000], ids=["from a snapshot", "told again"])
def test_a_stored_run_knows_the_prices_of_its_calls_when_it_goes_on(
    every: int, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decisions that follow are the same as without a break: prices come from what was told."""
    monkeypatch.setattr(log, "_SNAPSHOT_EVERY", every)
    tables: list[Any] = []

    def noted(table: Any, *rest: Any) -> Any:
        tables.append(table)
        return played(table, *rest)

    played = loop.loop
    monkeypatch.setattr(loop, "loop", noted)
    store = tmp_path / "run.db"
    cr.estimate(arms_of(clock), seconds=1, rng=7, store=store)
    cr.estimate(arms_of(clock), seconds=1, rng=7, store=store)
    first, again = tables
    assert again.tickets.told == first.tickets.told > 20
    ledgers = [table.known.books.ledger for table in tables]
    assert np.array_equal(ledgers[0].calls, ledgers[1].calls)
    assert np.array_equal(*(ledger.call_prices for ledger in ledgers))
    assert again.decisions == first.decisions
    assert again.ask() == first.ask()


#: Seconds of a call and of a draw.
PRICES = {
    "0.1 us": (0.0, 1e-7),
    "1 us": (0.0, 1e-6),
    "10 us": (0.0, 1e-5),
    "5 ms + 1 us": (5e-3, 1e-6),
    "3 ms": (0.0, 3e-3),
}


def _price(call: float, draw: float) -> float:
    """Return the cost of a draw in the calls that a run of a second makes."""
    return draw + call / min(10_000, (1 / 32 - call) / draw)


@pytest.mark.parametrize("ratio", [10.0, *slow(1e5)])
@pytest.mark.parametrize(("good", "poor"), list(itertools.permutations(PRICES, 2)))
def test_the_better_arm_gets_the_time_at_any_price_of_calls_and_draws(
    good: str, poor: str, ratio: float, clock: Clock
) -> None:
    spread = (ratio * _price(*PRICES[good]) / _price(*PRICES[poor])) ** 0.5
    arms = {"good": clock.arm(1.0, *PRICES[good]), "poor": clock.arm(spread, *PRICES[poor])}
    for order in (arms, dict(reversed(arms.items()))):
        result = cr.estimate(order, seconds=1.0, rng=1)
        assert result.arms["good"].share > 0.8
        assert result.cost > 0.85 * result.seconds
