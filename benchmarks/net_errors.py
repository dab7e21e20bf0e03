"""The true errors of point sets with a fixed number of points, on the problems where a peer wins.

It answers two questions about `cr.integrate`. Does one large net reach the tolerance where the
peers stop that use one net? Would lattices be better than nets? The lattices are of rank 1, with a
random shift, and found component by component for product weights 1/j in the Korobov space of
smoothness 2 (Nuyens and Cools, Mathematics of Computation 75, 2006). The tent 1 - |2u - 1| makes
them fast for functions that are not periodic (Hickernell, 2002). Run it with
`python -m benchmarks.net_errors`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks import pages, report
from benchmarks.held_out_problems import held_out
from benchmarks.peer_problems import Problem, problems
from croupier.integration.nets import net_points

#: The points of all nets together, or of one net.
SIZES = (4096, 8192, 16384, 32768, 65536)
PROBLEMS = ("exchange 10", "cosine 20", "gaussian 5", "polynomial 6", "waves 5")
KEY = ("problem", "points", "method")

#: No lattice is larger: the search takes n^2 steps.
LARGEST_LATTICE = 4096


@cache
def generator(n: int, d: int) -> tuple[int, ...]:
    """Return the generating vector of a lattice with n points, a power of two."""
    x, k = np.arange(n) / n, np.arange(n)
    omega = 2 * np.pi**2 * (x * x - x + 1 / 6)
    found, product = [1], 1 + omega
    candidates = np.arange(1, n // 2, 2)
    for j in range(1, d):
        parts = np.array_split(candidates, max(1, len(candidates) * n // 2**22))
        errors = [omega[np.multiply.outer(part, k) % n] @ product for part in parts]
        found.append(int(candidates[np.concatenate(errors).argmin()]))
        product = product * (1 + omega[k * found[-1] % n] / (j + 1))
    return tuple(found)


def nets(problem: Problem, points: int, seed: int, count: int) -> float:
    """Return the mean over some scrambled Sobol nets."""
    n, d = points // count, problem.dimension
    return float(np.mean([problem.f(net_points(seed, 0, r, d, 0, n)) for r in range(count)]))


def lattices(problem: Problem, points: int, seed: int, *, tent: bool) -> float:
    """Return the mean over four lattices with random shifts."""
    n, rng = points // 4, np.random.default_rng(seed)
    z, means = np.array(generator(n, problem.dimension)), []
    for _ in range(4):
        u = (np.outer(np.arange(n), z) / n + rng.random(len(z))) % 1
        u = 1 - np.abs(2 * u - 1) if tent else u
        means.append(problem.f(np.clip(u, 1e-12, 1 - 1e-12)).mean())
    return float(np.mean(means))


METHODS: dict[str, Callable[[Problem, int, int], float]] = {
    "4 nets": lambda problem, points, seed: nets(problem, points, seed, 4),
    "one net": lambda problem, points, seed: nets(problem, points, seed, 1),
    "4 lattices": lambda problem, points, seed: lattices(problem, points, seed, tent=False),
    "4 lattices, tent": lambda problem, points, seed: lattices(problem, points, seed, tent=True),
}


def measure(problem: Problem, points: int, name: str, seeds: int) -> dict[str, Any]:
    """Return the row of one problem, one size and one method."""
    values = [METHODS[name](problem, points, seed) for seed in range(1, seeds + 1)]
    off = np.abs(np.array(values) / problem.value - 1)
    return {
        "problem": problem.name, "points": points, "method": name, "runs": seeds,
        "rms error": f"{float(np.sqrt(np.mean(off**2))):.2g}",
        "above 0.001": int((off > 1e-3).sum()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    for problem in [*problems(), *held_out()]:
        if problem.name not in PROBLEMS:
            continue
        rows = [
            measure(problem, points, name, args.seeds)
            for points in SIZES
            for name in METHODS
            if "lattices" not in name or points <= 4 * LARGEST_LATTICE
        ]
        report.write("net-errors", rows, KEY)
        report.show(problem.name, rows)
    pages.main()


if __name__ == "__main__":
    main()
