"""Bounds against their formulas, D_inf against a primal solve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from croupier import PlanError
from croupier.estimates.variance_intervals import bernoulli_kl
from croupier.theory import (
    Discrete,
    ScaledBernoulli,
    TruncatedNormal,
    UniformDistribution,
    d_inf,
    kl_ucb_leading_term,
    lower_bound,
    minimax_order,
    thompson_leading_term,
    ucb1_bound,
    ucbv_bound,
)
from croupier.theory.bounds import _divergences

TWO = [ScaledBernoulli(1.0), ScaledBernoulli(0.5)]


# -- the lower bound


def primal(points, weights, v, others, starts, own=1.0):
    """Return the least KL(psi, psi') by SLSQP over psi' itself, as its definition has it.

    psi' may have mass on psi's points, on the `others`, and up to `own` on a point m that moves;
    the constraint is E'(X - m)^2 <= v. It has local minima: the best from several starts counts.
    """
    x, j = np.concatenate([points, others]), len(points)
    n = x.size
    total = np.append(np.ones(n + 1), 0.0)
    constraints = [
        {"type": "eq", "fun": lambda z: z @ total - 1, "jac": lambda z: total},
        {
            "type": "ineq",
            "fun": lambda z: v - z[:n] @ np.square(x - z[-1]),
            "jac": lambda z: np.concatenate(
                [-np.square(x - z[-1]), [0.0, 2 * z[:n] @ (x - z[-1])]]
            ),
        },
    ]
    best = np.inf
    for m in starts:
        share = 0.9 * v / (weights @ np.square(points - m))
        start = np.concatenate([share * weights, np.zeros(len(others)), [1 - share, m]])
        out = optimize.minimize(
            lambda z: -(weights @ np.log(z[:j] / weights)),
            start,
            jac=lambda z: np.concatenate([-weights / z[:j], np.zeros(n - j + 2)]),
            method="SLSQP",
            bounds=[(1e-9, 1)] * j + [(0, 1)] * (n - j) + [(0, own), (0, 1)],
            constraints=constraints,
            options={"ftol": 1e-14, "maxiter": 500},
        )
        feasible = abs(out.x @ total - 1) < 1e-9 and constraints[1]["fun"](out.x) > -1e-9
        best = min(best, out.fun) if feasible else best
    return best


@pytest.mark.parametrize("seed", range(20))
def test_d_inf_is_the_least_divergence_that_a_primal_solve_finds(seed):
    rng = np.random.default_rng(seed)
    atoms = int(rng.integers(2, 6))
    points, weights = np.sort(rng.random(atoms)), rng.dirichlet(np.ones(atoms))
    psi = Discrete(points, weights)
    v = psi.variance * rng.uniform(0.1, 0.9)
    between = np.linspace(points[0], points[-1], 5)[1:-1]
    found = primal(points, weights, v, np.linspace(0, 1, 6), np.concatenate([points, between]))
    assert d_inf(psi, v) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("s", [1.0, 0.3])
@pytest.mark.parametrize("share", [1e-6, 0.01, 0.3, 0.9, 0.999])
def test_d_inf_of_two_equal_points_is_half_the_log_of_the_ratio_of_variances(s, share):
    v = share * s * s / 4
    assert d_inf(ScaledBernoulli(s), v) == pytest.approx(-math.log(share) / 2, rel=1e-9)


@pytest.mark.parametrize("weight", [0.0053, 0.126, 0.4, 0.874, 0.9947])
@pytest.mark.parametrize("share", [0.0003, 0.02, 0.5])
def test_d_inf_of_two_points_is_that_of_the_nearest_coin_of_less_variance(weight, share):
    v = share * weight * (1 - weight)
    root = (1 - math.sqrt(1 - 4 * v)) / 2
    nearest = bernoulli_kl(weight, [root, 1 - root]).min()
    psi = Discrete([0.2, 0.7], [1 - weight, weight])
    assert d_inf(psi, v / 4) == pytest.approx(float(nearest), rel=1e-9)


def test_d_inf_finds_the_better_of_two_local_minima():
    # To shed either end costs about the same: both wells are looked at.
    for weight in (0.449, 0.451):
        psi = Discrete([0, 0.5, 1], [weight, 0.1, 0.9 - weight])
        mirrored = Discrete([0, 0.5, 1], [0.9 - weight, 0.1, weight])
        assert d_inf(psi, 0.05) == pytest.approx(d_inf(mirrored, 0.05), rel=1e-10)
        sides = [
            primal(np.array([0, 0.5, 1]), np.array(psi.weights), 0.05, [], [m]) for m in (0.1, 0.9)
        ]
        assert d_inf(psi, 0.05) == pytest.approx(min(sides), abs=1e-6)
        assert abs(sides[0] - sides[1]) > 1e-4


def test_for_a_given_m_new_mass_at_m_is_counted():
    # Mass 0.6 of the other distribution goes to 1/2, where psi has none: KL = -log 0.4.
    given = _divergences(ScaledBernoulli(1.0), np.array([0.5]), 0.1)
    assert given[0] == pytest.approx(-math.log(0.4), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_for_the_best_m_no_new_mass_is_needed(seed):
    rng = np.random.default_rng(seed)
    points, weights = np.sort(rng.random(4)), rng.dirichlet(np.ones(4))
    psi = Discrete(points, weights)
    v = 0.2 * psi.variance
    starts = np.concatenate([points + 1e-3, np.linspace(points[0], points[-1], 9)[1:-1]])
    found = primal(points, weights, v, [], starts, own=0.0)
    assert d_inf(psi, v) == pytest.approx(found, abs=1e-6)


def expected_log_over_uniform(u, m, v, low, high):
    """Return the mean of log(u + (1 - u)(X - m)^2/v) over [low, high], in closed form."""
    scale = (1 - u) / v
    a = math.sqrt(u / scale)

    def antiderivative(y):
        return y * math.log(scale * (a * a + y * y)) - 2 * y + 2 * a * math.atan(y / a)

    return (antiderivative(high - m) - antiderivative(low - m)) / (high - low)


@pytest.mark.parametrize("share", [0.001, 0.05, 0.5, 0.95])
def test_d_inf_of_a_uniform_is_its_dual_in_closed_form(share):
    psi = UniformDistribution(0.1, 0.9)
    v = share * psi.variance

    def inner(m):
        return -optimize.minimize_scalar(
            lambda u: -expected_log_over_uniform(u, m, v, 0.1, 0.9),
            bounds=(1e-12, 1 - 1e-12),
            method="bounded",
            options={"xatol": 1e-12},
        ).fun

    brute = min(
        optimize.minimize_scalar(inner, bounds=bounds, method="bounded").fun
        for bounds in [(0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9)]
    )
    assert d_inf(psi, v) == pytest.approx(brute, rel=1e-7)


def test_d_inf_does_not_mind_shifts_and_scales():
    psi = Discrete([0, 0.25, 1], [0.3, 0.5, 0.2])
    shifted = Discrete([0.1, 0.2, 0.5], [0.3, 0.5, 0.2])  # 0.4 x + 0.1
    for share in (0.05, 0.4, 0.8):
        v = share * psi.variance
        assert d_inf(psi, v) == pytest.approx(d_inf(shifted, 0.16 * v), rel=1e-9)


@pytest.mark.parametrize(
    "psi",
    [TruncatedNormal(0.5, 0.2), UniformDistribution(), Discrete([0, 0.4, 1], [0.2, 0.5, 0.3])],
)
def test_d_inf_falls_to_zero_as_the_variance_rises_to_its_own(psi):
    shares = np.array([0.01, 0.1, 0.5, 0.9, 0.99, 0.9999])
    values = [d_inf(psi, share * psi.variance) for share in shares]
    assert (np.diff(values) < 0).all()
    assert values[-1] < 1e-6
    assert d_inf(psi, psi.variance) == d_inf(psi, 0.5) == 0.0
    assert d_inf(psi, 0.0) == math.inf


def test_the_lower_bound_of_scaled_bernoullis_is_a_sum_of_gaps_over_half_logs():
    arms = [ScaledBernoulli(s) for s in (0.4, 0.4, 0.7, 0.9)]
    v = np.array([0.7, 0.9]) ** 2 / 4
    expected = ((v - 0.04) / (np.log(v / 0.04) / 2)).sum()
    assert lower_bound(arms) == pytest.approx(expected, rel=1e-9)


def test_the_lower_bound_says_nothing_of_ties_and_of_an_arm_without_variance():
    wide = math.sqrt(3) * 0.2  # a uniform of this half-width has the variance 0.04
    assert lower_bound([ScaledBernoulli(0.4), UniformDistribution(0.5 - wide, 0.5 + wide)]) == 0
    assert lower_bound([ScaledBernoulli(0.4), Discrete([0.5], [1.0])]) == 0


# -- upper bounds


def test_upper_bounds_are_their_formulas():
    # X^2 is 0 or 1 for the first arm: payoff mean 1/2, variance 1/4; the gap is 3/16.
    gap, log = 3 / 16, math.log(1000)
    assert ucb1_bound(TWO, 1000) == pytest.approx(8 * log / gap + (1 + math.pi**2 / 3) * gap)
    assert ucbv_bound(TWO, 1000) == pytest.approx(10 * (0.25 / gap + 2) * log)
    assert ucbv_bound(TWO, 1000, c_zeta=20) == pytest.approx(20 * (0.25 / gap + 2) * log)
    kl = 0.5 * math.log(0.5 / (11 / 16)) + 0.5 * math.log(0.5 / (5 / 16))
    assert kl_ucb_leading_term(TWO, 1000) == pytest.approx(gap / kl * log)
    assert thompson_leading_term(TWO, 1000) == pytest.approx(gap**-4 * log)
    assert minimax_order(4, 100) == 20


@pytest.mark.parametrize(
    "bound", [ucb1_bound, ucbv_bound, kl_ucb_leading_term, thompson_leading_term]
)
def test_a_bound_takes_many_horizons_and_leaves_out_arms_that_tie_with_the_best(bound):
    draws = np.array([10, 100, 1000])
    many = bound(TWO, draws)
    assert many.shape == (3,)
    assert (np.diff(many) > 0).all()
    assert many[1] == pytest.approx(float(bound(TWO, 100)))
    wide = math.sqrt(3) / 4
    tied = UniformDistribution(0.5 - wide, 0.5 + wide)  # the variance of the second
    np.testing.assert_allclose(bound([*TWO, tied], draws), many)
    assert bound(TWO[1:], 100) == 0


# -- bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: d_inf(UniformDistribution(), -1), "variance must be a number of at least 0"),
        (lambda: lower_bound([]), "distributions must be one or more of Discrete"),
        (lambda: lower_bound([0.1, 0.2]), "distributions must be"),
        (
            lambda: lower_bound([UniformDistribution(0, 0.5), UniformDistribution(0, 1)]),
            "one mean, got 0.25, 0.5: shift the distributions",
        ),
        (lambda: ucb1_bound(TWO, 0.5), "draws must be at least 1"),
        (lambda: ucbv_bound(TWO, 10, c_zeta=0), "c_zeta must be"),
        (lambda: kl_ucb_leading_term(TWO, math.nan), "draws must be finite"),
        (lambda: minimax_order(-1, 10), "arms must be"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(call, words):
    with pytest.raises(PlanError, match=words):
        call()
