"""From a policy to the kernel that plays it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.checks import Range
from croupier.data.draws import Floats
from croupier.data.plan import Plan, Unit
from croupier.errors import PlanError
from croupier.policies import Policy, as_policy, describe
from croupier.policies.base import MOST_SCORES
from croupier.policies.baselines import Uniform
from croupier.policies.bounded import KLUCB, MOSS, UCB1, UCBV, Bandit, Thompson
from croupier.policies.heavy import RobustUCB, SubgaussianUCB
from croupier.policies.payoffs import Payoff, Terms
from croupier.policies.tightest import Tightest
from croupier.policies.variance import FLOOR_AHEAD, MOST_DECISIONS, VarianceThompson
from croupier.simulator import kinds
from croupier.simulator.problems import Problem

__all__ = ["PLAYED", "KernelCall", "Player", "players_of", "summing"]

#: The policies that have a kernel.
PLAYED: Final = (
    "ucb1", "ucb-v", "kl-ucb", "moss", "tightest", "subgaussian-ucb", "robust-ucb", "thompson",
    "uniform", "variance-thompson",
)  # fmt: skip


class KernelCall(NamedTuple):
    """Some runs of one policy: their keys, the recorded times, and where results go."""

    keys: Any
    times: Any
    pulls: Any
    trouble: Any


#: Plays the runs of a call.
Kernel = Callable[[KernelCall], None]


@dataclass(frozen=True)
class Player:
    """A policy by the name it is shown under, what tells it from others, and its kernel."""

    name: str
    label: str
    build: Callable[[Problem, bool], Kernel]


def players_of(policies: Any) -> list[Player]:
    """Return players from names, policies, index functions, or a mapping of those by names."""
    if isinstance(policies, str) or not isinstance(policies, Sequence | Mapping):
        policies = [policies]
    if isinstance(policies, Mapping) and "name" in policies:
        policies = [policies]
    named = (
        list(policies.items())
        if isinstance(policies, Mapping)
        else [(None, policy) for policy in policies]
    )
    if not named:
        raise PlanError(f"policies must name at least one of {', '.join(PLAYED)}")
    players = [_player(policy, name) for name, policy in named]
    names = [player.name for player in players]
    if twice := {name for name in names if names.count(name) > 1}:
        raise PlanError(
            f"two policies are called {min(twice)!r}: give them names, as in "
            "simulate(problem, {'mild': UCB1(scale=1.0), 'usual': 'ucb1'}, ...)"
        )
    return players


def _player(policy: Any, name: str | None) -> Player:
    if callable(policy) and not isinstance(policy, type) and not hasattr(policy, "choose"):
        own = name or str(getattr(policy, "__name__", "index"))
        return Player(own, f"index {own}", lambda problem, skip: _own_index(problem, own, policy))
    built = as_policy(policy)
    label = json.dumps(describe(built), sort_keys=True, default=str)
    return Player(name or built.name, label, lambda problem, skip: _kernel(problem, built, skip))


def _kernel(problem: Problem, policy: Policy, skip: bool) -> Kernel:
    if isinstance(policy, VarianceThompson):
        return _variance(problem, policy)
    if isinstance(policy, Thompson):
        return _thompson(problem, policy, skip)
    if isinstance(policy, Uniform):
        return _uniform(problem)
    if isinstance(policy, RobustUCB):
        return _robust(problem, policy)
    if type(policy) is Tightest:
        each = [_parameters(problem, one) for one in policy.of]
        flat = [float(len(each)), *(number for row in each for number in row)]
        return _index(problem, policy.terms(), kinds.TIGHTEST, np.array(flat), False)
    if type(policy) not in _PARAMETERS or not isinstance(policy, Bandit):
        raise PlanError(
            f"the simulator has no kernel for policy {policy.name!r}; it plays "
            f"{', '.join(PLAYED)}, and any index function (loss, variance, count, time) -> score"
        )
    kind, *parameters = _parameters(problem, policy)
    # A bound that is cut at 1 makes ties, which only the plain kernel breaks as the policy does.
    skip = skip and not (kind == kinds.UCB_V and parameters[2])
    return _index(problem, policy.terms(), int(kind), np.array(parameters, float), skip)


#: The kind of each index policy and its three parameters, from the policy and the number of arms.
_PARAMETERS: Final[dict[type[Any], Callable[[Any, int], tuple[float, ...]]]] = {
    UCB1: lambda p, arms: (kinds.UCB1, p.scale, p.time == "paper", 0),
    UCBV: lambda p, arms: (kinds.UCB_V, p.zeta, p.c, p.cut),
    KLUCB: lambda p, arms: (kinds.KL_UCB, p.f, 0, 0),
    MOSS: lambda p, arms: (kinds.MOSS, p.horizon or 0, arms, 0),
    SubgaussianUCB: lambda p, arms: (kinds.SUBGAUSSIAN, p.known(), p.alpha, 0),
}


def _parameters(problem: Problem, policy: Any) -> tuple[float, ...]:
    if isinstance(policy, UCBV) and policy.time == "paper":
        raise PlanError(
            "the simulator plays policy 'ucb-v' with time='played' only; use cr.estimate with "
            "batch='one' for time='paper'"
        )
    return _PARAMETERS[type(policy)](policy, len(problem))


def _rules(problem: Problem, terms: Terms) -> Any:
    """Return how the policy is paid; the ranges are its own, or the problem's."""
    from croupier.simulator.kernels import Rules

    unit: Unit = "draws" if problem.unit_costs else "cost"
    kind, arms = terms.kind_in(unit), len(problem)
    known = problem.arm_bounds or (problem.bounds,) * arms
    if terms.bounded and terms.bounds is None and problem.bounds is None:
        raise PlanError(
            "a bounded policy needs to know the range of the draws: give the problem "
            "bounds=(low, high), and the policy clip=True if draws may lie outside"
        )
    costs: tuple[Range, ...] = ()
    if kind.startswith("cost") and unit == "cost":
        costs = tuple((0.0, cost) for cost in _highest_costs(problem, terms).tolist())
    plan = Plan(
        names=tuple(map(str, range(arms))),
        seed=0,
        unit=unit,
        bounds=known if terms.bounded else (),
        cost_bounds=costs,
    )
    payoff = Payoff.of(plan, terms)
    smallest, largest = np.full((2, arms), [[-math.inf], [math.inf]])
    if terms.bounded and not terms.clip:
        ranges = known if terms.bounds is None else (terms.bounds,) * arms
        smallest, largest = np.array(ranges, float).T.copy()
    return Rules(
        kinds.PAYOFFS[kind],
        terms.group_in(unit),
        payoff.low,
        payoff.width,
        payoff.highest_cost,
        payoff.factor,
        smallest,
        largest,
        1.0 if terms.bounded else math.inf,
        bool(terms.clip),
    )


def _highest_costs(problem: Problem, terms: Terms) -> Floats:
    """Return the most that a draw of each arm may cost."""
    arms = len(problem)
    if terms.cost_bounds is not None:
        return np.full(arms, terms.cost_bounds[1])
    if problem.charge.distribution == kinds.COSTS_CONSTANT:
        return problem.costs
    if problem.charge.distribution == kinds.COSTS_RECORDED and problem.recorded is not None:
        return np.full(arms, problem.recorded[:, 1].max())
    raise PlanError(
        "a bounded policy needs to know how much a draw may cost: give the policy "
        "cost_bounds=(low, high), and clip=True if a cost may be higher"
    )


def _sampling_of(problem: Problem) -> Any:
    from croupier.simulator.sampling import Sampling

    charge = problem.charge
    none = np.zeros((0, 2)) if problem.recorded is None else problem.recorded
    return Sampling(
        problem.distribution, problem.parameters, charge.distribution, charge.parameters, none
    )


def _with_arms(kernel: Any, problem: Problem) -> Any:
    """Return a kernel that draws from the problem's own arms, if it has some."""
    if problem.sample is None:
        return kernel
    from croupier.simulator.compiling import rebound
    from croupier.simulator.user_code import block_sampler, sampler

    if problem.block:
        return block_sampler(kernel, problem)
    return rebound(kernel, draw=sampler(problem))


def summing(problem: Problem) -> Callable[[KernelCall, Any], None]:
    """Return what draws the draws of some runs again and adds them up: for arms of your own."""
    if problem.sample is None:
        raise PlanError("means=True needs arms of your own, made by simulator.compiled_arms")
    from croupier.simulator.kernels import sum_draws

    kernel, sampling = _with_arms(sum_draws, problem), _sampling_of(problem)

    def add_up(call: KernelCall, sums: Any) -> None:
        kernel(sampling, call.keys, call.pulls, sums)

    return add_up


def _index(problem: Problem, terms: Terms, kind: int, parameters: Any, skip: bool) -> Kernel:
    from croupier.simulator.kernels import play_index
    from croupier.simulator.skip_ahead import play_index_ahead

    rules, sampling = _rules(problem, terms), _sampling_of(problem)
    paid_by_draw = rules.payoff == kinds.SECOND_MOMENT and problem.unit_costs
    alike = bool((rules.factor == 1).all())
    quick = skip and paid_by_draw and alike and kind != kinds.EVEN
    kernel = _with_arms(play_index_ahead if quick else play_index, problem)

    def play(call: KernelCall) -> None:
        kernel(kind, parameters, rules, sampling, *call)

    return play


def _uniform(problem: Problem) -> Kernel:
    """Return round robin: where every draw costs 1, its pulls need no draws."""
    if not problem.unit_costs:
        terms = Terms("second-moment", bounded=False)
        return _index(problem, terms, kinds.EVEN, np.zeros(3), False)

    def play(call: KernelCall) -> None:
        rounds, more = np.divmod(call.times.astype(np.int64), len(problem))
        call.pulls[:] = rounds[:, None] + (np.arange(len(problem)) < more[:, None])

    return play


def _own_index(problem: Problem, name: str, score: Callable[..., Any]) -> Kernel:
    from croupier.simulator.compiling import rebound
    from croupier.simulator.kernels import play_index
    from croupier.simulator.user_code import scorer, time_itself

    bounded = problem.bounds is not None
    rules, sampling = _rules(problem, Terms(bounded=bounded)), _sampling_of(problem)
    kernel = rebound(
        _with_arms(play_index, problem), level_of=time_itself, score_of=scorer(name, score)
    )
    none = np.zeros(3)

    def play(call: KernelCall) -> None:
        kernel(kinds.UCB1, none, rules, sampling, *call)  # no kind counts: the index is rebound

    return play


def _thompson(problem: Problem, policy: Thompson, skip: bool) -> Kernel:
    from croupier.simulator.kernels import play_thompson
    from croupier.simulator.skip_ahead_thompson import play_thompson_ahead

    rules, sampling = _rules(problem, policy.terms()), _sampling_of(problem)
    prior = np.array([policy.alpha, policy.beta])
    mean_losses = (problem.variances + np.square(problem.mean - rules.low)) / rules.width**2
    # Where losses may be clipped, their mean is not that of the distribution.
    bounded = problem.distribution in (kinds.TWO_VALUES, kinds.TRUNCATED, kinds.UNIFORM)
    whole = (rules.low[0], rules.low[0] + rules.width[0])
    inside = bounded and problem.arm_bounds is None and problem.bounds == whole
    paid_by_draw = rules.payoff == kinds.SECOND_MOMENT and problem.unit_costs
    quick = skip and len(problem) == 2 and paid_by_draw and inside
    if quick and prior.min() >= 1:

        def play_ahead(call: KernelCall) -> None:
            play_thompson_ahead(prior, mean_losses, call.keys, call.times, call.pulls)

        return play_ahead
    kernel = _with_arms(play_thompson, problem)
    nothing = np.zeros((0, len(problem) + 1))

    def play(call: KernelCall) -> None:
        kernel(prior, rules, sampling, *call, nothing)

    return play


def _robust(problem: Problem, policy: RobustUCB) -> Kernel:
    from croupier.simulator.robust import play_robust

    rules, sampling = _rules(problem, policy.terms()), _sampling_of(problem)
    kernel, moment = _with_arms(play_robust, problem), policy.known()

    def play(call: KernelCall) -> None:
        kernel(policy.mean, moment, policy.eps, rules, sampling, *call)

    return play


def _variance(problem: Problem, policy: VarianceThompson) -> Kernel:
    from croupier.simulator.variance_thompson import VarianceRules, play_variance

    plan = Plan(names=("a",), seed=0)
    random = problem.charge.distribution != kinds.COSTS_CONSTANT
    settings = VarianceRules(
        policy.floor, plan.first, FLOOR_AHEAD, MOST_DECISIONS, MOST_SCORES, plan.share, random,
        False,
    )  # fmt: skip
    sampling = _sampling_of(problem)
    kernel = _with_arms(play_variance, problem)
    no_decisions, nothing = np.zeros((0, 2), np.int64), np.zeros((0, 0))

    def play(call: KernelCall) -> None:
        kernel(settings, sampling, call.keys, call.times, call.pulls, no_decisions, nothing)

    return play
