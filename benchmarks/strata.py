"""Strata: how often the interval of `stratify` covers, and what strata that grow gain.

Every family of given strata is played by the default policy (MC-UCB in epochs), by the same policy
without epochs (every draw decides about the next one) and in proportion to the weights. `ratio` is
n times the mean squared error, and `claimed` n times the mean squared standard error, both divided
by the best value (sum w_k sigma_k)^2.

For strata that grow, the pilot included, both are divided by the variance of plain draws. `halves`
is the variance of proportional strata with two halves per axis, divided by the same (up to 5
dimensions). Means and variances are exact: closed formulas, or quadrature in one dimension.
"""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy import integrate, stats

import croupier as cr
from benchmarks import runner
from benchmarks.pages import Table
from croupier.data.draws import Floats
from croupier.running.loop import conduct
from croupier.running.settings import settings_of
from croupier.spaces.base import Moved
from croupier.spaces.read_space import read_space
from croupier.tables.base import kind_of
from croupier.tables.strata_kind import strata_of

# -- given strata

Draw = Callable[[np.random.Generator, int], Any]


def exponential(scale: float) -> Draw:
    return lambda rng, size: rng.exponential(scale, size)


def lognormal(scale: float) -> Draw:
    return lambda rng, size: scale * rng.lognormal(-0.5, 1.0, size)


def normal(scale: float) -> Draw:
    return lambda rng, size: rng.normal(0.0, scale, size)


class Family(NamedTuple):
    """Strata of equal weight: `sigma` are their standard deviations, `mu` is the answer."""

    draws: tuple[Draw, ...]
    sigma: np.ndarray
    mu: float


def family(draw: Callable[[float], Draw], scales: Sequence[float], spread: float = 1.0) -> Family:
    mu = 0.0 if draw is normal else float(np.mean(scales))
    return Family(tuple([draw(scale) for scale in scales]), spread * np.array(scales), mu)


_SCALES = np.random.default_rng(5).uniform(0.5, 2.0, 100).tolist()
_NORMAL = [0.1, 0.3, 1.0, 2.0, 3.0]
_E = float(np.sqrt(np.e - 1))

FAMILIES: dict[str, tuple[Family, tuple[int, ...]]] = {
    "20 exponential": (family(exponential, [1.0] * 20), (400,)),
    "100 exponential": (family(exponential, [1.0] * 100), (1000, 2000, 10_000)),
    "100 exponential, scales 0.5 to 2": (family(exponential, _SCALES), (1000, 10_000)),
    "100 lognormal": (family(lognormal, [1.0] * 100, _E), (1000,)),
    "5 normal, deviations 0.1 to 3": (family(normal, _NORMAL), (100, 1000, 10_000)),
    "50 normal, deviations 0.1 to 3": (family(normal, _NORMAL * 10), (1000,)),
}
POLICIES = ("epochs", "no epochs", "proportional")


def played(some: Family, draws: int, policy: str, seed: int) -> cr.Result:
    """Return one run. Without epochs, the plan does not mention them."""
    arms = [cr.Arm(draw, name=f"s{k}") for k, draw in enumerate(some.draws)]
    weights = [1 / len(arms)] * len(arms)
    if policy != "no epochs":
        named = "mc-ucb" if policy == "epochs" else policy
        return cr.stratify(arms, weights, draws=draws, policy=named, rng=seed, progress=False)
    settings = settings_of(draws, rng=seed, progress=False)
    table = strata_of(weights, cr.policies.MCUCB())
    del table["settings"]["epochs"]
    names = tuple([str(arm.name) for arm in arms])
    plan = cr.Plan(names, seed, policy={"name": "mc-ucb"}, combine="strata", **table)
    if draws < 10 * len(arms):
        plan = replace(plan, first=2)
    return conduct(kind_of("strata").make, plan, arms, settings, None)


def measured(name: str, draws: int, policy: str, runs: int) -> dict[str, Any]:
    some = FAMILIES[name][0]
    first = crc32(f"{name}, {draws}".encode())  # the rows of a table are independent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CroupierWarning)
        results = [played(some, draws, policy, first + run) for run in range(runs)]
    off = np.array([result.value for result in results]) - some.mu
    error = np.array([result.stderr for result in results])
    low, high = np.array([result.interval for result in results]).T
    best = float(some.sigma.mean()) ** 2 / draws
    covered = float(np.mean((low <= some.mu) & (some.mu <= high)))
    return {
        "family": name,
        "draws": draws,
        "policy": policy,
        "runs": runs,
        "covered": covered,
        "covered_se": float(np.sqrt(max(covered * (1 - covered), 0.01) / runs)),
        "bias": float(np.mean(off / error)),
        "ratio": float(np.mean(off**2) / best),
        "ratio_se": float(np.std(off**2) / best / np.sqrt(runs)),
        "claimed": float(np.mean(error**2) / best),
    }


# -- strata that grow

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


def grown(name: str, runs: int) -> dict[str, Any]:
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


# -- what is measured


def _cells(full: bool) -> Iterator[tuple[str, int, str, int]]:
    for name, (_, sizes) in FAMILIES.items():
        for draws in sizes if full else sizes[:1]:
            for policy in POLICIES:
                yield name, draws, policy, (500 if policy == "epochs" else 100) if full else 10


BENCHMARKS = (
    runner.Benchmark("strata", ("family", "draws", "policy"), _cells, measured),
    runner.Benchmark(
        "grown-strata",
        ("problem",),
        lambda full: ((n, 200 if full else 4) for n in PROBLEMS),
        grown,
    ),
)


# -- tables


def _strata() -> Table:
    """Return claimed variance, coverage and mean error of strata, by family and policy."""
    found = {(r["family"], r["draws"], r["policy"]): r for r in runner.read("strata")}
    shown = {"epochs": 3, "no epochs": 3, "proportional": 1}  # its mean is not biased
    body = []
    for family, draws in sorted({key[:2] for key in found}, key=lambda row: (row[0], int(row[1]))):
        cells = [family, f"{int(draws):,}"]
        for policy, most in shown.items():
            row = found.get((family, draws, policy))
            cells += ["-"] * most if row is None else [
                f"{float(row['claimed']):.3f}",
                f"{float(row['covered']):.3f} ± {float(row['covered_se']):.3f}",
                f"{float(row['bias']):+.2f}",
            ][:most]  # fmt: skip
        body.append(cells)
    measures = ("claimed", "covers", "bias")
    columns = [f"{policy}, {what}" for policy, most in shown.items() for what in measures[:most]]
    return ["strata", "draws", *columns], body


def _grown_strata() -> Table:
    """Return what strata that grow take from the variance."""
    rows = [
        [
            row["problem"],
            row["runs"],
            f"{float(row['ratio']):.3f} ± {float(row['ratio_se']):.3f}",
            f"{float(row['claimed']):.3f}",
            "-" if row["halves"] == "nan" else f"{float(row['halves']):.3f}",
            f"{float(row['coverage']):.3f}",
            row["silent"],
            f"{100 * float(row['pilot']):.0f} %",
        ]
        for row in runner.read("grown-strata")
    ]
    header = ["function", "runs", "ratio", "claimed", "two halves per axis", "coverage",
              "silent misses", "pilot"]  # fmt: skip
    return header, rows


TABLES: dict[str, Callable[[], Table]] = {"strata": _strata, "grown-strata": _grown_strata}
