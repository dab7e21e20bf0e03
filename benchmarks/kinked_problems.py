"""Ten integrals with kinks across the axes, in 4 to 10 dimensions, which judge the errors of nets.

Payoffs of sums and functions of differences of coordinates, with known values. They were written
down before the present rule for the error was played on them, and nothing was chosen on them. Run
them with `python -m benchmarks.kinked_problems`: 20 seeds each at a tolerance of 0.01.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import integrate as quadrature
from scipy.special import gammaincc, ndtr, ndtri

from benchmarks import report
from benchmarks.peer_problems import Array, Problem
from benchmarks.peers import measure

GROUP = "kinked"
SEEDS = range(1000, 1020)
TOLERANCE = 0.01


def _problem(name: str, d: int, f: Callable[[Array], Array], value: float) -> Problem:
    return Problem(f"{name} {d}", d, f, value, GROUP)


def mean_shortfall(weights: Sequence[float], level: float) -> float:
    """Return E max(level - w x, 0) of uniform x: a sum over the corners of the cube."""
    d = len(weights)
    total = 0.0
    for corner in itertools.product((0, 1), repeat=d):
        inside = max(level - float(np.dot(corner, weights)), 0.0)
        total += (-1) ** sum(corner) * inside ** (d + 1)
    return total / math.factorial(d + 1) / math.prod(weights)


def weighted_call() -> Problem:
    """Return a call on a weighted sum of uniform x."""
    w = np.array([1.0, 0.8, 0.6, 0.4, 0.2])
    # By symmetry this is the shortfall of w (1 - x), whose mean is 1.5, below 3 - 2.
    return _problem("weighted call", 5, lambda x: np.maximum(x @ w - 2.0, 0.0),
                    mean_shortfall(w.tolist(), 1.0))  # fmt: skip


def straddle() -> Problem:
    """Return the mean distance of a sum from its mean."""
    return _problem("straddle", 7, lambda x: np.abs(x.sum(axis=1) - 3.5),
                    2 * mean_shortfall([1.0] * 7, 3.5))  # fmt: skip


def call_spread() -> Problem:
    """Return a sum between 5 and 6, counted from 5: two kinks."""
    value = mean_shortfall([1.0] * 9, 4.0) - mean_shortfall([1.0] * 9, 3.0)
    return _problem("call spread", 9, lambda x: np.clip(x.sum(axis=1) - 5.0, 0.0, 1.0), value)


def two_baskets() -> Problem:
    """Return the excess of one sum over another."""

    def f(x: Array) -> Array:
        return np.maximum(x[:, :3].sum(axis=1) - x[:, 3:].sum(axis=1) - 0.5, 0.0)

    return _problem("two baskets", 6, f, mean_shortfall([1.0] * 6, 2.5))


def geometric_put() -> Problem:
    """Return a put on a geometric mean of lognormal prices (Black and Scholes)."""
    w = 0.1 + 0.05 * np.arange(8)
    s = float(np.linalg.norm(w))

    def f(u: Array) -> Array:
        return np.maximum(0.9 - np.exp(ndtri(u) @ w - s * s / 2), 0.0)

    at = (math.log(0.9) + s * s / 2) / s
    return _problem("geometric put", 8, f, float(0.9 * ndtr(at) - ndtr(at - s)))


def normal_call() -> Problem:
    """Return a call on a weighted sum of normals (Bachelier)."""
    w = 1 / np.arange(1.0, 11.0)
    s = float(np.linalg.norm(w))

    def f(u: Array) -> Array:
        return np.maximum(ndtri(u) @ w - 1.0, 0.0)

    density = math.exp(-0.5 / s**2) / math.sqrt(2 * math.pi)
    return _problem("normal call", 10, f, float(s * density - ndtr(-1 / s)))


def differences() -> Problem:
    """Return |x1 - x2| |x3 - x4|: kinks along two diagonals."""

    def f(x: Array) -> Array:
        return np.abs(x[:, 0] - x[:, 1]) * np.abs(x[:, 2] - x[:, 3])

    return _problem("differences", 4, f, 1 / 9)


def extent() -> Problem:
    """Return the largest minus the smallest coordinate: kinks along all diagonals."""
    return _problem("extent", 5, lambda x: np.ptp(x, axis=1), 4 / 6)


def late_sum() -> Problem:
    """Return the excess of a sum of exponential times over 8."""

    def f(u: Array) -> Array:
        return np.maximum(-np.log(u).sum(axis=1) - 8.0, 0.0)

    return _problem("late sum", 6, f, float(6 * gammaincc(7, 8.0) - 8 * gammaincc(6, 8.0)))


def sharp_sum() -> Problem:
    """Return exp(-2 |sum - 4|) of uniform x."""
    d = 8

    def f(x: Array) -> Array:
        return np.exp(-2 * np.abs(x.sum(axis=1) - 4.0))

    def inner(s: float) -> float:
        density = sum((-1) ** k * math.comb(d, k) * (s - k) ** (d - 1) for k in range(int(s) + 1))
        return math.exp(-2 * (4.0 - s)) * density / math.factorial(d - 1)

    value = 2 * sum(quadrature.quad(inner, k, k + 1, epsabs=1e-14)[0] for k in range(4))
    return _problem("sharp sum", d, f, value)


def kinked() -> list[Problem]:
    """Return the ten problems."""
    return [weighted_call(), straddle(), call_spread(), two_baskets(), geometric_put(),
            normal_call(), differences(), extent(), late_sum(), sharp_sum()]  # fmt: skip


def main() -> None:
    rows = [measure(problem, "croupier", TOLERANCE, SEEDS) for problem in kinked()]
    report.show("kinks, rtol 0.01", rows)
    print(f"covered {sum(row['covered'] for row in rows)} of {sum(row['runs'] for row in rows)}")


if __name__ == "__main__":
    main()
