"""Aim: where a run will stop, and how its batches shrink towards it."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.estimates.intervals import ExpectedEnd
from croupier.policies.base import group_of
from croupier.tables.aim import LEAST_STEP, Aim

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def seen(value: Any, half: Any, stderr: Any = 0.5, logs: Any = None) -> Any:
    value, half, stderr = (np.atleast_1d(np.asarray(each, float)) for each in (value, half, stderr))
    return SimpleNamespace(value=value, half_width=half, stderr=stderr, logs=logs)


# -- what is still needed


def test_a_half_width_that_is_twice_too_large_needs_three_times_what_was_spent() -> None:
    assert Aim(atol=0.1).growth(seen(5.0, 0.2)) == pytest.approx(3.0)
    assert Aim(rtol=0.1).growth(seen(-5.0, 1.0)) == pytest.approx(3.0)
    assert Aim(atol=0.1, rtol=0.1).growth(seen(5.0, 1.0)) == pytest.approx(3.0)


def test_the_worst_component_decides() -> None:
    aim = Aim(rtol=0.1)
    assert aim.growth(seen([1.0, 10.0], [0.2, 3.0])) == pytest.approx(8.0)


def test_logs_have_the_tolerance_of_the_log() -> None:
    logs = np.array([[-900.0], [0.05], [0.2]])
    assert Aim(rtol=0.1).growth(seen(0.0, 0.0, logs=logs)) == pytest.approx(3.0)


def test_a_run_that_is_nearly_there_takes_small_steps() -> None:
    assert Aim(atol=0.1).growth(seen(5.0, 0.1001)) == LEAST_STEP
    # It is precise enough, and has not stopped: its error is not known well enough.
    assert Aim(atol=0.1).growth(seen(5.0, 0.05)) == pytest.approx(1 / 32)


@pytest.mark.parametrize("half", [np.inf, np.nan, 0.5])
def test_a_tolerance_that_cannot_be_met_is_infinitely_far(half: float) -> None:
    assert Aim(rtol=0.1).growth(seen(0.0, half)) == math.inf
    assert Aim(atol=0.0).growth(seen(1.0, half)) == math.inf


def test_the_horizon_has_the_tolerance_and_the_budget() -> None:
    known = seen(5.0, np.inf, stderr=0.3)
    assert Aim(atol=0.1, draws=1e6).expected_end(known, 100.0, 100.0) == ExpectedEnd(
        pytest.approx(3.0), 1e6
    )
    # 100 draws have cost 50, so 1000 buys 2000 draws.
    assert Aim(cost=1000.0).expected_end(known, 100.0, 50.0) == ExpectedEnd(math.inf, 2000.0)


# -- batches


def sizes(result: cr.Result) -> np.ndarray:
    return np.asarray(result.history.size)


def test_tables_that_shrink_their_batches_are_aimed() -> None:
    assert cr.Allocator(["a"], rng=7).aim == Aim()


@pytest.mark.parametrize("atol", [0.03, 0.011])
def test_the_last_batch_is_no_larger_than_the_tolerance_needs(atol: float) -> None:
    arms = {
        "one": lambda rng, size: rng.normal(1.0, 1.0, size),
        "two": lambda rng, size: rng.normal(1.0, 1.5, size),
    }
    result = cr.estimate(arms, draws=10**6, atol=atol, rng=3)
    assert result.stopped == "tolerance"
    half = (result.interval[1] - result.interval[0]) / 2
    # A step of 1/128 takes 0.4 % from the half-width.
    assert 0.985 * atol < half <= atol
    assert sizes(result).max() > 0.1 * result.draws


def test_a_run_that_no_tolerance_stops_has_the_batches_of_a_run_without(
    arms: dict[str, Any],
) -> None:
    plain, judged = (cr.estimate(arms, draws=5000, rng=7, **more) for more in ({}, {"atol": 1e-9}))
    assert sizes(judged).tolist() == sizes(plain).tolist()


@pytest.mark.parametrize("width", [1, 2, 5, 16])
def test_what_is_out_at_the_stop_is_small_at_any_width(width: int) -> None:
    arms = {
        "one": lambda rng, size: rng.normal(1.0, 1.0, size),
        "two": lambda rng, size: rng.normal(1.0, 1.5, size),
    }
    result = cr.estimate(arms, draws=10**6, atol=0.02, rng=3, width=width)
    half = (result.interval[1] - result.interval[0]) / 2
    assert result.stopped == "tolerance"
    assert 0.975 * 0.02 < half <= 0.02


@pytest.mark.parametrize("unit", ["draws", "cost"])
def test_the_stop_does_not_depend_on_the_number_of_workers(unit: str) -> None:
    def arm(spread: float, price: float) -> Any:
        def draw(rng: np.random.Generator, size: int) -> Any:
            values = rng.normal(1.0, spread, size)
            return cr.Draws(values, rng.exponential(price, size)) if unit == "cost" else values

        return draw

    arms = {"cheap": arm(1.0, 1.0), "good": arm(0.3, 3.0), "poor": arm(2.0, 9.0)}
    settings: dict[str, Any] = {unit: 10**6, "atol": 0.01, "rng": 7, "width": 6}
    alone = cr.estimate(arms, **settings)
    assert alone.stopped == "tolerance"
    for workers in (1, 2, 5):
        with ThreadPoolExecutor(workers) as executor:
            together = cr.estimate(arms, executor=executor, workers=workers, **settings)
        assert (together.value, together.interval) == (alone.value, alone.interval)
        assert sizes(together).tolist() == sizes(alone).tolist()


def test_pairs_stay_pairs_close_to_the_stop() -> None:
    bounds = {"bounds": (-4.0, 6.0), "clip": True}
    policy = cr.policies.as_policy({"name": "thompson", "payoff": "variance", **bounds})
    arms = {
        "one": lambda rng, size: rng.normal(1.0, 1.0, size),
        "two": lambda rng, size: rng.normal(1.0, 1.5, size),
    }
    result = cr.estimate(arms, draws=10**6, atol=0.03, rng=3, policy=policy)
    assert result.stopped == "tolerance"
    assert group_of(policy, "draws") == 2
    assert not (sizes(result) % 2).any()


def test_an_expensive_arm_is_not_passed_over_close_to_the_stop() -> None:
    """One draw of the best arm costs more than a step: it is bought all the same."""

    def costly(spread: float, price: float) -> Any:
        return lambda rng, size: cr.Draws(rng.normal(1.0, spread, size), np.full(size, price))

    arms = {"cheap": costly(10.0, 1.0), "good": costly(0.01, 200.0)}
    result = cr.estimate(arms, cost=1e6, atol=0.0019, rng=3)
    assert result.stopped == "tolerance"
    assert result.arms["good"].share > 0.5


def test_a_mixture_takes_smaller_rounds_close_to_the_stop() -> None:
    family = cr.importance.Family.tilted(lambda x: x[:, 0] > 1.5, shifts=[0, 1, 2])
    exact = family.estimate(draws=200_000, rng=7)
    half = 2.5 * exact.stderr
    result = family.estimate(draws=10**6, atol=half, rng=7)
    assert result.stopped == "tolerance"
    assert 0.97 * half < (result.interval[1] - result.interval[0]) / 2 <= half


# -- anytime


def test_anytime_is_tuned_to_the_tolerance_and_keeps_rho_in_the_store(
    arms: dict[str, Any], tmp_path: Any
) -> None:
    settings: dict[str, Any] = {"draws": 10**6, "anytime": True, "progress": False}
    loose, tight = (
        cr.estimate(arms, rtol=rtol, rng=7, **settings).basis.interval for rtol in (0.05, 0.01)
    )
    assert loose.rho2 > 10 * tight.rho2
    path = tmp_path / "run.db"
    first = cr.estimate(arms, rtol=0.05, rng=7, store=path, **settings)
    assert first.basis.interval == loose
    assert cr.open_run(path).result().interval == first.interval
    more = cr.estimate(arms, rtol=0.01, store=path, **settings)
    # An interval that holds at all times must not change with the tolerance of a later call.
    assert more.basis.interval == loose
    assert cr.open_run(path).result().interval == more.interval


def test_anytime_in_ask_and_tell_is_tightest_at_its_first_look() -> None:
    table = cr.Allocator(["a"], rng=7, anytime=True)
    while table.interval.looking:
        batch = table.ask()
        table.tell(batch, batch.rng().normal(1.0, 1.0, batch.size))
    draws = table.progress().draws
    assert table.interval.rho2 == pytest.approx(8.2 / draws, rel=0.01)


def test_only_the_chosen_components_count() -> None:
    look = seen([1.0, 1.0, 0.0], [0.2, 0.1, 9.0])
    assert Aim(rtol=0.1, components=(0, 1)).growth(look) == pytest.approx(3.0)
    assert Aim(rtol=0.1).growth(look) == math.inf
