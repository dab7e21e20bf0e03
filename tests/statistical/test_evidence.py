"""Evidence of models that are hard for a search: many runs, each with its own z-score.

With n runs, |mean z| < 4/sqrt(n), sum z^2 < n + 4 sqrt(2 n), and the share of intervals at 0.95
that cover is above 0.95 - 4 sqrt(0.95 0.05/n): four standard deviations each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def corner(x: np.ndarray) -> Any:
    return -50 * x.sum(axis=1)


def correlated(d: int, rho: float) -> tuple[Any, Any, float]:
    covariance = 0.01 * ((1 - rho) * np.eye(d) + rho)
    precision, (_, log_det) = np.linalg.inv(covariance), np.linalg.slogdet(covariance)
    constant = 0.5 * (log_det + d * np.log(2 * np.pi))

    def log_likelihood(x: np.ndarray) -> Any:
        z = x - 0.7
        return -0.5 * ((z @ precision) * z).sum(axis=1) - constant

    truth = st.multivariate_normal(np.zeros(d), covariance + np.eye(d)).logpdf(np.full(d, 0.7))
    return log_likelihood, st.multivariate_normal(np.zeros(d), np.eye(d)), float(truth)


def two_modes(d: int) -> tuple[Any, Any, float]:
    centre = np.eye(d)[0] * 4

    def log_likelihood(x: np.ndarray) -> Any:
        one, other = (-0.5 * ((x - c) ** 2).sum(axis=1) / 0.09 for c in (centre, -centre))
        return np.logaddexp(np.log(0.3) + one, np.log(0.7) + other)

    truth = st.norm.logpdf(centre, 0, np.hypot(5, 0.3)).sum() + 0.5 * d * np.log(2 * np.pi * 0.09)
    return log_likelihood, [st.norm(0, 5)] * d, float(truth)


#: Log-likelihood, prior, truth, and the runs and draws of the test. The draws pay for the search.
MODELS = {
    "a corner of a box": (
        corner, [st.uniform(0, 1)] * 4, 4 * np.log(-np.expm1(-50) / 50), 20, 4000,
    ),
    "the end of exponentials": (corner, [st.expon()] * 4, -4 * np.log(51), 20, 4000),
    "correlated, d = 2": (*correlated(2, 0.9999), 10, 4000),
    "correlated, d = 10": (*correlated(10, 0.999), 8, 20_000),
    "two modes, d = 10": (*two_modes(10), 8, 40_000),
}  # fmt: skip


#: The others take half a minute each.
QUICK = ("correlated, d = 2",)


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODELS],
)
def test_hard_models_have_honest_error_bars(name: str) -> None:
    log_likelihood, prior, truth, runs, draws = MODELS[name]
    results = [cr.evidence(log_likelihood, prior, draws=draws, rng=seed) for seed in range(runs)]
    z = np.array([(each.log_value - truth) / each.log_stderr for each in results])
    assert abs(z.mean()) < 4 / np.sqrt(runs)
    assert np.square(z).sum() < runs + 4 * np.sqrt(2 * runs)
    covered = [each.log_interval[0] < truth < each.log_interval[1] for each in results]
    assert np.mean(covered) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)
    assert max(each.log_stderr for each in results) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("name", ["correlated, d = 10", "two modes, d = 10"])
def test_a_small_budget_in_ten_dimensions_is_right_or_says_that_it_is_not_usable(
    name: str,
) -> None:
    log_likelihood, prior, truth, *_ = MODELS[name]
    right = 0
    for seed in range(5):
        result = cr.evidence(log_likelihood, prior, draws=4000, rng=seed)
        near = abs(result.log_value - truth) < 4 * result.log_stderr < 0.2
        right += near
        assert near or result.warnings
    assert right >= 4
