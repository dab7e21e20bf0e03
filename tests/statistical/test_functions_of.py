"""Ratios of correlated means cover as they say."""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.slow


def test_ratios_of_correlated_means_cover() -> None:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        b = rng.gamma(2.0, 1.0, size)
        return np.column_stack((b * rng.gamma(3.0, 1 / 3, size) + rng.normal(size=size), b))

    covered = 0
    for seed in range(1000):
        result = cr.estimate([draw], draws=10_000, rng=seed, keep_values=True, progress=False)
        low, high = result.of(lambda a, b: a / b).interval
        covered += low <= 1.0 <= high
    assert 935 - 14 <= covered <= 965 + 14  # two standard errors of 1000 runs at 95 %


def test_self_normalised_importance_sampling_covers() -> None:
    """The mean of x under a density known up to a factor: a ratio of two weighted means."""

    def weighted(rng: np.random.Generator, size: int) -> np.ndarray:
        x = rng.normal(0.0, 1.5, size)
        w = np.exp(-0.5 * (x - 0.5) ** 2 + 0.5 * (x / 1.5) ** 2)
        return np.column_stack((w * x, w))

    covered, runs = 0, 400
    for seed in range(runs):
        result = cr.estimate([weighted], draws=4000, rng=seed, keep_values=True, progress=False)
        low, high = result.of(lambda a, b: a / b).interval
        covered += low <= 0.5 <= high
    assert 0.925 <= covered / runs <= 0.975
