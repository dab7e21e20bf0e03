"""Ten families of arms that no constant of croupier was chosen on.

For every family it measures I (what the allocation loses against the best arm in hindsight), how
often the 95 % interval covers, and the silent misses: answers that are off by more than 4 claimed
standard errors without a warning. Slow calls take seconds of a clock that the arms move on, so that
the row does not depend on the machine.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

import croupier as cr
from benchmarks import runner
from benchmarks.families import Draw, Family
from benchmarks.pages import Table

BUDGET = 10_000
MISS = 4.0


class Clock:
    """A clock in the place of the machine's, which only the arms move on."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        """Return the time, and move on by a microsecond."""
        self.now += 1e-6
        return self.now

    process_time = perf_counter

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Put this clock into croupier's loop."""
        with (
            mock.patch("croupier.running.loop.time", self),
            mock.patch("croupier.engines.perform.time", self),
        ):
            yield


@dataclass(frozen=True)
class Case:
    """A family, what a run of it may spend, and the clock of its calls, if they take time."""

    family: Family
    budget: dict[str, Any] = field(default_factory=lambda: {"draws": BUDGET})
    clock: Clock | None = None


# -- skewed, discrete, heavy-tailed


def weibull(shape: float) -> Draw:
    scale = 1 / math.gamma(1 + 1 / shape)
    return lambda rng, size: scale * rng.weibull(shape, size)


def weibull_variance(shape: float) -> float:
    return math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1


def counts(successes: float) -> Draw:
    """Return negative binomial counts with the mean 1 and the variance 1 + 1/successes."""
    return lambda rng, size: rng.negative_binomial(successes, successes / (successes + 1), size)


def pareto(tail: float) -> Draw:
    return lambda rng, size: (rng.pareto(tail, size) + 1) * (tail - 1) / tail


def pareto_variance(tail: float) -> float:
    return 1 / (tail * (tail - 2))


def gamma(shape: float) -> Draw:
    return lambda rng, size: rng.gamma(shape, 1 / shape, size)


def rare(p: float) -> Draw:
    return lambda rng, size: (rng.random(size) < p) / p


def second_moment(spread: float) -> Draw:
    """Return E[X^2] of a standard normal X by importance sampling from N(0, spread^2)."""

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        x = rng.normal(0.0, spread, size)
        return np.asarray(x * x * spread * np.exp(x * x / 2 * (spread**-2 - 1)))

    return draw


def second_moment_variance(spread: float) -> float:
    def squared(x: float) -> float:
        return float(x**4 * np.exp(2 * norm.logpdf(x) - norm.logpdf(x, scale=spread)))

    return float(2 * quad(squared, 0, np.inf, epsabs=1e-12)[0] - 1)


def jumps(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return normal draws; five in a thousand are larger by 200."""
    return rng.normal(1.0, 1.0, size) + 200.0 * (rng.random(size) < 0.005)


# -- costs that go with the values, and slow calls


def costs_its_value(shape: float, cost: float) -> Draw:
    """Return gamma draws; a draw costs half of `cost`, and half of `cost` times its value."""

    def draw(rng: np.random.Generator, size: int) -> cr.Draws:
        values = rng.gamma(shape, 1 / shape, size)
        return cr.Draws(values, cost * (0.5 + 0.5 * values))

    return draw


def slow_calls(clock: Clock, spread: float, call: float, each: float) -> Draw:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        clock.now += call + each * size
        return rng.laplace(1.0, spread / math.sqrt(2), size)

    return draw


def cases() -> dict[str, Case]:
    """Return the families by name; every mean is 1 if nothing else is said."""
    shapes, sizes, tails = (0.5, 0.8, 1.5), (0.1, 0.5, 3.0), (2.2, 2.6, 4.0)
    spreads = (0.75, 0.9, 1.0, 1.5, 2.0)
    many = tuple(0.2 + 0.1 * k for k in range(50))
    degrees = (3.0, 4.0, 12.0)
    paid, prices = (0.5, 3.0, 9.0), (1.0, 4.0, 16.0)
    clock = Clock()
    families = [
        Family("weibull", tuple(map(weibull, shapes)), tuple(map(weibull_variance, shapes))),
        Family("counts", tuple(map(counts, sizes)), tuple(1 + 1 / n for n in sizes)),
        Family("pareto", tuple(map(pareto, tails)), tuple(map(pareto_variance, tails))),
        Family("student", tuple(map(student, degrees)), tuple(n / (n - 2) for n in degrees)),
        Family(
            "second-moment",
            tuple(map(second_moment, spreads)),
            tuple(map(second_moment_variance, spreads)),
        ),
        Family("gamma-50", tuple(map(gamma, many)), tuple(1 / shape for shape in many)),
        Family(
            "rare-and-gamma",
            (rare(1e-3), rare(1e-2), gamma(1.0)),
            (999.0, 99.0, 1.0),
        ),
        Family(
            "jumps",
            (jumps, lambda rng, size: rng.normal(2.0, 12.0, size)),
            (1 + 200.0**2 * 0.005 * 0.995, 144.0),
            mean=2.0,
        ),
        Family(
            "costs-its-value",
            tuple(map(costs_its_value, paid, prices)),
            tuple(1 / shape for shape in paid),
            costs=prices,
        ),
        Family(
            "slow-calls",
            (slow_calls(clock, 4.0, 2e-5, 2e-5), slow_calls(clock, 1.0, 8e-3, 1e-5)),
            (16.0, 1.0),
            costs=(2e-5, 1e-5),  # of a draw in one large call: the best that there is
        ),
    ]
    found = {family.name: Case(family) for family in families}
    found["costs-its-value"] = Case(found["costs-its-value"].family, {"cost": 4.0 * BUDGET})
    found["slow-calls"] = Case(found["slow-calls"].family, {"seconds": 2.0}, clock)
    return found


def student(degrees: float) -> Draw:
    return lambda rng, size: 1.0 + rng.standard_t(degrees, size)


CASES = cases()


def run(case: Case, seed: int) -> cr.Result:
    with warnings.catch_warnings(), case.clock.ticking() if case.clock else nullcontext():
        warnings.simplefilter("ignore")
        return cr.estimate(case.family.named(), rng=seed, progress=False, **case.budget)


def once(job: tuple[str, int]) -> tuple[float, bool, float, bool]:
    """Return I, whether the interval covered, the error in claimed errors, and if it warned."""
    name, seed = job
    case, family = CASES[name], CASES[name].family
    result = run(case, seed)
    draws = np.array([row.draws for row in result.arms])
    lost = float(family.share(draws, result.seconds if case.clock else result.cost))
    low, high = result.interval
    off = abs(result.value - family.mean) / result.stderr
    return lost, low <= family.mean <= high, off, bool(result.warnings)


def measure(name: str, runs: int) -> dict[str, Any]:
    base = zlib.crc32(name.encode())
    jobs = [(name, base + k) for k in range(runs)]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        found = np.array(pool.map(once, jobs, chunksize=10), float)
    lost, covered, off, warned = found.T
    missed = ~(off <= MISS)  # a standard error of NaN is a miss
    return {
        "family": name,
        "runs": runs,
        "I": lost.mean(),
        "I_99": np.quantile(lost, 0.99),
        "covered_95": covered.mean(),
        "missed": int(missed.sum()),
        "silent": int((missed & (warned == 0)).sum()),
        "warned": warned.mean(),
    }


def _table() -> Table:
    """Return loss, coverage and silent misses of the families that nothing was tuned on."""
    rows = [
        [
            row["family"],
            row["runs"],
            f"{float(row['I']):.3f}",
            f"{float(row['covered_95']):.3f}",
            row["missed"],
            row["silent"],
            f"{100 * float(row['warned']):.1f} %",
        ]
        for row in runner.read("untuned")
    ]
    header = ["family", "runs", "I", "95 % covered", "off by more than 4 errors",
              "without a warning", "runs that warn"]  # fmt: skip
    return header, rows


BENCHMARKS = (
    runner.Benchmark(
        "untuned", ("family",), lambda full: ((n, 1000 if full else 20) for n in CASES), measure
    ),
)
TABLES: dict[str, Callable[[], Table]] = {"untuned": _table}
