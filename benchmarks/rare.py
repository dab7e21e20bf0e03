"""Limit states with known probabilities: calls of g, missed intervals, lost modes; other methods.

A run stops at a relative half-width of 10 % (`rtol=0.1`), a coefficient of variation of about 5 %.
A miss is an interval without the known value; it is silent if the run gave no warning. A mode is
missed if no design point lies in it. Some problems are played with a gradient, too: by central
differences, which are not counted and stand for an adjoint code.

The replications are of splitting, on three models whose answers come from linear equations, and of
limit states with few hits and a small budget.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

import croupier as cr
from benchmarks import runner
from benchmarks.pages import Table
from benchmarks.rare_problems import Problem
from benchmarks.rare_rivals import METHODS, PROBLEMS, compare

BUDGET = 100_000

#: What is played with a gradient, too: in up to 10 dimensions g is learned without it.
WITH_GRADIENT = ("linear, d = 100", "four-branch, 18 dummies")


def played(problem: Problem, seed: int, value: float, **settings: Any) -> dict[str, Any]:
    """Play a problem once; return what a row adds up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CroupierWarning)
        result = cr.probability(
            problem.g, problem.over, draws=BUDGET, rtol=0.1, rng=seed, progress=False, **settings
        )
    low, high = result.interval
    missed = not low <= value <= high
    return {
        "calls": result.draws,
        "search": result.search["calls"],
        "gradients": result.search.get("gradients", 0),
        "value": result.value,
        "misses": missed,
        "silent misses": missed and not result.warnings,
        "silent beyond 4 errors": abs(result.value - value) > 4 * result.stderr
        and not result.warnings,
        "modes missed": problem.modes is not None and lost_mode(problem, result.design_points),
        "warned": bool(result.warnings),
    }


def lost_mode(problem: Problem, points: Any) -> bool:
    """Tell whether some part of the failing region has no design point."""
    assert problem.modes is not None
    parts = {"four": 4, "RP11": 4}.get(problem.name[:4], 2)
    return not len(points) or len(set(problem.modes(points).tolist())) < parts


def measure(name: str, seeds: int) -> dict[str, Any]:
    problem = PROBLEMS[name]
    value, begin = float(problem.value()), time.process_time()
    runs = [played(problem, seed, value) for seed in range(seeds)]
    return {
        "problem": name,
        "value": f"{value:.7g}",
        "published": "" if problem.published is None else problem.published,
        "seeds": seeds,
        "calls": _mean(runs, "calls"),
        "search calls": _mean(runs, "search"),
        "plain calls": f"{(1 - value) / value / 0.05**2:.2g}",
        **_counts(problem, runs),
        "mean/value": round(fmean(run["value"] for run in runs) / value, 3),
        "seconds per run": round((time.process_time() - begin) / seeds, 2),
    }


def _mean(runs: list[dict[str, Any]], column: str) -> int:
    return round(fmean(run[column] for run in runs))


def _counts(problem: Problem, runs: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("misses", "silent misses", "silent beyond 4 errors", "modes missed", "warned")
    counts = {name: sum(run[name] for run in runs) for name in names}
    return counts if problem.modes is not None else counts | {"modes missed": ""}


def gradient_of(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the gradient by central differences."""

    def gradient(x: Any) -> Any:
        away = 1e-6 * np.eye(x.shape[1])
        return np.column_stack([(g(x + step) - g(x - step)) / 2e-6 for step in away])

    return gradient


def with_gradient(name: str, seeds: int) -> dict[str, Any]:
    problem = PROBLEMS[name]
    value, gradient = float(problem.value()), gradient_of(problem.g)
    runs = [played(problem, seed, value, gradient=gradient) for seed in range(seeds)]
    numbers = {"calls": _mean(runs, "calls"), "gradients": _mean(runs, "gradients")}
    return {"problem": name, "seeds": seeds, **numbers, **_counts(problem, runs)}


# -- splitting, and few hits

EXPECTED = (0.5, 2.0, 5.0, 10.0, 50.0)


class Model(NamedTuple):
    """A simulation in steps with a known probability, and the options of its runs."""

    step: Callable[[np.random.Generator, Any], Any]
    start: Callable[[np.random.Generator, int], Any]
    level: Callable[[Any], Any]
    target: float
    value: float
    particles: int


def _walk(rng: np.random.Generator, x: Any) -> Any:
    return x + np.where(rng.random(len(x)) < 0.3, 1.0, -1.0)


def _tandem(rng: np.random.Generator, x: Any) -> Any:
    """Move one customer: an arrival (0.1), or a service at queue 1 or 2 (0.45 each, if any)."""
    u = rng.random(len(x))
    first = (u >= 0.1) & (u < 0.55) & (x[:, 0] > 0)
    second = (u >= 0.55) & (x[:, 1] > 0)
    moved = x.copy()
    moved[:, 0] += (u < 0.1) - 1.0 * first
    moved[:, 1] += 1.0 * first - 1.0 * second
    return moved


def _births(rng: np.random.Generator, x: Any) -> Any:
    """Wait for the next birth (rate 1) or death (rate 0.025 x); the state is (x, time)."""
    death = 0.025 * x[:, 0]
    later = x[:, 1] + rng.exponential(size=len(x)) / (1 + death)
    born = rng.random(len(x)) * (1 + death) < 1
    return np.column_stack((x[:, 0] + np.where(born, 1.0, -1.0), later))


MODELS = {
    "M/M/1 queue": Model(
        _walk,
        lambda rng, n: np.ones(n),
        lambda x: np.where(x == 0, -np.inf, x),
        25,
        8.424014477e-10,
        100,
    ),
    "tandem queue": Model(
        _tandem,
        lambda rng, n: np.tile([1.0, 0.0], (n, 1)),
        lambda x: np.where(x.sum(axis=1) == 0, -np.inf, x.sum(axis=1)),
        20,
        5.951121475e-12,
        200,
    ),
    "births and deaths": Model(
        _births,
        lambda rng, n: np.tile([40.0, 0.0], (n, 1)),
        lambda x: np.where(x[:, 1] > 100, -np.inf, x[:, 0]),
        80,
        2.985960812e-7,
        100,
    ),
}


def splitting_run(name: str, seed: int) -> cr.Result:
    """Run 20 replications of a model, in one call of the arm: they are simulated together."""
    m = MODELS[name]
    arm = cr.splitting(m.step, m.start, m.level, m.target, particles=m.particles)
    return cr.estimate([arm], draws=20, batch=20, rng=seed, progress=False)


def bernoulli_run(expected: float, seed: int) -> tuple[cr.Result, float]:
    """Draw 2000 times 0 or 1, with so many hits expected."""
    p = expected / 2000

    def event(rng: np.random.Generator, size: int) -> Any:
        return (rng.random(size) < p).astype(float)

    arm = cr.Arm(event, name="event", bounds=(0, 1))
    return cr.estimate([arm], draws=2000, rng=seed, progress=False), p


def probability_run(expected: float, seed: int) -> tuple[cr.Result, float]:
    """Estimate P(x > b) in two dimensions from 450 calls, of which the search has about half.

    The function says only yes or no, so that hits stay few: `expected` counts those that a
    budget of plain draws would have.
    """
    p = expected / 450

    def step(x: Any) -> Any:
        return np.where(x[:, 0] > norm.isf(p), -1.0, 1.0)

    return cr.probability(step, 2, draws=450, rng=seed, progress=False), p


def covered(results: list[tuple[cr.Result, float]]) -> dict[str, Any]:
    """Return how many intervals cover, and how far the mean is from the value."""
    inside = sum(r.interval[0] <= value <= r.interval[1] for r, value in results)
    values = np.array([r.value for r, _ in results])
    spread = values.std(ddof=1) / np.sqrt(len(values))
    z = (values.mean() - results[0][1]) / spread if spread > 0 else 0.0
    share = inside / len(results)
    return {
        "runs": len(results),
        "coverage": f"{share:.3f}",
        "error": f"{np.sqrt(share * (1 - share) / len(results)):.3f}",
        "z": f"{z:.2f}",
        "warned": sum(bool(r.warnings) for r, _ in results),
    }


def replications(what: str, case: str, runs: int) -> dict[str, Any]:
    """Return the row of one kind of replications."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CroupierWarning)
        if what == "splitting":
            value = MODELS[case].value
            results = [(splitting_run(case, seed), value) for seed in range(runs)]
        else:
            expected = float(case.split()[0])
            first = 1000 * EXPECTED.index(expected)
            results = [KINDS[what](expected, first + seed) for seed in range(runs)]
    return {"what": what, "case": case, **covered(results)}


KINDS = {"0 or 1": bernoulli_run, "cr.probability": probability_run}


def _replication_cells(full: bool) -> Iterator[tuple[str, str, int]]:
    yield from (("splitting", name, 400 if full else 20) for name in MODELS)
    for what in KINDS:
        yield from ((what, f"{expected:g} hits", 500 if full else 20) for expected in EXPECTED)


def _method_cells(full: bool) -> Iterator[tuple[str, str, int, float]]:
    for name in PROBLEMS if full else ("RP22", "four-branch"):
        yield from ((name, method, 60 if full else 2, 60.0) for method in METHODS)


def _cells(full: bool, names: Any, seeds: int) -> Iterator[tuple[str, int]]:
    # With some problems a run takes a minute: dimensions that do not matter, or very many.
    quick = [name for name in names if "dummies" not in name and "d = " not in name]
    yield from ((name, seeds if full else 1) for name in (names if full else quick or names[:1]))


BENCHMARKS = (
    runner.Benchmark("rare", ("problem",), partial(_cells, names=PROBLEMS, seeds=60), measure),
    runner.Benchmark(
        "rare-gradient",
        ("problem",),
        partial(_cells, names=WITH_GRADIENT, seeds=30),
        with_gradient,
    ),
    runner.Benchmark("rare-methods", ("problem", "method"), _method_cells, compare),
    runner.Benchmark("rare-replications", ("what", "case"), _replication_cells, replications),
)


# -- tables


def problem_table() -> Table:
    """Return one row for each limit state."""
    header = ("problem", "runs", "calls", "misses", "silent", "modes lost")
    names = ("problem", "seeds", "calls", "misses", "silent misses", "modes missed")
    return header, [[row.get(name) or "-" for name in names] for row in runner.read("rare")]


def summary() -> Table:
    """Return how the methods compare over all problems that each has run."""
    own = {row["problem"]: row for row in runner.read("rare")}
    groups: list[tuple[str, list[dict[str, str]]]] = [
        ("`cr.probability`", [{**row, "runs": row["seeds"], "raised": "0"} for row in own.values()])
    ]
    every = runner.read("rare-methods")
    groups += [(name, [row for row in every if row["method"] == name]) for name in METHODS]
    rows = []
    for name, found in groups:
        if found:
            rows.append([name, *_summary(found, own)])
    header = ("method", "problems", "runs", "calls, relative to croupier", "misses",
              "silent misses", "runs that lost a mode", "errors")  # fmt: skip
    return header, rows


def _summary(found: list[dict[str, str]], own: dict[str, dict[str, str]]) -> list[str]:
    runs = sum(int(row["runs"]) for row in found)
    raised = sum(int(row["raised"]) for row in found)
    calls = [
        float(row["calls"]) / float(own[row["problem"]]["calls"])
        for row in found
        if row["raised"] != row["runs"]
    ]
    with_modes = [row for row in found if row["modes missed"] != ""]
    return [
        str(len(found)),
        str(runs),
        f"{geometric_mean(calls):.2f}",
        *(_mean_share(found, k) for k in ("misses", "silent misses")),
        _mean_share(with_modes, "modes missed"),
        str(raised),
    ]


def _mean_share(found: list[dict[str, str]], column: str) -> str:
    """Return the share of runs, where every problem counts the same: it has 1 to 60 runs."""
    return f"{100 * fmean(int(row[column]) / int(row['runs']) for row in found):.1f} %"


def replication_table(what: str) -> Table:
    """Return coverage and bias of one kind of replications."""
    rows = [row for row in runner.read("rare-replications") if row["what"] == what]
    cells = [
        [row["case"], row["runs"], f"{row['coverage']} ± {row['error']}", row["z"]] for row in rows
    ]
    return ("case", "runs", "coverage at 95 %", "z of the mean"), cells


def splitting_table() -> Table:
    """Return coverage and bias of splitting, and how many runs warned of few replications."""
    rows = [row for row in runner.read("rare-replications") if row["what"] == "splitting"]
    header, cells = replication_table("splitting")
    return (*header, "warned"), [
        [*cell, row["warned"]] for cell, row in zip(cells, rows, strict=True)
    ]


TABLES: dict[str, Callable[[], Table]] = {
    "rare": problem_table,
    "rare-summary": summary,
    "rare-splitting": splitting_table,
}
