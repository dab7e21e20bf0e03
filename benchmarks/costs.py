"""make bench-costs: arms whose draws have different, random costs, or cost more for larger values.

It makes three tables: what the allocation loses compared with the paper's Thompson sampling, what
inverse-variance weights gain if every arm gets the same number of draws, and the bias of the
estimate at a deadline.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from benchmarks.families import FAMILIES, correlated
from croupier.estimates.combiners import COMBINERS, pool

CASES = tuple(name for name, family in FAMILIES.items() if family.costs is not None)
PAYOFFS = {"pairs": "cost-variance", "triples": "cost-variance-triples"}
BUDGETS = (10_000, 100_000)


def strong(rng: np.random.Generator, size: int) -> cr.Draws:
    """Draw values with mean 1 whose cost e^(z - 1/2) grows with them: correlation 0.76."""
    z = rng.standard_normal(size)
    return cr.Draws(1 + z, np.exp(z - 0.5))


#: Arms for the bias at a deadline, and settings.
DEADLINES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one arm, draw by draw, strong": ({"strong": strong}, {"batch": "one"}),
    "one arm, strong": ({"strong": strong}, {}),
    "one arm, correlated": ({"arm": correlated(1.2, 1.0)}, {}),
    "costs-correlated": (FAMILIES["costs-correlated"].named(), {}),
    "costs-correlated, mean": (FAMILIES["costs-correlated"].named(), {"combine": "mean"}),
}
SPENT = (100, 1000, 10_000)


def _allocation(job: tuple[str, str, int, int]) -> float:
    name, payoff, budget, seed = job
    family = FAMILIES[name]
    policy = replace(family.bandit("thompson"), payoff=PAYOFFS[payoff])
    result = cr.estimate(family.named(), cost=budget, policy=policy, rng=seed, progress=False)
    return float(family.share(np.array([row.draws for row in result.arms]), result.cost))


def _equal(job: tuple[str, int, int]) -> list[float]:
    name, budget, seed = job
    family = FAMILIES[name]
    result = cr.estimate(family.named(), cost=budget, policy="uniform", rng=seed, progress=False)
    ledger = result.basis.ledger
    pooled = (pool(ledger, combiner) for combiner in COMBINERS.values())
    return [float(ledger.scale.value_of(one.mean)[0]) - family.mean for one in pooled]


def _deadline(job: tuple[str, int, int]) -> tuple[float, float, float, bool]:
    name, budget, seed = job
    arms, settings = DEADLINES[name]
    result = cr.estimate(arms, cost=budget, rng=seed, progress=False, **settings)
    low, high = result.interval
    by_then = result.history.at(budget)
    return result.value - 1, by_then - 1, result.cost, low <= 1 <= high


def _each(work: Callable[[Any], Any], jobs: Sequence[Any], cores: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if cores == 1:
            return np.array([work(job) for job in jobs])
        with multiprocessing.get_context("fork").Pool(cores) as workers:
            return np.array(workers.map(work, jobs, chunksize=20))


def allocation(runs: int, cores: int) -> list[dict[str, Any]]:
    """Return I of Thompson sampling paid by pairs, and by triples."""
    rows = []
    for name in CASES:
        for payoff in PAYOFFS:
            for budget in BUDGETS:
                jobs = [(name, payoff, budget, seed) for seed in range(runs)]
                share = _each(_allocation, jobs, cores)
                error = share.std() / math.sqrt(runs)
                row = {"family": name, "payoff": payoff, "budget": budget, "runs": runs}
                rows.append({**row, "I": share.mean(), "I_se": error})
    report.write("costs-allocation", rows, ("family", "payoff", "budget"))
    return rows


def equal(runs: int, cores: int, budget: int = 10_000) -> list[dict[str, Any]]:
    """Return the MSE of every combiner divided by that of the plain mean, on the same draws."""
    rows = []
    for name in CASES:
        errors = np.square(_each(_equal, [(name, budget, seed) for seed in range(runs)], cores))
        plain = errors[:, list(COMBINERS).index("mean")]
        for combiner, own in zip(COMBINERS, errors.T, strict=True):
            ratio = own.mean() / plain.mean()
            spread = (own - ratio * plain).std() / plain.mean() / math.sqrt(runs)
            row = {"family": name, "combiner": combiner, "budget": budget, "runs": runs}
            rows.append({**row, "ratio": ratio, "ratio_se": spread})
    report.write("costs-equal", rows, ("family", "combiner", "budget"))
    return rows


def deadlines(runs: int, cores: int) -> list[dict[str, Any]]:
    """Return the bias in standard errors, for all draws and for the finished draws."""
    rows = []
    for name in DEADLINES:
        for budget in SPENT:
            if budget > SPENT[0] and DEADLINES[name][1].get("batch") == "one":
                continue  # thousands of decisions each, for a bias that is too small to see
            some = runs if budget < SPENT[-1] else runs // 4
            jobs = [(name, budget, seed) for seed in range(some)]
            all_, finished, cost, covered = _each(_deadline, jobs, cores).T
            row: dict[str, Any] = {"arms": name, "budget": budget, "runs": some}
            row |= {"bias": all_.mean() / all_.std(), "bias_se": 1 / math.sqrt(some)}
            row["finished"] = finished.mean() / finished.std()
            rows.append({**row, "overshoot": cost.mean() / budget - 1, "covered": covered.mean()})
    report.write("costs-deadlines", rows, ("arms", "budget"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-costs", description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="repetitions of the allocation")
    parser.add_argument("--deadline-runs", type=int, default=2000)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    report.show("allocation", allocation(options.runs, options.cores))
    report.show("equal draws", equal(4 * options.runs, options.cores))
    report.show("deadlines", deadlines(options.deadline_runs, options.cores))
    pages.main()


if __name__ == "__main__":
    main()
