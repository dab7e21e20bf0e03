"""Limit states with known probabilities: 15 of the literature and twelve more, for benchmarks.rare.

Reference values are one-dimensional integrals by quadrature, or closed forms. `published` is the
value in the repository otbenchmark of OpenTURNS, where it differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

__all__ = ["FIRST", "MORE", "Problem"]


@dataclass(frozen=True)
class Problem:
    """A limit state g over standard normals of dimension `over`, or other distributions.

    `modes` returns the number of the part of the failing region that each failing point is in.
    """

    name: str
    g: Callable[[Any], Any]
    over: Any
    value: Callable[[], float]
    published: float | None = None
    modes: Callable[[Any], Any] | None = None


def integral(
    f: Callable[[float], float], low: float = -12.0, high: float = 12.0, *at: float
) -> float:
    """Return the integral of f(t) phi(t) by quadrature, with breaks at the given points."""
    edges = sorted({low, high, *np.linspace(low, high, 49), *(a for a in at if low < a < high)})
    parts = pairwise(edges)
    phi = stats.norm.pdf
    return sum(quad(lambda t: f(t) * phi(t), a, b, epsabs=0, epsrel=1e-11)[0] for a, b in parts)


def above(t: float) -> float:
    return float(ndtr(-t))


# -- the problems of the literature


def rp22(x):
    return 2.5 - (x[:, 0] + x[:, 1]) / np.sqrt(2) + 0.1 * (x[:, 0] - x[:, 1]) ** 2


def rp25(x):
    return np.maximum(x[:, 0] ** 2 - 8 * x[:, 1] + 16, -16 * x[:, 0] + x[:, 1] ** 2 + 32)


def rp31(x):
    return 2 - x[:, 1] + (4 * x[:, 0]) ** 4


def rp33(x):
    return np.minimum(3 * np.sqrt(3) - x.sum(axis=1), 3 - x[:, 2])


def rp35(x):
    bent = 2 - x[:, 1] + np.exp(-0.1 * x[:, 0] ** 2) + (0.2 * x[:, 0]) ** 4
    return np.minimum(bent, 4.5 - x[:, 0] * x[:, 1])


def rp57(x):
    first = np.maximum(-(x[:, 0] ** 2) + x[:, 1] ** 3 + 3, 2 - x[:, 0] - 8 * x[:, 1])
    return np.minimum(first, (x[:, 0] + 3) ** 2 + (x[:, 1] + 3) ** 2 - 4)


def rp63(x):
    return 0.1 * np.square(x[:, 1:]).sum(axis=1) - x[:, 0] - 4.5


def rp75(x):
    return 3 - x[:, 0] * x[:, 1]


def rp89(x):
    return np.minimum(8 - x[:, 0] ** 2 - x[:, 1], 6 - x[:, 0] / 5 - x[:, 1])


def rp107(x):
    return 5 * np.sqrt(10) - x.sum(axis=1)


def rp110(x):
    first = np.where(x[:, 0] <= 3.5, 0.85 - 0.1 * x[:, 0], 4 - x[:, 0])
    second = np.where(x[:, 1] <= 2, 2.3 - x[:, 1], 0.5 - 0.1 * x[:, 1])
    return np.minimum(first, second)


def rp111(x):
    return 12.5 - np.abs(x[:, 0] * x[:, 1])


def four_branch(x):
    near, far = x[:, 0] - x[:, 1], x[:, 0] + x[:, 1]
    bent = 3 + 0.1 * near**2
    edge = 7 / np.sqrt(2)
    limits = [bent - far / np.sqrt(2), bent + far / np.sqrt(2), edge - near, edge + near]
    return np.minimum.reduce(limits)


def paraboloid(x):
    return 5 - x[:, 1] - 0.5 * (x[:, 0] - 0.1) ** 2


def linear(x):
    return 3.5 - x.sum(axis=1) / np.sqrt(x.shape[1])


def _rp25_given(a: float) -> float:
    low, high = a * a / 8 + 2, np.sqrt(max(16 * a - 32, 0.0))
    return max(above(low) - above(high), 0.0)


def _rp33_value() -> float:
    rho = 1 / np.sqrt(3)
    both = integral(lambda a: above((3 - rho * a) / np.sqrt(1 - rho**2)), 3.0, 12.0)
    return 2 * above(3.0) - both


def _rp35_value() -> float:
    def given(a: float) -> float:
        bent = 2 + np.exp(-0.1 * a * a) + (0.2 * a) ** 4
        if a > 0:
            return above(min(bent, 4.5 / a))
        return above(bent) + (above(-4.5 / a) if a < 0 else 0.0)

    return integral(given, -12.0, 12.0, 0.0)


def _rp57_value() -> float:
    def given(a: float) -> float:
        parts = []
        low, high = (2 - a) / 8, np.cbrt(a * a - 3)
        if high > low:
            parts.append((low, high))
        if abs(a + 3) < 2:
            half = np.sqrt(4 - (a + 3) ** 2)
            parts.append((-3 - half, -3 + half))
        total, reached = 0.0, -np.inf
        for low, high in sorted(parts):
            low = max(low, reached)
            if high > low:
                total += float(ndtr(high) - ndtr(low))
                reached = high
        return total

    return integral(given, -12.0, 12.0, -5.0, -1.0)


def _rp63_value() -> float:
    chi2 = stats.chi2(99)
    edges = np.linspace(10, 300, 60)
    return sum(
        quad(lambda c: chi2.pdf(c) * above(0.1 * c - 4.5), a, b, epsabs=0, epsrel=1e-11)[0]
        for a, b in pairwise(edges)
    )


def _four_branch_value() -> float:
    return 1 - integral(lambda u: 1 - 2 * above(3 + 0.2 * u * u), -3.5, 3.5)


def corner(x):
    """Return the quadrant of points: four parts."""
    return 2 * (x[:, 0] > 0) + (x[:, 1] > 0)


def branch(x):
    """Return the branch that is farthest below zero."""
    near, far = x[:, 0] - x[:, 1], x[:, 0] + x[:, 1]
    bent = 3 + 0.1 * near**2
    edge = 7 / np.sqrt(2)
    return np.argmin(
        [bent - far / np.sqrt(2), bent + far / np.sqrt(2), edge - near, edge + near], axis=0
    )


def left_or_right(x):
    return (x[:, 0] > 0).astype(int)


FIRST = (
    Problem("RP22", rp22, 2, lambda: integral(lambda v: above(2.5 + 0.2 * v * v)), 0.00416),
    Problem(
        "RP25",
        rp25,
        2,
        lambda: integral(_rp25_given, 2.0),
        6.14e-6,
    ),
    Problem(
        "RP31", rp31, 2, lambda: 2 * integral(lambda a: above(2 + (4 * a) ** 4), 0.0, 2.0), 0.00018
    ),
    Problem("RP33", rp33, 3, _rp33_value),
    Problem("RP35", rp35, 2, _rp35_value, 0.00354),
    Problem("RP57", rp57, 2, _rp57_value, 0.0284),
    Problem(
        "RP75", rp75, 2, lambda: 2 * integral(lambda a: above(3 / a), 1e-9), 0.0107, left_or_right
    ),
    Problem(
        "RP89",
        rp89,
        2,
        lambda: integral(lambda a: above(min(8 - a * a, 6 - a / 5)), -12, 12),
        0.00543,
        left_or_right,
    ),
    Problem("RP107", rp107, 10, lambda: above(5.0), 2.92e-7),
    Problem("RP110", rp110, 2, lambda: 1 - (1 - above(4.0)) * (1 - above(5.0))),
    Problem(
        "RP111", rp111, 2, lambda: 4 * integral(lambda a: above(12.5 / a), 1e-9), 8.0827e-7, corner
    ),
    Problem("four-branch", four_branch, 2, _four_branch_value, None, branch),
    Problem(
        "paraboloid",
        paraboloid,
        2,
        lambda: integral(lambda a: above(5 - 0.5 * (a - 0.1) ** 2)),
        None,
        left_or_right,
    ),
    Problem("linear, d = 100", linear, 100, lambda: above(3.5)),
    Problem("RP63", rp63, 100, _rp63_value, 3.79e-4),
)


# -- twelve more


def rp54(x):
    return x.sum(axis=1) - 8.951


def rp55(x):
    away = x[:, 0] - x[:, 1]
    bent, edge = 0.2 + 0.6 * away**4, 5 / np.sqrt(2) - 2.2
    sides = [bent - away / np.sqrt(2), bent + away / np.sqrt(2), edge + away, edge - away]
    return np.minimum.reduce(sides)


def rp77(x):
    return np.where(x[:, 2] <= 5, x[:, 0] - x[:, 1] - x[:, 2], x[:, 2] - x[:, 1])


def vasicek(x):
    """Return 249.5 minus the defaults of 1000 loans: binomial, given the market factor."""
    chance = ndtr((stats.norm.ppf(0.01) - np.sqrt(0.3) * x[:, 0]) / np.sqrt(0.7))
    return 249.5 - stats.binom.isf(ndtr(-x[:, 1]), 1000, chance)


def hole(x):
    inside = np.square(x - np.array([-2.5, -2.5])).sum(axis=1) < HOLE_RADIUS**2
    return np.where(inside, -1.0, 3.2 - x[:, 0])


def _hole_part(radius: float) -> float:
    return float(stats.ncx2.cdf(radius**2, 2, 12.5))


HOLE_RADIUS = float(brentq(lambda r: _hole_part(r) - 0.08 / 0.92 * above(3.2), 0.01, 2.0))


SECOND_HOLE = np.array([0.5, 3.4])


def second_hole(x):
    inside = np.square(x - SECOND_HOLE).sum(axis=1) < SECOND_RADIUS**2
    return np.where(inside, -1.0, 3.4 + x[:, 0])


def _second_part(radius: float) -> float:
    return float(stats.ncx2.cdf(radius**2, 2, SECOND_HOLE @ SECOND_HOLE))


SECOND_RADIUS = float(brentq(lambda r: _second_part(r) - 0.06 / 0.94 * above(3.4), 0.01, 2.0))


def wave(x):
    return 4 - x[:, 1] - 0.5 * np.sin(3 * x[:, 0])


def yes_or_no(x):
    return np.where(x[:, 0] + x[:, 1] > 3 * np.sqrt(2), -1.0, 1.0)


_NOISE = np.random.default_rng(20)


def noisy(x):
    return 3 - x[:, 0] + 0.1 * _NOISE.standard_normal(len(x))


def _rp77_value() -> float:
    def given(c: float) -> float:
        x3 = 4 + c
        return above((10 - x3) / np.sqrt(1.25)) if x3 <= 5 else above(x3)

    return integral(given, -12.0, 12.0, 1.0)


def _vasicek_value() -> float:
    def given(a: float) -> float:
        chance = ndtr((stats.norm.ppf(0.01) - np.sqrt(0.3) * a) / np.sqrt(0.7))
        return float(stats.binom.sf(249, 1000, chance))

    return integral(given)


def _rp55_value() -> float:
    edge = 5 / np.sqrt(2) - 2.2
    low = brentq(lambda a: 0.2 + 0.6 * a**4 - a / np.sqrt(2), 0.0, 0.5)
    high = brentq(lambda a: 0.2 + 0.6 * a**4 - a / np.sqrt(2), 0.6, 2.0)

    def beyond(a: float) -> float:  # P(|x1 - x2| > a), a triangular distribution
        return (2 - a) ** 2 / 4

    return beyond(low) - beyond(high) + beyond(edge)


MORE = (
    Problem("RP54", rp54, [stats.expon()] * 20, lambda: stats.gamma(20).cdf(8.951), 9.98e-4),
    Problem("RP55", rp55, [stats.uniform(-1, 2)] * 2, _rp55_value, 0.36),
    Problem(
        "RP77", rp77, [stats.norm(10, 0.5), stats.norm(), stats.norm(4, 1)], _rp77_value, 2.6789e-7
    ),
    Problem("Vasicek", vasicek, 2, _vasicek_value),
    Problem(
        "four-branch, 18 dummies",
        lambda x: four_branch(x[:, :2]),
        20,
        _four_branch_value,
        None,
        branch,
    ),
    Problem(
        "RP111, 8 dummies",
        lambda x: rp111(x[:, :2]),
        10,
        lambda: 4 * integral(lambda a: above(12.5 / a), 1e-9),
        None,
        corner,
    ),
    Problem("hole", hole, 2, lambda: above(3.2) + _hole_part(HOLE_RADIUS), None, left_or_right),
    Problem("yes or no", yes_or_no, 2, lambda: above(3.0)),
    Problem("noisy", noisy, 2, lambda: above(3 / np.sqrt(1.01))),
    Problem("linear, d = 300", linear, 300, lambda: above(3.5)),
    Problem(
        "second hole",
        second_hole,
        2,
        lambda: above(3.4) + _second_part(SECOND_RADIUS),
        None,
        left_or_right,
    ),
    Problem("wave", wave, 2, lambda: integral(lambda a: above(4 - 0.5 * np.sin(3 * a)))),
)
