"""Budgets of cost and of seconds: the bias at a deadline, and which arm gets the time.

A run that ends at a deadline counts every draw that was started, also the last, whose cost may go
with its value. With seconds=, two arms get a second: what a call costs, what a draw costs, and how
far apart the arms are in cost times variance, in both orders.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import runner
from benchmarks.families import FAMILIES, correlated
from benchmarks.pages import Table

# -- the bias at a deadline


def strong(rng: np.random.Generator, size: int) -> cr.Draws:
    """Draw values with mean 1 whose cost e^(z - 1/2) grows with them: correlation 0.76."""
    z = rng.standard_normal(size)
    return cr.Draws(1 + z, np.exp(z - 0.5))


#: Arms and settings.
DEADLINES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one arm, draw by draw, strong": ({"strong": strong}, {"batch": "one"}),
    "one arm, strong": ({"strong": strong}, {}),
    "one arm, correlated": ({"arm": correlated(1.2, 1.0)}, {}),
    "costs-correlated": (FAMILIES["costs-correlated"].named(), {}),
    "costs-correlated, mean": (FAMILIES["costs-correlated"].named(), {"combine": "mean"}),
}
SPENT = (100, 1000, 10_000)


def _deadline(job: tuple[str, int, int]) -> tuple[float, float, float, bool]:
    name, budget, seed = job
    arms, settings = DEADLINES[name]
    result = cr.estimate(arms, cost=budget, rng=seed, progress=False, **settings)
    low, high = result.interval
    by_then = result.history.at(budget)
    return result.value - 1, by_then - 1, result.cost, low <= 1 <= high


def bias(name: str, budget: int, runs: int) -> dict[str, Any]:
    """Return the bias in standard errors, for all draws and for the finished draws."""
    jobs = [(name, budget, seed) for seed in range(runs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
            found = np.array(pool.map(_deadline, jobs, chunksize=20))
    all_, finished, cost, covered = found.T
    row: dict[str, Any] = {"arms": name, "budget": budget, "runs": runs}
    row |= {"bias": all_.mean() / all_.std(), "bias_se": 1 / math.sqrt(runs)}
    row["finished"] = finished.mean() / finished.std()
    return {**row, "overshoot": cost.mean() / budget - 1, "covered": covered.mean()}


def _deadline_cells(full: bool) -> Iterator[tuple[str, int, int]]:
    for name, budget in itertools.product(DEADLINES, SPENT if full else SPENT[:2]):
        if budget > SPENT[0] and DEADLINES[name][1].get("batch") == "one":
            continue  # thousands of decisions each, for a bias that is too small to see
        yield name, budget, (2000 if budget < SPENT[-1] else 500) if full else 100


# -- who gets the time

#: Seconds of a call and of a draw, beyond what numpy takes: from 5 ns a draw to 3 ms.
PRICES = {
    "numpy": (0.0, 0.0),
    "1 us": (0.0, 1e-6),
    "10 us": (0.0, 1e-5),
    "5 ms + 1 us": (5e-3, 1e-6),
    "3 ms": (0.0, 3e-3),
}
RATIOS = (2.0, 10.0, 1e5)


def _spinning(seconds: float) -> None:
    """Compute for so long; what else runs on the machine does not count."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def _arm(spread: float, call: float, draw: float) -> Callable[..., np.ndarray]:
    def drawn(rng: np.random.Generator, size: int) -> np.ndarray:
        if call or draw:
            _spinning(call + draw * size)
        return 1.0 + spread * (rng.random(size, dtype=np.float32) - 0.5)

    return drawn


def _price(call: float, draw: float) -> float:
    """Return the cost of a draw in the calls that a run of a second makes."""
    draw += 5e-9
    return draw + call / min(10_000, (1 / 32 - call) / draw)


@contextlib.contextmanager
def _beside(processes: int) -> Iterator[None]:
    """Let so many other processes compute."""
    others = [multiprocessing.Process(target=_spinning, args=(3600.0,)) for _ in range(processes)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def race(ratio: float, beside: int, orders: int) -> dict[str, Any]:
    """Return how often the better arm got 80 % of the time inside the arms, over all pairs."""
    with _beside(beside):
        return {"ratio": ratio, "beside": beside, **_raced(ratio, orders)}


def _raced(ratio: float, orders: int) -> dict[str, Any]:
    shares, inside = [], []
    for good, poor in itertools.permutations(PRICES, 2):
        spread = (ratio * _price(*PRICES[good]) / _price(*PRICES[poor])) ** 0.5
        arms = {"good": _arm(1.0, *PRICES[good]), "poor": _arm(spread, *PRICES[poor])}
        for order in (arms, dict(reversed(arms.items())))[:orders]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = cr.estimate(order, seconds=1.0, rng=1, progress=False)
            shares.append(result.arms["good"].share)
            if "numpy" not in (good, poor):
                inside.append(result.cost / result.seconds)
    found = int((np.array(shares) >= 0.8).sum())
    row = {"runs": len(shares), "found": found}
    return {**row, "share": float(np.median(shares)), "inside": min(inside)}


def _races(full: bool) -> Iterator[tuple[float, int, int]]:
    for ratio, beside in itertools.product(RATIOS, (0, 3)):
        yield ratio, beside, 2 if full else 1


BENCHMARKS = (
    runner.Benchmark("costs-deadlines", ("arms", "budget"), _deadline_cells, bias),
    runner.Benchmark("calls-grid", ("ratio", "beside"), _races, race),
)


# -- tables


def _grid() -> Table:
    header = ["cost × variance", "busy processes beside", "runs", "best arm ≥ 80 %", "median share",
              "least time inside the arms"]  # fmt: skip
    rows = [
        [f"{float(row['ratio']):g} times apart", row["beside"], row["runs"], row["found"],
         *(f"{float(row[name]):.2f}" for name in ("share", "inside"))]
        for row in runner.read("calls-grid")
    ]  # fmt: skip
    return header, rows


TABLES: dict[str, Callable[[], Table]] = {"calls-grid": _grid}
