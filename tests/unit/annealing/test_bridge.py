"""The bridge: its value and its error, with chains whose neighbours depend on each other."""

import math

import numpy as np

from croupier.annealing.bridge import bridge


def log_ratio(x: np.ndarray) -> np.ndarray:
    """The log of f/q, f = 3 N(0, 1) and q = N(0, 2^2)."""
    return math.log(6) - 3 / 8 * x**2


def test_the_error_is_that_of_replications() -> None:
    rng = np.random.default_rng(1)
    found = [
        bridge(log_ratio(rng.normal(0, 2, 1000)), log_ratio(rng.normal(0, 1, 1000)))
        for _ in range(200)
    ]
    values = np.array([each.log_value for each in found])
    errors = np.array([each.log_stderr for each in found])
    z = (values - math.log(3)) / errors
    assert abs(z.mean()) < 4 / math.sqrt(200)
    assert 0.85 < z.std() < 1.2  # 200 runs know a deviation to 5 %, 20 parts an error to 16 %


def test_neighbours_that_depend_on_each_other_make_the_error_larger() -> None:
    rng = np.random.default_rng(2)
    z = []
    for _ in range(100):
        chain = np.empty(1000)
        chain[0] = rng.normal()
        for t in range(1, 1000):
            chain[t] = 0.9 * chain[t - 1] + math.sqrt(0.19) * rng.normal()
        found = bridge(log_ratio(rng.normal(0, 2, 1000)), log_ratio(chain))
        z.append((found.log_value - math.log(3)) / found.log_stderr)
    assert abs(np.mean(z)) < 0.5
    assert np.std(z) < 1.35


def test_what_has_no_overlap_has_no_answer() -> None:
    nowhere = bridge(np.full(10, -np.inf), np.zeros(40))
    assert math.isnan(nowhere.log_value)
    assert nowhere.log_stderr == math.inf
    assert bridge(np.zeros(10), np.zeros(2)).log_stderr == math.inf
