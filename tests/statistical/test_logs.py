"""The interval of a log covers, and better than the logs of the ends of the plain one."""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr
from croupier.data.central_moments import effective_df
from croupier.estimates.intervals import normal_quantile

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def narrow(rng, size):
    return rng.normal(-0.125, 0.5, size) - 5000


def wide(rng, size):
    return rng.normal(-0.5, 1.0, size) - 5000


@pytest.mark.slow
def test_intervals_of_a_log_hold_the_evidence_of_e_to_the_minus_5000():
    runs = 300
    covered = 0
    for seed in range(runs):
        result = cr.estimate([narrow, wide], draws=400, rng=seed, log=True, progress=False)
        low, high = result.log_interval
        covered += low <= -5000 <= high
    assert covered / runs > 0.95 - 4 * np.sqrt(0.05 * 0.95 / runs)


#: Skewed draws with mean 1.
SKEWED = {
    "lognormal, sigma 1": lambda rng, shape: rng.lognormal(-0.5, 1.0, shape),
    "gamma, shape 0.5": lambda rng, shape: rng.gamma(0.5, 2.0, shape),
}
CHUNK = 1000


def missed(draw, n, runs):
    """How often mean 1 was below and above log(mean ± h), and log(mean) ± h/mean: (2, 2)."""
    rng = np.random.default_rng(7)
    z = normal_quantile(0.975)
    found = np.zeros((2, 2))
    for _ in range(runs // CHUNK):
        x = draw(rng, (CHUNK, n))
        mean = x.mean(axis=1)
        squares = np.square(x - mean[:, None])
        m2, m4 = squares.sum(axis=1), np.square(squares).sum(axis=1)
        df = np.maximum(effective_df(n, m2, m4), 1.0)
        h = (z + (z**3 + z) / (4 * df)) * np.sqrt(m2 / (n - 1) / n)
        log, width = np.log(mean), h / mean
        found += [
            [np.sum(mean - h > 1), np.sum(mean + h < 1)],
            [np.sum(log - width > 0), np.sum(log + width < 0)],
        ]
    return found / (runs // CHUNK * CHUNK)


@pytest.mark.parametrize("name", SKEWED)
def test_relative_intervals_cover_skewed_draws_better_than_the_logs_of_both_ends(name):
    runs = 4000
    ends, delta = 1 - missed(SKEWED[name], 30, runs).sum(axis=1)
    assert delta > ends + 3 * np.sqrt(0.01 / runs)  # on the same samples
    assert ends < 0.95
