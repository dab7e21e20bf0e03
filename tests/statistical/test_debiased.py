"""The debiased arm has no discretisation bias left: Asian options of Linetsky (2004)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

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


def geometric(r: float, sigma: float, T: float, start: float) -> float:
    """Return the price of the option on the continuous geometric mean, which is lognormal."""
    s, m = sigma * np.sqrt(T / 3), np.log(start) + (r - sigma**2 / 2) * T / 2
    d = (m - np.log(2)) / s
    return float(np.exp(-r * T) * (np.exp(m + s * s / 2) * ndtr(d + s) - 2 * ndtr(d)))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["single", "sum"])
@pytest.mark.parametrize("option", OPTIONS)
def test_the_price_of_a_continuous_asian_option(option: tuple[float, ...], estimator: str) -> None:
    """The arm draws the difference to the geometric mean, which is small."""
    r, sigma, T, start, price = option

    def payoff(w: np.ndarray) -> np.ndarray:
        steps = w.shape[1]
        logs = (r - sigma**2 / 2) * T * np.arange(1, steps + 1) / steps + sigma * w
        s = np.exp(logs)
        mean = start * (0.5 + s[:, :-1].sum(axis=1) + s[:, -1] / 2) / steps
        log_mean = (logs[:, :-1].sum(axis=1) + logs[:, -1] / 2) / steps
        above = np.maximum(mean - 2, 0) - np.maximum(start * np.exp(log_mean) - 2, 0)
        return np.exp(-r * T) * above

    def difference(rng: np.random.Generator, size: int, level: int) -> np.ndarray:
        step = np.sqrt(T * 2.0**-level)
        w = np.cumsum(rng.normal(0, step, (size, 2**level)), axis=1)
        return payoff(w) - (payoff(w[:, 1::2]) if level else 0.0)

    arm = cr.arms.debiased(difference, estimator=estimator)  # type: ignore[arg-type]
    target = 5e-4 * price
    result = cr.estimate([arm], draws=20_000_000, atol=2 * target, rng=7, progress=False)
    assert result.stderr < 1.1 * target
    assert abs(result.value + geometric(r, sigma, T, start) - price) < 4 * result.stderr
