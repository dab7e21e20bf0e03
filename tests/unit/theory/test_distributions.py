"""Distributions of draws in [0, 1]: moments and nodes against scipy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from croupier import PlanError
from croupier.theory import Discrete, ScaledBernoulli, TruncatedNormal, UniformDistribution, d_inf


@pytest.mark.parametrize(
    ("distribution", "reference"),
    [
        (UniformDistribution(0.2, 0.9), stats.uniform(0.2, 0.7)),
        (TruncatedNormal(0.5, 0.2), stats.truncnorm(-2.5, 2.5, 0.5, 0.2)),
        (TruncatedNormal(0.3, 1.0), stats.truncnorm(-0.3, 0.7, 0.3, 1.0)),
        (TruncatedNormal(0.4, 0.001), stats.norm(0.4, 0.001)),
        (TruncatedNormal(1.3, 0.2), stats.truncnorm(-6.5, -1.5, 1.3, 0.2)),
        (TruncatedNormal(0.5, 0.1, 0.3, 0.8), stats.truncnorm(-2, 3, 0.5, 0.1)),
    ],
)
def test_moments_by_quadrature_are_scipys(distribution, reference):
    second, fourth = reference.moment(2), reference.moment(4)
    assert distribution.mean == pytest.approx(reference.mean(), rel=1e-9)
    assert distribution.variance == pytest.approx(reference.var(), rel=1e-8)
    assert distribution.payoff_mean == pytest.approx(1 - second, rel=1e-9)
    assert distribution.payoff_variance == pytest.approx(fourth - second**2, rel=1e-6)


def test_two_equal_points_are_a_scaled_bernoulli():
    arm, twin = ScaledBernoulli(0.6, 0.4), Discrete([0.1, 0.7], [0.5, 0.5])
    assert arm.mean == pytest.approx(0.4)
    assert arm.variance == pytest.approx(0.09)
    for name in ("mean", "variance", "payoff_mean", "payoff_variance"):
        assert getattr(arm, name) == pytest.approx(getattr(twin, name))


def test_a_point_without_weight_is_not_there():
    with_it, without = Discrete([0, 0.5, 1], [0, 0.3, 0.7]), Discrete([0.5, 1], [0.3, 0.7])
    assert with_it.support == without.support == (0.5, 1.0)
    assert d_inf(with_it, 0.02) == d_inf(without, 0.02) > 0


def test_distributions_are_data():
    assert Discrete(np.array([0, 1]), [0.5, 0.5]) == Discrete((0.0, 1.0), (0.5, 0.5))
    assert hash(Discrete([0, 1], [0.5, 0.5])) == hash(Discrete([0, 1], [0.5, 0.5]))


def test_the_nodes_of_a_continuous_distribution_integrate_a_logarithm_at_their_centre():
    psi = TruncatedNormal(0.4, 0.15)
    reference = stats.truncnorm(-0.4 / 0.15, 0.6 / 0.15, 0.4, 0.15)
    for m in (0.1, 0.4, 0.83):
        for u in (0.0, 1e-4, 0.3):
            points, weights = psi.nodes(np.array([m]))
            ours = float((weights * np.log(u + np.square(points - m))).sum())
            parts = [
                integrate.quad(
                    lambda x: reference.pdf(x) * np.log(u + (x - m) ** 2),  # noqa: B023
                    *ends,
                    epsabs=1e-10,
                    limit=200,
                )[0]
                for ends in ((0, m), (m, 1))
            ]
            assert ours == pytest.approx(sum(parts), abs=1e-7)


# -- bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Discrete([0, 2], [0.5, 0.5]), r"points must lie in \[0, 1\], got 2.0: rescale"),
        (lambda: Discrete([0, math.nan], [0.5, 0.5]), "points must lie in"),
        (lambda: Discrete(["a", 1], [0.5, 0.5]), "points must be a number or an array"),
        (lambda: Discrete([0, 1, 1], [0.5, 0.5]), "equally many"),
        (lambda: Discrete([0, 1], [0.5, 0.6]), "sum to 1, got 1.1: divide"),
        (lambda: Discrete([0, 1], [-0.5, 1.5]), "weights"),
        (lambda: ScaledBernoulli(1.2), r"mu - s/2 and mu \+ s/2 must lie in \[0, 1\]"),
        (lambda: ScaledBernoulli(0.0), "s must be a finite number above 0"),
        (lambda: ScaledBernoulli(0.5, "a"), "mu must be a number"),
        (lambda: UniformDistribution(0.5, 0.5), "low < high"),
        (lambda: UniformDistribution(-1, 1), "low must lie in .* rescale"),
        (lambda: TruncatedNormal(0.5, 0.0), "sigma must be"),
        (lambda: TruncatedNormal(math.inf, 0.1), "mu must be finite, .* use UniformDistribution"),
        (lambda: TruncatedNormal(0.5, 0.1, 0, 2), "high must lie in"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(call, words):
    with pytest.raises(PlanError, match=words):
        call()
