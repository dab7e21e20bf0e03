"""The interval of a log covers, and better than the logs of the ends of the plain one."""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr
from benchmarks.logs import CASES, missed

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


@pytest.mark.parametrize("name", ["lognormal, sigma 1", "gamma, shape 0.5"])
def test_relative_intervals_cover_skewed_draws_better_than_the_logs_of_both_ends(name):
    runs = 4000
    ends, delta = 1 - missed(CASES[name], 30, runs).sum(axis=1)
    assert delta > ends + 3 * np.sqrt(0.01 / runs)  # on the same samples
    assert ends < 0.95
