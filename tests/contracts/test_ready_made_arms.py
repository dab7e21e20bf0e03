"""What every ready-made arm must do: be unbiased, have its variance and cost, and be playable."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import croupier as cr
from croupier.arms.ready_made import READY_MADE, known, ready_made


def draw(arm: cr.Arm, rng: np.random.Generator, size: int) -> cr.Draws:
    """Draw from an arm; one that learns has first learned from 1000 draws."""
    state = None
    if (learner := arm.learner) is not None:
        first = learner.draw(np.random.default_rng(0), 1000, learner.start())
        state = learner.learn(learner.start(), first.extra)
    drawn: cr.Draws = arm.call(state)(rng, size)
    return drawn


every = pytest.mark.parametrize("name", sorted(READY_MADE))


@every
def test_it_is_found_by_its_name_and_says_what_it_does(name: str) -> None:
    make = getattr(cr.arms, name)
    assert make is ready_made(name)
    assert make.__name__ == name
    assert make.__doc__
    assert known(name).arm.name == name
    assert name in cr.arms.__all__


@every
def test_it_is_unbiased_and_has_the_variance_and_the_cost_that_it_should(name: str) -> None:
    example, n = known(name), 20_000 if name != "randomised_net" else 4_000
    drawn = draw(example.arm, np.random.default_rng(7), n)
    values, costs = np.asarray(drawn.values), np.broadcast_to(drawn.costs, n)
    assert values.shape == (n,)
    assert abs(values.mean() - example.mean) < 4 * values.std() / np.sqrt(n)
    assert costs.mean() == pytest.approx(example.cost, rel=0.05)
    if example.at_most:
        assert 0 < values.var() < example.variance
    else:
        assert values.var() == pytest.approx(example.variance, rel=0.15)


@every
def test_it_is_a_function_of_its_rng_and_does_not_depend_on_the_size_of_a_call(name: str) -> None:
    arm = known(name).arm
    one, two = (draw(arm, np.random.default_rng(3), 50) for _ in range(2))
    assert np.array_equal(one.values, two.values)
    assert np.asarray(draw(arm, np.random.default_rng(3), 1).values).shape == (1,)


@every
def test_it_plays_beside_another_arm(name: str) -> None:
    example = known(name)
    spread = np.sqrt(example.variance)

    def other(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(rng.normal(example.mean, 2 * spread, size), 2 * example.cost)

    arms = {name: example.arm, "other": other}
    result = cr.estimate(arms, cost=3000 * example.cost, rng=7, progress=False)
    assert abs(result.value - example.mean) < 5 * result.stderr
    assert result.arms[name].share > 0.5


def test_a_name_that_is_not_known_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'antithetc'"):
        cr.arms.antithetc  # noqa: B018


def test_an_arm_of_a_function_in_a_module_can_be_sent_to_a_worker() -> None:
    arm = cr.arms.antithetic(rows, [(0, 1)] * 2)
    again = pickle.loads(pickle.dumps(arm))
    first, second = (a.draw(np.random.default_rng(1), 5).values for a in (arm, again))
    assert np.array_equal(first, second)


def rows(x: np.ndarray) -> np.ndarray:
    return x.prod(axis=1)
