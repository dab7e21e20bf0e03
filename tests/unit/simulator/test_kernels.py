"""The plain kernels make the decisions of the policies, one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier import simulator
from croupier.data.draws import Draws
from croupier.policies import (
    KLUCB,
    MOSS,
    UCB1,
    UCBV,
    Policy,
    RobustUCB,
    SubgaussianUCB,
    Thompson,
    Tightest,
)
from croupier.policies import Uniform as Even
from croupier.policies.indices import kl_ucb
from croupier.seeds import POLICY
from croupier.simulator import kernels, players
from croupier.simulator import variance_thompson as variance
from croupier.simulator.compiling import inlined
from croupier.simulator.randomness import streams
from croupier.simulator.sampling import draw

KEY = np.uint64(20140621)

PROBLEMS = {
    "uniform": simulator.uniform([0.02, 0.03]),
    "two values": simulator.two_valued([0.1, 0.2, 0.3], [0.9, 0.8, 0.7]),
    "five": simulator.truncated_normal([0.01, 0.02, 0.03, 0.04, 0.05]),
}

PRICED = simulator.uniform([0.02, 0.03, 0.01], costs=[1.0, 2.0, 40.0])


@inlined
def fill(s: Any, arm: int, sampling: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i], _ = draw(s, arm, sampling)


def tape(problem: simulator.Problem, arm: int, size: int) -> list[float]:
    """Return the draws that any kernel sees of an arm, in their order."""
    out = np.empty(size)
    fill(streams(KEY, len(problem) + 1)[arm], arm, players._sampling_of(problem), out)
    return out.tolist()


def pulls_of(problem: simulator.Problem, policy: Policy, steps: int) -> np.ndarray:
    """Return the pulls of every arm after each step of the plain kernel."""
    times = np.arange(1.0, steps + 1)
    pulls = np.zeros((1, steps, len(problem)), np.int64)
    kernel = players._kernel(problem, policy, False)
    kernel(players.KernelCall(np.array([KEY]), times, pulls, np.zeros((1, 4))))
    return pulls[0]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    "policy",
    [
        UCB1(bounds=(0, 1)),
        UCB1(bounds=(0, 1), scale=0.5),
        UCBV(bounds=(0, 1)),
        UCBV(bounds=(0, 1), zeta=0.4, c=0.2, cut=True),
        KLUCB(bounds=(0, 1)),
        MOSS(bounds=(0, 1)),
        MOSS(bounds=(0, 1), horizon=500),
        SubgaussianUCB(sigma=0.2),
        UCB1(bounds=(0, 1), payoff="variance"),
        UCB1(bounds=(0, 1), time="paper"),
        Tightest(bounds=(0, 1)),
        Tightest(bounds=(0, 1), of=(UCBV(c=0.1, cut=True), "moss", KLUCB(f=0))),
        pytest.param(RobustUCB(moment=0.3), marks=pytest.mark.slow, id="robust-ucb"),
        pytest.param(
            RobustUCB(moment=0.01, eps=0.5, mean="median-of-means"),
            marks=pytest.mark.slow,
            id="robust-ucb-median",
        ),
        pytest.param(
            RobustUCB(moment=0.01, mean="catoni"), marks=pytest.mark.slow, id="robust-ucb-catoni"
        ),
        Even(),
    ],
    ids=lambda policy: policy.name,
)
def test_plain_kernel_and_policy_agree_decision_by_decision(problem: str, policy: Policy) -> None:
    agree(PROBLEMS[problem], policy, ())


@pytest.mark.parametrize(
    "policy",
    [
        UCB1(scaling="per-arm"),
        KLUCB(scaling="per-arm"),
        MOSS(scaling="per-arm", payoff="variance"),
        Tightest(scaling="per-arm"),
    ],
    ids=lambda policy: policy.name,
)
def test_kernels_scale_each_arm_by_its_own_range(policy: Policy) -> None:
    narrow, wide = (0.2, 0.8), (0.0, 1.0)
    problem = simulator.uniform([0.02, 0.03]).within(*zip(narrow, wide, strict=True))
    assert problem.arm_bounds == (narrow, wide)
    agree(problem, policy, (narrow, wide))


def agree(setting: simulator.Problem, policy: Policy, bounds: Any, steps: int = 1500) -> None:
    """Play a policy at a table on the draws of its kernel, and compare every decision."""
    pulls = pulls_of(setting, policy, steps)
    tapes = [tape(setting, arm, steps) for arm in range(len(setting))]
    names = tuple(str(arm) for arm in range(len(setting)))
    described = cr.policies.describe(policy)
    plan = cr.Plan(names, 1, policy=described, bounds=bounds, batch="one")
    table = cr.Allocator(plan, policy=policy)
    drawn = [0] * len(names)
    step = 0
    while step < steps:
        batch = table.ask()
        assert batch is not None
        arm = int(batch.arm)
        values = tapes[arm][drawn[arm] : drawn[arm] + batch.size]
        drawn[arm] += batch.size
        step += batch.size
        table.tell(batch, values)
        assert pulls[step - 1].tolist() == drawn, f"step {step}"


class Replayed:
    """A random generator that returns what a kernel has drawn."""

    def __init__(self, row: np.ndarray, arms: int) -> None:
        self.row, self.arms = row, arms

    def beta(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.row[: self.arms]

    def chisquare(self, df: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        return self.row[: shape[0] * shape[1]].reshape(shape)

    def standard_normal(self, shape: tuple[int, int]) -> np.ndarray:
        return np.full(shape, 1e300)  # costs that do not vary are known

    def random(self, size: int | None = None) -> Any:
        return self.row[-1] if size is None else self.row[-1:]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_plain_kernel_and_thompson_agree_on_the_same_posterior_draws(problem: str) -> None:
    setting, steps = PROBLEMS[problem], 1500
    arms = len(setting)
    policy = Thompson(bounds=(0, 1))
    times, pulls = np.arange(1.0, steps + 1), np.zeros((1, steps, arms), np.int64)
    beliefs = np.full((steps, arms + 1), np.nan)
    sampling, rules = players._sampling_of(setting), players._rules(setting, policy.terms())
    prior, none = np.ones(2), np.zeros((1, 4))
    kernels.play_thompson(prior, rules, sampling, np.array([KEY]), times, pulls, none, beliefs)
    tapes = [tape(setting, arm, steps) for arm in range(arms)]
    plan = cr.Plan(names=tuple(map(str, range(arms))), seed=1)
    state, drawn = policy.start(plan), [0] * arms
    for step in range(steps):
        rng: Any = Replayed(beliefs[step], arms)
        arm = policy.choose(state, None, None, lambda rng=rng: rng)  # type: ignore[arg-type, misc]
        assert isinstance(arm, int)
        value = np.array([tapes[arm][drawn[arm]]])
        drawn[arm] += 1
        assert pulls[0, step].tolist() == drawn
        state = policy.learn(state, None, arm, policy.digest(plan, arm, Draws(value), rng))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "setting", [PROBLEMS["uniform"], PROBLEMS["five"], PRICED], ids=["uniform", "five", "priced"]
)
def test_kernel_and_default_policy_agree_on_the_same_posterior_draws(
    setting: simulator.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, arms = 20_000, len(setting)
    unit: Any = "draws" if setting.unit_costs else "cost"
    plan = cr.Plan(names=tuple(map(str, range(arms))), seed=1, unit=unit)
    rows = variance.VarianceRules(0.5, plan.first, 0.02, 8, 2000, plan.share, False, False)
    decisions = np.full((2000, 2), -1, np.int64)
    beliefs = np.full((2000, 8 * arms + 1), 0.5)
    pulls = np.zeros((1, 1, arms), np.int64)
    sampling, keys = players._sampling_of(setting), np.array([KEY])
    variance.play_variance(
        rows, sampling, keys, np.array([float(draws)]), pulls, decisions, beliefs
    )
    tapes = [tape(setting, arm, draws) for arm in range(arms)]

    def replay(seed: int, purpose: int, ticket: int) -> Any:
        assert purpose == POLICY
        return Replayed(beliefs[ticket], arms)

    monkeypatch.setattr("croupier.tables.independent.stream", replay)
    table = cr.Allocator(plan)
    drawn = [0] * arms
    for ticket in range(int((decisions[:, 0] >= 0).sum())):
        spent = setting.costs @ drawn
        if unit == "cost" and spent > draws / 2:
            break  # near its end, a live run with costs buys smaller batches
        batch = table.ask(draws - sum(drawn) if unit == "draws" else None)
        assert batch is not None
        assert (int(batch.arm), batch.size) == tuple(decisions[ticket]), f"ticket {ticket}"
        arm = int(batch.arm)
        values = tapes[arm][drawn[arm] : drawn[arm] + batch.size]
        costs = None if unit == "draws" else np.full(batch.size, setting.costs[arm])
        table.tell(batch, values, costs)
        drawn[arm] += batch.size
    if unit == "draws":
        assert sum(drawn) == draws
        assert drawn == pulls[0, 0].tolist()
    assert ticket > 30


def test_kl_bound_is_that_of_the_live_policy() -> None:
    losses = [0.0, 1e-12, 1e-3, 0.3, 0.9, 1 - 1e-9, 1.0]
    for loss in losses:
        for level in (1e-8, 1e-3, 0.1, 2.0, 40.0):
            live = float(kl_ucb(np.array([loss]), np.array([level]))[0])
            assert kernels.kl_bound(loss, level) == pytest.approx(live, rel=1e-12), (loss, level)
            if 0 < loss < 1:
                again = kernels.kl_bound_again(
                    loss, level, kernels.kl_bound(loss, level / 3), level / 3
                )
                assert again == pytest.approx(live, rel=1e-12)
                lower = kernels.kl_bound_again(
                    loss, level, kernels.kl_bound(loss, 2 * level), 2 * level
                )
                assert lower == pytest.approx(live, rel=1e-12)
                assert kernels.kl_is_above(loss, level, live * (1 - 1e-6))
                assert not kernels.kl_is_above(loss, level, live * (1 + 1e-6))
    assert not kernels.kl_is_above(0.5, 1.0, math.inf)


def test_a_run_stops_at_a_draw_outside_of_the_range() -> None:
    problem = simulator.normal([1.0, 1.0], mean=0.5, bounds=(0, 1))
    with pytest.raises(cr.ArmError, match=r"outside of the range \[0, 1\].*'ucb1'.*clip=True"):
        cr.simulate(problem, "ucb1", 4, 100, rng=1)
    for skip in (True, False):
        clipped = cr.simulate(problem, UCB1(clip=True), 4, 100, rng=1, skip=skip)
        assert clipped["ucb1"].pulls[:, -1].sum() == 400
    with pytest.raises(cr.ArmError, match="outside of the range"):
        cr.simulate(problem, "thompson", 4, 100, rng=1)
