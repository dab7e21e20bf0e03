"""Random walks with the scales of a law: they leave the posterior as it is, and leave the law."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st

from croupier.annealing.clusters import fit_mixture
from croupier.annealing.mixtures import Mixture, Pace, move
from croupier.annealing.slices import Chains
from croupier.annealing.wandering import wander


def valley(points: np.ndarray) -> Any:
    """Return the log-density of a narrow parabola."""
    bend = points[:, 1] - points[:, 0] ** 2
    return st.norm.logpdf(points[:, 0]) + st.norm.logpdf(bend, 0, 0.1)


def along_the_valley(rng: np.random.Generator, size: int) -> np.ndarray:
    x = rng.standard_normal(size)
    return np.column_stack([x, x**2 + 0.1 * rng.standard_normal(size)])


def evaluate(points: np.ndarray, owner: Any) -> Any:
    return valley(points), np.zeros(len(points))


def chains_at(points: np.ndarray) -> Chains:
    return Chains(points.copy(), *evaluate(points, None))


def a_law_without_the_end(rng: np.random.Generator) -> Mixture:
    """Return a law fitted to the left of x = 1.2, with several components."""
    points = along_the_valley(rng, 2000)
    points = points[points[:, 0] < 1.2]
    return fit_mixture(points, np.full(len(points), 1 / len(points)), np.ones(2), 8.0)


def test_points_of_the_posterior_stay_points_of_the_posterior() -> None:
    """The acceptance has the chance to take the same component for the step back."""
    rng = np.random.default_rng(7)
    law = a_law_without_the_end(rng)
    assert len(law.shares) > 2
    chains = chains_at(along_the_valley(rng, 6000))
    for _ in range(15):
        wander(rng, chains, 1.0, evaluate, law)
    x = chains.points[:, 0]
    assert st.kstest(x, "norm").pvalue > 1e-3
    assert st.kstest(chains.points[:, 1] - x**2, "norm", args=(0, 0.1)).pvalue > 1e-3


def test_points_reach_the_end_of_a_valley_that_the_law_lacks() -> None:
    """5 % of the valley is beyond x = 1.6, where moves about the law seldom come."""
    rng = np.random.default_rng(8)
    law = a_law_without_the_end(rng)
    start = along_the_valley(rng, 2000)
    start = start[start[:, 0] < 1.2]
    about, walking, pace = chains_at(start), chains_at(start), Pace(law)
    for _ in range(60):
        pace.add(*move(rng, about, 1.0, evaluate, pace.level(1.0)))
        wander(rng, walking, 1.0, evaluate, law)
    reached = [(each.points[:, 0] > 1.6).mean() for each in (about, walking)]
    assert reached[0] < 0.3 * reached[1]
    assert 0.01 < reached[1] < 0.06
