"""What a call costs and what a draw costs, from calls of which the machine interrupted some."""

from __future__ import annotations

import numpy as np
import pytest

from croupier.data.call_prices import CHUNK, STEP, CallPrices, empty_calls, with_call
from croupier.data.ledger import Ledger
from tests.unit.policies.test_base import Told

CALL, DRAW = 4e-3, 2e-6
SIZES = [1, 1, 1, 1, *(2**k for k in range(1, 14)), 2**13]


def prices(calls: list[tuple[int, float]]) -> CallPrices:
    """Return the prices of one arm, after calls of these sizes that took so many seconds."""
    noted = empty_calls(1)
    for size, cost in calls:
        noted, column = with_call(noted, 0, size, cost)
    return CallPrices(*column[:, None])


def timed(size: int) -> tuple[int, float]:
    return size, CALL + DRAW * size


def ledger_of(batches: list[tuple[int, float]], components: int = 1) -> Ledger:
    ledger = Ledger(1, measured=True)
    zero = np.zeros(components), np.zeros(components, np.int64), np.zeros((4, components))
    for size, cost in batches:
        ledger.add(0, Told(size, *zero, cost=cost, cost_m2=0.0))
    return ledger


def test_a_line_is_found() -> None:
    found = prices([timed(size) for size in SIZES])
    assert found.call[0] == pytest.approx(CALL, rel=1e-3)
    assert found.draw[0] == pytest.approx(DRAW, rel=1e-3)


def test_before_a_second_size_a_larger_call_may_cost_nothing_more() -> None:
    found = prices([timed(1)] * 4)
    assert (found.call[0], found.draw[0], found.least[0]) == (0.0, CALL + DRAW, 0.0)
    assert found.per_draw(2 * CALL, CHUNK)[0] == (CALL + DRAW) / CHUNK
    assert found.pace[0] == CALL + DRAW


def test_a_price_is_never_above_the_truth_before_the_largest_calls_were_made() -> None:
    for known in range(5, len(SIZES)):
        found = prices([timed(size) for size in SIZES[:known]])
        for cost in (2 * CALL, 10 * CALL):
            true = CALL / min((cost - CALL) / DRAW, CHUNK) + DRAW
            assert found.per_draw(cost, CHUNK)[0] <= 1.001 * true


def test_the_size_of_the_largest_calls_is_bounded_by_what_is_known_of_them() -> None:
    """An arm whose draws are slow is not called with thousands of them because one was cheap."""
    ledger = ledger_of([(1, 3e-3)] * 4)
    assert ledger.bought(0, 2e-3) <= 1
    assert ledger.bought(0, 4e-3) == STEP
    ledger = ledger_of([*[(1, 3e-3)] * 4, *[(16, 48e-3)] * 2])
    assert ledger.bought(0, 0.3) == pytest.approx(100)
    assert ledger.affords(0, 0.3) == pytest.approx(100)


@pytest.mark.parametrize("slow", range(len(SIZES)))
@pytest.mark.parametrize("times", [3, 100, 10_000])
def test_one_slow_call_does_not_decide(slow: int, times: float) -> None:
    calls = [timed(size) for size in SIZES]
    size, cost = calls[slow]
    calls[slow] = size, times * cost
    found = prices(calls)
    true = DRAW + CALL / 10_000
    assert true / 2 < found.per_draw(0.03, CHUNK)[0] < 2 * true


def test_a_compiler_in_the_first_call_is_forgotten() -> None:
    found = prices([(1, 2.0), *[timed(size) for size in SIZES]])
    assert found.call[0] == pytest.approx(CALL, rel=0.1)
    assert found.draw[0] == pytest.approx(DRAW, rel=0.1)


@pytest.mark.slow
def test_with_many_calls_the_mean_is_what_was_spent() -> None:
    """Costs of an arm may be random: then their mean counts, not their median."""
    costs = np.random.default_rng(7).exponential(1.0, 4000)
    late = [prices([(1, cost) for cost in costs[:n]]).draw[0] for n in range(100, 4000, 39)]
    assert np.mean(late) == pytest.approx(1.0, rel=0.1)


def test_the_price_falls_with_the_size_that_a_decision_buys() -> None:
    found = prices([timed(size) for size in SIZES])
    assert found.per_draw(0.0, CHUNK)[0] == pytest.approx(CALL + DRAW, rel=1e-3)
    assert found.per_draw(CALL + 100 * DRAW, CHUNK)[0] == pytest.approx(CALL / 100 + DRAW, rel=0.01)
    assert found.per_draw(1e3, CHUNK)[0] == pytest.approx(CALL / CHUNK + DRAW, rel=0.15)


@pytest.mark.parametrize("components", [1, 50])
def test_a_batch_of_several_calls_costs_several_calls(components: int) -> None:
    most = CHUNK // components
    batches = [timed(size) for size in (1, 1, 2, 4, 16, 64, most)]
    batches += [(3 * most, 3 * CALL + 3 * most * DRAW)]
    ledger = ledger_of(batches, components)
    assert ledger.most_in_a_call == most
    assert ledger.cost_of(0, 3 * most) == pytest.approx(3 * CALL + 3 * most * DRAW, rel=1e-3)
    assert ledger.cost_of(0, most // 2) == pytest.approx(CALL + most // 2 * DRAW, rel=1e-3)


def test_costs_that_are_not_measured_have_one_price() -> None:
    ledger = Ledger(2)
    ledger.add(0, Told(4, np.zeros(1), np.zeros(1, np.int64), np.zeros((4, 1)), 12.0, 0.0))
    assert np.array_equal(ledger.price_in(5.0), [3.0, np.nan], equal_nan=True)
    assert ledger.cost_of(0, 10) == 30.0
    assert ledger.calls.size == 0


def test_prices_come_back_with_the_state_of_a_ledger() -> None:
    ledger = ledger_of([timed(size) for size in SIZES])
    twin = Ledger.from_state(dict(vars(ledger.copy())), Ledger(1, measured=True))
    for one in (ledger, twin):
        one.add(0, Told(300, np.zeros(1), np.zeros(1, np.int64), np.zeros((4, 1)), 0.07, 0.0))
    assert np.array_equal(ledger.call_prices, twin.call_prices)
    assert np.array_equal(ledger.calls, twin.calls)
