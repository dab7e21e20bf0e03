"""The debiased arm has no discretisation bias left: Asian options of Linetsky (2004)."""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr

#: r, sigma, T, S0 with K = 2, and the price (Linetsky, Operations Research 52, 2004, table 3).
OPTIONS = [
    (0.02, 0.1, 1.0, 2.0, 0.0559860415),
    (0.18, 0.3, 1.0, 2.0, 0.2183875466),
    (0.0125, 0.25, 2.0, 2.0, 0.1722687410),
    (0.05, 0.5, 1.0, 1.9, 0.1931737903),
    (0.05, 0.5, 1.0, 2.0, 0.2464156905),
    (0.05, 0.5, 1.0, 2.1, 0.3062203648),
    (0.05, 0.5, 2.0, 2.0, 0.3500952190),
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["single", "sum"])
@pytest.mark.parametrize("option", OPTIONS)
def test_the_price_of_a_continuous_asian_option(option: tuple[float, ...], estimator: str) -> None:
    r, sigma, T, start, price = option

    def payoff(w: np.ndarray) -> np.ndarray:
        steps = w.shape[1]
        t = T * np.arange(1, steps + 1) / steps
        s = np.exp((r - sigma**2 / 2) * t + sigma * w)
        mean = start * (0.5 + s[:, :-1].sum(axis=1) + s[:, -1] / 2) / steps
        return np.exp(-r * T) * np.maximum(mean - 2, 0)

    def difference(rng: np.random.Generator, size: int, level: int) -> np.ndarray:
        step = np.sqrt(T * 2.0**-level)
        w = np.cumsum(rng.normal(0, step, (size, 2**level)), axis=1)
        return payoff(w) - (payoff(w[:, 1::2]) if level else 0.0)

    arm = cr.arms.debiased(difference, estimator=estimator)  # type: ignore[arg-type]
    result = cr.estimate([arm], cost=1e8, draws=3_000_000, rng=7, progress=False)
    assert result.stderr < 2e-3 * price
    assert abs(result.value - price) < 4 * result.stderr
