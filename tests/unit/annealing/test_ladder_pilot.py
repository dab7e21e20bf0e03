"""Pilots: what a short tempered run finds of a posterior, on streams of several seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from croupier.annealing import ladder_pilot
from croupier.annealing.ladder_pilot import explore
from croupier.annealing.models import model_of
from croupier.annealing.walks import autoregress


def correlated(d: int, rho: float, spread: float = 0.1) -> tuple[Any, Any, Any]:
    """A normal likelihood about 0.7 with the prior N(0, I); the covariance of its posterior."""
    covariance = spread**2 * ((1 - rho) * np.eye(d) + rho)
    precision = np.linalg.inv(covariance)

    def log_likelihood(x: np.ndarray) -> Any:
        z = x - 0.7
        return -0.5 * np.einsum("ij,jk,ik->i", z, precision, z)

    posterior = np.linalg.inv(precision + np.eye(d))
    return log_likelihood, st.multivariate_normal(np.zeros(d), 1.0), posterior


@pytest.mark.parametrize(("d", "rho"), [(2, 0.9999), (10, 0.999)])
def test_narrow_directions_are_not_made_wider(d: int, rho: float) -> None:
    log_likelihood, prior, posterior = correlated(d, rho)
    model = model_of(log_likelihood, prior, vectorised=True)
    for seed in range(3):
        pilot = explore(model, np.random.default_rng(seed))
        assert pilot is not None
        root = pilot[-1].root
        # Variances in the posterior's own directions, true ones 1; a 16th would be added to the
        # narrow ones, whose share of a variance is (1 - rho), by shrinking with d/(d + effective).
        own = np.linalg.solve(np.linalg.cholesky(posterior), root)
        ratios = np.square(own).sum(axis=1)
        assert ratios.max() < 2
        assert ratios.min() > 0.5
        assert pilot[-1].step > 0.5


def test_easy_levels_have_three_moves_and_hard_ones_more(monkeypatch: Any) -> None:
    shares: list[float] = []

    def counted(*arguments: Any) -> float:
        shares.append(autoregress(*arguments))
        return shares[-1]

    monkeypatch.setattr(ladder_pilot, "autoregress", counted)

    def moves(log_likelihood: Any) -> float:
        shares.clear()
        model = model_of(log_likelihood, [st.norm(0, 5)] * 2, vectorised=True)
        pilot = explore(model, np.random.default_rng(0))
        assert pilot is not None
        assert len(pilot) > 1
        return len(shares) / (len(pilot) - 1)

    def two_modes(x: np.ndarray) -> Any:
        one, other = (-5 * ((x - c) ** 2).sum(axis=1) for c in (4, -4))
        return np.logaddexp(one, other)

    assert moves(lambda x: -50 * (x**2).sum(axis=1)) == ladder_pilot.MOVES
    assert ladder_pilot.MOVES < moves(two_modes) <= ladder_pilot.MOST_MOVES
