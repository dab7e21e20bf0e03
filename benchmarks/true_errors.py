"""Evaluations to a true error: what an integrator needs, whatever it claims.

A run that stops early looks cheap, also if its error bar is wrong. So every method runs on without
a tolerance, and its values are compared with the exact one. `evaluations` is the smallest number
from which on the root mean square of the relative errors (over the seeds) stays below the target.
For vegas all evaluations count; for nets of one size after the other, only those of the last size.
Run it with `python -m benchmarks.true_errors`.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import report
from benchmarks.held_out_problems import held_out
from benchmarks.peer_problems import Problem, problems
from benchmarks.peers import Counted, load

#: No path is longer. With 2**16, qmc_quad did not reach 0.001 on a third of the problems, most of
#: them those where it needs far more than croupier, and they were left out.
MOST = 2**18
TARGETS = (1e-2, 1e-3, 1e-4)
KEY = ("problem", "method", "rtol")

Step = tuple[int, float]
Path = Callable[[Problem, int], Iterator[Step]]


def croupier(problem: Problem, seed: int) -> Iterator[Step]:
    """Yield the estimates of one run that wants a small error, after each of its stages."""
    cube = [(0, 1)] * problem.dimension
    result = cr.integrate(problem.f, cube, rtol=1e-4, draws=MOST, rng=seed, progress=False)
    spent = 64
    while spent <= MOST:
        yield spent, float(result.history.at(min(spent, result.draws)))
        spent = math.ceil(spent * 2**0.25)


def vegas(problem: Problem, seed: int) -> Iterator[Step]:
    """Yield the results of 10 iterations after 10 for training, of doubled sizes."""
    library, f = load("vegas"), Counted(problem)
    rng, size = np.random.default_rng(seed), 100
    integrator = library.Integrator(
        [[0, 1]] * problem.dimension, ran_array_generator=lambda shape: rng.random(shape)
    )
    g = library.lbatchintegrand(f)
    integrator(g, nitn=10, neval=size)
    while f.evaluations + 10 * size <= MOST:
        value = integrator(g, nitn=10, neval=size).mean
        yield f.evaluations, float(value)
        size *= 2


def qmc_quad(problem: Problem, seed: int) -> Iterator[Step]:
    """Yield the means of eight nets of scipy, as `qmc_quad` makes them."""
    yield from _nets(problem, seed, 8)


def one_net(problem: Problem, seed: int) -> Iterator[Step]:
    """Yield the means of one net, as CubQMCSobolG and CubQMCBayesNetG make them."""
    yield from _nets(problem, seed, 1)


def _nets(problem: Problem, seed: int, count: int) -> Iterator[Step]:
    from scipy.stats import qmc

    rngs = np.random.SeedSequence([seed, count]).spawn(count)
    size = MOST // count
    engines = [qmc.Sobol(problem.dimension, rng=np.random.default_rng(rng)) for rng in rngs]
    inside = 2.0**-32
    sums = np.mean([np.cumsum(problem.f(one.random(size) + inside)) for one in engines], axis=0)
    points = 64 // count
    while points <= size:
        yield count * points, float(sums[points - 1] / points)
        points *= 2


PATHS: dict[str, Path] = {
    "croupier": croupier, "vegas": vegas, "qmc_quad": qmc_quad, "one net": one_net,
}  # fmt: skip


def measure(problem: Problem, name: str, seeds: int) -> list[dict[str, Any]]:
    """Return one row for each target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [list(PATHS[name](problem, seed)) for seed in range(1, seeds + 1)]
    steps = min(len(path) for path in paths)
    spent = np.median([[n for n, _ in path[:steps]] for path in paths], axis=0)
    values = np.array([[value for _, value in path[:steps]] for path in paths])
    error = np.sqrt(np.square(values / problem.value - 1).mean(axis=0))
    later = np.maximum.accumulate(np.nan_to_num(error, nan=np.inf)[::-1])[::-1]
    rows = []
    for target in TARGETS:
        at = int(np.searchsorted(-later, -target))
        found = round(float(spent[at])) if at < steps else ""
        rows.append(
            {"problem": problem.name, "group": problem.group, "method": name,
             "rtol": f"{target:g}", "runs": seeds, "evaluations": found}
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", action="append", choices=list(PATHS))
    parser.add_argument("--seeds", type=int, default=8)
    args = parser.parse_args()
    for problem in [*problems(), *held_out()]:
        for name in args.method or PATHS:
            report.write("peer-true-errors", measure(problem, name, args.seeds), KEY)


if __name__ == "__main__":
    main()
