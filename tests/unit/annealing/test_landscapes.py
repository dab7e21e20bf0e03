"""Landscapes: what known modes explain far away from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from croupier.annealing.landscapes import far_coordinates, parabolas
from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import Model, model_of


def correlated(d: int) -> Any:
    """Return a normal log-density of correlated coordinates, and its covariance."""
    covariance = 0.3 * np.eye(d) + 0.1
    precision = np.linalg.inv(covariance)
    return lambda x: -0.5 * np.einsum("ij,jk,ik->i", x - 2, precision, x - 2), covariance


def law_of(model: Model, mean: float, root: Any) -> Mixture:
    """Return one component; the root is in the coordinates of the user."""
    d = model.dimensions
    assert model.chart is not None
    place = model.chart.to(np.full((1, d), mean))
    slope = 20 * st.norm.pdf(place[0])  # of x = -10 + 20 Phi(u)
    return Mixture(np.ones(1), place, (root / slope[:, None])[None], 8.0)


def test_a_normal_mode_in_a_box_is_explained_up_to_the_bounds() -> None:
    likelihood, covariance = correlated(5)
    model = model_of(likelihood, [st.uniform(-10, 20)] * 5).charted()
    land = parabolas(model, law_of(model, 2.0, np.linalg.cholesky(covariance)), np.zeros(1))
    points = model.start(np.random.default_rng(7), 500)
    falls = land.explained(far_coordinates(model, points))[:, 0]
    assert falls == pytest.approx(-model.likelihood(points), rel=1e-4)


def test_a_wrong_shape_is_mended_by_points_of_the_prior() -> None:
    """The mode is taken for one of independent coordinates that are half as wide."""
    likelihood, covariance = correlated(5)
    model = model_of(likelihood, [st.uniform(-10, 20)] * 5).charted()
    root = np.diag(0.5 * np.sqrt(covariance.diagonal()))
    land = parabolas(model, law_of(model, 2.0, root), np.zeros(1))
    points = model.start(np.random.default_rng(7), 3000)
    far, values = far_coordinates(model, points), model.likelihood(points)
    before = np.abs(land.explained(far)[:, 0] / -values - 1)
    land = land.fitted(far[:2000], values[:2000], [0])
    after = np.abs(land.explained(far[2000:])[:, 0] / -values[2000:] - 1)
    assert np.median(before) > 0.5
    assert np.median(after) < 0.05


def test_two_landscapes_have_the_higher_top_and_keep_their_falls() -> None:
    likelihood, covariance = correlated(3)
    model = model_of(likelihood, [st.uniform(-10, 20)] * 3).charted()
    root = np.linalg.cholesky(covariance)
    low = parabolas(model, law_of(model, 2.0, root), np.array([-5.0]))
    high = parabolas(model, law_of(model, -4.0, root), np.array([1.0]))
    both = low.joined_by(high)
    assert both.top == 1.0
    far = far_coordinates(model, model.start(np.random.default_rng(7), 50))
    assert both.falls(far)[:, 0] == pytest.approx(low.falls(far)[:, 0] + 6)
    assert both.falls(far)[:, 1] == pytest.approx(high.falls(far)[:, 0])


def test_far_coordinates_without_bounds_are_those_of_the_model() -> None:
    model = model_of(lambda x: -(x**2).sum(axis=1), [st.norm(3, 2)] * 2)
    points = model.start(np.random.default_rng(7), 20)
    assert far_coordinates(model, points) == pytest.approx(points / 2)
