"""What nets cost in one and two dimensions, beside a cubature.

Each problem is played by `cr.integrate` and by scipy's adaptive cubature.
`far` are the runs whose error is above four standard errors without a warning. Run it with
`python -m benchmarks.low_dimensions`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from benchmarks.low_dimension_problems import low_dimensions
from benchmarks.peer_problems import Problem
from benchmarks.peers import Counted, cubature

#: No run makes more evaluations than this.
MOST = 2**17
TOLERANCES = (1e-3, 1e-5)
KEY = ("problem", "rtol")


def measure(problem: Problem, rtol: float, seeds: Iterable[int]) -> dict[str, Any]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", action="append")
    parser.add_argument("--rtol", action="append", type=float)
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    for rtol in args.rtol or TOLERANCES:
        rows = [
            measure(problem, rtol, range(101, args.seeds + 101))
            for problem in low_dimensions()
            if not args.problem or problem.name in args.problem
        ]
        report.write("low-dimensions", rows, KEY)
        report.show(f"rtol {rtol:g}", rows)
    pages.main()


if __name__ == "__main__":
    main()
