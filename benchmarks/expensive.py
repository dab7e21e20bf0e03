"""Errors of `cr.probability` with 20 to 500 calls, by problem and budget, and of the search alone.

The error is the root of the mean square error relative to the known value. The claimed error is the
median standard error, relative to it; without a hit it is not known and counts as 1. A miss is an
interval without the known value. It is silent if the value is off by more than four errors and the
run gave no warning. The width is the mean of all intervals, and the widest the largest, relative to
the mean width of Clopper and Pearson's interval for as many plain draws. The search alone has 1000
calls: nothing is learned.

The problems are 24 limit states with known probabilities. No constant of `cr.probability` was
chosen on the last eight: they were named before they were run. Values are closed forms, quadrature,
or Monte Carlo of a conditional probability (error below .2 %).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final
from unittest.mock import patch

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

import croupier as cr
from benchmarks import runner
from benchmarks.pages import Table
from benchmarks.rare_problems import Problem, above, integral

# -- sixteen


def _uniform(z):
    return np.clip(ndtr(z), 1e-300, 1 - 1e-16)


def beam(z):
    """A cantilever: normal yield stress and load, lognormal width and height of the section."""
    strength, load = 40 + 4 * z[:, 0], 2000 + 400 * z[:, 1]
    modulus = 5 * np.exp(0.05 * z[:, 2]) * (10 * np.exp(0.05 * z[:, 3])) ** 2 / 6
    return strength * modulus - 0.95 * load


def _given_modulus(limit):
    """Return P(strength m < .95 load) averaged over ln m, which is normal."""

    def given(t):
        m = limit * np.exp(np.sqrt(0.05**2 + 0.1**2) * t)
        return above((40 * m - 0.95 * 2000) / np.hypot(4 * m, 0.95 * 400))

    return integral(given)


def oscillator(z):
    """The undamped oscillator of Bucher and Bourgund (1990): six normal variables."""
    m, c1, c2 = 1 + 0.05 * z[:, 0], 1 + 0.1 * z[:, 1], 0.1 + 0.01 * z[:, 2]
    r, force, t = 0.5 + 0.05 * z[:, 3], 0.6 + 0.1 * z[:, 4], 1 + 0.2 * z[:, 5]
    w = np.sqrt((c1 + c2) / m)
    return 3 * r - np.abs(2 * force / (m * w * w) * np.sin(w * t / 2))


def _oscillator_value():
    """Given all but the displacement r, the probability is that of a normal number."""
    z = _net(6)
    z[:, 3] = 0.0
    return float(ndtr(-oscillator(z) / (3 * 0.05)).mean())


def roof(z):
    """A roof truss (six normal variables): the deflection stays below 3 cm."""
    q = 20000 + 1400 * z[:, 0]
    length, steel, concrete = (
        12 + 0.12 * z[:, 1],
        9.82e-4 + 5.982e-5 * z[:, 2],
        0.04 + 0.0048 * z[:, 3],
    )
    es, ec = 1e11 + 6e9 * z[:, 4], 2e10 + 1.2e9 * z[:, 5]
    return 0.03 - q * length**2 / 2 * (3.81 / (concrete * ec) + 1.13 / (steel * es))


def _roof_value():
    z = _net(6)
    z[:, 0] = 0.0
    bend = (0.03 - roof(z)) / 20000  # the deflection is proportional to the load
    return float(ndtr((20000 - 0.03 / bend) / 1400).mean())


def frame(z):
    """A frame of one bay: four plastic mechanisms, lognormal moments and a Gumbel load."""
    m = 134.9 * np.exp(0.1 * z[:, :3])
    load = 50 - 12 * np.log(-np.log(_uniform(z[:, 3])))
    sides = [
        m[:, 0] + 2 * m[:, 1] + m[:, 2] - 5 * load / 1.4,
        m[:, 0] + 3 * m[:, 1] - 5 * load / 1.3,
        2 * m[:, 0] + 2 * m[:, 2] - 5 * load / 1.35,
    ]
    return np.minimum.reduce(sides)


def _frame_value():
    z = _net(4)
    m = 134.9 * np.exp(0.1 * z[:, :3])
    most = np.minimum.reduce(
        [
            1.4 * (m[:, 0] + 2 * m[:, 1] + m[:, 2]) / 5,
            1.3 * (m[:, 0] + 3 * m[:, 1]) / 5,
            1.35 * (2 * m[:, 0] + 2 * m[:, 2]) / 5,
        ]
    )
    return float(-np.expm1(-np.exp(-(most - 50) / 12)).mean())


def column(z):
    """The short column of Kuschel and Rackwitz (1997): b = 8.668, h = 25, three variables."""
    moment, force = 2000 + 400 * z[:, 0], 500 + 100 * z[:, 1]
    strength = 5 * np.exp(0.1 * z[:, 2])
    return 1 - 4 * moment / (8.668 * 625 * strength) - (force / (8.668 * 25 * strength)) ** 2


def _column_value():
    z = _net(3)
    force, strength = 500 + 100 * z[:, 1], 5 * np.exp(0.1 * z[:, 2])
    most = (1 - (force / (216.7 * strength)) ** 2) * 8.668 * 625 * strength / 4
    return float(ndtr((2000 - most) / 400).mean())


def gumbel(z):
    """A lognormal resistance and the sum of three Gumbel loads."""
    loads = 10 - 1.5 * np.log(-np.log(_uniform(z[:, 1:4])))
    return 70 * np.exp(0.1 * z[:, 0]) - loads.sum(axis=1)


def sum_of(density, n, most, cells=2**16):
    """Return a grid and the chances of its cells for the sum of n numbers from 0 to `most`."""
    edges = np.linspace(0.0, most, cells + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    chances = density(middle) * (edges[1] - edges[0])
    spectrum = np.fft.rfft(chances, 2 * cells * n) ** n
    return n * middle[0] + np.arange(2 * cells * n) * (edges[1] - edges[0]), np.fft.irfft(spectrum)


def _gumbel_value():
    loads, chances = sum_of(stats.gumbel_r(10, 1.5).pdf, 3, 80.0)
    return float(chances @ ndtr(np.log(loads / 70) / 0.1))


def parallel(x):
    """Three parts fail together, in 6 dimensions."""
    return 1.3 - x[:, :3].min(axis=1) + 0.0 * x[:, 3]


ISLAND: Final = np.array([2.5, 2.5])


def island(x):
    """A failing disc with a slope that leads to it."""
    return np.square(x - ISLAND).sum(axis=1) - 0.5


def strip(x):
    """A thin strip between two curves."""
    return np.abs(x[:, 1] - 3 - 0.2 * x[:, 0] ** 2) - 0.15


def _strip_value():
    def given(a):
        middle = 3 + 0.2 * a * a
        return above(middle - 0.15) - above(middle + 0.15)

    return integral(given)


def zero_one(x):
    return np.where(x.sum(axis=1) > 3 * np.sqrt(3), -1.0, 1.0)


def noisy(x):
    """A plane with noise: the same point has the same noise, other points have another."""
    noise = np.modf(np.abs(np.sin(x @ np.array([12.9898, 78.233, 37.719])) * 43758.5453))[0]
    return 3 - x.sum(axis=1) / np.sqrt(3) + 0.3 * ndtri(np.clip(noise, 1e-12, 1 - 1e-12))


def wavy(x):
    return 3.2 - x[:, 0] - 0.4 * np.sin(4 * x[:, 1])


def two_modes(x):
    along = x.sum(axis=1) / np.sqrt(5)
    return 5 - np.abs(along)


def eight_modes(x):
    return 3.5 - np.abs(x[:, :4]).max(axis=1)


def sphere(x):
    return 5.0 - np.linalg.norm(x, axis=1)


def rastrigin(x):
    return 10 - (x * x - 5 * np.cos(2 * np.pi * x)).sum(axis=1)


@cache
def _net_points(d: int):
    from scipy.stats.qmc import Sobol

    return ndtri(np.clip(Sobol(d, rng=np.random.default_rng(1)).random_base2(20), 1e-12, 1 - 1e-12))


def _net(d: int):
    return _net_points(d).copy()


def _rastrigin_value():
    """The distribution of one term by 2^15 equal parts of probability, convolved with itself."""
    x = np.sort(ndtri((np.arange(2**15) + 0.5) / 2**15))
    term = np.sort(x * x - 5 * np.cos(2 * np.pi * x))
    return float(np.mean(1 - np.searchsorted(term, 10 - term, side="right") / len(term)))


HELD_OUT: Final = (
    Problem("beam", beam, 4, lambda: _given_modulus(5 * 100 / 6)),
    Problem("oscillator", oscillator, 6, _oscillator_value),
    Problem("roof", roof, 6, _roof_value),
    Problem("frame", frame, 4, _frame_value),
    Problem("column", column, 3, _column_value),
    Problem("Gumbel", gumbel, 4, _gumbel_value),
    Problem("parallel", parallel, 6, lambda: above(1.3) ** 3),
    Problem("island", island, 2, lambda: float(stats.ncx2.cdf(0.5, 2, 12.5))),
    Problem("strip", strip, 2, _strip_value),
    Problem("0/1", zero_one, 3, lambda: above(3.0)),
    Problem("noisy", noisy, 3, lambda: above(3 / np.hypot(1, 0.3))),
    Problem("wavy", wavy, 2, lambda: integral(lambda b: above(3.2 - 0.4 * np.sin(4 * b)))),
    Problem("two modes", two_modes, 5, lambda: 2 * above(5.0)),
    Problem("eight modes", eight_modes, 8, lambda: 1 - (1 - 2 * above(3.5)) ** 4),
    Problem("sphere", sphere, 5, lambda: float(stats.chi2.sf(25.0, 5))),
    Problem("Rastrigin", rastrigin, 2, _rastrigin_value),
)

# -- eight more, named before they were run


def saddle(x):
    return 4 + 0.5 * x[:, 0] * x[:, 1] - x[:, 2]


def valley(x):
    """A narrow curved valley."""
    return 3.5 - x[:, 1] + 1.5 * (x[:, 0] - 0.5 * x[:, 1]) ** 2


def series(x):
    """Three bent parts in series, in 5 dimensions, of which the third is the rarest."""
    parts = [
        3.2 - x[:, 0] + 0.1 * x[:, 1] ** 2,
        3.4 + x[:, 2] + 0.05 * x[:, 3] ** 2,
        3.9 - x[:, 4],
    ]
    return np.minimum.reduce(parts)


def exponential(x):
    """A sum of ten lognormal numbers is above 22; values cover orders of magnitude."""
    return 22 - np.exp(0.5 * x).sum(axis=1)


def saturated(x):
    """A margin that saturates at 1: flat where it is safe."""
    return np.minimum(1.0, 3.3 - x[:, 0] - 0.3 * x[:, 1])


def common(x):
    """Not rare: one draw in seven fails."""
    return 1.2 - x[:, 0] + 0.2 * x[:, 1] ** 2


def powers(x):
    """Far and smooth: 1e-9 in 3 dimensions."""
    return 216 - np.sign(x[:, 0]) * np.abs(x[:, 0]) ** 3 + 2 * x[:, 1] + x[:, 2]


def jump(x):
    """A jump in the safe region: stiff for x_3 > 0."""
    return 3.0 - x[:, :2].sum(axis=1) / np.sqrt(2) + 2.0 * (x[:, 2] > 0)


def _powers_value():
    def given(t):
        return above(np.cbrt(216 + np.sqrt(5) * t))

    return integral(given)


def _exponential_value():
    """The sum of nine lognormal numbers by convolution, and the tenth in closed form."""
    rest, chances = sum_of(stats.lognorm(0.5).pdf, 9, 30.0)
    with np.errstate(divide="ignore"):
        least = np.log(np.maximum(22 - rest, 0.0)) / 0.5
    return float(chances @ ndtr(-least))


def _series_value():
    first = integral(lambda b: above(3.2 + 0.1 * b * b))
    second = integral(lambda b: above(3.4 + 0.05 * b * b))
    return 1 - (1 - first) * (1 - second) * (1 - above(3.9))


def _valley_value():
    """P(x_2 - 1.5 (x_1 - .5 x_2)^2 > 3.5), given x_2."""

    def given(b):
        half = np.sqrt(max(b - 3.5, 0.0) / 1.5)
        return float(ndtr(0.5 * b + half) - ndtr(0.5 * b - half)) if b > 3.5 else 0.0

    return integral(given, -12.0, 12.0, 3.5)


def _saddle_value():
    def given(a):
        return above(4 / np.hypot(1, 0.5 * a))

    return integral(given)


MORE_HELD_OUT: Final = (
    Problem("saddle", saddle, 3, _saddle_value),
    Problem("valley", valley, 2, _valley_value),
    Problem("series", series, 5, _series_value),
    Problem("exponential", exponential, 10, _exponential_value),
    Problem("saturated", saturated, 2, lambda: above(3.3 / np.hypot(1, 0.3))),
    Problem("common", common, 2, lambda: integral(lambda b: above(1.2 + 0.2 * b * b))),
    Problem("powers", powers, 3, _powers_value),
    Problem("jump", jump, 3, lambda: 0.5 * above(3.0) + 0.5 * above(5.0)),
)


# -- the benchmark

PROBLEMS = {problem.name: problem for problem in (*HELD_OUT, *MORE_HELD_OUT)}

#: Budgets and how many runs of each a full measurement has.
BUDGETS = {10: 40, 20: 40, 50: 200, 100: 200, 200: 25, 500: 13}
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
        "width": f"{mean('width') / plain_width(value, calls):.3g}",
        "widest": f"{max(run['width'] for run in runs) / plain_width(value, calls):.3g}",
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
