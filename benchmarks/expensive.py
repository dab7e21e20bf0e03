"""make bench-expensive: errors of `cr.probability` with 20 to 500 calls, by problem and budget.

The error is the root of the mean square error relative to the known value. The claimed error is the
median standard error, relative to it. A miss is an interval without the known value. It is silent
if the value is off by more than four errors and the run gave no warning. The width is that of the
interval relative to the one that Clopper and Pearson give for as many plain draws, at its largest
and with the hits that plain draws have on average.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

import croupier as cr
from benchmarks import pages, report
from benchmarks.expensive_problems import HELD_OUT, MORE_HELD_OUT
from benchmarks.rare_problems import Problem

COLUMNS = (
    "problem", "calls", "value", "seeds", "error", "claimed", "misses", "silent", "warned",
    "plain", "learning calls", "width", "ms per call",
)  # fmt: skip


@cache
def value_of(problem: Problem) -> float:
    return float(problem.value())


def one(problem: Problem, calls: int, seed: int) -> dict[str, Any]:
    value = value_of(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CroupierWarning)
        result = cr.probability(problem.g, problem.over, draws=calls, rng=seed, progress=False)
    low, high = result.interval
    known = result.stderr if np.isfinite(result.stderr) else 1.0
    return {
        "error": (result.value - value) / value,
        "claimed": known / value,
        "missed": not low <= value <= high,
        "silent": abs(result.value - value) > 4 * known and not result.warnings,
        "warned": bool(result.warnings),
        "learned": bool(result.search.get("learned")),
        "learning": result.search["calls"],
        "width": high - low,
    }


def plain_width(value: float, calls: int) -> float:
    """Return the mean width of the interval of Clopper and Pearson."""
    hits = np.arange(calls + 1)
    low = np.where(hits > 0, stats.beta.ppf(0.025, hits, calls - hits + 1), 0.0)
    high = np.where(hits < calls, stats.beta.ppf(0.975, hits + 1, calls - hits), 1.0)
    return float(stats.binom.pmf(hits, calls, value) @ (high - low))


def row(problem: Problem, calls: int, seeds: range) -> dict[str, Any]:
    value = value_of(problem)
    begin = time.process_time()
    runs = [one(problem, calls, seed) for seed in seeds]
    spent = (time.process_time() - begin) / len(runs)
    numbers = (
        problem.name,
        calls,
        f"{value:.4g}",
        len(runs),
        f"{np.sqrt(np.mean([run['error'] ** 2 for run in runs])):.3g}",
        f"{np.median([run['claimed'] for run in runs]):.3g}",
        sum(run["missed"] for run in runs),
        sum(run["silent"] for run in runs),
        sum(run["warned"] for run in runs),
        sum(not run["learned"] for run in runs),
        round(float(np.mean([run["learning"] for run in runs]))),
        f"{max(run['width'] for run in runs) / plain_width(value, calls):.3g}",
        round(1000 * spent / calls),
    )
    return dict(zip(COLUMNS, numbers, strict=True))


def main() -> None:
    """Run the problems; each replaces its rows in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--calls", type=int, nargs="*", default=[50, 100])
    parser.add_argument("--case", nargs="*", help="names of problems; all by default")
    parser.add_argument("--dry", action="store_true", help="show the rows and write no file")
    asked = parser.parse_args()
    problems = [p for p in (*HELD_OUT, *MORE_HELD_OUT) if not asked.case or p.name in asked.case]
    for calls in asked.calls:
        for problem in problems:
            seeds = range(asked.first, asked.first + asked.seeds)
            rows = [row(problem, calls, seeds)]
            if asked.dry:
                print(*rows[0].values(), sep="\t", flush=True)
                continue
            report.write("expensive", rows, ("problem", "calls"))
            report.show(problem.name, rows)
    if not asked.dry:
        pages.main()


if __name__ == "__main__":
    main()
