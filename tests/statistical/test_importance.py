"""Mixtures: unbiased where they say so, and intervals that cover, at fixed seeds.

Shares and means have tolerances of four standard errors at the stated number of runs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from croupier.importance import Family, Normal

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

CALL = math.exp(-0.5) / math.sqrt(2 * math.pi) - math.erfc(1 / math.sqrt(2)) / 2
RUNS = 400
LEAST = 0.95 - 4 * math.sqrt(0.95 * 0.05 / RUNS)


def call() -> Family:
    return Family.tilted(lambda x: np.maximum(x[:, 0] - 1, 0), [0, 1, 3])


def two_modes() -> Family:
    def log_density(x):
        return np.logaddexp(Normal(-3, 0.5).logpdf(x), Normal(3, 0.5).logpdf(x)) - math.log(2)

    proposals = {"left": Normal(-3, 0.6), "right": Normal(3, 0.6), "wide": Normal(0, 3)}
    return Family(log_density, proposals, lambda x: np.square(x[:, 0]), normalised=True)


def played(family, method="estimate", **settings):
    results = [
        getattr(family, method)(rng=seed, progress=False, **settings) for seed in range(RUNS)
    ]
    value = np.array([result.value for result in results])
    low, high = np.array([result.interval for result in results]).T
    return value, low, high


@pytest.mark.parametrize(
    ("make", "exact", "proportions"),
    [
        (call, CALL, "learned"),
        pytest.param(two_modes, 9.25, "equal", marks=pytest.mark.slow),
        pytest.param(call, CALL, "equal", marks=pytest.mark.slow),
        pytest.param(two_modes, 9.25, "learned", marks=pytest.mark.slow),
    ],
)
def test_intervals_cover(make, exact, proportions) -> None:
    _, low, high = played(make(), draws=500, proportions=proportions)
    assert np.mean((low <= exact) & (exact <= high)) >= LEAST


@pytest.mark.slow
def test_intervals_of_a_tuned_mixture_cover_and_its_bias_is_small() -> None:
    value, low, high = played(call(), "tune", draws=500)
    assert np.mean((low <= CALL) & (high >= CALL)) >= LEAST
    assert abs(value.mean() - CALL) < (0.2 + 4 / math.sqrt(RUNS)) * value.std()


@pytest.mark.slow
def test_a_run_that_stops_at_a_tolerance_covers() -> None:
    _, low, high = played(call(), draws=100_000, rtol=0.05)
    assert np.mean((low <= CALL) & (high >= CALL)) >= LEAST
