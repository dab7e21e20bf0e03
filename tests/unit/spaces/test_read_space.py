"""What `over` means, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.integration.changes import Identity, NormalMixture, Rotated, Separable
from croupier.spaces.base import Moved
from croupier.spaces.read_space import read_space
from croupier.spaces.vectors import NormalVector

inf = float("inf")


def mean(over: Any, f: Any, dimension: int | None = None, n: int = 2**14) -> float:
    """Return the integral of f by a midpoint rule in one dimension, by Sobol points in more."""
    domain = read_space(over, dimension=dimension)
    d = domain.dimension
    u = (np.arange(n) + 0.5)[:, None] / n
    if d > 1:
        u = stats.qmc.Sobol(d, scramble=False).random(n) + 0.5 / n
    x, weight = domain.place(Moved(u, None, None))
    return float((f(x) * (1 if weight is None else weight)).mean())


@pytest.mark.parametrize(
    ("over", "f", "value"),
    [
        ((0, 2), lambda x: x[:, 0], 2.0),
        ((-1, 3), lambda x: x[:, 0] ** 2, 28 / 3),
        ((0, inf), lambda x: np.exp(-x[:, 0]), 1.0),
        ((1, inf), lambda x: 1 / x[:, 0] ** 3, 0.5),
        ((-inf, 0), lambda x: np.exp(x[:, 0]), 1.0),
        ((-inf, inf), lambda x: np.exp(-(x[:, 0] ** 2)), np.sqrt(np.pi)),
        (stats.expon(), lambda x: x[:, 0], 1.0),
        (stats.poisson(3.0), lambda x: x[:, 0], 3.0),
        ([(0, 1), stats.norm(1, 2)], lambda x: x[:, 0] * x[:, 1] ** 2, 2.5),
        ([(0, 2), (0, 3)], lambda x: np.ones(len(x)), 6.0),
    ],
)
def test_an_integral_over_a_domain(over: Any, f: Any, value: float) -> None:
    assert mean(over, f) == pytest.approx(value, rel=2e-3)


def test_a_pair_of_functions_is_an_integral_over_dx_or_an_expectation() -> None:
    law = stats.gamma(3)
    expectation = mean((law.ppf, None), lambda x: x[:, 0], dimension=1)
    assert expectation == pytest.approx(3.0, rel=1e-3)
    integral = mean((law.ppf, law.logpdf), lambda x: x[:, 0] * law.pdf(x[:, 0]), dimension=1)
    assert integral == pytest.approx(3.0, rel=1e-3)


def test_a_multivariate_normal_has_its_mean_and_covariance_under_both_roots() -> None:
    covariance = np.array([[2.0, 0.9], [0.9, 1.0]])
    domain = read_space(stats.multivariate_normal([1.0, -1.0], covariance))
    assert isinstance(domain, NormalVector)
    u = stats.qmc.Sobol(2, rng=np.random.default_rng(7)).random(2**14) + 1e-9
    for change in (Identity(), Rotated(domain.rotation)):
        x, weight = domain.place(change.move(u))
        assert weight is None
        assert np.allclose(x.mean(axis=0), [1, -1], atol=0.01)
        assert np.allclose(np.cov(x.T), covariance, atol=0.02)


def test_independent_normals_have_no_principal_components_to_try() -> None:
    assert read_space(stats.multivariate_normal([0.0, 0.0])).rotation is None


def test_a_singular_covariance_is_no_problem() -> None:
    domain = read_space(
        stats.multivariate_normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], allow_singular=True)
    )
    x, _ = domain.place(Moved(np.array([[0.3, 0.6], [0.9, 0.1]]), None, None))
    assert np.allclose(x[:, 0], x[:, 1])


@pytest.mark.parametrize(
    ("over", "dimension", "message"),
    [
        ((1, 0), None, r"axis 0 of over= has reversed bounds \(1, 0\): give \(0, 1\)"),
        ([(0, 1), (2, 2)], None, r"axis 1 of over= has bounds \(2, 2\): give low < high"),
        ((float("nan"), 1), None, "give low < high"),
        ((inf, inf), None, "give low < high"),
        ([], None, "over= has no axes"),
        (2.5, None, "over= cannot be 2.5: give a dimension"),
        (0, None, "a dimension of at least 1, got 0"),
        (True, None, "over= cannot be True"),
        ("normal", None, "over= cannot be 'normal'"),
        (lambda u: u, None, "over= cannot be <function"),
        (
            (lambda u: u, lambda x: x),
            None,
            r"\(sample\(rng, size\), logpdf\(points\)\), but the first",
        ),
        ((lambda rng, n: 1.0, lambda x: x), None, "return one row per point"),
        ([(0, 1), 3], None, "axis 1 of over= cannot be 3"),
        (stats.dirichlet([1, 2]), None, "no map from the cube"),
        (stats.gamma, None, r"axis 0 of over= has no parameters yet: freeze it, gamma\(a"),
        ({"a": stats.norm(0, 1)}, None, "a list, not a dict"),
        ([(0, 1)] * 2, 3, "dimension=3, but over= has 2 axes"),
        ((0, 1), 3, "dimension=3, but over= has 1 axis"),
        ((np.sqrt, None), None, "give dimension="),
        ([(0, 1)] * 301, None, "over= has 301 dimensions, and nets of points have at most 300"),
    ],
)
def test_what_is_no_domain_is_refused(over: Any, dimension: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        read_space(over, needs=["cube"], dimension=dimension)


def test_a_transform_with_the_wrong_shape_is_refused() -> None:
    with pytest.raises(cr.PlanError, match="returned an array of shape"):
        read_space((lambda u: np.ones((7, 2, 2)), None), dimension=2)
    with pytest.raises(cr.PlanError, match="the log density in over= returns 2 numbers"):
        read_space((lambda u: u, lambda x: x), dimension=2)


@pytest.mark.parametrize(
    ("over", "dimension"),
    [(stats.norm([0, 0], [2, 1]), 2), ([stats.norm, stats.gamma([2, 3])], 3), (stats.norm, 1)],
)
def test_one_object_of_several_distributions_is_as_many_axes(over: Any, dimension: int) -> None:
    assert read_space(over).dimension == dimension


def test_a_distribution_without_an_inverse_has_a_sample_and_a_density() -> None:
    student = stats.multivariate_t([0, 0], np.eye(2), df=5)
    space = read_space(student, needs=["sample", "density"])
    points = space.sample(np.random.default_rng(7), 10)
    assert points.shape == (10, 2)
    assert np.allclose(space.logpdf(points), student.logpdf(points))


def test_changes_of_variables_integrate_to_the_same_number() -> None:
    edges = np.array([[0.0, 0.2, 1.0], [0.0, 0.7, 1.0]])
    density = np.array([[3.0, 1.0, 0.5], [0.6, 0.7, 2.0]])  # not normalised
    mixture = NormalMixture(np.array([0.5, -1.0]), np.array([[0.5, 0.0], [0.2, 0.8]]))
    rng = np.random.default_rng(7)
    for change in (Separable(edges, density), mixture):
        u = stats.qmc.Sobol(2 + change.more, rng=rng).random(2**15) + 1e-10
        moved = change.move(u)
        assert moved.jac is not None
        assert moved.jac.mean() == pytest.approx(1.0, rel=0.01)
        g = np.cos(3 * moved.cube[:, 0]) * moved.cube[:, 1]
        assert (g * moved.jac).mean() == pytest.approx(np.sin(3) / 6, rel=0.05)


def test_changes_are_equal_if_their_arrays_are() -> None:
    one, other = Rotated(np.eye(2)), Rotated(np.eye(2))
    assert one == other
    assert one != Rotated(np.ones((2, 2)))
    assert one != Identity()
