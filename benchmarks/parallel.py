"""make bench-parallel: what workers gain, and what it costs to decide with old outcomes.

It measures the speed-up of two workers compared with a run in this process, including the start of
the processes; the cost of sending tasks; and how much efficiency a width of 64 loses compared with
a width of 1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from benchmarks.families import FAMILIES
from benchmarks.replicate import replicate

KEY = ("what",)
DRAW = 1e-3
RUNS = {1_000: 400, 100_000: 20}


def sleeping(spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        time.sleep(DRAW * size)
        return rng.normal(1.0, spread, size)

    return draw


def computing(spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Return an arm that computes for about a millisecond per draw on a current machine."""

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        values = rng.normal(1.0, spread, size)
        for k in range(size):
            x = values[k]
            for _ in range(4_000):
                x = 0.5 * (x + values[k])
            values[k] = x
        return values

    return draw


def play(make: Callable[[float], Any], draws: int, **settings: Any) -> None:
    arms = {"rough": make(1.0), "fine": make(0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cr.estimate(arms, draws=draws, rng=1, width=4, progress=False, **settings)


def seconds(clock: Callable[[], float], *run: Any, **settings: Any) -> float:
    """Return how long a run takes, from the call to the result, measured by a clock."""
    began = clock()
    play(*run, **settings)
    return clock() - began


def speed_up(make: Callable[[float], Any], draws: int) -> float:
    """Return the ratio of the times that a run takes here and on two workers."""
    here = seconds(time.perf_counter, make, draws)
    return here / seconds(time.perf_counter, make, draws, workers=2)


def dispatch(draws: int) -> float:
    """Return the extra work of the driver compared with a serial run, in percent of the work.

    It is measured in CPU seconds, without the start of the worker; arms that sleep use no CPU.
    """
    clock = time.process_time
    start = min(seconds(clock, sleeping, 1, workers=2) for _ in range(3))
    more = seconds(clock, sleeping, draws, workers=2) - start - seconds(clock, sleeping, draws)
    return 100 * more / (DRAW * draws)


def loss_by_width(name: str, draws_per_arm: int, width: int = 64) -> float:
    """Return what a width of 64 costs in efficiency, in percent: from counts, over many seeds."""
    family = FAMILIES[name]
    draws = draws_per_arm * len(family.arms)
    shares = []
    for each in (1, width):
        runs = replicate(family, "variance-thompson", RUNS[draws_per_arm], draws=draws, width=each)
        shares.append(family.share(runs.draws, runs.cost).mean())
    return float(100 * (shares[1] / shares[0] - 1))


CASES: dict[str, tuple[Callable[[], float], str]] = {
    "speed-up of 2 workers, arms that sleep 1 ms a draw": (
        lambda: speed_up(sleeping, 60_000),
        "at least 1.9",
    ),
    "speed-up of 2 workers, arms that compute 1 ms a draw": (
        lambda: speed_up(computing, 30_000),
        "at least 1.7",
    ),
    "dispatch, 1 ms a draw, % of the work": (lambda: dispatch(20_000), "below 2"),
    **{
        f"width 64, {name}, {draws} draws per arm, % of efficiency": (
            lambda name=name, draws=draws: loss_by_width(name, draws),
            f"below {limit}",
        )
        for draws, limit in ((1_000, 5), (100_000, 1))
        for name in ("two-bernoulli", "normal-3", "lognormal")
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-parallel", description=__doc__)
    parser.add_argument("--case", default="", help="only cases with this text in their names")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for what in (case for case in CASES if options.case in case):
        measure, wanted = CASES[what]
        rows.append({"what": what, "measured": round(measure(), 3), "wanted": wanted})
        report.write("parallel", rows[-1:], KEY)
    report.show("parallel", rows)
    pages.main()


if __name__ == "__main__":
    main()
