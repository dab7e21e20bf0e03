"""cr.splitting: unbiased on a queue, with its costs, beside other arms, and clear errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import croupier as cr

quiet = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def first(rng: np.random.Generator, n: int) -> Any:
    return np.ones(n)


def event(rng: np.random.Generator, x: Any) -> Any:
    return x + np.where(rng.random(len(x)) < 0.3, 1.0, -1.0)


def waiting(x: Any) -> Any:
    return np.where(x == 0, -np.inf, x)


def overflow(target: int) -> float:
    """Gambler's ruin: from 1 to the target before 0."""
    odds = 7 / 3
    return (odds - 1) / (odds**target - 1)


@quiet
def test_a_replication_is_unbiased() -> None:
    """400 replications of 20 particles, so few that a bias of the method would show."""
    arm = cr.splitting(event, first, waiting, 8, particles=20)
    result = cr.estimate([arm], draws=400, rng=7)
    assert abs(result.value - overflow(8)) < 4 * result.stderr
    assert result.stderr < 0.15 * result.value


@quiet
def test_the_cost_is_the_number_of_steps() -> None:
    arm = cr.splitting(event, first, waiting, 6, particles=20)
    result = cr.estimate([arm], cost=20_000, rng=7)
    assert result.cost >= 20_000
    assert result.arms["splitting"].cost_per_draw > 20


@quiet
def test_it_can_be_mixed_with_plain_draws() -> None:
    def plain(rng: np.random.Generator, size: int) -> Any:
        x, hit = np.ones(size), np.zeros(size, bool)
        going = np.ones(size, bool)
        while going.any():
            x[going] = event(rng, x[going])
            hit |= x >= 4
            going = (x > 0) & ~hit
        return hit

    arms = {"plain": plain, "split": cr.splitting(event, first, waiting, 4, name="split")}
    result = cr.estimate(arms, draws=500, rng=7)
    assert abs(result.value - overflow(4)) < 4 * result.stderr
    assert result.arms["split"].share > 0.5


@quiet
def test_states_may_be_vectors_with_the_time_in_them() -> None:
    def start(rng: np.random.Generator, n: int) -> Any:
        return np.zeros((n, 2))

    def step(rng: np.random.Generator, x: Any) -> Any:
        return x + np.column_stack((rng.choice([-1.0, 1.0], len(x)), np.ones(len(x))))

    def level(x: Any) -> Any:
        return np.where(x[:, 1] > 10, -np.inf, x[:, 0])

    result = cr.estimate([cr.splitting(step, start, level, 8, particles=50)], draws=150, rng=7)
    exact = (math.comb(10, 9) + 2 * math.comb(10, 10)) / 2**10  # the reflection principle
    assert abs(result.value - exact) < 4 * result.stderr


def test_a_path_that_never_ends_is_an_error() -> None:
    arm = cr.splitting(lambda rng, x: x, first, lambda x: x, 5, most_steps=50)
    with pytest.raises(cr.ArmError, match="did not end in most_steps=50 steps"):
        cr.estimate([arm], draws=10, rng=7)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step": 3}, "step must be a function"),
        ({"level": None}, "level must be a function"),
        ({"target": "high"}, "target must be a number"),
        ({"target": np.inf}, "target must be finite"),
        ({"particles": 1}, "particles must be at least 2"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], said: str) -> None:
    good = {"step": event, "start": first, "level": waiting, "target": 5}
    with pytest.raises(cr.PlanError, match=said):
        cr.splitting(**{**good, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start": lambda rng, n: np.ones(n + 1)}, "start was asked for 100 states"),
        ({"level": lambda x: np.full(len(x), np.nan)}, "not NaN"),
        ({"step": lambda rng, x: x[:-1]}, "step was given 100 states and returned 99"),
    ],
)
def test_functions_that_do_not_fit_are_named_in_the_run(change: dict[str, Any], said: str) -> None:
    good = {"step": event, "start": first, "level": waiting, "target": 5}
    with pytest.raises(cr.ArmError, match=said):
        cr.estimate([cr.splitting(**{**good, **change})], draws=10, rng=7)
