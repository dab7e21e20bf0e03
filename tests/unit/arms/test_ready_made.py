"""Ready-made arms: their options, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

import croupier as cr
from croupier import arms

E = math.e


def exp(x: Any) -> Any:
    return np.exp(x.sum(axis=1))


def halving(rng: np.random.Generator, size: int, level: int) -> Any:
    return (1 + rng.standard_normal(size)) * 2.0**-level


def slow_fall(rng: np.random.Generator, size: int, level: int) -> Any:
    return rng.standard_normal(size) * 2.0 ** (-level / 4)


def drawn(arm: cr.Arm, size: int = 20_000, seed: int = 7) -> tuple[Any, Any]:
    state = None
    if (learner := arm.learner) is not None:  # it has first learned from 1000 draws
        first = learner.draw(np.random.default_rng(0), 1000, learner.start())
        state = learner.learn(learner.start(), first.extra)
    made: Any = arm.call(state)(np.random.default_rng(seed), size)
    return np.asarray(made.values), np.broadcast_to(made.costs, size)


def near(values: Any, mean: float) -> bool:
    return bool(abs(values.mean() - mean) < 4 * values.std() / np.sqrt(len(values)))


def test_arms_take_bounds_distributions_and_vectors() -> None:
    for make in (arms.plain, arms.antithetic, arms.latin_hypercube, arms.stratified):
        values, _ = drawn(make(exp, [(0, 1), (0, 2)]), 4000)
        assert near(values, (E - 1) * (E**2 - 1))
        values, _ = drawn(make(lambda x: x[:, 0] ** 2, stats.expon()), 4000)
        assert near(values, 2.0)
        pair, _ = drawn(make(lambda x: np.column_stack((x[:, 0], exp(x))), [(0, 1)]), 4000)
        assert pair.shape == (4000, 2)
        assert near(pair[:, 1], E - 1)


def test_a_known_inner_mean_takes_the_variance_that_it_integrates() -> None:
    """P(X + Y > 3) for normal X and Y, with Y integrated by hand; a pair has P(X + Y > 2), too."""
    known = ndtr(-3 / math.sqrt(2))
    both, _ = drawn(arms.plain(lambda x: 1.0 * (x.sum(axis=1) > 3), [stats.norm()] * 2))
    inner, costs = drawn(arms.conditional(lambda x: ndtr(x[:, 0] - 3), stats.norm()))
    assert near(both, known)
    assert near(inner, known)
    assert inner.var() < both.var() / 3
    assert set(costs.tolist()) == {1.0}
    pair, _ = drawn(arms.conditional(lambda x: ndtr(x - [2, 3]), stats.norm()), 4000)
    assert pair.shape == (4000, 2)
    assert near(pair[:, 1], known)


def test_a_large_net_is_far_better_than_a_small_one() -> None:
    small, large = (arms.randomised_net(exp, [(0, 1)] * 2, m=m) for m in (3, 7))
    ratio = drawn(small, 300)[0].var() / drawn(large, 300)[0].var()
    assert ratio > 16 * 5  # plain draws: 16


def test_a_stratified_arm_divides_as_many_axes_as_it_can() -> None:
    assert drawn(arms.stratified(exp, [(0, 1)] * 3, cells=2), 2)[1][0] == 8
    assert drawn(arms.stratified(exp, [(0, 1)] * 20, cells=2), 2)[1][0] == 1024
    assert drawn(arms.stratified(exp, [(0, 1)] * 20, cells=3, axes=2), 2)[1][0] == 9


def test_several_controls_explain_more_than_one() -> None:
    def powers(x: Any) -> Any:
        return np.column_stack((x[:, 0], x[:, 0] ** 2))

    one = arms.control_variate(exp, (0, 1), lambda x: x[:, 0], 0.5)
    two = arms.control_variate(exp, (0, 1), powers, [0.5, 1 / 3])
    first, second = drawn(one, 2000)[0], drawn(two, 2000)[0]
    assert near(second, E - 1)
    assert second.var() < first.var() / 20


def test_useless_and_equal_controls_do_no_harm() -> None:
    twice = arms.control_variate(
        exp, (0, 1), lambda x: np.column_stack((x[:, 0], x[:, 0])), [0.5, 0.5]
    )
    assert near(drawn(twice, 2000)[0], E - 1)
    constant = arms.control_variate(exp, (0, 1), lambda x: np.ones(len(x)), 1.0)
    assert near(drawn(constant, 2000)[0], E - 1)


def test_a_defensive_part_bounds_the_weights() -> None:
    narrow = stats.norm(0, 0.2)
    arm = arms.importance(lambda x: x[:, 0] ** 2, stats.norm(), narrow, defensive=0.25)
    values, _ = drawn(arm)
    assert near(values, 1.0)
    ones, _ = drawn(
        arms.importance(lambda x: np.ones(len(x)), stats.norm(), narrow, defensive=0.25)
    )
    assert ones.max() <= 4 + 1e-9


def test_a_tilted_normal_sees_a_rare_event() -> None:
    law = stats.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    arm = arms.importance(lambda x: x.sum(axis=1) > 6, law, tilt=2.0)
    values, _ = drawn(arm)
    assert near(values, float(ndtr(-6 / np.sqrt(3))))
    assert values.std() / values.mean() < 3


def test_a_proposal_for_bounds_gives_the_integral_and_ignores_points_outside() -> None:
    arm = arms.importance(exp, [(0, 1), (0, 2)], [stats.norm(0.5, 1), stats.norm(1, 1)])
    assert near(drawn(arm)[0], (E - 1) * (E**2 - 1))


def test_rejection_reports_every_proposal_as_a_cost() -> None:
    arm = arms.rejection(lambda x: x[:, 0], lambda x: np.log(x[:, 0]), (0, 1), 1.0)
    values, costs = drawn(arm)
    assert near(values, 2 / 3)
    assert costs.mean() == pytest.approx(2.0, rel=0.05)
    assert costs.min() == 1


def test_a_bound_that_does_not_hold_is_refused_with_the_point() -> None:
    arm = arms.rejection(lambda x: x[:, 0], lambda x: np.log(3 * x[:, 0]), (0, 1), 1.0)
    with pytest.raises(cr.ArmError, match=r"times the bound at the point .* give a larger bound"):
        drawn(arm)


@pytest.mark.parametrize("estimator", ["single", "sum"])
def test_a_debiased_arm_has_the_mean_of_the_limit(estimator: Any) -> None:
    arm = arms.debiased(halving, cost=2.0, estimator=estimator)
    values, costs = drawn(arm, 100_000)
    assert near(values, 2.0)
    assert 1 < costs.mean() < 4


def test_the_chances_of_the_levels_sum_to_one() -> None:
    for estimator in ("single", "sum"):
        arm = arms.debiased(halving, estimator=estimator).draw
        chances = [arm._chance(level) for level in range(80)]
        assert sum(chances) == pytest.approx(1.0)
        assert arm._above(3) == pytest.approx(sum(chances[3:]))
        levels = arm._levels(np.random.default_rng(7), 100_000)
        seen = np.bincount(levels, minlength=3)[:3] / 100_000
        assert seen == pytest.approx(chances[:3], abs=0.01)


def test_a_multilevel_arm_chooses_its_counts() -> None:
    arm = arms.multilevel(halving, 5)
    counts = arm.draw.counts
    assert counts[-1] == 1
    assert list(counts) == sorted(counts, reverse=True)
    assert counts[0] == pytest.approx(64, rel=0.2)  # sqrt(V/cost) falls by 2^-1.5
    assert near(drawn(arm, 5000)[0], 2 - 2.0**-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: arms.plain(exp, (1, 0)), "reversed bounds"),
        (lambda: arms.stratified(exp, [(0, 1)] * 2, cells=3, axes=3), "not more axes than"),
        (lambda: arms.stratified(exp, [(0, 1)] * 9, cells=9, axes=9), "at most 65536 points"),
        (lambda: arms.randomised_net(exp, (0, 1), m=17), "m must be at most 16"),
        (lambda: arms.importance(exp, (0, 1)), "either proposal= or tilt="),
        (lambda: arms.importance(exp, (0, 1), tilt=1.0), "for a multivariate normal over="),
        (lambda: arms.importance(exp, (0, 1), [stats.norm()] * 2), "the proposal has 2"),
        (lambda: arms.importance(exp, (0, math.inf), stats.expon()), "infinite bound"),
        (lambda: arms.importance(exp, stats.poisson(2), stats.norm()), "without a density"),
        (lambda: arms.rejection(exp, 3.0, (0, 1), 1.0), "log_target must be a function"),
        (lambda: arms.rejection(exp, exp, (0, 1), -1.0), "bound"),
        (lambda: arms.debiased(slow_fall), "needs a faster fall"),
        (lambda: arms.debiased(halving, estimator="both"), "estimator"),
        (lambda: arms.multilevel(halving, 3, counts=(2, 1)), "one number for each of 3 levels"),
    ],
)
def test_what_cannot_work_is_refused(make: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        make()


def test_controls_and_differences_of_the_wrong_shape_are_refused() -> None:
    arm = arms.control_variate(exp, (0, 1), lambda x: x[:, 0], [0.5, 0.5])
    with pytest.raises(cr.ArmError, match="one column for each mean"):
        drawn(arm, 10)
    with pytest.raises(cr.ArmError, match=r"level 0 has the shape \(1,\) for 2000 draws"):
        arms.debiased(lambda rng, size, level: [1.0])
    with pytest.raises(cr.ArmError, match="level 0 is nan"):
        arms.debiased(lambda rng, size, level: np.full(size, np.nan))


def two_quantities(rng: np.random.Generator, size: int) -> Any:
    h = rng.normal([1.0, 1e9], 1.0, (size, 2))
    noise = 0.1 * rng.normal(size=(size, 2))
    return h @ [[1.0, 0.0], [2.0, 3.0]] - 3e9 + noise, h


def test_controlled_draws_learn_a_coefficient_for_every_control_and_component() -> None:
    arm = cr.arms.controlled(two_quantities, [1.0, 1e9])
    result = cr.estimate([arm], draws=20_000, rng=7)
    assert np.all(np.abs(result.value - [1.0 - 1e9, 0.0]) < 5 * result.stderr)
    assert result.stderr == pytest.approx(0.1 / np.sqrt(20_000), rel=0.3)


@pytest.mark.parametrize("seed", range(4))
def test_an_arm_with_a_strong_control_leads_from_the_start(seed: int) -> None:
    """Its first draws have coefficients, too: draws without control would hide what it is worth."""
    ours = arms.control_variate(exp, (0, 1), lambda x: x[:, 0], 0.5)

    def other(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(rng.normal(E - 1, 0.125, size), 2.0)

    result = cr.estimate({"ours": ours, "other": other}, cost=3000, rng=seed)
    assert result.arms["ours"].share > 0.9
    assert abs(result.value - (E - 1)) < 4 * result.stderr


def test_controlled_draws_are_unbiased_after_few_and_unlucky_draws() -> None:
    """The coefficients come from earlier batches alone: a mean over many short runs."""

    def draw(rng: np.random.Generator, size: int) -> Any:
        h = rng.exponential(size=size)
        return h**2, h  # the mean is 2

    arm = cr.arms.controlled(draw, 1.0)
    learner = arm.learner
    assert learner is not None
    rng, first, second = np.random.default_rng(7), [], []
    for _ in range(4000):
        drawn = learner.draw(rng, 6, None)
        state = learner.learn(learner.start(), drawn.extra)
        first.append(np.mean(drawn.values))
        second.append(np.mean(learner.draw(rng, 6, state).values))
    error = np.std(second) / np.sqrt(len(second))
    assert abs(np.mean(second) - 2) < 4 * error
    assert not np.allclose(np.std(first), np.std(second))  # it has learned something


def test_controlled_draws_report_costs_and_continue_from_a_store(tmp_path: Any) -> None:
    def draw(rng: np.random.Generator, size: int) -> Any:
        h = rng.normal(size=size)
        return cr.Draws(1 + h + 0.1 * rng.normal(size=size), 2.0), h

    arms = [cr.arms.controlled(draw, 0.0)]
    settings: Any = {"rng": 7, "batch": "one"}
    whole = cr.estimate(arms, cost=400, **settings)
    store = tmp_path / "run.db"
    cr.estimate(arms, cost=100, **settings, store=store)
    again = cr.estimate(arms, cost=400, **settings, store=store)
    assert (again.value, again.stderr) == (whole.value, whole.stderr)
    assert whole.draws == 194  # at a cost of 2; six more gave the first coefficients


@pytest.mark.parametrize(
    ("draw", "means", "message"),
    [
        (lambda rng, n: rng.random(n), 0.5, r"returns \(values, controls\)"),
        (lambda rng, n: (rng.random(n), rng.random((n, 2))), 0.5, "one column for each mean"),
        (lambda rng, n: (rng.random(n + 1), rng.random(n)), 0.5, "one value and one row"),
        ([1.0], 0.5, "draw must be a function"),
        (two_quantities, "x", "known means of the controls"),
        (two_quantities, [], "known means of the controls"),
    ],
)
def test_controlled_draws_of_the_wrong_form_are_refused(
    draw: Any, means: Any, message: str
) -> None:
    with pytest.raises(cr.CroupierError, match=message):
        cr.estimate([cr.arms.controlled(draw, means)], draws=100, rng=7)


@pytest.mark.parametrize("seed", range(8))
def test_a_difference_that_falls_just_as_fast_as_its_cost_grows_is_refused(seed: int) -> None:
    def as_fast(rng: np.random.Generator, size: int, level: int) -> Any:
        return rng.standard_normal(size) * 2.0 ** (-level / 2)

    with pytest.raises(cr.PlanError, match=r"needs a faster fall; .*a larger pilot"):
        arms.debiased(as_fast, seed=seed)
