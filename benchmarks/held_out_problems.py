"""Ten integrals that only judge `cr.integrate`: they were fixed before anything was chosen on them.

The constants of the race were chosen on the other problems. Low coverage on the first five of these
was the reason to make intervals longer once. They are smooth, kinked, periodic, peaked or
discontinuous, in 3 to 20 dimensions, over the cube or over normal points.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.peer_problems import Array, Problem

GROUP = "held out"


def _problem(name: str, d: int, f: Callable[[Array], Array], value: float) -> Problem:
    return Problem(f"{name} {d}", d, f, value, GROUP)


def polynomial(d: int = 6) -> Problem:
    """Return a product of quadratics with the mean 1; later axes matter less."""
    c = 1 / np.sqrt(np.arange(1, d + 1))
    return _problem("polynomial", d, lambda x: np.prod(1 + c * (x**2 - 1 / 3), axis=1), 1.0)


def roots(d: int = 10) -> Problem:
    """Return the function of Morokoff and Caflisch (1995): a product of roots x^(1/d)."""

    def f(x: Array) -> Array:
        return (1 + 1 / d) ** d * np.prod(x ** (1 / d), axis=1)

    return _problem("roots", d, f, 1.0)


def excess(d: int = 8) -> Problem:
    """Return the mean of max(sum x - 5, 0): a kink across all axes (Irwin and Hall)."""
    level = 5

    def f(x: Array) -> Array:
        return np.maximum(x.sum(axis=1) - level, 0.0)

    # By symmetry this is the mean of max(3 - S, 0), the integral of the distribution function.
    value = sum(
        (-1) ** k * math.comb(d, k) * (d - level - k) ** (d + 1) for k in range(d - level + 1)
    ) / math.factorial(d + 1)
    return _problem("excess", d, f, value)


def simplex(d: int = 4) -> Problem:
    """Return the volume where the sum of x is below 1.5: a jump across all axes."""

    def f(x: Array) -> Array:
        return (x.sum(axis=1) < 1.5) * 1.0

    return _problem("simplex", d, f, (1.5**d - d * 0.5**d) / math.factorial(d))


def tilted_peak(d: int = 6) -> Problem:
    """Return E exp(-z'Qz/2) of normal z with a dense Q: det(I + Q)^-1/2."""
    A = np.random.default_rng(20).normal(size=(d, d))
    Q = A @ A.T

    def f(u: Array) -> Array:
        z = ndtri(u)
        return np.exp(-0.5 * np.einsum("ni,ij,nj->n", z, Q, z))

    return _problem("tilted peak", d, f, float(np.linalg.det(np.eye(d) + Q) ** -0.5))


def waves(d: int = 5) -> Problem:
    """Return a product of waves 1 + 0.8 cos(2 pi k x + 1) with k = 1, 2, 3, 1, 2."""
    k = 1 + np.arange(d) % 3
    return _problem(
        "waves", d, lambda x: np.prod(1 + 0.8 * np.cos(2 * np.pi * k * x + 1), axis=1), 1.0
    )


def exchange(d: int = 10) -> Problem:
    """Return the option to exchange one lognormal basket for another (Margrabe, 1978)."""
    a, b = np.full(d, 0.12), np.where(np.arange(d) % 2, 0.16, -0.02)

    def f(u: Array) -> Array:
        z = ndtri(u)
        return np.maximum(np.exp(z @ a - a @ a / 2) - np.exp(z @ b - b @ b / 2), 0.0)

    s = float(np.linalg.norm(a - b))
    return _problem("exchange", d, f, float(2 * ndtr(s / 2) - 1))


def cosine(d: int = 20) -> Problem:
    """Return E cos(sum z/sqrt(d)) of normal z."""

    def f(u: Array) -> Array:
        return np.cos(ndtri(u).sum(axis=1) / math.sqrt(d))

    return _problem("cosine", d, f, math.exp(-0.5))


def beta_peak(d: int = 7) -> Problem:
    """Return a product of densities of beta(2..5, 8), a smooth peak near a corner."""
    p, q = 2.0 + np.arange(d) % 4, 8.0
    each = [math.gamma(a + q) / math.gamma(a) / math.gamma(q) for a in p]

    def f(x: Array) -> Array:
        return np.prod(each * x ** (p - 1) * (1 - x) ** (q - 1), axis=1)

    return _problem("beta peak", d, f, 1.0)


def three_peaks(d: int = 3) -> Problem:
    """Return three normal peaks of different widths, not on one line."""
    centres = np.array([[0.2, 0.7, 0.4], [0.6, 0.3, 0.8], [0.8, 0.8, 0.2]])
    widths = np.array([0.05, 0.1, 0.15])

    def f(x: Array) -> Array:
        return sum(
            np.exp(-0.5 * np.square((x - c) / s).sum(axis=1)) / s**d
            for c, s in zip(centres, widths, strict=True)
        )

    value = sum(
        float(np.prod(math.sqrt(2 * math.pi) * (ndtr((1 - c) / s) - ndtr(-c / s))))
        for c, s in zip(centres, widths, strict=True)
    )
    return _problem("three peaks", d, f, value)


def held_out() -> list[Problem]:
    """Return the ten problems."""
    return [polynomial(), roots(), excess(), simplex(), tilted_peak(), waves(), exchange(),
            cosine(), beta_peak(), three_peaks()]  # fmt: skip
