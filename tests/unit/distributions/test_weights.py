"""Weights: sums of logarithms, effective sizes, resampling."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from croupier.distributions.weights import (
    effective_size,
    effective_size_of_logs,
    log_mean_exp,
    log_mixture,
    log_sum_exp,
    normalised,
    pareto_shape,
    systematic,
)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_log_sum_exp_is_that_of_scipy(axis: int) -> None:
    logs = np.random.default_rng(7).normal(0, 300, (4, 5))
    logs[0, 0] = -np.inf
    assert np.allclose(log_sum_exp(logs, axis), logsumexp(logs, axis=axis))
    mean = logsumexp(logs, axis=axis) - math.log(logs.shape[axis])
    assert np.allclose(log_mean_exp(logs, axis), mean)


def test_a_sum_of_nothing_is_minus_infinity() -> None:
    assert log_sum_exp([-np.inf, -np.inf]) == -np.inf
    assert log_sum_exp([]) == -np.inf
    assert effective_size([]) == 0
    assert effective_size([0.0, 0.0]) == 0
    assert effective_size_of_logs([-np.inf]) == 0


def test_a_component_with_no_share_does_not_count() -> None:
    assert log_mixture(np.array([[0.0, 5.0]]), np.array([1.0, 0.0])).tolist() == [0.0]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_effective_size_has_no_unit(scale: float) -> None:
    w = np.random.default_rng(7).random((3, 10))
    kish = w.sum(axis=1) ** 2 / (w**2).sum(axis=1)
    assert np.allclose(effective_size(scale * w), kish)
    assert effective_size_of_logs(np.log(w[0]) + math.log(scale)) == pytest.approx(kish[0])


def test_normalised_weights_sum_to_one_on_their_axis() -> None:
    logs = np.random.default_rng(7).normal(-5000, 100, (4, 5))
    assert np.allclose(normalised(logs, 0).sum(axis=0), 1)
    assert np.allclose(normalised(logs), np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))


@pytest.mark.parametrize("shape", [0.3, 0.7, 1.2])
def test_the_pareto_shape_of_weights_is_found_at_any_scale(shape: float) -> None:
    logs = -shape * np.log(np.random.default_rng(7).random(20_000))
    assert pareto_shape(logs) == pytest.approx(shape, abs=0.15)
    assert pareto_shape(logs - 5000) == pytest.approx(pareto_shape(logs))


def test_few_or_equal_weights_have_no_shape() -> None:
    assert math.isnan(pareto_shape(np.array([])))
    assert math.isnan(pareto_shape(np.zeros(1000)))


def test_systematic_rows_come_as_often_as_their_weight_says() -> None:
    rng = np.random.default_rng(7)
    w = rng.random(50)
    w[[0, 20, -1]] = 0
    rows = systematic(rng, w, 1000)
    due = 1000 * w / w.sum()
    times = np.bincount(rows, minlength=50)
    assert (np.abs(times - due) < 1).all()
    assert times[[0, 20, -1]].tolist() == [0, 0, 0]
