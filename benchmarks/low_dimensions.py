"""Integrals in one and two dimensions: what nets cost there, beside a cubature.

Each problem is played by `cr.integrate` and by scipy's adaptive cubature. `far` are the runs whose
error is above four standard errors without a warning.

The problems are smooth, peaked, oscillating, with a kink, a jump, a singularity or a narrow spike.
The least errors of nets were chosen while looking at `one`, `two` and `more`: 32 problems. The
eight of `fresh` were written down after that, and nothing was changed after they were played.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import geometric_mean
from typing import Any

import numpy as np
from scipy import integrate as quadrature
from scipy.special import ndtr, ndtri, sici

import croupier as cr
from benchmarks import runner
from benchmarks.integrands import Array, Problem
from benchmarks.pages import Table
from benchmarks.peers import Counted, cubature

#: No run makes more evaluations than this.
MOST = 2**17
TOLERANCES = (1e-3, 1e-5)


# -- problems


def _peak(centre: float, width: float) -> float:
    """Return the integral of exp(-(x - centre)^2/(2 width^2)) over (0, 1)."""
    inside = ndtr((1 - centre) / width) - ndtr(-centre / width)
    return float(width * math.sqrt(2 * math.pi) * inside)


def one() -> list[Problem]:
    """Return nine problems in one dimension."""

    def spiked(x: Array) -> Array:
        return 1 + x[:, 0] + 10 * np.exp(-0.5 * ((x[:, 0] - 0.6180) / 0.002) ** 2)

    return [
        Problem("exponential", 1, lambda x: np.exp(x[:, 0]), math.e - 1),
        Problem("wave", 1, lambda x: 1 + np.cos(50 * x[:, 0] + 1),
                1 + (math.sin(51) - math.sin(1)) / 50),
        Problem("Lorentz peak", 1, lambda x: 1 / (1 + (100 * (x[:, 0] - 0.37)) ** 2),
                (math.atan(63) + math.atan(37)) / 100),
        Problem("kink", 1, lambda x: np.abs(x[:, 0] - 0.3), 0.29),
        Problem("jump", 1, lambda x: np.where(x[:, 0] < 1 / 3, np.exp(x[:, 0]), 0.0),
                math.expm1(1 / 3)),
        Problem("inverse root", 1, lambda x: 0.5 / np.sqrt(x[:, 0]), 1.0),
        Problem("root", 1, lambda x: np.sqrt(x[:, 0]), 2 / 3),
        Problem("lognormal", 1, lambda x: np.exp(0.5 * ndtri(x[:, 0])), math.exp(0.125)),
        Problem("spike", 1, spiked, 1.5 + 10 * _peak(0.6180, 0.002)),
    ]  # fmt: skip


def two() -> list[Problem]:
    """Return nine problems in two dimensions."""

    def spiked(x: Array) -> Array:
        away = np.square((x - [0.62, 0.29]) / 0.01).sum(axis=1)
        return 1 + x[:, 0] + 80 * np.exp(-0.5 * away)

    def runge(x: Array) -> Array:
        return 1 / (1 + 25 * np.square(2 * x - 1).sum(axis=1))

    product = sum(1 / (math.factorial(n) * (n + 1) ** 2) for n in range(25))
    bell = quadrature.dblquad(lambda y, x: 1 / (1 + 25 * (x * x + y * y)), 0, 1, 0, 1,
                              epsabs=0, epsrel=1e-12)[0]  # fmt: skip
    ridge = quadrature.quad(lambda t: 2 * (1 - t) * math.exp(-50 * t * t), 0, 1, epsabs=0,
                            epsrel=1e-12)[0]  # fmt: skip
    wave = (np.exp(10j) - 1) * (np.exp(7j) - 1) / (10j * 7j)
    return [
        Problem("exponential, 2 axes", 2, lambda x: np.exp(x[:, 0] * x[:, 1]), product),
        Problem("wave, 2 axes", 2, lambda x: 1 + np.cos(10 * x[:, 0] + 7 * x[:, 1]),
                1 + float(wave.real)),
        Problem("ridge, 2 axes", 2, lambda x: np.exp(-50 * (x[:, 0] - x[:, 1]) ** 2), ridge),
        Problem("Runge, 2 axes", 2, runge, bell),
        Problem("kink, 2 axes", 2, lambda x: np.maximum(x.sum(axis=1) - 1, 0), 1 / 6),
        Problem("disc, 2 axes", 2, lambda x: 1.0 * (np.square(x).sum(axis=1) < 1), math.pi / 4),
        Problem("inverse distance, 2 axes", 2, lambda x: 1 / np.hypot(x[:, 0], x[:, 1]),
                2 * math.log(1 + math.sqrt(2))),
        Problem("lognormal, 2 axes", 2, lambda x: np.exp(0.5 * ndtri(x).sum(axis=1)),
                math.exp(0.25)),
        Problem("spike, 2 axes", 2, spiked, 1.5 + 80 * _peak(0.62, 0.01) * _peak(0.29, 0.01)),
    ]  # fmt: skip


def more() -> list[Problem]:
    """Return 14 more problems, seven in each dimension."""

    def line(f: Callable[[float], float], breaks: Sequence[float] = ()) -> float:
        ends = [0.0, *breaks, 1.0]
        pieces = pairwise(ends)
        return sum(
            quadrature.quad(f, low, high, epsabs=0, epsrel=1e-11, limit=500)[0]
            for low, high in pieces
        )

    def peaks(x: Array) -> Array:
        first = np.exp(-200 * np.square(x - [0.3, 0.2]).sum(axis=1))
        return first + np.exp(-200 * np.square(x - [0.6, 0.8]).sum(axis=1))

    width, zeros = math.sqrt(1 / 400), [k * math.pi / 20 for k in range(1, 7)]
    both = _peak(0.3, width) * _peak(0.2, width) + _peak(0.6, width) * _peak(0.8, width)
    corner = -math.expm1(-30) / 30
    chirp = float(sici(30)[0]) / 30
    return [
        _more("damped wave", 1, lambda x: 1.2 + np.sin(30 * x[:, 0]) / (x[:, 0] + 0.1),
               line(lambda x: 1.2 + math.sin(30 * x) / (x + 0.1))),
        _more("bump", 1, lambda x: np.exp(-1 / (x[:, 0] * (1 - x[:, 0]))),
               line(lambda x: math.exp(-1 / (x * (1 - x))))),
        _more("many kinks", 1, lambda x: np.abs(np.sin(20 * x[:, 0])),
               line(lambda x: abs(math.sin(20 * x)), zeros)),
        _more("stairs", 1, lambda x: np.floor(7 * x[:, 0]) + 1, 4.0),
        _more("fourth root below", 1, lambda x: 0.75 * x[:, 0] ** -0.25, 1.0),
        _more("logarithm", 1, lambda x: -np.log(x[:, 0]), 1.0),
        _more("normal peak", 1, lambda x: np.exp(-0.5 * ((x[:, 0] - 0.71) / 0.01) ** 2),
               _peak(0.71, 0.01)),
        _more("diagonal kink, 2 axes", 2, lambda x: np.abs(x[:, 0] - x[:, 1]), 1 / 3),
        _more("diagonal jump, 2 axes", 2,
               lambda x: np.where(x[:, 0] < x[:, 1], np.exp(x[:, 0]), 0.0), math.e - 2),
        _more("corner, 2 axes", 2, lambda x: np.exp(-30 * x.sum(axis=1)), corner**2),
        _more("chirp, 2 axes", 2, lambda x: 1 + np.cos(30 * x[:, 0] * x[:, 1]), 1 + chirp),
        _more("inverse sum, 2 axes", 2, lambda x: 1 / x.sum(axis=1), 2 * math.log(2)),
        _more("two peaks, 2 axes", 2, peaks, both),
        _more("roots, 2 axes", 2, lambda x: np.sqrt(x[:, 0] * x[:, 1]), 4 / 9),
    ]  # fmt: skip


def fresh() -> list[Problem]:
    """Return eight problems that no choice was made on, four in each dimension."""

    def near(x: Array) -> Array:
        return 1 / (0.01 + np.square(x - [0.5, 0.3]).sum(axis=1))

    def bent(x: Array) -> Array:
        return 1 + np.cos(20 * (x[:, 0] ** 2 + x[:, 1]))

    def square(f: Callable[[Array], Array]) -> float:
        """Integrate a smooth function by Gauss' rule with 16 nodes in 40 x 40 squares."""
        x, w = np.polynomial.legendre.leggauss(16)
        x = ((x + 1) / 2 + np.arange(40)[:, None]).ravel() / 40
        w = np.tile(w, 40) / 80
        points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
        return float(np.multiply.outer(w, w).ravel() @ f(points))

    jumps, ends = [0.2, 0.55, 0.83, 1.0], [0.0, 0.2, 0.55, 0.83]
    steps = sum((-1) ** k * (math.exp(high) - math.exp(low)) * 0.3
                for k, (low, high) in enumerate(zip(ends, jumps, strict=True)))  # fmt: skip

    def comb(x: Array) -> Array:
        part = np.searchsorted(jumps[:-1], x[:, 0])
        return np.exp(x[:, 0]) * (2 + 0.3 * (-1.0) ** part)

    rising = quadrature.quad(lambda x: math.cos(60 * x * x), 0, 1, epsabs=0, epsrel=1e-12,
                             limit=500)[0]  # fmt: skip
    return [
        _fresh("inner singularity", 1, lambda x: np.abs(x[:, 0] - 0.37) ** -0.5,
               2 * (math.sqrt(0.37) + math.sqrt(0.63))),
        _fresh("rising wave", 1, lambda x: 1 + np.cos(60 * x[:, 0] ** 2), 1 + rising),
        _fresh("hinge", 1, lambda x: np.maximum(x[:, 0] - 0.8, 0) ** 2, 0.2**3 / 3),
        _fresh("comb", 1, comb, 2 * (math.e - 1) + steps),
        _fresh("third roots below, 2 axes", 2, lambda x: 4 / 9 * np.prod(x, axis=1) ** (-1 / 3),
               1.0),
        _fresh("ball, 2 axes", 2,
               lambda x: np.sqrt(np.maximum(1 - np.square(x).sum(axis=1), 0)), math.pi / 6),
        _fresh("bent wave, 2 axes", 2, bent, square(bent)),
        _fresh("near pole, 2 axes", 2, near, square(near)),
    ]  # fmt: skip


def _fresh(name: str, d: int, f: Callable[[Array], Array], value: float) -> Problem:
    return Problem(name, d, f, float(value), group="fresh")


def _more(name: str, d: int, f: Callable[[Array], Array], value: float) -> Problem:
    return Problem(name, d, f, float(value), group="more")


def low_dimensions() -> list[Problem]:
    """Return all 40 problems."""
    return [*one(), *two(), *more(), *fresh()]


# -- what is measured


def played(problem: Problem, rtol: float, seeds: Iterable[int]) -> dict[str, Any]:
    """Return the row of one problem and one tolerance."""
    row: dict[str, Any] = {"problem": problem.name, "rtol": f"{rtol:g}", "group": problem.group}
    row |= _runs(problem, rtol, seeds)
    f = Counted(problem)
    answer = cubature(problem, f, rtol, 0)
    solved = answer is not None and abs(answer.value - problem.value) <= 3 * rtol * problem.value
    return row | {"scipy": f.evaluations if solved else ""}


def _runs(problem: Problem, rtol: float, seeds: Iterable[int]) -> dict[str, Any]:
    draws, reached, covered, warned, far = [], 0, 0, 0, 0
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = cr.integrate(problem.f, [(0, 1)] * problem.dimension, rtol=rtol, draws=MOST,
                                  rng=seed, progress=False)  # fmt: skip
        off, (low, high) = abs(result.value - problem.value), result.interval
        draws.append(result.draws)
        reached += result.stopped == "tolerance"
        covered += off <= (high - low) / 2
        warned += bool(result.warnings)
        far += off > 4 * result.stderr and not result.warnings
    return {"runs": len(draws), "reached": reached, "covered": covered, "warned": warned,
            "far": far, "evaluations": round(float(np.median(draws)))}  # fmt: skip


PROBLEMS = {problem.name: problem for problem in low_dimensions()}


def measure(problem: str, rtol: str, seeds: int) -> dict[str, Any]:
    return played(PROBLEMS[problem], float(rtol), range(101, seeds + 101))


def _cells(full: bool) -> Iterator[tuple[str, str, int]]:
    for rtol in TOLERANCES if full else TOLERANCES[:1]:
        yield from ((name, f"{rtol:g}", 20 if full else 2) for name in PROBLEMS)


def table() -> Table:
    """Return what nets cost in one and two dimensions, by group and tolerance."""
    rows = []
    measured = runner.read("low-dimensions")
    for group, rtol in dict.fromkeys((row["group"], row["rtol"]) for row in measured):
        some = [row for row in measured if (row["group"], row["rtol"]) == (group, rtol)]
        ratios = [float(row["evaluations"]) / float(row["scipy"]) for row in some if row["scipy"]]
        runs, covered, far = (sum(int(row[c]) for row in some) for c in ("runs", "covered", "far"))
        ratio = f"{geometric_mean(ratios):.2f}"
        rows.append([group, rtol, str(len(some)), ratio, f"{covered}/{runs}", str(far)])
    return ["problems", "rtol", "number", "to scipy", "covered", "far off"], rows


BENCHMARKS = (runner.Benchmark("low-dimensions", ("problem", "rtol"), _cells, measure),)
TABLES: dict[str, Callable[[], Table]] = {"low-dimensions": table}
