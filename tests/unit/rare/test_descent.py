"""Descent: walkers that follow a gradient to design points, and the chain rule behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from croupier.rare.descent import Descent, beyond
from croupier.spaces.read_space import read_space
from croupier.spaces.vectors import Nataf

Function = Callable[[Any], Any]


def ended(g: Function, slope: Function, starts: Any, rounds: int = 40) -> tuple[Descent, int]:
    """Run a descent to its end, and count the evaluations."""
    starts = np.array(starts, float)
    direction = np.ones(starts.shape[1]) / np.sqrt(starts.shape[1])
    descent, calls = Descent(starts, direction), 0
    for _ in range(rounds):
        if descent.ended:
            break
        points = descent.proposed()
        calls += len(points)
        descent.step(g(points), slope(points))
    assert descent.ended
    return descent, calls


def test_a_linear_limit_state_is_reached_in_two_steps() -> None:
    a = np.array([3.0, 4.0]) / 5
    descent, calls = ended(lambda z: 4 - z @ a, lambda z: np.tile(-a, (len(z), 1)), [[1.0, -2.0]])
    assert np.allclose(descent.design_points(), [4 * a])
    assert calls == 2 + 4  # two steps, and four points that check the gradient
    assert descent.gap is None


def test_two_sides_have_two_design_points_the_nearest_first() -> None:
    def g(z: Any) -> Any:
        return np.minimum(3.5 - z[:, 0], 3 + z[:, 0])

    def slope(z: Any) -> Any:
        right = 3.5 - z[:, 0] < 3 + z[:, 0]
        return np.column_stack((np.where(right, -1.0, 1.0), np.zeros(len(z))))

    descent, _ = ended(g, slope, [[1.0, 1.0], [2.0, -1.0], [-1.0, 0.5]])
    assert np.allclose(descent.design_points(), [[-3, 0], [3.5, 0]])


def test_walkers_at_the_same_place_become_one() -> None:
    def slope(z: Any) -> Any:
        return np.column_stack((np.full(len(z), -1.0), 0.2 * z[:, 1]))

    starts = [[1.0, 0.01 * k] for k in range(10)]
    _, calls = ended(lambda z: 3 - z[:, 0] + 0.1 * z[:, 1] ** 2, slope, starts)
    assert calls < 20


def test_a_long_step_is_halved_until_it_is_better() -> None:
    """The step from a flat place leads far away: 12.5 - |x y| has no slope at the centre."""

    def g(z: Any) -> Any:
        return 12.5 - np.abs(z[:, 0] * z[:, 1])

    def slope(z: Any) -> Any:
        return -np.sign(z[:, :1] * z[:, 1:]) * z[:, ::-1]

    descent, _ = ended(g, slope, [[0.5, 0.4], [-1.0, 1.0], [2.0, -1.0], [-1.0, -1.5]])
    found = descent.design_points()
    assert len(found) >= 3
    assert np.allclose(np.abs(found), np.sqrt(12.5), atol=0.2)


def test_no_step_is_longer_than_six() -> None:
    """The first aim is 4000 away, where a distribution may have no number any more."""

    def slope(z: Any) -> Any:
        return np.tile([-1e-3, 0.0], (len(z), 1))

    descent = Descent(np.zeros((1, 2)), np.array([1.0, 0.0]))
    descent.step(np.full(5, 4.0), slope(np.zeros((5, 2))))
    assert np.allclose(descent.proposed(), [[6, 0]])


def test_a_wrong_gradient_is_noticed_and_leads_nowhere() -> None:
    descent, _ = ended(
        lambda z: 4 - z[:, 0], lambda z: np.tile([1.0, 0.0], (len(z), 1)), [[1.0, 1.0]]
    )
    assert descent.gap is not None
    said, seen = descent.gap
    assert said == pytest.approx(np.sqrt(0.5))
    assert seen == pytest.approx(-np.sqrt(0.5))
    assert descent.design_points().shape == (0, 2)


def test_noise_and_kinks_are_no_proof_of_a_wrong_gradient() -> None:
    rng = np.random.default_rng(7)

    def slope(z: Any) -> Any:
        return np.tile([-1.0, 0.0], (len(z), 1))

    def noise(z: Any) -> Any:
        return 4 - z[:, 0] + rng.standard_normal(len(z))

    gaps = [ended(noise, slope, [[1.0, 1.0]])[0].gap for _ in range(100)]
    kink, _ = ended(lambda z: 4 - np.abs(z[:, 0]), slope, [[0.0, 1.0]])
    assert gaps == [None] * 100
    assert kink.gap is None


def test_a_plateau_ends_the_descent() -> None:
    descent, calls = ended(lambda z: np.ones(len(z)), np.zeros_like, [[1.0, 1.0], [0.0, 2.0]])
    assert calls == 6
    assert len(descent.design_points()) == 0


def test_walkers_that_a_budget_cuts_off_stop() -> None:
    descent = Descent(np.array([[1.0, 0.0], [-1.0, 3.0]]), np.array([1.0, 0.0]))
    descent.step(np.array([3.0]), np.array([[-1.0, 0.0]]))
    assert len(descent.proposed()) == 1


def test_starts_are_the_lowest_draws_and_draws_of_all_levels() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((200, 2))
    descent = Descent.among(x, 3 - x[:, 0], rng)
    starts = descent.proposed()[:-4]
    assert x[:, 0].argmax() in [int(np.flatnonzero((x == z).all(axis=1))[0]) for z in starts]
    assert starts[:, 0].min() == x[:, 0].min()
    assert len(np.unique(starts, axis=0)) == len(starts)


def test_the_component_beyond_a_design_point_is_narrow_along_it() -> None:
    made = beyond(np.array([0.0, 4.0, 0.0]))
    assert made.means.tolist() == [[0, 4.25, 0]]
    assert np.allclose(made.roots[0] @ made.roots[0].T, np.diag([1, 1 / 16, 1]))


@pytest.mark.parametrize(
    "over",
    [
        3,
        [stats.expon(), stats.gumbel_r(2, 3), stats.norm(1, 2)],
        stats.multivariate_normal([1, 2, 3], [[2, 1, 0], [1, 3, 0.5], [0, 0.5, 1]]),
        Nataf(
            [stats.lognorm(0.3), stats.norm(), stats.expon()],
            [[1, 0.4, 0], [0.4, 1, 0.2], [0, 0.2, 1]],
        ),
        (3, lambda z: np.exp(z) + z[:, ::-1]),
    ],
    ids=["normal", "marginals", "vector", "copula", "transform"],
)
def test_the_chain_rule_agrees_with_finite_differences(over: Any) -> None:
    space = read_space(over)
    weights = np.array([1.0, -2.0, 0.5])
    z = np.random.default_rng(7).normal(0, 2, (5, 3))

    def g(z: Any) -> Any:
        return np.sin(space.from_normal(z)) @ weights

    there = np.cos(space.from_normal(z)) * weights
    found = space.pulled_back(z, there[:, None])[:, 0]
    steps = 1e-5 * np.eye(3)
    known = np.column_stack([(g(z + step) - g(z - step)) / 2e-5 for step in steps])
    assert np.allclose(found, known, rtol=1e-4, atol=1e-4)
