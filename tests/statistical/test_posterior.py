"""Draws from the posterior, compared with a long slice run and with themselves.

With honest draws, a coordinate of the 8 + 8 + 4 + 3 is beyond 4 standard errors, in its mean or its
deviation, with another seed in about 1 of 350 runs of the file. The scatter of 40 runs is known to
1/sqrt(80), 11 %, in each coordinate.

The Pima posteriors (the paper's logistic regression, 8 coordinates) are compared with a long run of
`slice_sample`: 300 chains, whose means are independent. For each problem, `posterior(1000)` is
taken from runs with other seeds: its means must scatter about the truth as `effective` says. Two
calls of one run resample the same weighted draws, so they are not independent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing import slice_sample
from paper.logistic import pima

pytestmark = pytest.mark.slow

#: Draws of each call of `posterior`.
DRAWS = 1000

#: Chains of the long run, sweeps that are dropped, and sweeps that count.
CHAINS, BEFORE, SWEEPS = 300, 30, 60


class Problem(NamedTuple):
    """A model, and the means and deviations of its posterior with their standard errors."""

    log_likelihood: Callable[[Any], Any]
    prior: Any
    moments: tuple[Any, Any]
    errors: tuple[Any, Any] = (0.0, 0.0)


def sliced(log_density: Callable[[Any], Any], start: Any, width: float) -> Any:
    """Return means and squares of every chain of a long run, (2, chains, d)."""
    rng = np.random.default_rng(1)
    points = slice_sample(log_density, start, rng, width=width, limit=20, sweeps=BEFORE)
    sums = np.zeros((2, *points.shape))
    for _ in range(SWEEPS):
        points = slice_sample(log_density, points, rng, width=width, limit=20, sweeps=1)
        sums += np.array([points, points**2])
    return sums / SWEEPS


def of_pima(rows: int) -> Problem:
    """Return the logistic regression on so many rows."""
    features, classes = pima()
    features = (features - features.mean(axis=0)) / features.std(axis=0, ddof=1)
    signed = ((2 * classes - 1)[:, None] * features)[:rows].T
    law = st.norm(0, 0.05**0.5)

    def log_likelihood(theta: Any) -> Any:
        return -np.logaddexp(0.0, -(theta @ signed)).sum(axis=1)

    def log_posterior(theta: Any) -> Any:
        return log_likelihood(theta) + law.logpdf(theta).sum(axis=1)

    start = law.rvs((CHAINS, 8), random_state=np.random.default_rng(2))
    means, squares = sliced(log_posterior, start, 0.2)
    mean = means.mean(axis=0)
    # Deviations about the common mean: their chains are independent, too.
    spread = squares - 2 * mean * means + mean**2
    deviation = np.sqrt(spread.mean(axis=0))
    error = spread.std(axis=0, ddof=1) / np.sqrt(CHAINS) / (2 * deviation)
    errors = (means.std(axis=0, ddof=1) / np.sqrt(CHAINS), error)
    return Problem(log_likelihood, [law] * 8, (mean, deviation), errors)


def two_modes() -> Problem:
    """Return two modes of unequal widths in four dimensions."""
    parts = ((0.3, -2.0, 0.6), (0.7, 2.0, 0.3))

    def log_likelihood(x: Any) -> Any:
        logs = [np.log(w) + st.norm.logpdf(x, m, s).sum(axis=1) for w, m, s in parts]
        return np.logaddexp(*logs)

    mean = sum(w * m for w, m, _ in parts)
    square = sum(w * (m * m + s * s) for w, m, s in parts)
    moments = (np.full(4, mean), np.full(4, (square - mean**2) ** 0.5))
    return Problem(log_likelihood, [st.uniform(-10, 20)] * 4, moments)


def heavy_tails() -> Problem:
    """Return a Student distribution with 5 degrees of freedom as the prior, and few data."""
    law, noise, y = st.t(5), st.t(5, scale=2), 1.0
    x = np.linspace(-400, 400, 4_000_001)
    weights = law.pdf(x) * noise.pdf(y - x)
    weights /= weights.sum()
    mean = float(weights @ x)
    deviation = float(np.sqrt(weights @ (x - mean) ** 2))

    def log_likelihood(points: Any) -> Any:
        return noise.logpdf(y - points).sum(axis=1)

    return Problem(log_likelihood, [law] * 3, (np.full(3, mean), np.full(3, deviation)))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "Pima, T = 50": lambda: of_pima(50),
    "Pima, all rows": lambda: of_pima(768),
    "two modes, d = 4": two_modes,
    "heavy tails, d = 3": heavy_tails,
}


def measured(name: str, repeats: int) -> dict[str, float]:
    """Return how far moments are away, and how the means of repeated calls scatter."""
    problem = PROBLEMS[name]()
    calls = []
    for seed in range(repeats):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = cr.evidence(
                problem.log_likelihood, problem.prior, draws=200_000, rtol=0.02, rng=seed,
                vectorised=True, progress=False,
            )  # fmt: skip
        calls.append(run.posterior(DRAWS, rng=seed))
    effective = np.array([each.effective for each in calls])
    mean, deviation = problem.moments
    means = np.array([each.mean for each in calls])
    claimed = deviation / np.sqrt(effective)[:, None]
    scatter = np.sqrt((((means - mean) / claimed) ** 2).mean(axis=0))
    # All draws together, compared with the truth; the effective sizes add up.
    points = np.concatenate([each.points for each in calls])
    total = float(effective.sum())
    centred = points - points.mean(axis=0)
    kurtosis = (centred**4).mean(axis=0) / (centred**2).mean(axis=0) ** 2
    own = deviation / np.sqrt(total), deviation * np.sqrt((kurtosis - 1) / (4 * total))
    found = points.mean(axis=0), points.std(axis=0)
    away = [
        float(np.abs((one - other) / np.hypot(error, mine)).max())
        for one, other, error, mine in zip(found, problem.moments, problem.errors, own, strict=True)
    ]
    return {
        "effective of 1000": effective.mean(),
        "scatter over claimed": float(np.sqrt((scatter**2).mean())),
        "largest of a coordinate": float(scatter.max()),
        "means off, in errors": away[0],
        "deviations off, in errors": away[1],
    }


@pytest.mark.parametrize("name", PROBLEMS)
def test_moments_are_right_and_means_scatter_as_the_effective_size_says(name: str) -> None:
    row = measured(name, repeats=40)
    assert row["effective of 1000"] > 500
    assert 0.7 < row["scatter over claimed"] < 1.2
    assert row["largest of a coordinate"] < 1.4
    assert row["means off, in errors"] < 4
    assert row["deviations off, in errors"] < 4
