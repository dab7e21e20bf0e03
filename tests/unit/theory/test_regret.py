"""Regret from counts, against its definitions."""

from __future__ import annotations

import numpy as np
import pytest

from croupier import PlanError
from croupier.theory import (
    cost_regret,
    deadline_means,
    mse_regret,
    normalised_mse,
    regret_from_counts,
    regret_from_errors,
    renewal_bounds,
)

VARIANCES = np.array([2.0, 0.5, 3.0])


def test_the_regret_identity_is_the_regret_of_the_mean_of_fixed_counts():
    counts = np.array([[10, 80, 10], [0, 100, 0], [40, 30, 30]])
    n = counts.sum(axis=1)
    mse = (counts * VARIANCES).sum(axis=1) / n**2
    regret = regret_from_counts(counts, VARIANCES)
    np.testing.assert_allclose(regret, mse_regret(mse, VARIANCES, n), atol=1e-9)
    np.testing.assert_allclose(normalised_mse(counts, VARIANCES), n * mse)
    np.testing.assert_allclose(regret / n, normalised_mse(counts, VARIANCES) - 0.5)
    assert regret[1] == 0


def test_with_unit_costs_the_regret_is_that_of_the_identity():
    counts = [[10, 80, 10], [25, 50, 25]]
    np.testing.assert_allclose(
        cost_regret(100, counts, VARIANCES, [1, 1, 1]), regret_from_counts(counts, VARIANCES)
    )


def test_the_best_arm_is_that_of_least_cost_times_variance_and_has_no_regret():
    costs = np.array([0.2, 2.0, 1.0])  # products 0.4, 1.0 and 3.0
    alone = np.diag(600 / costs)
    regret = cost_regret(600, alone, VARIANCES, costs)
    np.testing.assert_allclose(regret, 600 * (costs * VARIANCES - 0.4), atol=1e-9)


def test_renewal_bounds_hold_a_fixed_cost():
    t = np.linspace(0.1, 10, 100)
    low, high = renewal_bounds(t, 0.7, 0.7, 0.0)
    rounds = np.floor(t / 0.7) + 1  # one more than have finished
    assert (low <= rounds).all()
    assert (rounds <= high * (1 + 1e-12)).all()


# -- bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mse_regret(-1, [1, 2], 10), "mse must be finite numbers of at least 0"),
        (lambda: regret_from_counts([1, 2, 3], [1, 2]), r"shapes \(2,\) and \(3,\)"),
        (lambda: regret_from_counts([1, -2], [1, 2]), "counts must be finite numbers"),
        (lambda: normalised_mse([[1, 2], [0, 0]], [1, 2]), "at least one draw .* leave it out"),
        (lambda: cost_regret(10, [0, 0], [1, 2], [1, 1]), "at least one draw"),
        (lambda: cost_regret(0, [1, 1], [1, 2], [1, 1]), "budget must be"),
        (lambda: cost_regret(10, [1, 1], [1, 2], [1, 0]), "costs must be above 0"),
        (lambda: renewal_bounds(10, 1.0, 0.1, 1.0), "raise the cap"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(call, words):
    with pytest.raises(PlanError, match=words):
        call()


# -- regret by its definition


def test_regret_by_definition_is_that_of_the_squared_errors():
    rng = np.random.default_rng(7)
    ours, alone = rng.normal(3, 1, (5, 2)), rng.normal(3, [[[1]], [[4]]], (2, 6, 2))
    found = regret_from_errors([10, 20], ours, alone, mean=3.0)
    loss, losses = np.square(ours - 3).mean(axis=0), np.square(alone - 3).mean(axis=1)
    np.testing.assert_allclose(found.regret, [100, 400] * (loss - losses.min(axis=0)))
    assert found.best.tolist() == losses.argmin(axis=0).tolist()
    assert (found.stderr > 0).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: regret_from_errors([1], [[1.0]] * 2, [[[1.0, 2.0]] * 2], 1), "the shapes"),
        (lambda: regret_from_errors([1], [[1.0]], [[[1.0]] * 2], 1), "at least two runs"),
        (lambda: regret_from_errors([1], [[np.nan]] * 2, [[[1.0]] * 2], 1), "as default="),
        (lambda: deadline_means([[1.0]], [[1.0]], [2.0], default=0), "run 0 cost 1 .*budget 2"),
        (lambda: deadline_means([1.0], [1.0], [2.0], default=0), "the shape"),
    ],
)  # fmt: skip
def test_bad_runs_are_refused(call, words):
    with pytest.raises(PlanError, match=words):
        call()
