"""With 5 % of calls that crash, the answer lies inside of what on_failure="bounds" says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy import integrate, stats

import croupier as cr

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

RUNS: Final = 400


def crashes(x: Any) -> Any:
    """Return True at 5 % of all points, without any order."""
    return np.abs(np.sin(x @ np.array([12.9898, 78.233])) * 43758.5453) % 1 < 0.05


def margin(x: Any) -> Any:
    return np.where(crashes(x), np.nan, 1.2 - x[:, 0])


def decay(x: Any) -> Any:
    return np.where(crashes(x), np.nan, np.exp(-x.sum(axis=1)))


def one(rng: np.random.Generator) -> float:
    x = rng.normal()
    if rng.random() < 0.05:
        raise RuntimeError("no convergence")
    return float(1 / (1 + x * x))


def failing(seed: int) -> cr.Result:
    return cr.probability(margin, 2, draws=200, rng=seed, on_failure="bounds")


def integrated(seed: int) -> cr.Result:
    square = [(0, 1)] * 2
    return cr.integrate(decay, square, draws=256, rng=seed, on_failure="bounds", bounds=(0, 1))


def estimated(seed: int) -> cr.Result:
    arm = cr.Arm(cr.scalar(one), "solver", bounds=(0, 1))
    return cr.estimate([arm], draws=200, rng=seed, on_failure="bounds")


MEAN: Final = integrate.quad(lambda x: stats.norm.pdf(x) / (1 + x * x), -9, 9)[0]
DOORS: Final = {
    "probability": (failing, float(stats.norm.sf(1.2))),
    "integrate": (integrated, (1 - math.exp(-1)) ** 2),
    "estimate": (estimated, MEAN),
}


@pytest.mark.parametrize("door", DOORS)
def test_crashes_do_not_hide_the_answer(door: str) -> None:
    run: Callable[[int], cr.Result]
    run, truth = DOORS[door]
    inside, failed = 0, 0.0
    for seed in range(RUNS):
        result = run(seed)
        low, high = result.between
        inside += low <= truth <= high
        failed += result.details.get("failed", 0) / result.draws / RUNS
    assert 0.04 < failed < 0.06
    assert inside >= 0.95 * RUNS, inside
