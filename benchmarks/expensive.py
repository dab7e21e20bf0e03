"""Errors of `cr.probability` with 20 to 500 calls, by problem and budget.

The error is the root of the mean square error relative to the known value. The claimed error is the
median standard error, relative to it. A miss is an interval without the known value. It is silent
if the value is off by more than four errors and the run gave no warning. The width is that of the
interval at its largest, relative to the mean width of Clopper and Pearson's interval for as many
plain draws.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

import croupier as cr
from benchmarks import runner
from benchmarks.expensive_problems import HELD_OUT, MORE_HELD_OUT
from benchmarks.pages import Table
from benchmarks.rare_problems import Problem

PROBLEMS = {problem.name: problem for problem in (*HELD_OUT, *MORE_HELD_OUT)}
COLUMNS = (
    "problem", "calls", "value", "seeds", "error", "claimed", "misses", "silent", "warned",
    "not learned", "learning calls", "width", "ms per call",
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


def measure(name: str, calls: int, seeds: int) -> dict[str, Any]:
    problem = PROBLEMS[name]
    value = value_of(problem)
    begin = time.process_time()
    runs = [one(problem, calls, seed) for seed in range(seeds)]
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


def _cells(full: bool) -> Iterator[tuple[str, int, int]]:
    for calls in (20, 50, 100, 200, 500) if full else (50, 100):
        yield from ((name, calls, 40 if full else 2) for name in PROBLEMS)


BENCHMARKS = (runner.Benchmark("expensive", ("problem", "calls"), _cells, measure),)


def expensive_table() -> Table:
    """Return one row for each problem and budget."""
    header = ("problem", "value", "calls", "runs", "error", "claimed", "misses", "silent beyond 4 "
              "errors", "warned", "not learned")  # fmt: skip
    names = ("problem", "value", "calls", "seeds", "error", "claimed", "misses", "silent",
             "warned", "not learned")  # fmt: skip
    return header, [[row[name] for name in names] for row in runner.read("expensive")]


TABLES = {"expensive": expensive_table}
