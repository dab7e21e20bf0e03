"""Integrals in one and two dimensions with known values: what the cubature of a race is judged on.

They are smooth, peaked, oscillating, with a kink, a jump, a singularity or a narrow spike. No
constant of the cubature was chosen on them: that was done on the problems of Genz in two
dimensions, in `peer_problems`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate as quadrature
from scipy.special import ndtr, ndtri

from benchmarks.peer_problems import Array, Problem


def _peak(centre: float, width: float) -> float:
    """Return the integral of exp(-(x - centre)^2/(2 width^2)) over (0, 1)."""
    inside = ndtr((1 - centre) / width) - ndtr(-centre / width)
    return float(width * math.sqrt(2 * math.pi) * inside)


def one() -> list[Problem]:
    """Return nine problems in one dimension."""

    def spiked(x: Array) -> Array:
        return 1 + x[:, 0] + 10 * np.exp(-0.5 * ((x[:, 0] - 0.6180) / 0.002) ** 2)

    return [
        Problem("exponential", 1, lambda x: np.exp(x[:, 0]), math.e - 1),
        Problem("wave", 1, lambda x: 1 + np.cos(50 * x[:, 0] + 1),
                1 + (math.sin(51) - math.sin(1)) / 50),
        Problem("Lorentz peak", 1, lambda x: 1 / (1 + (100 * (x[:, 0] - 0.37)) ** 2),
                (math.atan(63) + math.atan(37)) / 100),
        Problem("kink", 1, lambda x: np.abs(x[:, 0] - 0.3), 0.29),
        Problem("jump", 1, lambda x: np.where(x[:, 0] < 1 / 3, np.exp(x[:, 0]), 0.0),
                math.expm1(1 / 3)),
        Problem("inverse root", 1, lambda x: 0.5 / np.sqrt(x[:, 0]), 1.0),
        Problem("root", 1, lambda x: np.sqrt(x[:, 0]), 2 / 3),
        Problem("lognormal", 1, lambda x: np.exp(0.5 * ndtri(x[:, 0])), math.exp(0.125)),
        Problem("spike", 1, spiked, 1.5 + 10 * _peak(0.6180, 0.002)),
    ]  # fmt: skip


def two() -> list[Problem]:
    """Return nine problems in two dimensions."""

    def spiked(x: Array) -> Array:
        away = np.square((x - [0.62, 0.29]) / 0.01).sum(axis=1)
        return 1 + x[:, 0] + 80 * np.exp(-0.5 * away)

    def runge(x: Array) -> Array:
        return 1 / (1 + 25 * np.square(2 * x - 1).sum(axis=1))

    product = sum(1 / (math.factorial(n) * (n + 1) ** 2) for n in range(25))
    bell = quadrature.dblquad(lambda y, x: 1 / (1 + 25 * (x * x + y * y)), 0, 1, 0, 1,
                              epsabs=0, epsrel=1e-12)[0]  # fmt: skip
    ridge = quadrature.quad(lambda t: 2 * (1 - t) * math.exp(-50 * t * t), 0, 1, epsabs=0,
                            epsrel=1e-12)[0]  # fmt: skip
    wave = (np.exp(10j) - 1) * (np.exp(7j) - 1) / (10j * 7j)
    return [
        Problem("exponential, 2 axes", 2, lambda x: np.exp(x[:, 0] * x[:, 1]), product),
        Problem("wave, 2 axes", 2, lambda x: 1 + np.cos(10 * x[:, 0] + 7 * x[:, 1]),
                1 + float(wave.real)),
        Problem("ridge, 2 axes", 2, lambda x: np.exp(-50 * (x[:, 0] - x[:, 1]) ** 2), ridge),
        Problem("Runge, 2 axes", 2, runge, bell),
        Problem("kink, 2 axes", 2, lambda x: np.maximum(x.sum(axis=1) - 1, 0), 1 / 6),
        Problem("disc, 2 axes", 2, lambda x: 1.0 * (np.square(x).sum(axis=1) < 1), math.pi / 4),
        Problem("inverse distance, 2 axes", 2, lambda x: 1 / np.hypot(x[:, 0], x[:, 1]),
                2 * math.log(1 + math.sqrt(2))),
        Problem("lognormal, 2 axes", 2, lambda x: np.exp(0.5 * ndtri(x).sum(axis=1)),
                math.exp(0.25)),
        Problem("spike, 2 axes", 2, spiked, 1.5 + 80 * _peak(0.62, 0.01) * _peak(0.29, 0.01)),
    ]  # fmt: skip


def low_dimensions() -> list[Problem]:
    """Return all 18 problems."""
    return [*one(), *two()]
