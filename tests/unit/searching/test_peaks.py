"""Climbs: they end at peaks, fit the normal there, and share their batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from croupier.searching.peaks import Peak, Values, at_peaks, climb, joined, together


def normal(mean: Any, covariance: Any) -> Callable[[Any], Any]:
    precision = np.linalg.inv(covariance)
    return lambda x: -0.5 * np.einsum("ij,jk,ik->i", x - mean, precision, x - mean)


def climbed(
    log_density: Callable[[Any], Any], starts: Any, gradient: Callable[[Any], Any] | None = None
) -> tuple[list[Peak], list[int]]:
    """Return the peaks, and the sizes of the batches."""
    starts = np.array(starts, float)
    heights = log_density(starts)
    climbs = [
        climb(start, float(height), 1e5, gradient=gradient is not None)
        for start, height in zip(starts, heights, strict=True)
    ]
    many, sizes = together(climbs), []
    asked = next(many)
    try:
        while True:
            sizes.append(len(asked.points))
            slopes = gradient(asked.points) if asked.slope and gradient else None
            asked = many.send(Values(log_density(asked.points), slopes))
    except StopIteration as done:
        return done.value, sizes


@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize("rho", [0.0, 0.999])
def test_a_normal_distribution_is_found_exactly(d: int, rho: float) -> None:
    covariance = 0.01 * (np.full((d, d), rho) + (1 - rho) * np.eye(d))
    mean = np.linspace(-1, 1, d)
    (peak,), _ = climbed(normal(mean, covariance), [np.full(d, 1.5)])
    assert peak.height == pytest.approx(0, abs=1e-6)
    exact = 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    assert peak.log_mass == pytest.approx(exact, abs=1e-4)


def test_a_gradient_saves_evaluations() -> None:
    d = 20
    variances = np.geomspace(1e-3, 1, d)
    f = normal(np.zeros(d), np.diag(variances))
    (plain,), without = climbed(f, [np.ones(d)])
    (peak,), sizes = climbed(f, [np.ones(d)], lambda x: -x / variances)
    assert peak.log_mass == pytest.approx(plain.log_mass, abs=1e-3)
    assert sum(sizes) < sum(without)


def test_climbs_share_batches_and_end_at_their_own_peaks() -> None:
    one, other = (normal(np.full(2, m), 0.04 * np.eye(2)) for m in (-2.0, 2.0))
    starts = [[-1.5, -2.5], [-2.5, -1.0], [2.5, 2.5]]
    peaks, sizes = climbed(lambda x: np.logaddexp(one(x), other(x)), starts)
    assert max(sizes) > 4
    known: list[Peak] = []
    assert len(joined(known, peaks)) == 2
    assert sorted(round(float(peak.mean[0]), 3) for peak in known) == [-2.0, 2.0]
    mixture = at_peaks(known)
    assert mixture.shares == pytest.approx([0.5, 0.5], abs=1e-3)


def test_a_climb_against_an_edge_ends() -> None:
    peaks, _ = climbed(lambda x: np.where((x > 0).all(axis=1), -x.sum(axis=1), -np.inf), [[1, 1]])
    assert peaks[0].height > -0.5
    assert np.isfinite(peaks[0].log_mass)
