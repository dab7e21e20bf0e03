"""The paper's policies: what each of them plays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.policies import KLUCB, MOSS, UCB1, UCBV, RobustUCB, SubgaussianUCB, Thompson, Tightest
from croupier.policies.bounded import Lessons
from croupier.policies.payoffs import Payoff, Terms

pytestmark = pytest.mark.filterwarnings("error", "ignore::croupier.CroupierWarning")

INDEX = [UCB1(), UCBV(), KLUCB(), MOSS(), Tightest(), SubgaussianUCB(sigma=0.5)]
ALL = [
    *INDEX,
    Thompson(),
    *(RobustUCB(moment=1.0, mean=m) for m in ("truncated", "median-of-means")),
]

every = pytest.mark.parametrize("policy", ALL, ids=lambda p: f"{p.name} {getattr(p, 'mean', '')}")


def coin(spread: float) -> cr.Arm:
    """Return an arm 1/2 ± spread/2, fair."""
    return cr.Arm(lambda rng, n: 0.5 + spread * (rng.integers(2, size=n) - 0.5), bounds=(0, 1))


def lessons_of(losses: list[float], pulls: list[float], m2: list[float] | None = None) -> Lessons:
    plan = cr.Plan(names=tuple("abcdef"[: len(losses)]), seed=7, bounds=((0, 1),) * len(losses))
    payoff = Payoff.of(plan, Terms())
    wins = np.zeros(len(losses))
    spread = np.array(m2) if m2 else wins
    return Lessons(payoff, np.array(pulls), np.array(losses), spread, wins, sum(pulls), 0)


@every
def test_the_arm_of_smaller_second_moment_gets_most(policy: Any) -> None:
    result = cr.estimate(
        {"wide": coin(1.0), "narrow": coin(0.1)}, draws=50_000, policy=policy, rng=7
    )
    assert result.arms["narrow"].draws > 1.5 * result.arms["wide"].draws


@every
def test_every_arm_is_played_once_first(policy: Any) -> None:
    if policy.name == "thompson":
        pytest.skip("a prior needs no first draw")
    arms = {f"arm {k}": coin(0.1 + 0.1 * k) for k in range(5)}
    history = cr.estimate(arms, draws=50, policy=policy, batch="one", rng=7).history
    assert history.arm[:5].tolist() == [0, 1, 2, 3, 4]


def test_ucb1_is_its_formula() -> None:
    state = lessons_of([0.2, 0.4], [10.0, 30.0])
    expected = [0.2 - math.sqrt(2 * math.log(40) / 10), 0.4 - math.sqrt(2 * math.log(40) / 30)]
    assert UCB1().shortfall(state) == pytest.approx(expected, rel=1e-14)


def test_ucb_v_is_its_formula_and_can_be_cut() -> None:
    state = lessons_of([0.2, 0.9], [10.0, 1e6], [0.5, 1e4])
    level = 1.2 * math.log(1e6 + 10)
    first = 0.2 - math.sqrt(2 * 0.05 * level / 10) - 3 * level / 10
    assert UCBV().shortfall(state)[0] == pytest.approx(first, rel=1e-12)
    assert UCBV(cut=True).shortfall(state)[0] == 0
    assert UCBV(cut=True).shortfall(state)[1] == UCBV().shortfall(state)[1]


def test_moss_has_a_horizon_or_none() -> None:
    state = lessons_of([0.2, 0.2], [10.0, 30.0])
    anytime = 0.2 - math.sqrt(math.log(40 / 20) / 10)
    assert MOSS().shortfall(state) == pytest.approx([anytime, 0.2])
    with_horizon = 0.2 - math.sqrt(math.log(1e4 / 20) / 10)
    assert MOSS(horizon=1e4).shortfall(state)[0] == pytest.approx(with_horizon)


def test_kl_ucb_tells_arms_apart_whose_bounds_are_one_in_double_precision() -> None:
    state = lessons_of([1e-6, 2e-6], [1.0, 1.0])
    policy = KLUCB()
    assert (policy.shortfall(state) == 0).all()  # exp(-1e6)
    assert policy.choose(state, None, np.zeros(2), None) == 0  # type: ignore[arg-type]


def test_the_tightest_bound_is_the_smallest_of_all() -> None:
    state = lessons_of([0.2, 0.4, 0.01], [10.0, 30.0, 1000.0], [1.0, 0.1, 1.0])
    later = state.at(2 * state.total)
    both = Tightest(of=("ucb1", "kl-ucb")).shortfall(state)
    assert both.tolist() == np.maximum(UCB1().shortfall(later), KLUCB().shortfall(later)).tolist()


def test_the_tightest_takes_names_policies_and_plain_data() -> None:
    one = Tightest(of=("moss", UCB1(scale=3.0)))
    assert one == Tightest(of=[{"name": "moss"}, {"name": "ucb1", "scale": 3.0}])
    assert cr.policies.as_policy(cr.policies.describe(one)) == one


def test_thompson_tosses_payoffs_to_wins() -> None:
    plan = cr.Plan(names=("a",), seed=7, bounds=((0, 1),))
    draws = cr.Draws(np.full(10_000, math.sqrt(0.3)))
    tossed = Thompson().digest(plan, 0, draws, np.random.default_rng(7))
    assert abs(tossed["wins"] - 7000) < 4 * math.sqrt(10_000 * 0.21)
    sure = Thompson().digest(plan, 0, cr.Draws(np.array([0.0, 1.0])), np.random.default_rng(7))
    assert sure["wins"] == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UCB1(scale=0), "scale must be"),
        (lambda: UCBV(zeta=-1), "zeta must be"),
        (lambda: KLUCB(f=-1), "f must be"),
        (lambda: MOSS(horizon=0), "horizon must be"),
        (lambda: Thompson(alpha=0), "alpha must be"),
        (lambda: Tightest(of=()), "of must be a sequence"),
        (lambda: Tightest(of="ucb1"), "of must be a sequence"),
        (lambda: Tightest(of=("thompson",)), "of must hold index policies"),
        (lambda: RobustUCB(moment=0), "moment must be"),
        (lambda: RobustUCB(eps=1.5), r"eps must lie in \(0, 1\]"),
        (lambda: RobustUCB(mean="plain"), "mean must be one of"),  # type: ignore[arg-type]
        (lambda: RobustUCB(mean="catoni", eps=0.5), "Catoni's mean needs eps=1"),
        (lambda: SubgaussianUCB(sigma=0), "sigma must be"),
    ],
)
def test_parameters_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("robust-ucb", r"needs moment, .* policy=cr\.policies\.RobustUCB\(moment=\.\.\.\)"),
        ("subgaussian-ucb", r"needs sigma, .* policy=cr\.policies\.SubgaussianUCB\(sigma=\.\.\.\)"),
    ],
)
def test_what_must_be_known_of_the_losses_is_never_assumed(name: str, way_out: str) -> None:
    arms = {"a": coin(0.9), "b": coin(0.3)}
    with pytest.raises(cr.PlanError, match=way_out):
        cr.estimate(arms, draws=100, policy=name, rng=7)
    if name in cr.simulator.PLAYED:
        with pytest.raises(cr.PlanError, match=way_out):
            cr.simulate(cr.simulator.scaled_bernoulli([0.08, 0.18]), name, 2, 100, rng=7)


def test_subgaussian_with_the_coefficient_of_unit_losses_is_ucb1() -> None:
    arms = {"a": coin(0.9), "b": coin(0.3)}
    runs = [
        cr.estimate(arms, draws=3000, policy=policy, rng=7).history
        for policy in (UCB1(), SubgaussianUCB(sigma=0.5))
    ]
    assert np.array_equal(runs[0].arm, runs[1].arm)


def test_policies_without_a_range_play_arms_without_one() -> None:
    arms = {
        "a": lambda rng, n: rng.standard_t(5, n),
        "b": lambda rng, n: 0.1 * rng.standard_t(5, n),
    }
    for policy in (
        RobustUCB(moment=25.0),
        RobustUCB(moment=25.0, mean="catoni"),
        SubgaussianUCB(4.0),
    ):
        with np.errstate(all="raise"):
            result = cr.estimate(arms, draws=20_000, policy=policy, rng=7)
        assert result.arms["b"].draws > result.arms["a"].draws


def test_per_arm_scaling_changes_the_bonus_but_not_what_is_best() -> None:
    small = cr.Arm(lambda rng, n: 0.1 * rng.random(n) + 0.45, bounds=(0, 0.6))
    large = cr.Arm(lambda rng, n: rng.random(n), bounds=(0, 1))
    policy = UCB1(scaling="per-arm")
    result = cr.estimate({"small": small, "large": large}, draws=50_000, policy=policy, rng=7)
    assert result.arms["small"].draws > result.arms["large"].draws


def test_pairs_find_the_best_of_cost_times_variance() -> None:
    def arm(spread: float, cost: float) -> cr.Arm:
        draw = coin(spread).draw
        costs = lambda rng, n: cost * (0.5 + rng.random(n))  # noqa: E731
        return cr.Arm(
            lambda rng, n: cr.Draws(draw(rng, n), costs(rng, n)),  # type: ignore[operator]
            bounds=(0, 1), cost_bounds=(0, 30),
        )  # fmt: skip

    arms = {"dear": arm(0.3, 20.0), "cheap": arm(0.6, 1.0)}  # delta V: 0.45 and 0.09
    for payoff in ("auto", "cost-variance-triples"):
        result = cr.estimate(arms, cost=100_000, policy=KLUCB(payoff=payoff), rng=7)  # type: ignore[arg-type]
        assert result.arms["cheap"].share > 0.6


@pytest.mark.parametrize("time", ["played", "paper"])
def test_ucb_v_plays_algorithm_1_of_the_paper_with_its_time(time: Any) -> None:
    """A plain loop: every arm once, then the largest bound; t is the round to be played."""
    rng = np.random.default_rng(7)
    tapes = 0.5 + np.array([[0.5], [0.4], [0.45]]) * (2 * rng.random((3, 3000)) - 1)
    table = cr.Allocator(
        ["a", "b", "c"], rng=7, policy=cr.policies.UCBV(bounds=(0, 1), time=time), batch="one"
    )
    payoffs: list[list[float]] = [[], [], []]
    for t in range(1, 1001):
        if t <= 3:
            arm = t - 1
        else:
            level = 1.2 * np.log(t if time == "paper" else t - 1)
            bounds = [
                np.mean(x) + np.sqrt(2 * np.var(x) * level / len(x)) + 3 * level / len(x)
                for x in payoffs
            ]
            arm = int(np.argmax(bounds))
        batch = table.ask()
        assert batch is not None
        assert (batch.arm, batch.size) == ("abc"[arm], 1), t
        draw = tapes[arm, len(payoffs[arm])]
        payoffs[arm].append(1 - draw**2)
        table.tell(batch, [draw])


def test_the_simulator_refuses_the_time_that_it_does_not_play() -> None:
    problem = cr.simulator.uniform([0.02, 0.03])
    with pytest.raises(cr.PlanError, match="time='played' only"):
        cr.simulate(problem, cr.policies.UCBV(bounds=(0, 1), time="paper"), 4, 100, rng=1)


@pytest.mark.parametrize("policy", [Thompson(bounds=(0, 1)), KLUCB(bounds=(0, 1))])
@pytest.mark.parametrize("first", ["poor", "good"])
def test_seconds_and_growing_batches_do_not_lock_in_to_a_poor_arm(
    clock: Any, policy: Any, first: str
) -> None:
    """A draw costs a thousand times more in the first calls than in later ones."""
    arms = {
        "poor": clock.timed(coin(1.0).draw, 1e-3, 1e-6),
        "good": clock.timed(coin(0.1).draw, 1e-3, 1e-6),
    }
    order = sorted(arms, key=lambda name: name != first)
    for seed in range(2):
        result = cr.estimate(
            {name: arms[name] for name in order}, seconds=0.5, policy=policy, rng=seed
        )
        assert result.arms["good"].share > 0.8
