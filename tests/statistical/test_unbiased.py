"""The plain mean at a fixed number of draws is unbiased, whatever policy deals the draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import croupier as cr
from croupier.policies import REGISTRY
from croupier.policies.bounded import Bandit

# Skewed arms with mean 1: where an adaptive allocation would show a bias if it had one.
ARMS = {
    "a": lambda rng, size: rng.exponential(1.0, size),
    "b": lambda rng, size: rng.lognormal(-0.5, 1.0, size),
    "c": lambda rng, size: 4.0 * (rng.random(size) < 0.25),
}
DRAWS = 40


def mean_and_error(policy, runs):
    values = [
        cr.estimate(
            ARMS, draws=DRAWS, policy=policy, combine="mean", rng=seed, progress=False
        ).value
        for seed in range(runs)
    ]
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(runs)


def assert_unbiased(name, runs):
    policy = REGISTRY[name].example()
    if isinstance(policy, Bandit):  # the arms have no range: clip payoffs, never draws
        policy = replace(policy, bounds=(0.0, 4.0), clip=True)
    mean, error = mean_and_error(policy, runs)
    assert abs(mean - 1.0) < 4 * error, f"{name}: {mean} ± {error} over {runs} runs"


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_plain_mean_is_unbiased_under_every_policy(name):
    assert_unbiased(name, 2000)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_plain_mean_is_unbiased_over_many_more_runs(name):
    assert_unbiased(name, 10_000)
