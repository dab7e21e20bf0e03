"""With measured seconds, the right arm is found although its small calls are expensive.

The arms are those of an Asian option with 250 steps: a vectorised arm with the variance 66, and a
looped, tilted arm with the variance 8.3, whose call takes 5 ms, and whose draws are cheaper in a
large call. The clock is not the machine's, so that the tests give the same numbers everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from tests.conftest import Clock
from tests.marks import slow

PRICE, SECONDS = 4.2, 5
#: Variance, seconds of a call, seconds of a draw.
PLAIN, LOOPED = (66.0, 3e-5, 5e-6), (8.3, 5e-3, 3e-6)


def idle(seconds: float, noise: np.random.Generator) -> float:
    return seconds


def busy(seconds: float, noise: np.random.Generator) -> float:
    """Return what a call takes on two cores beside three busy processes.

    Every 4 ms another process gets the core for 6 ms on average, and one call of twenty stalls.
    """
    seconds += noise.exponential(6e-3, noise.poisson(seconds / 4e-3)).sum()
    return seconds + noise.exponential(30e-3) * (noise.random() < 0.05)


def arms_on(clock: Clock, taken: Callable[..., float], seed: int) -> dict[str, Any]:
    noise = np.random.default_rng([seed, 15])

    def arm(variance: float, call: float, draw: float) -> Callable[..., np.ndarray]:
        def drawn(rng: np.random.Generator, size: int) -> np.ndarray:
            jitter = 1 + 0.05 * noise.standard_exponential()
            clock.now += taken((call + draw * size) * jitter, noise)
            return rng.normal(PRICE, variance**0.5, size)

        return drawn

    return {"plain": arm(*PLAIN), "looped": arm(*LOOPED)}


def shares(clock: Clock, taken: Callable[..., float], seeds: int) -> np.ndarray:
    """Return the share of the cost that went to the looped arm, for every seed."""
    results = [
        cr.estimate(arms_on(clock, taken, seed), seconds=SECONDS, rng=seed, progress=False)
        for seed in range(seeds)
    ]
    assert np.array([result.seconds for result in results]).mean() < 1.02 * SECONDS
    return np.array([result.arms["looped"].share for result in results])


@pytest.mark.parametrize("taken", [idle, busy])
def test_a_looped_arm_is_found_beside_a_vectorised_one(
    taken: Callable[..., float], clock: Clock
) -> None:
    assert (shares(clock, taken, 8) > 0.5).all()


@pytest.mark.slow
@pytest.mark.parametrize(("taken", "found"), [(idle, 200), (busy, 190)])
def test_a_looped_arm_is_found_in_nearly_all_of_200_runs(
    taken: Callable[..., float], found: int, clock: Clock
) -> None:
    share = shares(clock, taken, 200)
    assert (share > 0.5).sum() >= found
    assert share.mean() > 0.9


#: Seconds of a call and of a draw: numpy arms, a loop over steps, an arm of one draw at a time.
CALLS = [(3e-6, 2e-8), (2e-4, 1e-6), (3e-6, 1e-4)]


@pytest.mark.parametrize("ratio", [10, *slow(1e5)])
@pytest.mark.parametrize("poor", CALLS)
@pytest.mark.parametrize("good", CALLS)
def test_the_arm_with_the_smallest_cost_times_variance_gets_the_time(
    good: tuple[float, float], poor: tuple[float, float], ratio: float, clock: Clock
) -> None:
    """The fast poor arm got 99 % of the time: a question about its price never ended."""

    def price(call: float, draw: float) -> float:
        return draw + call / min(10_000, (1 / 32 - call) / draw)

    spread = (ratio * price(*good) / price(*poor)) ** 0.5
    arms = {"poor": clock.arm(spread, *poor), "good": clock.arm(1.0, *good)}
    for order in (arms, dict(reversed(arms.items()))):
        result = cr.estimate(order, seconds=0.5, rng=7, progress=False)
        assert result.arms["good"].share > 0.8


def test_a_looped_arm_that_is_worse_does_not_get_the_budget(clock: Clock) -> None:
    """An arm whose large calls are cheap, but not cheap enough, costs only its probes."""
    arms = {"plain": clock.arm(1.0, 3e-5, 5e-6), "looped": clock.arm(1.0, 5e-3, 1e-5)}
    result = cr.estimate(arms, seconds=SECONDS, rng=7)
    assert result.arms["plain"].share > 0.8


def test_an_expensive_arm_does_not_lead_by_its_first_draws(clock: Clock) -> None:
    """It gave -.48 ± .25 where the cheap arm alone had -.011 ± .018, in a budget of 7 s."""

    def arm(seconds: float) -> Callable[..., np.ndarray]:
        def drawn(rng: np.random.Generator, size: int) -> np.ndarray:
            clock.now += seconds * size
            return rng.normal(0.0, 1.0, size)

        return drawn

    arms = {"expensive": arm(1.0), "cheap": arm(1e-3)}
    off = []
    for seed in range(200):
        result = cr.estimate(arms, seconds=7, rng=seed, progress=False)
        assert result.leader == "cheap"
        cheap = result.arms["cheap"]
        assert cheap.draws > 1500
        assert result.stderr < 1.2 * cheap.stderr
        assert not result.warnings
        off.append(result.value / result.stderr)
    assert np.sqrt(np.mean(np.square(off))) == pytest.approx(1.0, abs=0.2)
