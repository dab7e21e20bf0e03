"""simulate(): the same on any number of threads, recorded at the right times, clear refusals."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier import simulator, theory
from croupier.policies import REGISTRY, UCB1, Thompson, VarianceThompson
from croupier.simulator.players import KernelCall, summing
from croupier.simulator.randomness import exponential

TWO = simulator.scaled_bernoulli([0.08, 0.18])
ALL = {name: REGISTRY[name].example() for name in simulator.PLAYED}


def ucb1_again(loss: float, variance: float, count: float, time: float) -> float:
    return loss - math.sqrt(2 * math.log(time) / count)


def nowhere(loss: float, variance: float, count: float, time: float) -> float:
    return math.log(100 - time)  # from t = 101 on there is no such number


def exponential_arms(stream: Any, arm: int) -> tuple[float, float]:
    x = exponential(stream)
    return 1 + (x - 1) * (arm + 1), 1 + x


def test_one_seed_gives_one_result_on_any_number_of_threads() -> None:
    one, many = (cr.simulate(TWO, ALL, 30, 2000, rng=7, threads=n) for n in (1, 3))
    for name in ALL:
        assert (one[name].pulls == many[name].pulls).all()


def test_a_longer_simulation_begins_with_the_runs_of_a_shorter_one() -> None:
    few, many = (cr.simulate(TWO, ["ucb1", "auto"], runs, 500, rng=7) for runs in (3, 50))
    for name in few:
        assert (few[name].pulls == many[name].pulls[:3]).all()


def test_policies_and_seeds_have_runs_of_their_own() -> None:
    sim = cr.simulate(TWO, {"a": "ucb1", "b": UCB1(scale=1.9)}, 20, 500, rng=7)
    other = cr.simulate(TWO, {"a": "ucb1"}, 20, 500, rng=8)
    assert (sim["a"].pulls != sim["b"].pulls).any()
    assert (sim["a"].pulls != other["a"].pulls).any()
    assert len({tuple(run) for run in sim["a"].pulls[:, -1].tolist()}) > 5


@pytest.mark.parametrize("name", ALL)
def test_pulls_at_a_time_add_up_to_it(name: str) -> None:
    problem = simulator.scaled_bernoulli([0.08, 0.18, 0.1])
    times = [3, 4, 10, 11, 700, 2000]
    for skip in (True, False):
        replicates = cr.simulate(problem, ALL[name], 5, 2000, rng=1, record=times, skip=skip)[name]
        assert (replicates.pulls.sum(axis=2) == times).all()
        assert (np.diff(replicates.pulls, axis=1) >= 0).all()


def test_recorded_times_are_a_ladder_that_ends_at_the_horizon() -> None:
    sim = cr.simulate(TWO, "uniform", 2, 1000, record=5)
    assert sim.times.tolist() == [2, 9, 45, 211, 1000]
    assert cr.simulate(TWO, "uniform", 2, 1000, record=[10, 20]).times.tolist() == [10, 20, 1000]
    assert cr.simulate(TWO, "uniform", 2, 1000, record=1).times.tolist() == [1000]


def test_an_index_function_of_the_users_is_played_as_it_is_written() -> None:
    sim = cr.simulate(TWO, {"ucb1": ucb1_again}, 10, 3000, rng=7)
    plain = cr.simulate(TWO, {"ucb1": "ucb1"}, 10, 3000, rng=7, skip=False)
    # The keys depend on the policy, so only the law is the same.
    gap = sim["ucb1"].mean_regret[-1] - plain["ucb1"].mean_regret[-1]
    error = math.hypot(sim["ucb1"].stderr[-1], plain["ucb1"].stderr[-1])
    assert abs(gap) < 4 * error
    assert cr.simulate(TWO, ucb1_again, 2, 10)["ucb1_again"].pulls.shape[0] == 2


def test_an_index_that_returns_nan_is_named() -> None:
    with pytest.raises(cr.PlanError, match=r"index 'nowhere' returned NaN for arm 0 at time 101"):
        cr.simulate(TWO, nowhere, 3, 1000, rng=7)


def test_an_index_that_cannot_be_compiled_is_named() -> None:
    def wild(loss: float, variance: float, count: float, time: float) -> Any:
        return open(str(loss))

    def text(loss: float, variance: float, count: float, time: float) -> Any:
        return "low"

    with pytest.raises(cr.PlanError, match=r"index 'wild' cannot be compiled.*numba says"):
        cr.simulate(TWO, wild, 3, 1000)
    with pytest.raises(cr.PlanError, match="index 'text' returned 'low', not a number"):
        cr.simulate(TWO, text, 3, 1000)
    with pytest.raises(cr.PlanError, match="index 'short' cannot be compiled"):
        cr.simulate(TWO, {"short": lambda loss: loss}, 3, 1000)


@pytest.mark.slow
def test_arms_of_the_users_own_with_costs() -> None:
    problem = simulator.compiled_arms(exponential_arms, [1.0, 4.0], 1.0, costs=[2.0, 2.0])
    sim = cr.simulate(problem, ["auto", Thompson(bounds=(0, 20), cost_bounds=(0, 20), clip=True)],
                      20, 3000, rng=7)  # fmt: skip
    for replicates in sim.values():
        drawn = replicates.pulls[:, -1].sum(axis=1)
        assert np.abs(drawn / 1500 - 1).max() < 0.2
    assert sim["variance-thompson"].pulls[:, -1, 0].mean() > 1200


def one_by_one(stream: Any, arm: int) -> float:
    return 1.0 + (arm + 1) * (exponential(stream) - 1.0)


def many_at_once(stream: Any, numbers: Any, values: Any) -> None:
    for j in range(len(values)):
        values[j] = 1.0 + numbers[0] * (exponential(stream) - 1.0)


def test_arms_in_blocks_draw_what_they_draw_one_by_one_and_means_are_those_of_the_draws() -> None:
    span: Any = {"variances": [1.0, 4.0], "mean": 1.0}
    single = simulator.compiled_arms(one_by_one, **span)
    blocks = simulator.compiled_arms(many_at_once, **span, block=10, parameters=[[1.0], [2.0]])
    keys = np.array([7, 8], np.uint64)
    pulls = np.array([[[3, 4], [10, 20], [41, 59]], [[0, 7], [0, 30], [0, 100]]])
    call = KernelCall(keys, np.array([7.0, 30.0, 100.0]), pulls, np.zeros((2, 4)))
    sums = np.full((2, 2, 3), np.nan)
    for problem, into in zip((single, blocks), sums, strict=True):
        summing(problem)(call, into)
    assert np.isfinite(sums).all()
    assert sums[1] == pytest.approx(sums[0], rel=1e-12)
    uniform = cr.simulate(blocks, "uniform", 200, 1003, record=[7, 100], rng=7, means=True)
    means = uniform["uniform"].means
    assert means is not None
    assert means.shape == (200, 3)
    # Mean and variance of the mean of 502 and 501 draws, within 4 standard errors.
    off = np.square(means[:, -1] - 1.0)
    assert abs(means[:, -1].mean() - 1.0) <= 4 * np.sqrt(off.mean() / 200)
    assert abs(off.mean() - (502 * 1.0 + 501 * 4.0) / 1003**2) <= 4 * off.std() / np.sqrt(200)


def test_blocks_that_cannot_be_drawn_are_named() -> None:
    bad = simulator.compiled_arms(one_by_one, [1.0], 1.0, block=10)
    with pytest.raises(cr.PlanError, match="in blocks they must be a function"):
        cr.simulate(bad, "auto", 2, 100)
    with pytest.raises(cr.PlanError, match="a row of numbers for each of 2 arms"):
        simulator.compiled_arms(many_at_once, [1.0, 4.0], 1.0, block=4, parameters=[[1.0]])
    with pytest.raises(cr.PlanError, match="block must be a whole number"):
        simulator.compiled_arms(many_at_once, [1.0], 1.0, block=0)
    with pytest.raises(cr.PlanError, match="means=True needs arms of your own"):
        cr.simulate(TWO, "ucb1", 2, 100, means=True)


def test_arms_that_cannot_be_compiled_are_named() -> None:
    def bad(stream: Any, arm: int) -> Any:
        return stream.foo

    problem = simulator.compiled_arms(bad, [1.0], 0.0)
    with pytest.raises(cr.PlanError, match="arms 'bad' cannot be compiled"):
        cr.simulate(problem, "auto", 2, 100)


@pytest.mark.parametrize("charge", ["constant", "lognormal"])
def test_with_costs_times_are_budgets_and_draws_are_those_finished(charge: str) -> None:
    costs: Any = {
        "constant": [1.0, 5.0],
        "lognormal": simulator.lognormal_costs([1.0, 5.0], 0.5),
    }[charge]
    problem = simulator.uniform([0.08, 0.01], costs=costs)
    policies = ["auto", UCB1(cost_bounds=(0, 20), clip=True)]
    sim = cr.simulate(problem, policies, 200, 4000, rng=7)
    for replicates in sim.values():
        spent = replicates.pulls[:, -1] @ problem.costs
        assert abs(spent.mean() - 4000) < 40
        budget, counts = float(sim.times[-1]), replicates.pulls[:, -1]
        expected = theory.cost_regret(budget, counts, problem.variances, problem.costs)
        assert replicates.regret[:, -1] == pytest.approx(expected)
    # Cost times variance: 0.08 and 0.05.
    assert problem.best == 1
    assert sim["variance-thompson"].pulls[:, -1, 1].mean() * 5 > 2500


def test_regret_is_that_of_the_theory() -> None:
    replicates = cr.simulate(TWO, "thompson", 10, 500, rng=7)["thompson"]
    expected = replicates.pulls[:, :, 1] * (0.18 - 0.08)
    assert replicates.regret == pytest.approx(expected)
    assert (replicates.suboptimal == replicates.pulls[:, :, 1]).all()
    assert replicates.mean_regret == pytest.approx(expected.mean(axis=0))
    assert replicates.stderr == pytest.approx(expected.std(axis=0, ddof=1) / math.sqrt(10))
    low, high = replicates.percentiles([1, 99])
    assert (low <= high).all()
    assert replicates.cpu_seconds > 0


def test_the_default_policy_does_in_the_simulator_what_it_does_live() -> None:
    draws, runs = 2000, 40
    problem = simulator.uniform([0.01, 0.02])
    sim = cr.simulate(problem, "auto", 2000, draws, rng=7)["variance-thompson"]
    half = np.sqrt(3 * problem.variances)

    def arm(width: float) -> Any:
        return lambda rng, size: rng.uniform(0.5 - width, 0.5 + width, size)

    arms = {"fine": arm(half[0]), "rough": arm(half[1])}
    live = np.array(
        [cr.estimate(arms, draws=draws, rng=seed).arms["rough"].draws for seed in range(runs)]
    )
    there = sim.pulls[:, -1, 1]
    z = (live.mean() - there.mean()) / math.sqrt(live.var() / runs + there.var() / len(there))
    assert abs(z) < 4


def test_a_simulation_prints_as_a_table_and_goes_to_pandas() -> None:
    sim = cr.simulate(TWO, ["ucb1", "thompson"], 5, 100, rng=7, record=3)
    text = repr(sim)
    assert "5 runs of 100 draws each on <Problem of 2 arms" in text
    assert text.count("\n") == 3
    frame = sim.to_pandas()
    assert len(frame) == 6
    assert list(sim) == ["ucb1", "thompson"]
    assert len(sim) == 2
    with pytest.raises(KeyError, match="'moss' was not simulated; the policies are ucb1, thompson"):
        sim["moss"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cr.simulate(TWO, "ucb1", 10, 1), "horizon must be at least the number of arms, 2"),
        (lambda: cr.simulate(TWO, "nonsense", 10, 100), "unknown policy 'nonsense'"),
        (lambda: cr.simulate(TWO, "greedy", 10, 100), "no kernel for policy 'greedy'; it plays"),
        (lambda: cr.simulate(TWO, [], 10, 100), "at least one of ucb1"),
        (lambda: cr.simulate(TWO, ["ucb1", "ucb1"], 10, 100), "two policies are called 'ucb1'"),
        (lambda: cr.simulate([0.1, 0.2], "ucb1", 10, 100), "problem must be a Problem"),  # type: ignore[arg-type]
        (lambda: cr.simulate(TWO, "ucb1", 0, 100), "runs"),
        (lambda: cr.simulate(TWO, "ucb1", 10, -5), "horizon"),
        (lambda: cr.simulate(TWO, "ucb1", 10, 100.5), "horizon"),
        (lambda: cr.simulate(TWO, "ucb1", 10, 100, threads=0), "threads"),
        (lambda: cr.simulate(TWO, "ucb1", 10, 100, record=[5, 4]), "ascending times"),
        (lambda: cr.simulate(TWO, "ucb1", 10, 100, record=[5, 400]), "between 0 and the horizon"),
        (lambda: cr.simulate(TWO, "ucb1", 10, 100, record=[5.5]), "whole numbers of draws"),
        (lambda: cr.simulate(TWO, "ucb1", 10, 100, record=0), "record"),
        (lambda: cr.simulate(simulator.normal([1.0]), "ucb1", 2, 9), "needs to know the range"),
        (
            lambda: cr.simulate(
                simulator.normal(
                    [1.0], bounds=(-9, 9), costs=simulator.lognormal_costs([1.0], 1.0)
                ),
                "ucb1", 2, 9,
            ),
            "how much a draw may cost",
        ),
        (lambda: TWO.within([0, 0, 0], 1), "one for each of 2 arms"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        call()


def test_to_import_croupier_and_run_it_loads_no_compiler() -> None:
    code = (
        "import sys, croupier as cr; cr.estimate({'a': lambda rng, n: rng.random(n)}, draws=99);"
        "problem = cr.simulator.uniform([0.01]); print('numba' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_the_floor_of_the_default_policy_is_kept() -> None:
    draws = 10_000
    sim = cr.simulate(TWO, {"more": VarianceThompson(floor=5.0), "none": VarianceThompson(floor=0)},
                      50, draws, rng=3)  # fmt: skip
    # The worse arm of TWO is worse beyond doubt.
    assert sim["more"].pulls[:, -1].min() >= 0.9 * 4 * 5 * math.log(draws)
    assert sim["none"].suboptimal[:, -1].mean() < sim["more"].suboptimal[:, -1].mean()


@pytest.mark.parametrize("skip", [True, False])
def test_a_draw_below_the_range_is_refused_like_one_above(skip: bool) -> None:
    for low, high in ((0.45, 1.0), (0.0, 0.55)):
        with pytest.raises(cr.ArmError, match=f"outside of the range .{low:g}, {high:g}"):
            cr.simulate(TWO.within(low, high), "ucb1", 10, 100, skip=skip)


def test_uniform_draws_need_no_costs_to_be_known() -> None:
    costs = simulator.lognormal_costs([1.0, 3.0], spread=0.7)
    sim = cr.simulate(simulator.normal([1.0, 2.0], costs=costs), "uniform", 20, 4000, rng=7)
    first, second = sim["uniform"].pulls[:, -1].T
    assert (np.abs(first - second) <= 1).all()
    assert first.mean() == pytest.approx(1000, rel=0.05)


def test_uniform_draws_go_round_at_every_recorded_time() -> None:
    sim = cr.simulate(simulator.scaled_bernoulli([0.1, 0.1, 0.2]), "uniform", 2, 11, record=[2, 7])
    assert sim["uniform"].pulls[1].tolist() == [[1, 1, 0], [3, 2, 2], [4, 4, 3]]
