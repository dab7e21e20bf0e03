"""Theorem 5 and the lemmas 3 to 5 against simulated renewal processes, and R(A, t) from errors.

Two arms share the mean 1/2. The best arm has draws of variance 1/12 and exponential costs of mean
1; the other has draws of variance 1/4 and costs that are uniform in [0, 4]. Bounds that hold for
expectations are compared with means of 4000 runs, within four standard errors.
"""

from __future__ import annotations

import numpy as np
import pytest

from croupier.theory import (
    Concentration,
    allocation_bound,
    cost_regret,
    cost_regret_bound,
    deadline_means,
    fewest_draws,
    ratio_bounds,
    regret_from_errors,
    renewal_bounds,
    single_arm_bound,
)

RUNS, MEAN, B, C = 4000, 0.5, 0.5, 2.5
COSTS, VARIANCES = np.array([1.0, 2.0]), np.array([1 / 12, 1 / 4])
BUDGETS = np.array([50.0, 400.0, 3000.0])


def best(rng, size):
    return rng.random(size), rng.exponential(1.0, size)


def worse(rng, size):
    return rng.integers(2, size=size).astype(float), rng.uniform(0, 4, size)


def finished(values, costs, budget):
    """Return the number of finished draws, and S - N mu, of every run."""
    done = costs.cumsum(axis=1) <= budget
    return done.sum(axis=1), np.where(done, values - MEAN, 0.0).sum(axis=1)


@pytest.fixture(scope="module")
def alone():
    """The draws of both arms, each alone, long enough for the largest budget."""
    rng = np.random.default_rng(2014)
    return [arm(rng, (RUNS, 3400)) for arm in (best, worse)]


@pytest.fixture(scope="module")
def allocation():
    """An allocation that draws the worse arm in the rounds 1, 4, 9, ...: f(t) = sqrt(t) + 2."""
    rng = np.random.default_rng(7)
    (x, d), (y, e) = (arm(rng, (RUNS, 3400)) for arm in (best, worse))
    squares = np.isin(np.arange(1, 3401), np.arange(1, 60) ** 2)
    return np.where(squares, y, x), np.where(squares, e, d), squares


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("arm", [0, 1])
def test_lemma_4_bounds_the_squares_of_one_arm(alone, budget, arm):
    n, off = finished(*alone[arm], budget)
    m = n.mean()
    measured = np.square(off).mean() / m**2
    error = np.square(off).std() / RUNS**0.5 / m**2
    caps = np.array([0.5, 2.0, 4.0, 8.0])
    above = (1 + caps) * np.exp(-caps) if arm == 0 else np.maximum(16 - caps**2, 0) / 8
    bounds = single_arm_bound(budget, COSTS[arm], VARIANCES[arm], B, caps, above)
    assert (bounds <= measured + 4 * error).all()
    # The bound is worth something: with the best cap it approaches the truth.
    if budget == BUDGETS[-1]:
        assert bounds.max() > 0.8 * measured
    low, high = renewal_bounds(budget, COSTS[arm], caps, above)
    noise = 4 * n.std() / RUNS**0.5
    assert (low <= m + 1 + noise).all()
    assert (m + 1 <= high + noise).all()


@pytest.mark.parametrize("budget", BUDGETS)
def test_lemma_3_bounds_the_error_of_a_ratio(alone, budget):
    for arm in (0, 1):
        n, off = finished(*alone[arm], budget)
        d = np.where(n > 0, off / np.maximum(n, 1), -MEAN)  # the estimate is 0 before the first
        low, high = ratio_bounds(
            float(np.square(off).mean()), Concentration.of(n, C), C, B, default_error=-MEAN
        )
        assert low <= np.square(d).mean() <= high


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
def test_lemma_5_bounds_the_squares_of_an_allocation(allocation, budget):
    values, costs, squares = allocation
    n, off = finished(values, costs, budget)
    m = n.mean()
    assert m >= fewest_draws(budget, COSTS)
    f = np.sqrt(budget) + 2
    assert (np.cumsum(squares)[np.minimum(n, 3399)]).mean() <= f
    measured = np.square(off).mean() / m**2
    bound = allocation_bound(budget, COSTS, VARIANCES, f, B)
    assert measured <= bound
    if budget == BUDGETS[-1]:
        assert bound < 3 * measured


@pytest.mark.slow
def test_theorem_5_bounds_the_regret_by_its_definition(alone, allocation):
    values, costs, _ = allocation
    ours = deadline_means(values, costs, BUDGETS, default=0.0)
    each = [deadline_means(*arm, BUDGETS, default=0.0) for arm in alone]
    found = regret_from_errors(BUDGETS, ours, each, MEAN)
    assert found.best.tolist() == [0, 0, 0]
    bounds = []
    for budget in BUDGETS:
        n, alone_n = finished(values, costs, budget)[0], finished(*alone[0], budget)[0]
        c = min(C, 0.9 * np.sqrt(budget / 16))
        bounds.append(
            cost_regret_bound(
                float(budget),
                COSTS,
                VARIANCES,
                float(np.sqrt(budget) + 2),
                B,
                c=c,
                ours=Concentration.of(n, c),
                best=Concentration.of(alone_n, c),
                cap=float(np.log(budget) + 2),
                default_error=-MEAN,
                above=float((3 + np.log(budget)) * np.exp(-2) / budget),
            )
        )
    assert (found.regret <= np.array(bounds) + 4 * found.stderr).all()


@pytest.mark.slow
def test_regret_by_its_definition_agrees_with_the_one_from_counts(alone, allocation):
    values, costs, squares = allocation
    ours = deadline_means(values, costs, BUDGETS, default=MEAN)
    each = [deadline_means(*arm, BUDGETS, default=MEAN) for arm in alone]
    found = regret_from_errors(BUDGETS, ours, each, MEAN)
    for i, budget in enumerate(BUDGETS):
        n = finished(values, costs, budget)[0]
        second = np.cumsum(squares)[np.maximum(n - 1, 0)] * (n > 0)
        counts = np.column_stack((n - second, second))
        expected = cost_regret(float(budget), counts, VARIANCES, COSTS).mean()
        assert abs(found.regret[i] - expected) < 4 * found.stderr[i]


def test_the_mean_at_a_deadline_counts_what_was_known_before_the_first_draw():
    """Glynn and Heidelberger (1990): E muhat(t) = mu - E[X_1 1{D_1 > t}] + muhat_0 P(D_1 > t)."""
    rng = np.random.default_rng(3)
    values = rng.exponential(MEAN, (50 * RUNS, 40))
    budget, default = 1.0, 0.3
    means = deadline_means(values, 2 * values, [budget], default=default)
    late = np.exp(-1.0)  # the chance that the first draw, of cost 2 X, is not finished
    expected = MEAN - MEAN * 2 * late + default * late
    assert abs(means.mean() - expected) < 4 * means.std() / len(means) ** 0.5
