"""Errors of `cr.probability` with 20 to 500 calls, by problem and budget, and of the search alone.

The error is the root of the mean square error relative to the known value. The claimed error is the
median standard error, relative to it; without a hit it is not known and counts as 1. A miss is an
interval without the known value. It is silent if the value is off by more than four errors and the
run gave no warning. The width is that of the widest interval, relative to the mean width of Clopper
and Pearson's interval for as many plain draws. The search alone has 1000 calls: nothing is learned.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import stats

import croupier as cr
from benchmarks import runner
from benchmarks.expensive_problems import HELD_OUT, MORE_HELD_OUT
from benchmarks.pages import Table
from benchmarks.rare_problems import Problem

PROBLEMS = {problem.name: problem for problem in (*HELD_OUT, *MORE_HELD_OUT)}

#: Budgets and how many runs of each a full measurement has.
BUDGETS = {20: 40, 50: 200, 100: 200, 200: 100, 500: 40}
SEARCHED = 1000


@cache
def value_of(problem: Problem) -> float:
    return float(problem.value())


def one(problem: Problem, calls: int, seed: int) -> dict[str, Any]:
    value = value_of(problem)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CroupierWarning)
        result = cr.probability(problem.g, problem.over, draws=calls, rng=seed, progress=False)
    low, high = result.interval
    known = result.stderr if np.isfinite(result.stderr) else value
    return {
        "error": (result.value - value) / value,
        "claimed": known / value,
        "missed": not low <= value <= high,
        "silent": abs(result.value - value) > 4 * known and not result.warnings,
        "warned": bool(result.warnings),
        "learned": bool(result.search.get("learned")),
        "learning": result.search["calls"],
        "width": high - low,
        "seconds": time.process_time() - began,
    }


def plain_width(value: float, calls: int) -> float:
    """Return the mean width of the interval of Clopper and Pearson."""
    hits = np.arange(calls + 1)
    low = np.where(hits > 0, stats.beta.ppf(0.025, hits, calls - hits + 1), 0.0)
    high = np.where(hits < calls, stats.beta.ppf(0.975, hits + 1, calls - hits), 1.0)
    return float(stats.binom.pmf(hits, calls, value) @ (high - low))


def summary(name: str, calls: int, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    value = value_of(PROBLEMS[name])

    def mean(column: str) -> float:
        return float(np.mean([run[column] for run in runs]))

    return {
        "problem": name,
        "calls": calls,
        "value": f"{value:.4g}",
        "plain": f"{np.sqrt((1 - value) / value / calls):.3g}",
        "runs": len(runs),
        "error": f"{np.sqrt(np.mean([run['error'] ** 2 for run in runs])):.3g}",
        "claimed": f"{np.median([run['claimed'] for run in runs]):.3g}",
        "misses": sum(run["missed"] for run in runs),
        "silent": sum(run["silent"] for run in runs),
        "warned": sum(run["warned"] for run in runs),
        "not learned": sum(not run["learned"] for run in runs),
        "learning calls": round(mean("learning")),
        "width": f"{max(run['width'] for run in runs) / plain_width(value, calls):.3g}",
        "ms per call": f"{1000 * mean('seconds') / calls:.2g}",
    }


def measure(name: str, calls: int, seeds: int) -> dict[str, Any]:
    return summary(name, calls, [one(PROBLEMS[name], calls, seed) for seed in range(seeds)])


def measure_search(name: str, calls: int, seeds: int) -> dict[str, Any]:
    with patch("croupier.rare.rare_table.LEARNED_UP_TO", 0):
        return measure(name, calls, seeds)


def _cells(full: bool) -> Iterator[tuple[str, int, int]]:
    for calls, runs in BUDGETS.items() if full else {50: 2, 100: 2}.items():
        yield from ((name, calls, runs) for name in PROBLEMS)


def _searched(full: bool) -> Iterator[tuple[str, int, int]]:
    yield from ((name, SEARCHED, 40 if full else 1) for name in PROBLEMS)


BENCHMARKS = (
    runner.Benchmark("expensive", ("problem", "calls"), _cells, measure),
    runner.Benchmark("expensive-search", ("problem", "calls"), _searched, measure_search),
)


def expensive_table() -> Table:
    """Return one row for each problem: errors and claimed errors by budget, in percent."""
    rows = {(row["problem"], row["calls"]): row for row in runner.read("expensive")}
    searched = {row["problem"]: row for row in runner.read("expensive-search")}
    budgets = [str(calls) for calls in BUDGETS if calls > 20]
    header = ("problem", *budgets, f"search, {SEARCHED}", "misses")

    def cell(row: dict[str, str]) -> str:
        return "/".join(
            f"{float(f'{100 * float(row[name]):.2g}'):g}" for name in ("error", "claimed")
        )

    table = []
    for name in dict.fromkeys(problem for problem, _ in rows):
        known = [rows[name, calls] for calls in budgets]
        total = sum(int(row["runs"]) for row in known)
        misses = sum(int(row["misses"]) for row in known)
        cells = map(cell, (*known, searched[name]))
        table.append([name, *cells, f"{misses}/{total}"])
    return header, table


TABLES = {"expensive": expensive_table}
