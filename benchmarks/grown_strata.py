"""make bench-grown-strata: what strata that grow take from the variance.

`ratio` is n times the mean squared error of 10 000 draws, the pilot included, and `claimed` n times
the mean squared standard error, both divided by the variance of plain draws. `halves` is the
variance of proportional strata with two halves per axis, divided by the same (up to 5 dimensions).
Means and variances are exact: closed formulas, or quadrature in one dimension.
"""

from __future__ import annotations

import argparse
import cmath
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate, stats

import croupier as cr
from benchmarks import pages, report
from croupier.data.draws import Floats
from croupier.spaces.base import Moved
from croupier.spaces.read_space import read_space

DRAWS = 10_000


class Problem(NamedTuple):
    """A function, what it is averaged over, its mean and the variance of plain draws."""

    function: Callable[[Floats], Floats]
    over: list[Any]
    mean: float
    plain: float

    @classmethod
    def of(cls, function: Callable[[Floats], Floats], over: list[Any], *moments: float) -> Problem:
        """Return a problem from the first two moments of the function."""
        mean, second = moments
        return cls(function, over, mean, second - mean**2)

    def halves(self) -> float:
        """Return the variance of proportional strata with two halves per axis, by simulation."""
        d = len(self.over)
        if d > 5:
            return math.nan
        u = np.random.default_rng(1).random((400_000, d))
        y = self.function(placed(self, u))
        cell = (u > 0.5) @ (2 ** np.arange(d))
        return float(np.mean([y[cell == k].var() for k in range(2**d)]))


def placed(problem: Problem, u: Floats) -> Floats:
    """Return the points of some probabilities."""
    return read_space(problem.over).place(Moved(u, None, None))[0]


def corner(x: Floats, total: float = 1.85) -> Floats:
    """Return Genz's corner peak, with coefficients of this sum."""
    d = x.shape[1]
    return np.asarray((1 + x @ (np.linspace(0.6, 1.4, d) * total / d)) ** -(d + 1.0))


def corner_moment(d: int, power: int, total: float) -> float:
    """Return E f^k by (1 + s)^-m = int t^(m-1) e^(-t(1+s)) dt/Gamma(m)."""
    c = np.linspace(0.6, 1.4, d) * total / d
    m = power * (d + 1)

    def part(t: float) -> float:
        logs = np.log(-np.expm1(-c * t) / (c * t)).sum()
        return math.exp((m - 1) * math.log(t) - t - math.lgamma(m) + logs)

    return float(integrate.quad(part, 0, 4 * m, epsabs=0, limit=500)[0])


def corner_problem(d: int, total: float = 1.85) -> Problem:
    moments = [corner_moment(d, power, total) for power in (1, 2)]
    return Problem.of(partial(corner, total=total), [(0, 1)] * d, *moments)


def discontinuous(x: Floats) -> Floats:
    """Return Genz's exponential that is 0 beyond 0.45 and 0.6 in the first coordinates."""
    d = x.shape[1]
    inside = (x[:, 0] < 0.45) & (x[:, 1] < 0.6)
    return np.where(inside, np.exp(x @ (np.linspace(0.6, 1.4, d) * 4.3 / d)), 0.0)


def discontinuous_problem(d: int) -> Problem:
    c = np.linspace(0.6, 1.4, d) * 4.3 / d
    ends = np.array([0.45, 0.6] + [1.0] * (d - 2))
    moments = [float(np.prod(np.expm1(k * c * ends) / (k * c))) for k in (1, 2)]
    return Problem.of(discontinuous, [(0, 1)] * d, *moments)


def disc(x: Floats) -> Floats:
    """Return 1 within a quarter of a disc."""
    return (np.square(x).sum(axis=1) < 0.3).astype(float)


def wave(x: Floats) -> Floats:
    """Return a wave in all coordinates at once, which no box explains."""
    return np.asarray(np.sin(40 * x.sum(axis=1)))


def wave_problem(d: int) -> Problem:
    def moment(k: int) -> complex:  # E exp(i k sum x)
        return ((cmath.exp(1j * k) - 1) / (1j * k)) ** d

    return Problem.of(wave, [(0, 1)] * d, moment(40).imag, (1 - moment(80).real) / 2)


def ridge(x: Floats) -> Floats:
    """Return a ridge across two normal coordinates, that rises with a third."""
    return np.asarray((1 + x[:, 2]) * np.exp(-4 * np.square(x[:, 0] + x[:, 1] - 1)))


def ridge_problem() -> Problem:
    """Return a problem that nothing was tuned on."""
    both = stats.norm(scale=math.sqrt(2))  # the sum of the normal coordinates

    def moment(k: int) -> float:
        def part(z: float) -> float:
            return math.exp(-4 * k * (z - 1) ** 2) * float(both.pdf(z))

        rise = (2 ** (k + 1) - 1) / (k + 1)  # E (1 + x)^k
        return rise * float(integrate.quad(part, -4, 6, points=[0, 1, 2])[0])

    return Problem.of(ridge, [stats.norm(), stats.norm(), (0, 1)], moment(1), moment(2))


def simplex(x: Floats) -> Floats:
    """Return 1 where the coordinates sum to less than 1."""
    return (x.sum(axis=1) < 1).astype(float)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "corner peak": partial(corner_problem, 2),
    "corner peak, 5 dimensions": partial(corner_problem, 5),
    "discontinuous": partial(discontinuous_problem, 2),
    "discontinuous, 5 dimensions": partial(discontinuous_problem, 5),
    "quarter of a disc": lambda: Problem.of(disc, [(0, 1)] * 2, *[0.3 * math.pi / 4] * 2),
    "a wave, 20 dimensions": partial(wave_problem, 20),
    "corner peak, 20 dimensions": partial(corner_problem, 20),
    "sharp corner peak, 20 dimensions": partial(corner_problem, 20, 10.0),
    "ridge across two normals (untuned)": ridge_problem,
    "simplex, 4 dimensions (untuned)": lambda: Problem.of(simplex, [(0, 1)] * 4, *[1 / 24] * 2),
}


def measure(name: str, runs: int) -> dict[str, Any]:
    problem = PROBLEMS[name]()
    mean, plain = problem.mean, problem.plain
    play = partial(cr.stratify, problem.function, over=problem.over, splits="adaptive")
    squares, claimed, covered, boxes, pilots, silent = [], [], [], [], [], 0
    for run in range(runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.CroupierWarning)
            result = play(draws=DRAWS, rng=run, progress=False)
        squares.append(DRAWS * (result.value - mean) ** 2 / plain)
        claimed.append(DRAWS * result.stderr**2 / plain)
        covered.append(result.interval[0] <= mean <= result.interval[1])
        boxes.append(len(result.arms))
        pilots.append(1 - result.draws / DRAWS)
        silent += abs(result.value - mean) > 4 * result.stderr and not result.warnings
    return {
        "problem": name,
        "runs": runs,
        "ratio": float(np.mean(squares)),
        "ratio_se": float(np.std(squares) / math.sqrt(runs)),
        "claimed": float(np.mean(claimed)),
        "halves": problem.halves() / plain,
        "coverage": float(np.mean(covered)),
        "silent": int(silent),
        "pilot": float(np.mean(pilots)),
        "boxes": float(np.mean(boxes)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--problem", action="append", choices=list(PROBLEMS))
    options = parser.parse_args()
    for name in options.problem or PROBLEMS:
        row = measure(name, options.runs)
        report.show(name, [row])
        report.write("grown-strata", [row], ("problem",))
    pages.main()


if __name__ == "__main__":
    main()
