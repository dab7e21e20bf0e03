"""cr.splitting: unbiased on a queue, with its costs, beside other arms, and clear errors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

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


def check(arm: cr.Arm, exact: float, replications: int, error: float) -> None:
    """Draw replications directly: their mean is within 4 standard errors, which are small."""
    values = arm.draw(np.random.default_rng(7), replications).values  # type: ignore[operator]
    stderr = values.std(ddof=1) / np.sqrt(replications)
    assert abs(values.mean() - exact) < 4 * stderr
    assert stderr < error * exact


@pytest.mark.parametrize("particles", [2, 20, 64])
def test_a_replication_is_unbiased_if_levels_tie(particles: int) -> None:
    """Queues have whole lengths. So few particles that a bias of the method would show."""
    target = 3 if particles == 2 else 8
    arm = cr.splitting(event, first, waiting, target, particles=particles)
    check(arm, overflow(target), 40_000 // particles, 0.05)


def test_a_replication_is_unbiased_if_levels_do_not_tie() -> None:
    """A walk with drift -1/2 and normal steps from 0, to 4 before -1: P by linear equations."""

    def walk(rng: np.random.Generator, x: Any) -> Any:
        return x + rng.normal(-0.5, 1.0, len(x))

    def level(x: Any) -> Any:
        return np.where(x < -1, -np.inf, x)

    arm = cr.splitting(walk, lambda rng, n: np.zeros(n), level, 4, particles=25)
    check(arm, normal_walk(4.0), 2_000, 0.03)


def normal_walk(target: float) -> float:
    """Return P(from 0 to the target before -1) of the walk, by Nystrom's method."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    half = (target + 1) / 2
    x, w = half * nodes + half - 1, half * weights
    kernel = norm.pdf(x[None, :] - x[:, None] + 0.5) * w
    h = np.linalg.solve(np.eye(60) - kernel, norm.sf(target - x + 0.5))
    return float(norm.pdf(x + 0.5) @ (w * h) + norm.sf(target + 0.5))


def test_states_that_become_floats_are_not_cut_to_integers() -> None:
    def start(rng: np.random.Generator, n: int) -> Any:
        return np.ones(n, int)

    def step(rng: np.random.Generator, x: Any) -> Any:
        return x + np.where(rng.random(len(x)) < 0.3, 0.5, -0.5)

    arm = cr.splitting(step, start, waiting, 4, particles=50)
    check(arm, ((7 / 3) ** 2 - 1) / ((7 / 3) ** 8 - 1), 400, 0.05)


def test_a_path_that_starts_at_its_end_counts_as_one_that_never_came_higher() -> None:
    def start(rng: np.random.Generator, n: int) -> Any:
        return (rng.random(n) < 0.5).astype(float)

    arm = cr.splitting(event, start, waiting, 4, particles=50)
    check(arm, overflow(4) / 2, 400, 0.05)


def test_an_event_that_no_path_reaches_is_a_draw_of_0_with_its_cost() -> None:
    arm = cr.splitting(lambda rng, x: x - 1, first, waiting, 9, particles=10)
    made = arm.draw(np.random.default_rng(7), 3)  # type: ignore[operator]
    assert made.values.tolist() == [0, 0, 0]
    assert made.costs.tolist() == [10, 10, 10]


@quiet
def test_the_cost_is_the_number_of_steps() -> None:
    arm = cr.splitting(event, first, waiting, 6, particles=20)
    result = cr.estimate([arm], cost=20_000, rng=7)
    assert result.cost >= 20_000
    assert result.arms["splitting"].cost_per_draw > 20


def plain(rng: np.random.Generator, size: int) -> cr.Draws:
    """Simulate whole paths to 6; the cost is the number of steps."""
    x, steps = np.ones(size), np.zeros(size)
    while (going := (x > 0) & (x < 6)).any():
        x[going] = event(rng, x[going])
        steps += going
    return cr.Draws(x >= 6, steps)


@quiet
def test_it_can_be_mixed_with_plain_draws_and_the_cheaper_arm_for_its_precision_is_drawn() -> None:
    split = cr.splitting(event, first, waiting, 6, particles=50, name="split")
    result = cr.estimate({"plain": plain, "split": split}, cost=200_000, rng=7)
    exact = overflow(6)
    assert abs(result.value - exact) < 4 * result.stderr
    assert result.interval[0] < exact < result.interval[1]
    assert result.arms["split"].cost_per_draw > 50 * result.arms["plain"].cost_per_draw
    best = max(("plain", "split"), key=lambda name: result.arms[name].efficiency or 0)
    assert result.arms[best].share > 0.6


def test_states_may_be_vectors_with_the_time_in_them() -> None:
    def start(rng: np.random.Generator, n: int) -> Any:
        return np.zeros((n, 2))

    def step(rng: np.random.Generator, x: Any) -> Any:
        return x + np.column_stack((rng.choice([-1.0, 1.0], len(x)), np.ones(len(x))))

    def level(x: Any) -> Any:
        return np.where(x[:, 1] > 10, -np.inf, x[:, 0])

    exact = (math.comb(10, 9) + 2 * math.comb(10, 10)) / 2**10  # the reflection principle
    check(cr.splitting(step, start, level, 8, particles=50), exact, 400, 0.05)


@quiet
def test_a_stored_run_to_another_level_is_refused(tmp_path: Path) -> None:
    def run(target: int) -> cr.Result:
        arm = cr.splitting(event, first, waiting, target, particles=20)
        return cr.estimate([arm], draws=5, rng=7, store=tmp_path / "run.db")

    run(4)
    with pytest.raises(cr.CroupierError, match="version"):
        run(5)


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
        ({"start": lambda rng, n: np.ones(n + 1)}, "start was asked for 400 states"),
        ({"level": lambda x: np.full(len(x), np.nan)}, "not NaN"),
        ({"step": lambda rng, x: x[:-1]}, r"of the shape \(400,\) and returned \(399,\)"),
    ],
)
def test_functions_that_do_not_fit_are_named_in_the_run(change: dict[str, Any], said: str) -> None:
    good = {"step": event, "start": first, "level": waiting, "target": 5}
    with pytest.raises(cr.ArmError, match=said):
        cr.estimate([cr.splitting(**{**good, **change})], draws=10, rng=7)
