"""Merged intervals cover what they promise, and runs that agree are said to.

Tolerances are four standard errors at the stated number of repetitions; seeds are fixed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

TIMES = 100
RUNS = 4


def normal(spread):
    return lambda rng, size: rng.normal(1.0, spread, size)


def lognormal(sigma):
    return lambda rng, size: rng.lognormal(-sigma * sigma / 2, sigma, size)


ARMS = {
    "normal": {"rough": normal(3.0), "middle": normal(1.5), "fine": normal(1.0)},
    "rough normal": {"rough": normal(3.0)},
    "fine normal": {"fine": normal(1.0)},
    "lognormal": {"rough": lognormal(1.0), "fine": lognormal(0.5)},
    "fine lognormal": {"fine": lognormal(0.5)},
}
SAME = {"normal": ["normal"] * RUNS, "lognormal": ["lognormal"] * RUNS}
DIFFERENT = {
    "normal": ["rough normal", "normal", "fine normal", "normal"],
    "lognormal": [*SAME["lognormal"][:3], "fine lognormal"],
}
CASES = {
    **{f"same arms, {name}": runs for name, runs in SAME.items()},
    **{f"different arms, {name}": runs for name, runs in DIFFERENT.items()},
}


@cache
def run_of(arms, seed, **settings):
    """Return a run; several cases merge the same one with others."""
    return cr.estimate(ARMS[arms], rng=seed, progress=False, **settings)


def merged(runs, time, **settings):
    results = [run_of(arms, time * RUNS + k, **settings) for k, arms in enumerate(runs)]
    return cr.merge(results), results


def slack(share):
    return 4 * np.sqrt(share * (1 - share) / TIMES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_merged_interval_covers_about_95_percent_and_runs_agree_as_often_as_they_should(case):
    together = [merged(CASES[case], time, draws=800) for time in range(TIMES)]
    results = [one for one, _ in together]
    share = np.mean([one.interval[0] <= 1.0 <= one.interval[1] for one in results])
    assert 0.93 - slack(0.93) <= share <= 0.965 + slack(0.965)
    off = np.array([(one.value - 1.0) / one.stderr for one in results])
    assert abs(off.mean()) <= 0.15 + 4 / np.sqrt(TIMES)  # a bias of 0.15 errors takes no percent
    assert off.std() == pytest.approx(1.0, abs=4 / np.sqrt(2 * TIMES) + 0.05)
    p = np.array([one.runs.agreement for one in results])
    assert (p < 0.1).mean() <= 0.12 + slack(0.12)
    assert (p < 0.5).mean() == pytest.approx(0.5, abs=slack(0.5) + 0.03)
    # The precision of the whole is the sum of those of its parts.
    singles = np.mean([run.stderr**-2 for _, runs in together for run in runs])
    assert np.mean([one.stderr**-2 for one in results]) == pytest.approx(RUNS * singles, rel=0.15)


@pytest.mark.slow
def test_runs_that_stop_at_a_tolerance_cover_when_merged():
    runs = SAME["normal"]
    results = [merged(runs, time, draws=1e6, rtol=0.1)[0] for time in range(TIMES)]
    assert {one.to_dict()["interval_kind"] for one in results} == {"many-looks"}
    share = np.mean([one.interval[0] <= 1.0 <= one.interval[1] for one in results])
    assert share >= 0.94 - slack(0.94)


def shifted(arms, by):
    return {
        name: lambda rng, size, arm=arm: arm(rng, size) + by for name, arm in arms.items()
    }  # fmt: skip


@pytest.mark.slow
def test_a_run_that_is_off_by_five_errors_is_found():
    found, times = 0, 50
    for time in range(times):
        _, results = merged(SAME["normal"], time, draws=800)
        arms = shifted(ARMS["normal"], 5.5 * results[0].stderr)
        biased = cr.estimate(arms, rng=10_000 + time, draws=800, progress=False)
        found += cr.merge([*results[1:], biased]).runs.agreement < 1e-3
    assert found >= 40
