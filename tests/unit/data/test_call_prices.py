"""What a call costs and what a draw costs, from calls of which the machine interrupted some."""

from __future__ import annotations

import numpy as np
import pytest

from croupier.data.call_prices import CHUNK, CallPrices, empty_calls, with_call
from croupier.data.ledger import Ledger
from tests.unit.policies.test_base import Told

CALL, DRAW = 4e-3, 2e-6
SIZES = [1, 1, 1, 1, *(2**k for k in range(1, 14))]


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


def test_a_line_is_found_exactly() -> None:
    found = prices([timed(size) for size in SIZES])
    assert found.call[0] == pytest.approx(CALL, rel=1e-6)
    assert found.draw[0] == pytest.approx(DRAW, rel=1e-6)


def test_one_size_says_nothing_about_the_cost_of_a_call() -> None:
    found = prices([timed(1)] * 4)
    assert (found.call[0], found.draw[0], found.probe[0]) == (0.0, CALL + DRAW, 2)


@pytest.mark.parametrize("slow", range(len(SIZES)))
@pytest.mark.parametrize("times", [3, 100, 10_000])
def test_one_slow_call_does_not_decide(slow: int, times: float) -> None:
    calls = [timed(size) for size in SIZES]
    size, cost = calls[slow]
    calls[slow] = size, times * cost
    found = prices(calls)
    true = DRAW + CALL / 10_000
    assert true / 2 < found.per_draw(0.03, CHUNK)[0] < 2 * true


@pytest.mark.parametrize("size", [16, 64, 256])
def test_a_slow_call_does_not_end_the_search_for_the_cost_of_a_draw(size: int) -> None:
    calls = [timed(s) for s in SIZES if s < size]
    assert prices([*calls, timed(size)]).probe[0] == 2
    assert prices([*calls, (size, 20 * CALL)]).probe[0] == 2
    assert prices([*calls, *[(size, 3 * CALL)] * 2]).probe[0] == 2


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


def test_calls_double_until_the_draws_clearly_cost_more_than_the_call() -> None:
    calls, sizes = [(1, 4e-3 + 2e-5)] * 4, []
    while (times := prices(calls).probe[0]) and len(sizes) < 30:
        sizes.append(int(times * calls[-1][0]))
        calls.append((sizes[-1], 4e-3 + 2e-5 * sizes[-1]))
    assert sizes == [2**k for k in range(1, 11)] + [2048] * (len(sizes) - 10)
    assert 1 <= sizes.count(2048) <= 3


def test_the_price_falls_with_the_size_that_a_decision_buys() -> None:
    found = prices([timed(size) for size in SIZES])
    assert found.per_draw(0.0, CHUNK)[0] == pytest.approx(CALL + DRAW)
    assert found.per_draw(CALL + 100 * DRAW, CHUNK)[0] == pytest.approx(CALL / 100 + DRAW)
    assert found.per_draw(1e3, CHUNK)[0] == pytest.approx(CALL / CHUNK + DRAW)


@pytest.mark.parametrize("components", [1, 50])
def test_a_batch_of_several_calls_costs_several_calls(components: int) -> None:
    most = CHUNK // components
    batches = [timed(size) for size in (1, 1, 2, 4, 16, 64, most)]
    batches += [(3 * most, 3 * CALL + 3 * most * DRAW)]
    ledger = ledger_of(batches, components)
    assert ledger.most_in_a_call == most
    assert ledger.cost_of(0, 3 * most) == pytest.approx(3 * CALL + 3 * most * DRAW, rel=1e-6)
    assert ledger.cost_of(0, most // 2) == pytest.approx(CALL + most // 2 * DRAW, rel=1e-6)


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
