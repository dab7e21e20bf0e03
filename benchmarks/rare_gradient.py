"""make bench-rare, part 5: what `gradient=` saves, on limit states with one and several modes.

The gradients are central differences, which are not counted: they stand for an adjoint code. The
rows without a gradient are those of benchmarks.rare.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from benchmarks.rare import BUDGET, lost_mode
from benchmarks.rare_problems import FIRST, MORE, Problem

CASES = (
    "RP22", "RP107", "RP111", "four-branch", "linear, d = 100", "four-branch, 18 dummies",
    "RP111, 8 dummies",
)  # fmt: skip


def gradient_of(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the gradient by central differences."""

    def gradient(x: Any) -> Any:
        away = 1e-6 * np.eye(x.shape[1])
        return np.column_stack([(g(x + step) - g(x - step)) / 2e-6 for step in away])

    return gradient


def measure(problem: Problem, seeds: int) -> dict[str, Any]:
    value, gradient = float(problem.value()), gradient_of(problem.g)
    calls, gradients, missed, silent, lost, warned = [], [], 0, 0, 0, 0
    for seed in range(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.CroupierWarning)
            result = cr.probability(
                problem.g,
                problem.over,
                gradient=gradient,
                draws=BUDGET,
                rtol=0.1,
                rng=seed,
                progress=False,
            )
        low, high = result.interval
        miss = not low <= value <= high
        missed, warned = missed + miss, warned + bool(result.warnings)
        silent += miss and not result.warnings
        lost += problem.modes is not None and lost_mode(problem, result.design_points)
        calls.append(result.draws)
        gradients.append(result.search["gradients"])
    return {
        "problem": problem.name,
        "seeds": seeds,
        "calls": round(float(np.mean(calls))),
        "gradients": round(float(np.mean(gradients))),
        "misses": missed,
        "silent misses": silent,
        "modes missed": lost if problem.modes is not None else "",
        "warned": warned,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=60)
    args = parser.parse_args()
    known = {problem.name: problem for problem in (*FIRST, *MORE)}
    for name in CASES:
        row = measure(known[name], args.seeds)
        report.write("rare-gradient", [row], ("problem",))
        report.show(name, [row])
    pages.main()


if __name__ == "__main__":
    main()
