"""The smooth surface through noisy values."""

from __future__ import annotations

import numpy as np
import pytest

from croupier.policies.smooth_surface import _LEVEL, _MISFIT, Surface, _kernel, lengths_for


def test_the_surface_passes_through_exact_values_and_is_unsure_far_away() -> None:
    x = np.array([[0.0], [0.2], [0.4]])
    y = np.array([1.0, 0.0, 1.0])
    surface = Surface.fit(x, y, np.zeros(3))
    mean, deviation = surface.roughly(np.array([[0.2], [1.0]]))
    assert mean[0] == pytest.approx(0.0, abs=0.02)
    assert deviation[0] < 0.05 < 0.3 < deviation[1]


def test_noise_is_averaged() -> None:
    rng = np.random.default_rng(7)
    x = rng.random((80, 1))
    y = 3 * np.square(x[:, 0] - 0.4) + rng.normal(0, 0.3, 80)
    surface = Surface.fit(x, y, np.full(80, 0.09))
    at = np.linspace(0.1, 0.9, 9)[:, None]
    mean, deviation = surface.roughly(at)
    assert np.abs(mean - 3 * np.square(at[:, 0] - 0.4)).max() < 0.25
    assert deviation.max() < 0.2


def test_a_parameter_without_effect_gets_the_longest_length() -> None:
    rng = np.random.default_rng(7)
    x = rng.random((40, 2))
    y = np.sin(6 * x[:, 0]) + rng.normal(0, 0.05, 40)
    lengths = Surface.fit(x, y, np.full(40, 0.0025)).lengths
    assert lengths[1] == lengths_for(2).max()
    assert lengths[0] < lengths[1]


def test_draws_have_the_mean_and_the_spread_of_the_posterior() -> None:
    x = np.array([[0.0], [0.5], [1.0]])
    surface = Surface.fit(x, np.array([0.0, 1.0, 0.5]), np.full(3, 0.1))
    at = np.array([[0.1], [0.3], [0.8]])
    mean, covariance = surface.at(at)
    rng = np.random.default_rng(7)
    drawn = np.array([surface.drawn(at, rng) for _ in range(4000)])
    error = np.sqrt(np.diag(covariance) / 4000)
    assert (np.abs(drawn.mean(axis=0) - mean) < 4 * error).all()
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.05)
    alone, deviation = surface.roughly(at)
    np.testing.assert_allclose(alone, mean)
    np.testing.assert_allclose(deviation, np.sqrt(np.diag(covariance)), rtol=1e-6)


def test_a_point_that_is_left_out_has_no_say_in_its_own_value() -> None:
    rng = np.random.default_rng(7)
    x, noise = rng.random((12, 2)), rng.uniform(0.05, 0.5, 12)
    y = np.sin(3 * x[:, 0]) + rng.normal(0, np.sqrt(noise))
    surface = Surface.fit(x, y, noise)
    mean, deviation = surface.left_out()
    rest = np.arange(12) != 4
    covariance = surface.scale * _kernel(x[rest], x[rest], surface.lengths)
    covariance[np.diag_indices(11)] += noise[rest] + _MISFIT
    cross = surface.scale * _kernel(x[4:5], x[rest], surface.lengths)[0]
    assert mean[4] == pytest.approx(cross @ np.linalg.solve(covariance, y[rest]))
    left = surface.scale * (1 + _LEVEL) - cross @ np.linalg.solve(covariance, cross)
    assert deviation[4] == pytest.approx(np.sqrt(left))
