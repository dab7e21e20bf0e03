"""What it costs to learn the parameters of an estimator while drawing.

`I` is what the allocation costs compared with the best point of the box: n divided by
V* sum n_k/V_k, in cost where draws have costs. The variances of all points are known. `ratio` is
the mean squared error compared with the best point, `bias` the mean error in standard errors, and
`silent` the runs that are off by more than four standard errors without a warning. The caplet of
the paper is played by the continuum and, beside it, by the default policy on the paper's 16 drifts.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy import integrate, stats

import croupier as cr
from benchmarks import runner
from benchmarks.pages import Table
from croupier.arms.continuum import Continuum
from croupier.data.draws import Floats
from paper import Caplet

DRAWS = 10_000


class Problem(NamedTuple):
    """Arms with known cost times variance at every point, and the best value in the whole box."""

    arms: Any
    loss: Floats
    best: float
    mean: float
    unit: str = "draws"
    policy: str = "auto"


@dataclass(frozen=True)
class Drifted:
    """The caplet with a drift of the Brownian motion."""

    caplet: Caplet

    def __call__(self, rng: np.random.Generator, size: int, drift: float) -> Any:
        """Draw at one drift."""
        return self.caplet.arms([drift])[0].draw(rng, size)


def caplet(strike: float, grid: bool) -> Problem:
    one = Caplet(strike)
    fine = one.exact(np.linspace(0, 1.5, 151).tolist())
    arms: Any = one.arms() if grid else cr.continuum(Drifted(one), drift=(0.0, 1.5))
    drifts = [k / 10 for k in range(16)] if grid else [point[0] for point in arms.points]
    exact = one.exact(drifts)
    return Problem(arms, exact.variances, float(fine.variances.min()), exact.price)


#: The chance that a standard normal number exceeds this is 1e-4.
FAR = float(stats.norm.isf(1e-4))


def tail(rng: np.random.Generator, size: int, mean: float, scale: float) -> Floats:
    """Draw from N((mean, 0), scale^2 I) and weigh: the first coordinate is beyond FAR."""
    z = rng.standard_normal((size, 2))
    x = scale * z + np.array([mean, 0.0])
    log_q = -0.5 * np.square(z).sum(axis=1) - 2 * math.log(scale)
    return (x[:, 0] > FAR) * np.exp(-0.5 * np.square(x).sum(axis=1) - log_q)


def tail_variance(mean: float, scale: float) -> float:
    """Return the variance of `tail`: one coordinate by quadrature, the other in closed form."""

    def square(x: float) -> float:
        return math.exp(-x * x + 0.5 * ((x - mean) / scale) ** 2) * scale / math.sqrt(2 * math.pi)

    along, _ = integrate.quad(square, FAR, FAR + 30, points=[FAR + 0.5, FAR + 2], epsabs=0)
    across = scale**2 / math.sqrt(2 * scale**2 - 1)
    return along * across - 1e-8


def tail_problem() -> Problem:
    arms = cr.continuum(tail, check=False, mean=(0.0, 6.0), scale=(0.9, 2.0))
    loss = np.array([tail_variance(*point) for point in arms.points])
    fine = [tail_variance(m, s) for m in np.linspace(3, 5, 41) for s in np.linspace(0.9, 1.2, 13)]
    return Problem(arms, loss, min(fine), 1e-4)


def tilted(rng: np.random.Generator, size: int, mean: float) -> Floats:
    """Draw P(Z > 4) with a mean; if it is above 6, nearly all draws are tiny."""
    z = rng.normal(mean, 1.0, size)
    return (z > 4) * np.exp(-mean * z + mean**2 / 2)


def wide_problem() -> Problem:
    """Return a box that is far too large: the variance is e^(m^2) P(Z > 4 + m) - p^2."""
    arms = cr.continuum(tilted, check=False, mean=(0.0, 9.0))
    p = float(stats.norm.sf(4))

    def loss(mean: Any) -> Any:
        return np.exp(mean**2 + stats.norm.logsf(4 + mean)) - p * p

    known = loss(np.array([point[0] for point in arms.points], float))
    return Problem(arms, known, float(loss(np.linspace(3, 5, 201)).min()), p)


def idle(rng: np.random.Generator, size: int, drift: float, colour: float) -> Any:
    """Draw the caplet at strike 0.07, whatever the colour."""
    return Drifted(Caplet(0.07))(rng, size, drift)


def idle_problem() -> Problem:
    arms = cr.continuum(idle, check=False, levels=33, drift=(0.0, 1.5), colour=(0.0, 1.0))
    one = Caplet(0.07)
    fine = one.exact(np.linspace(0, 1.5, 151).tolist())
    drifts = one.exact(sorted({point[0] for point in arms.points}))
    known = dict(zip(drifts.thetas, drifts.variances, strict=True))
    loss = np.array([known[point[0]] for point in arms.points])
    return Problem(arms, loss, float(fine.variances.min()), fine.price)


def block(rng: np.random.Generator, size: int, width: int) -> cr.Draws:
    """Draw the mean of a block; the cost has a part per call, per value and per pair of values."""
    values = rng.normal(1.0, 1 / math.sqrt(width), size)
    return cr.Draws(values, np.full(size, 20 + width + width**2 / 50))


def block_problem() -> Problem:
    arms = cr.continuum(block, width=range(1, 201))
    width = np.array([point[0] for point in arms.points], float)
    loss = (20 + width + width**2 / 50) / width
    every = np.arange(1, 201)
    return Problem(arms, loss, float((20 / every + 1 + every / 50).min()), 1.0, "cost")


def controlled(rng: np.random.Generator, size: int, coefficient: float) -> Floats:
    """Draw a call option with a lognormal share as its control variate."""
    share = np.exp(0.3 * rng.standard_normal(size))
    return np.maximum(share - 1.2, 0.0) - coefficient * (share - math.exp(0.045))


def controlled_problem() -> Problem:
    """Return a problem that nothing was tuned on: the moments by quadrature."""
    arms = cr.continuum(controlled, coefficient=(-1.0, 2.0))

    def moment(power: int, other: int) -> float:
        def part(z: float) -> float:
            share = math.exp(0.3 * z)
            return max(share - 1.2, 0.0) ** power * share**other * float(stats.norm.pdf(z))

        kink = math.log(1.2) / 0.3
        low = integrate.quad(part, -10, kink)[0] if power == 0 else 0.0
        return float(low + integrate.quad(part, kink, 12)[0])

    mean, centre = moment(1, 0), moment(0, 1)
    own, spread = moment(2, 0) - mean**2, moment(0, 2) - centre**2
    both = moment(1, 1) - mean * centre
    b = np.array([point[0] for point in arms.points], float)
    return Problem(arms, own - 2 * b * both + b * b * spread, own - both**2 / spread, mean)


def proposed(rng: np.random.Generator, size: int, shape: float, scale: float) -> Floats:
    """Draw x - 1 from a gamma distribution and weigh: E(X^3; X > 1) for a normal X."""
    x = 1 + rng.gamma(shape, scale, size)
    return cube(x) / stats.gamma.pdf(x - 1, shape, scale=scale)


def cube(x: Any) -> Any:
    return x**3 * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def proposed_problem() -> Problem:
    """Return a problem that nothing was tuned on, with two parameters."""
    arms = cr.continuum(proposed, shape=(0.6, 1.3), scale=(0.2, 2.0))
    mean, _ = integrate.quad(cube, 1, 12)

    def loss(shape: float, scale: float) -> float:
        # x = 1 + y^2: the density may be infinite or 0 where y is 0.
        def square(y: float) -> float:
            density = stats.gamma.pdf(y * y, shape, scale=scale)
            return float(2 * y * cube(1 + y * y) ** 2 / density)

        return float(integrate.quad(square, 0, 3.2, limit=200)[0]) - mean**2

    known = np.array([loss(*point) for point in arms.points])
    fine = min(loss(a, b) for a in np.linspace(0.6, 1.3, 15) for b in np.linspace(0.2, 2, 37))
    return Problem(arms, known, min(fine, float(known.min())), mean)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    **{f"caplet, strike {k}": lambda k=k: caplet(k, False) for k in (0.06, 0.07, 0.08)},  # type: ignore[misc]
    **{f"caplet, strike {k}, 16 drifts": lambda k=k: caplet(k, True) for k in (0.06, 0.07, 0.08)},  # type: ignore[misc]
    "tail of 1e-4, mean and scale": tail_problem,
    "caplet, strike 0.07, and an idle parameter": idle_problem,
    "size of a block, with its cost": block_problem,
    "tail of 3e-5, a box that is too large": wide_problem,
    "coefficient of a control variate (untuned)": controlled_problem,
    "gamma proposal, shape and scale (untuned)": proposed_problem,
}


def measure(name: str, runs: int) -> dict[str, Any]:
    """Return what the runs of one problem lost, and how often their interval covered."""
    problem = PROBLEMS[name]()
    names = list(problem.arms) if isinstance(problem.arms, Continuum) else None
    budget = {problem.unit: DRAWS if problem.unit == "draws" else 60 * DRAWS}
    lost, z, covered, squares, points, silent = [], [], [], [], [], 0
    for run in range(runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.CroupierWarning)
            seed = np.random.SeedSequence(crc32(name.encode()), spawn_key=(run,))
            result = cr.estimate(
                problem.arms, rng=seed, progress=False, policy=problem.policy, **budget
            )
        order = names or [str(arm.name) for arm in problem.arms]
        spent = np.array([result.arms[one].draws * (result.arms[one].cost_per_draw or 1.0)
                          if result.arms[one].draws else 0.0 for one in order])  # fmt: skip
        lost.append(spent.sum() / (problem.best * (spent / problem.loss).sum()))
        covered.append(result.interval[0] <= problem.mean <= result.interval[1])
        squares.append(spent.sum() * (result.value - problem.mean) ** 2 / problem.best)
        points.append(np.count_nonzero(spent))
        z.append((result.value - problem.mean) / result.stderr)
        silent += abs(z[-1]) > 4 and not result.warnings
    return {
        "problem": name,
        "runs": runs,
        "I": float(np.mean(lost)),
        "I_se": float(np.std(lost) / math.sqrt(runs)),
        "worst": float(np.max(lost)),
        "ratio": float(np.mean(squares)),
        "ratio_se": float(np.std(squares) / math.sqrt(runs)),
        "bias": float(np.mean(z)),
        "coverage": float(np.mean(covered)),
        "silent": int(silent),
        "points": float(np.mean(points)),
    }


def _cells(full: bool) -> Iterator[tuple[str, int]]:
    for name in PROBLEMS:
        yield name, 200 if full else 3


def _continuum() -> Table:
    """Return what a continuum costs beside the best point of its box."""
    rows = [
        [
            row["problem"],
            row["runs"],
            f"{float(row['I']):.3f} ± {float(row['I_se']):.3f}",
            f"{float(row['worst']):.2f}",
            f"{float(row['ratio']):.2f} ± {float(row['ratio_se']):.2f}",
            f"{float(row['bias']):+.2f}" if row["bias"] else "-",
            f"{float(row['coverage']):.3f}",
            row["silent"] or "-",
        ]
        for row in runner.read("continuum")
    ]
    header = ["problem", "runs", "I", "worst I", "ratio", "bias", "coverage", "silent misses"]
    return header, rows


BENCHMARKS = (runner.Benchmark("continuum", ("problem",), _cells, measure),)
TABLES: dict[str, Callable[[], Table]] = {"continuum": _continuum}
