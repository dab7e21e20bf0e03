"""Problems: draws with the mean, the variance and the costs that they promise; clear refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier import simulator
from croupier.simulator import players
from croupier.simulator.compiling import inlined
from croupier.simulator.randomness import streams
from croupier.simulator.sampling import draw

SIZE = 200_000


@inlined
def fill(s: Any, arm: int, sampling: Any, values: Any, costs: Any) -> None:
    for i in range(len(values)):
        values[i], costs[i] = draw(s, arm, sampling)


def drawn(problem: simulator.Problem, arm: int) -> tuple[np.ndarray, np.ndarray]:
    values, costs = np.empty(SIZE), np.empty(SIZE)
    s = streams(np.uint64(11), len(problem) + 1)[arm]
    fill(s, arm, players._sampling_of(problem), values, costs)
    return values, costs


def records(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(3.0, 1.0, 500), rng.exponential(3.0, 900)]


PROBLEMS = [
    simulator.scaled_bernoulli([0.01, 0.2, 0.25]),
    simulator.two_valued([0.3, 0.2], [0.7, 0.4], [0.05, 0.6]),
    simulator.uniform([1 / 12, 0.01]),
    simulator.uniform([0.001], mean=0.1),
    simulator.truncated_normal([0.001, 0.05, 0.083]),
    simulator.truncated_normal([0.01, 0.02], mean=0.3),
    simulator.normal([1.0, 9.0], mean=-4.0),
    simulator.lognormal([0.1, 0.5], mean=2.0),
    simulator.recorded(records(np.random.default_rng(3))),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_draws_have_the_mean_and_the_variance_that_the_problem_says(problem: Any) -> None:
    for arm, variance in enumerate(problem.variances):
        values, costs = drawn(problem, arm)
        assert (costs == 1).all()
        mean = problem.mean
        if problem.recorded is not None:
            start, count = problem.parameters[arm, :2].astype(int)
            mean = problem.recorded[start : start + count, 0].mean()
        assert abs(values.mean() - mean) < 4 * np.sqrt(variance / SIZE)
        square = np.square(values - mean)
        assert abs(square.mean() - variance) < 4 * square.std() / np.sqrt(SIZE) + 1e-15
        if problem.distributions is not None:
            theory = problem.distributions[arm]
            assert theory.variance == pytest.approx(variance, rel=1e-9)
            assert theory.support[0] - 1e-12 <= values.min()
            assert values.max() <= theory.support[1] + 1e-12


@pytest.mark.parametrize(
    "costs",
    [
        [2.0, 7.0],
        simulator.lognormal_costs([2.0, 7.0], 0.5),
    ],
    ids=["constant", "lognormal"],
)
def test_costs_have_their_means(costs: Any) -> None:
    problem = simulator.normal([1.0, 2.0], costs=costs)
    assert not problem.unit_costs
    assert problem.costs.tolist() == [2.0, 7.0]
    for arm, mean in enumerate([2.0, 7.0]):
        _, paid = drawn(problem, arm)
        assert abs(paid.mean() - mean) <= 4 * paid.std() / np.sqrt(SIZE)
        assert paid.min() > 0


def test_recorded_costs_stay_with_their_values() -> None:
    values = records(np.random.default_rng(4))
    costs = [np.exp(np.abs(one)) for one in values]
    problem = simulator.recorded(values, costs=costs)
    for arm in range(2):
        x, paid = drawn(problem, arm)
        assert np.allclose(paid, np.exp(np.abs(x)))
    assert problem.costs == pytest.approx([one.mean() for one in costs])


def test_the_best_arm_has_the_least_cost_times_variance() -> None:
    assert simulator.normal([1.0, 4.0]).best == 0
    assert simulator.normal([1.0, 4.0], costs=[10.0, 1.0]).best == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: simulator.scaled_bernoulli([0.1, 0.3]), "0.3 is impossible.*at most 0.25"),
        (lambda: simulator.scaled_bernoulli([0.1], mean=0.2), "0.1 is impossible.*at most 0.04"),
        (lambda: simulator.uniform([0.09]), "0.09 is impossible for uniform.*0.0833333"),
        (lambda: simulator.truncated_normal([1 / 12]), "impossible for truncated normal.*below"),
        (lambda: simulator.uniform([0.01], mean=1.5), "mean must lie between 0 and 1, got 1.5"),
        (lambda: simulator.normal([1.0, -1.0]), "variances must be numbers above 0"),
        (lambda: simulator.normal([1.0, np.nan]), "variances must be finite"),
        (lambda: simulator.normal(["a"]), "variances must be numbers"),
        (lambda: simulator.normal([1.0], costs=[0.0]), "costs must be above 0"),
        (lambda: simulator.normal([1.0], costs=[1.0, 2.0]), "one for each of 1 arms"),
        (
            lambda: simulator.normal([1.0], costs=simulator.lognormal_costs([1.0, 2.0], 1.0)),
            "costs are for 2 arms",
        ),
        (lambda: simulator.two_valued([0.0, 0.0], [1.0, 0.8]), "share one mean"),
        (lambda: simulator.two_valued([0.5], [0.5]), "low < high"),
        (lambda: simulator.two_valued([0.5], [0.6, 0.7]), "equally many"),
        (lambda: simulator.recorded([]), "sequence of arrays"),
        (lambda: simulator.recorded([[1.0]]), "at least two recorded draws"),
        (
            lambda: simulator.recorded([[1.0, 2.0]], costs=[[1.0]]),
            "as many recorded costs as recorded draws",
        ),
        (lambda: simulator.compiled_arms(3, [1.0], 0.0), "sample must be a function"),
        (lambda: simulator.lognormal([1.0], mean=-1.0), "mean"),
    ],
)
def test_what_cannot_be_is_refused(build: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        build()
