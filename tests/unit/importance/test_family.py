"""Family: targets and proposals of every kind, the arms that they become."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.importance import Family, Normal
from croupier.importance.proposals import density_at


def square(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.square(x))


def normal_sample(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 2.0, size)


def normal_density(x: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * np.square((x - 1) / 2) - math.log(2 * math.sqrt(2 * math.pi)))


FAMILIES = {
    "scipy": (Family(stats.norm(), [stats.norm(0, 2), stats.t(4)], square), 1.0),
    "pairs": (Family(stats.norm(), {"wide": (normal_sample, normal_density)}, square), 1.0),
    "modern": (Family(stats.Normal(), [stats.Normal(sigma=2.0)], square), 1.0),
    "discrete": (Family(stats.poisson(3), [stats.poisson(4), stats.geom(0.2, -1)], square), 12.0),
    "vectors": (
        Family(
            stats.multivariate_normal([0, 0]),
            [stats.multivariate_t([0, 0], df=4), Normal([0.5, 0.0], 1.5)],
            lambda x: x[:, 0] ** 2 + x[:, 1],
        ),
        1.0,
    ),
    "one dimension of many": (
        Family(stats.multivariate_normal([0]), [stats.multivariate_normal([1])], lambda x: x[:, 0]),
        0.0,
    ),
    "tilted": (Family.tilted(lambda x: np.exp(x[:, 0]), [0, 1]), math.exp(0.5)),
    "constant": (Family(lambda x: 2 - 0.5 * x**2, [stats.norm(0, 1.5)]), math.e**2 * math.tau**0.5),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_arm_of_a_family_is_unbiased(kind: str) -> None:
    family, exact = FAMILIES[kind]
    for j, arm in enumerate(family.arms()):
        y = np.asarray(arm.draw(np.random.default_rng(7), 20_000).values)  # type: ignore[operator]
        allowed = 4 * y.std() / math.sqrt(len(y)) + 1e-12  # one of them is exact
        assert abs(y.mean() - exact) < allowed, family.names[j]


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_single_point_is_drawn_like_many(kind: str) -> None:
    family, _ = FAMILIES[kind]
    for j in range(len(family)):
        points = family.points(np.random.default_rng(7), 1, j)
        assert points.log_q.shape == (1, len(family))
        assert {len(part) for part in points} == {1}


def test_families_are_named_and_counted() -> None:
    family = Family.tilted(square, [[0, 0], [1, 2]])
    assert family.names == ("q0", "q1")
    assert Family.tilted(square, [0, 0.5]).names == ("shift=0", "shift=0.5")
    assert len(family) == 2
    assert repr(family) == "Family(2 proposals: q0, q1)"
    assert [arm.name for arm in family.arms()] == ["q0", "q1"]


def test_only_what_is_moved_enters_the_densities() -> None:
    # A drift along (1, ..., 1)/sqrt(d): the densities of the whole path differ by the same ratio.
    d, shift = 50, 1.3
    u = np.full(d, 1 / math.sqrt(d))
    seen = []

    def f(x: np.ndarray) -> np.ndarray:
        seen.append(x.copy())
        return np.ones(len(x))

    family = Family.tilted(f, [0.0, shift], directions=u)
    points = family.points(np.random.default_rng(7), 1000, 1)
    x = seen[0]
    whole = stats.multivariate_normal(u * shift, np.eye(d)).logpdf(x)
    plain = stats.multivariate_normal(np.zeros(d), np.eye(d)).logpdf(x)
    assert points.log_q[:, 1] - points.log_p == pytest.approx(whole - plain, abs=1e-9)
    assert points.statistic[:, 0] == pytest.approx(x @ u)
    assert stats.kstest(points.statistic[:, 0] - shift, "norm").pvalue > 1e-3
    across = x - np.outer(x @ u, u)
    assert abs(across.var() * d / (d - 1) - 1) < 4 * math.sqrt(2 / across.size)


def test_a_learned_normal_draws_points_of_its_own_law() -> None:
    family = Family.tilted(lambda x: np.exp(x[:, 0]), [0.0, 1.0])
    normal = Normal([2.0], 0.5)
    points = family.points(np.random.default_rng(7), 5000, normal)
    assert stats.kstest(points.statistic[:, 0], stats.norm(2, 0.5).cdf).pvalue > 1e-3
    weights = np.exp(points.log_p - normal.logpdf(points.statistic))
    assert points.log_p == pytest.approx(stats.norm.logpdf(points.statistic[:, 0]))
    assert (weights > 0).all()
    free = Family(stats.norm(), [stats.norm(0, 2)], square)
    assert free.points(np.random.default_rng(7), 10, normal).statistic.shape == (10, 1)


def test_counts_have_nothing_that_a_normal_could_fit() -> None:
    family = FAMILIES["discrete"][0]
    assert family.points(np.random.default_rng(7), 10, 0).statistic.shape == (10, 0)


@pytest.mark.filterwarnings("ignore:invalid value encountered in log:RuntimeWarning")
def test_an_integrand_may_be_anything_where_the_target_is_zero() -> None:
    family = Family(stats.uniform(), [stats.norm(0.5, 1)], lambda x: np.log(x))
    with np.errstate(invalid="ignore"):
        result = cr.estimate(family.arms(), draws=20_000, rng=7)
    assert abs(result.value + 1) < 4 * result.stderr


def test_signs_survive() -> None:
    family = Family(stats.norm(), [stats.norm(0, 1.5)], lambda x: x**3 - 2)
    result = cr.estimate(family.arms(), draws=50_000, rng=7)
    assert abs(result.value + 2) < 4 * result.stderr


def test_costs_are_those_of_the_proposals() -> None:
    proposals = {"a": stats.norm(), "b": stats.norm(1)}
    family = Family(stats.norm(), proposals, square, costs={"b": 3.0, "a": 1})
    result = cr.estimate(family.arms(), cost=1000, rng=7)
    assert result.arms["b"].cost_per_draw == 3
    assert Family(stats.norm(), proposals, square, costs=[1, 2]).costs == (1.0, 2.0)


def test_arms_of_module_functions_travel_to_workers() -> None:
    family = FAMILIES["pairs"][0]
    twin = pickle.loads(pickle.dumps(family.arms()))
    ours = family.arms()[0].draw(np.random.default_rng(7), 5)  # type: ignore[operator]
    assert (twin[0].draw(np.random.default_rng(7), 5).values == ours.values).all()


# -- what cannot be played


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Family(stats.norm(), []), "there are no proposals"),
        (lambda: Family(stats.norm(), "norm"), "must be a mapping name -> proposal"),
        (lambda: Family(stats.norm(), {1: stats.norm()}), "must be a string, got 1"),
        (lambda: Family(stats.norm(), {"a": "norm"}), "'a' must be a frozen distribution"),
        (lambda: Family(stats.norm(), {"a": (len,)}), "proposal 'a' must be"),
        (lambda: Family(3, [stats.norm()]), r"the target must be a function log p\(x\)"),
        (lambda: Family(stats.norm(), [stats.norm()], 2), "f must be a function"),
        (lambda: Family(stats.norm(), [stats.norm()], costs=[1, 2]), "one number per proposal"),
        (lambda: Family(stats.norm(), [stats.norm()], costs=[0]), "costs must be a finite number"),
        (lambda: Family(stats.norm(), [stats.norm()], costs={"x": 1}), "in one of them: q0, x"),
        (lambda: Family.tilted(square, []), "shifts must be J finite numbers"),
        (lambda: Family.tilted(square, [np.nan]), "shifts must be J finite numbers"),
        (lambda: Family.tilted(square, ["a"]), "shifts must be J numbers"),
        (lambda: Family.tilted(square, [1], directions=[1, 1]), "orthonormal columns"),
        (lambda: Family.tilted(square, [1], directions=np.eye(3)), r"directions must be \(d, 1\)"),
        (lambda: Family.tilted(None, [1]), "f must be a function"),
        (lambda: Family.simulated(None, [1]), "simulate must be a function"),
        (lambda: Family.tilted(square, [1, 2], names=["a"]), "names must be 2, one for each"),
        (lambda: Family.tilted(square, [1, 1]), "its own name, .* or give names="),
        (lambda: Family(stats.norm(), [stats.norm()], costs=5), "one number per proposal, got 5"),
        (lambda: Family.tilted(square, [1], directions="x"), r"must be numbers \(d, 1\), got 'x'"),
        (
            lambda: Family.tilted(square, [1], directions=[[1], [1, 2]]),
            "directions must be numbers",
        ),
    ],
)
def test_what_is_no_family_is_refused(make: object, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        make()  # type: ignore[operator]


def nowhere(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, np.nan, -0.5 * x**2)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (
            Family(nowhere, [stats.norm()]),
            "'q0', ticket 2: the log .* target is nan",
        ),
        (Family(lambda x: np.where(x > 0, np.inf, 0), [stats.norm()]), "target is inf at x = "),
        (Family(stats.norm(), {"a": (normal_sample, nowhere)}), "'a', .*: its log density is nan"),
        (
            Family(stats.norm(), {"a": stats.norm(), "b": (normal_sample, nowhere)}),
            "arm 'a', .*log density of 'b' is nan at x = .* points",
        ),
        (
            Family(stats.norm(), {"a": (lambda rng, size: rng.normal(size=3), normal_density)}),
            r"asked for 1 points and sampled an array of shape \(3,\)",
        ),
        (
            Family(stats.norm(), {"a": (normal_sample, stats.uniform(0, 1).logpdf)}),
            "where its own density is 0: sample and density differ",
        ),
        (Family(stats.norm(), [stats.norm()], lambda x: x / 0.0), "the integrand is -?inf at x = "),
        (Family(stats.norm(), [stats.norm()], lambda x: x.mean()), r"integrand .* of shape \(\)"),
        (Family(stats.norm(), [stats.norm()], lambda x: x * 1j), "integrand returned complex128"),
        (
            Family(stats.norm(), [stats.norm()], lambda x: np.ma.masked_less(x, 0)),
            "the integrand returned a masked array",
        ),
        (Family.tilted(lambda x: x, [1]), r"integrand returned float64 of shape \(\d+, 1\)"),
        (Family.tilted(lambda x: x[:, 0] * 1j, [1]), "integrand returned complex128"),
        (Family.tilted(lambda x: x[:, 0] / 0.0, [1]), r"integrand is -?inf at the statistic \["),
        (
            Family.simulated(lambda rng, size, normal: np.zeros(size), [1]),
            r"must return a pair \(values, statistic\), got ndarray",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_densities_and_integrands_are_named(family: Family, message: str) -> None:
    with pytest.raises(cr.ArmError, match=message):
        cr.estimate(family.arms(), draws=100, rng=7)


def test_a_density_of_another_shape_is_named() -> None:
    with pytest.raises(cr.ArmError, match=r"has shape \(1,\) at 4 points; return one number for"):
        density_at(lambda x: x[:1], np.zeros(4), 4, "its log density", "a")
    with pytest.raises(cr.ArmError, match="could not be evaluated: could not convert"):
        density_at(lambda x: ["a"] * 4, np.zeros(4), 4, "its log density", "a")


def test_a_simulation_of_another_shape_is_named() -> None:
    family = Family.simulated(lambda rng, size, normal: (np.zeros(size), np.zeros((size, 2))), [1])
    with pytest.raises(cr.ArmError, match=r"a statistic \(\d+, 1\), got an array of shape"):
        cr.estimate(family.arms(), draws=100, rng=7)


def test_proposals_that_cannot_contradict_each_other_warn_as_arms() -> None:
    def two_ways(x: Any) -> Any:
        return (x[:, 0] > 4.8) | (x[:, 1] < -4.7)

    family = Family.tilted(two_ways, [[4.8, 0], [0, -4.7]])
    with pytest.warns(cr.CroupierWarning, match="use family.estimate"):
        result = cr.estimate(family.arms(), draws=60_000, rtol=0.1, rng=7)
    assert any("2 proposals of one integral" in said for said in result.warnings)
