"""make bench-modes, third part: which library is faster to the same true error?

On these problems dynesty is right within a few seconds, with an error of about 0.1 in log Z. The
runs of croupier in the first part have smaller errors and take longer. Here croupier has a small
budget, so that both errors are about the same. Both libraries take turns, one row for each problem,
library and seed, in docs/benchmarks/evidence-small.csv. A row that is there is not run again.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, Final

from benchmarks import pages, report
from benchmarks.evidence_modes import KEY, LIMIT, Answer, Libraries, answered, measured, of_dynesty
from benchmarks.evidence_problems import Problem

NAME: Final = "evidence-small"

#: croupier's evaluations, and the half-width of its interval: two standard errors of 0.1.
EVALUATIONS: Final = 100_000
RTOL: Final = 0.2

#: Where dynesty is right and takes less than ten seconds.
PROBLEMS: Final = (
    "shells, d = 2", "shells, d = 5", "eight schools", "Rosenbrock, d = 2", "loggamma, d = 2",
    "2 modes, d = 2", "5 modes, d = 2", "10 modes, d = 2",
)  # fmt: skip


def of_croupier(problem: Problem, likelihood: Any, seed: int, limit: float) -> Answer:
    own = problem._replace(log_likelihood=likelihood)
    result, _ = answered(own, seed, cost=EVALUATIONS, rtol=RTOL)
    return Answer(result.log_value, result.log_stderr, bool(result.warnings))


LIBRARIES: Libraries = {"croupier": of_croupier, "dynesty": of_dynesty}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-modes", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problem", help="those with this in their name")
    options = parser.parse_args()
    wanted = [
        (name, library, seed)
        for seed in range(options.seeds)
        for name in PROBLEMS
        for library in LIBRARIES
        if options.problem is None or options.problem in name
    ]
    report.fill(NAME, KEY, wanted, partial(measured, limit=LIMIT, libraries=LIBRARIES))
    pages.main()


if __name__ == "__main__":
    main()
