"""make bench-rare: calls of g to about 5 % c.o.v., missed intervals and missed modes, by problem.

A run stops at a relative half-width of 10 % (`rtol=0.1`). A miss is an interval without the known
value; it is silent if the run gave no warning. A mode is missed if no design point lies in it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from benchmarks.rare_problems import FIRST, MORE, Problem

BUDGET = 100_000
COLUMNS = (
    "problem", "value", "published", "seeds", "calls", "search calls", "plain calls", "misses",
    "silent misses", "silent beyond 4 errors", "modes missed", "warned", "mean/value",
    "seconds per run",
)  # fmt: skip


def one(problem: Problem, seed: int, value: float) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CroupierWarning)
        result = cr.probability(
            problem.g, problem.over, draws=BUDGET, rtol=0.1, rng=seed, progress=False
        )
    low, high = result.interval
    missed = not low <= value <= high
    return {
        "calls": result.draws,
        "search": result.search["calls"],
        "value": result.value,
        "missed": missed,
        "silent": missed and not result.warnings,
        "far": abs(result.value - value) > 4 * result.stderr and not result.warnings,
        "warned": bool(result.warnings),
        "modes": problem.modes is not None and lost_mode(problem, result.design_points),
    }


def lost_mode(problem: Problem, points: Any) -> bool:
    """Tell whether some part of the failing region has no design point."""
    assert problem.modes is not None
    parts = {"four": 4, "RP11": 4}.get(problem.name[:4], 2)
    return not len(points) or len(set(problem.modes(points).tolist())) < parts


def row(problem: Problem, seeds: int) -> dict[str, Any]:
    value = float(problem.value())
    begin = time.process_time()
    runs = [one(problem, seed, value) for seed in range(seeds)]
    return row_of(problem, runs, (time.process_time() - begin) / seeds)


def row_of(problem: Problem, runs: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    value, seeds = float(problem.value()), len(runs)
    numbers = (
        problem.name,
        f"{value:.7g}",
        "" if problem.published is None else problem.published,
        seeds,
        round(float(np.mean([run["calls"] for run in runs]))),
        round(float(np.mean([run["search"] for run in runs]))),
        f"{(1 - value) / value / 0.05**2:.2g}",
        sum(run["missed"] for run in runs),
        sum(run["silent"] for run in runs),
        sum(run["far"] for run in runs),
        sum(run["modes"] for run in runs) if problem.modes else "",
        sum(run["warned"] for run in runs),
        round(float(np.mean([run["value"] for run in runs])) / value, 3),
        round(seconds, 2),
    )
    return dict(zip(COLUMNS, numbers, strict=True))


def main() -> None:
    """Run the problems; each replaces its row in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--case", nargs="*", help="names of problems; all by default")
    asked = parser.parse_args()
    known = [p for p in (*FIRST, *MORE) if not asked.case or p.name in asked.case]
    for problem in known:
        rows = [row(problem, asked.seeds)]
        report.write("rare", rows, ("problem",))
        report.show(problem.name, rows)
    pages.main()


if __name__ == "__main__":
    main()
