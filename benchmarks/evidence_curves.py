"""More models with a known evidence, all of them curved: bent normals, a ring, and a horseshoe."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st
from scipy.integrate import quad

from benchmarks.evidence_problems import Problem


def bent(d: int) -> Problem:
    """Return normal coordinates of which each other one is bent along a parabola or a wave.

    The bends shift a coordinate by a function of another one, so the density integrates to 1.
    """

    def log_likelihood(x: Any) -> Any:
        total = 0.0
        for i in range(0, d, 2):
            bend = 1.5 * (x[:, i] ** 2 - 1) if i % 4 == 0 else 4 * np.sin(2 * x[:, i])
            total = total + st.norm.logpdf(x[:, i], 0, 1.2)
            total = total + st.norm.logpdf(x[:, i + 1] - bend, 0, 0.25)
        return total

    # Less than 1e-6 of the mass is outside the box.
    return Problem(log_likelihood, [st.uniform(-15, 75)] * d, -d * np.log(75))


def ring() -> Problem:
    """Return a ring of radius 4 and width 0.15, and two narrow normal coordinates."""

    def fall(r: Any) -> Any:
        return -0.5 * ((r - 4) / 0.15) ** 2

    def log_likelihood(x: Any) -> Any:
        normal = st.norm.logpdf(x[:, 2:], 1, 0.1).sum(axis=1)
        return fall(np.hypot(x[:, 0], x[:, 1])) + normal

    mass = quad(lambda r: 2 * np.pi * r * np.exp(fall(r)), 2, 6, points=[4])[0]
    return Problem(log_likelihood, [st.uniform(-8, 16)] * 4, np.log(mass) - 4 * np.log(16))


def horseshoe() -> Problem:
    """Return three effects, each normal with a scale of its own, under half-Cauchy priors."""
    data, error = np.array([0.1, 3.0, -0.4]), 0.2

    def log_likelihood(x: Any) -> Any:
        scales, effects = x[:, :3], x[:, 3:]
        own = st.norm.logpdf(effects, 0, scales) + st.norm.logpdf(data, effects, error)
        return own.sum(axis=1)

    def one(y: float) -> float:
        def of_log(t: float) -> float:  # over the log of the scale
            scale = np.exp(t)
            there = st.norm.pdf(y, 0, np.hypot(scale, error))
            return float(st.halfcauchy.pdf(scale) * there * scale)

        return float(quad(of_log, -30, 30, limit=500, points=[-2, 0, 2])[0])

    # Effects outside the box are more than 30 errors away from the data.
    truth = sum(np.log(one(float(y)) / 20) for y in data)
    return Problem(log_likelihood, [st.halfcauchy()] * 3 + [st.uniform(-10, 20)] * 3, float(truth))
