"""Fits of normals and mixtures to weighted points."""

import numpy as np
import pytest

from croupier.distributions.fit import bic, fit, fit_normal, moments, nearest_centres, parts, shrunk
from croupier.distributions.mixture import Mixture
from croupier.distributions.weights import normalised


def test_weights_count_as_repeated_points() -> None:
    rng = np.random.default_rng(7)
    x, times = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    mean, covariance, _ = moments(x, 7.0 * times)
    again = np.repeat(x, times, axis=0)
    assert np.allclose(mean, again.mean(axis=0))
    assert np.allclose(covariance, np.cov(again.T, bias=True))


def test_few_points_give_a_root_and_none_give_none() -> None:
    x = np.random.default_rng(7).normal(size=(4, 10))
    found = fit_normal(x, np.ones(4))
    assert found is not None
    assert np.isfinite(found.log_density(x)).all()
    assert fit_normal(x, np.zeros(4)) is None
    assert fit_normal(x, np.array([1.0, 0, 0, 0])) is None
    assert fit_normal(np.ones((4, 2)), np.ones(4)) is None
    assert fit_normal(np.array([[1e200], [-1e200]]), np.ones(2)) is None


def test_shrinking_keeps_the_scale_of_a_narrow_direction() -> None:
    d, n = 10, 400
    rng = np.random.default_rng(7)
    x = np.sqrt(0.999) * rng.normal(size=(n, 1)) + np.sqrt(0.001) * rng.normal(size=(n, d))
    _, covariance, effective = moments(x, np.ones(n))
    least = np.linalg.eigvalsh(shrunk(covariance, np.zeros(d), effective))[0]
    assert 0.0005 < least < 0.0015


def test_shrinking_improves_a_covariance_from_few_points() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(30, 20))
    _, covariance, effective = moments(x, np.ones(30))
    eigenvalues = np.linalg.eigvalsh(shrunk(covariance, np.zeros(20), effective))
    assert eigenvalues[0] > 5 * np.linalg.eigvalsh(covariance)[0]
    assert eigenvalues[0] > 0.2


@pytest.mark.parametrize(("d", "n"), [(1, 400), (2, 200), (5, 300), (20, 300)])
def test_points_of_one_normal_are_one_part(d: int, n: int) -> None:
    cut = 0
    for seed in range(10):
        x = np.random.default_rng(seed).normal(size=(n, d))
        cut += int(parts(x, np.ones(n), 8).max() > 0)
    assert cut <= 2


@pytest.mark.parametrize("d", [1, 2, 10, 30])
def test_far_modes_are_found_also_where_a_covariance_has_more_parameters_than_points(
    d: int,
) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(400, d))
    x[:100] += 10 / np.sqrt(d)
    label = parts(x, np.ones(400), 8)
    assert label.max() == 1
    assert len(set(label[:100])) == len(set(label[100:])) == 1


def test_a_narrow_part_inside_a_wide_one_is_found() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(2000, 4))
    x[:800] *= 0.1
    found = fit(x, np.ones(2000), most=2)
    assert sorted(found.shares.round(1)) == [0.4, 0.6]
    widths = np.exp(np.log(np.einsum("kii->ki", found.roots)).mean(axis=1))
    assert sorted(widths.round(1)) == [0.1, 1.0]


def test_weighted_points_of_another_distribution_are_fitted_as_their_target() -> None:
    rng = np.random.default_rng(7)
    x = rng.uniform(-8, 8, (20_000, 2))
    truth = Mixture([0.3, 0.7], [[-3.0, 0.0], [3.0, 1.0]], [np.eye(2), 0.5 * np.eye(2)])
    found = fit(x, normalised(truth.log_density(x)), most=2)
    fresh, _ = truth.draw(rng, 5000)
    assert (truth.log_density(fresh) - found.log_density(fresh)).mean() < 0.01


def test_a_student_fit_finds_the_scale_of_students_distribution() -> None:
    rng = np.random.default_rng(7)
    truth = Mixture([1.0], [[1.0, -1.0]], [[[2.0, 0.0], [1.0, 0.5]]], 4.0)
    x, _ = truth.draw(rng, 20_000)
    found = fit(x, np.ones(len(x)), np.ones((len(x), 1)), df=4.0, steps=50)
    assert np.allclose(
        found.roots[0] @ found.roots[0].T, truth.roots[0] @ truth.roots[0].T, atol=0.15
    )
    assert np.allclose(found.means[0], truth.means[0], atol=0.05)


def test_a_fit_goes_on_from_a_mixture_and_drops_a_component_without_points() -> None:
    rng = np.random.default_rng(7)
    x = np.concatenate((rng.normal(-4, 1, (300, 1)), rng.normal(4, 0.5, (100, 1))))
    start = Mixture(np.ones(3) / 3, [[-1.0], [1.0], [5000.0]], np.ones((3, 1, 1)))
    found = fit(x, np.ones(400), start, steps=30)
    assert found.shares.round(2).tolist() == [0.75, 0.25]
    assert found.means.ravel() == pytest.approx([-4, 4], abs=0.2)


def test_points_without_weight_and_the_unit_of_weights_do_not_matter() -> None:
    rng = np.random.default_rng(7)
    x, w = rng.normal(size=(300, 2)), rng.random(300)
    more = np.concatenate((x, np.full((5, 2), 1e6)))
    one = fit(x, w)
    other = fit(more, 1e-200 * np.concatenate((w, np.zeros(5))))
    assert np.allclose(one.means, other.means)


def test_a_coordinate_with_one_value_does_not_break_a_fit() -> None:
    x = np.column_stack((np.random.default_rng(7).normal(size=200), np.ones(200)))
    assert np.isfinite(fit(x, np.ones(200)).log_density(x)).all()


def test_two_components_have_the_smaller_criterion_for_two_modes_only() -> None:
    rng = np.random.default_rng(7)
    for apart, more in ((0.0, False), (8.0, True)):
        x = rng.normal(size=(400, 1)) + apart * (np.arange(400) < 100)[:, None]
        label = nearest_centres(x, np.ones(400), 2, rng)
        one, two = (fit(x, np.ones(400), start) for start in (np.ones((400, 1)), np.eye(2)[label]))
        assert (bic(two, x, np.ones(400)) < bic(one, x, np.ones(400))) == more


def test_centres_go_where_the_weight_is() -> None:
    rng = np.random.default_rng(7)
    x = np.repeat([[0.0], [5.0], [9.0]], 20, axis=0)
    w = np.repeat([1.0, 1.0, 0.0], 20)
    label = nearest_centres(x, w, 2, rng)
    assert len(set(label[:20])) == len(set(label[20:40])) == 1
    assert label[0] != label[20]
