"""make bench-modes, second part: the same posteriors with many seeds.

Two modes of unequal width, for which 50 seeds say how often an interval covers and how often an
answer is silently wrong, and two problems that were made after the constants were chosen. One row
for each problem and seed, in docs/benchmarks/evidence-replications.csv. A row that is there is not
run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import scipy.stats as st

from benchmarks import pages, report
from benchmarks.evidence_modes import answered
from benchmarks.evidence_problems import Problem, two

NAME = "evidence-replications"
KEY = ("problem", "seed")


def two_under_a_normal_prior(d: int, wide: float, narrow: float) -> Problem:
    """Return two modes of unequal width under N(0, 5)."""
    modes = ((0.3, -5, wide), (0.7, 5, narrow))
    parts = [np.log(w) + d * st.norm.logpdf(m, 0, np.hypot(5, s)) for w, m, s in modes]
    flat = two(d, wide, narrow)
    return Problem(flat.log_likelihood, [st.norm(0, 5)] * d, float(np.logaddexp(*parts)))


def student_and_banana() -> Problem:
    """Return a Student's mode (4 degrees of freedom) and a curved one, in 5 dimensions.

    The curve has a Jacobian of 1, so both are normalised; 1e-4 of them is outside the box.
    """
    student = st.multivariate_t(np.full(5, -6.0), 0.25 * (0.5 * np.eye(5) + 0.5), df=4)

    def log_likelihood(x: Any) -> Any:
        bend = x[:, 1] - 0.5 * (x[:, 0] ** 2 - 2.25)
        banana = st.norm.logpdf(x[:, 0], 0, 1.5) + st.norm.logpdf(bend, 0, 0.4)
        banana = banana + st.norm.logpdf(x[:, 2:], 3, 0.7).sum(axis=1)
        return np.logaddexp(np.log(0.4) + student.logpdf(x), np.log(0.6) + banana)

    return Problem(log_likelihood, [st.uniform(-20, 40)] * 5, -5 * np.log(40))


def two_explanations() -> Problem:
    """Return a regression whose first two columns are nearly the same, and sparse coefficients.

    A coefficient is N(0, 0.05^2) or N(0, 2^2), with equal chances, so Z is a sum over 2^6 normal
    densities of the data.
    """
    rng = np.random.default_rng(19)
    x = rng.standard_normal((40, 6))
    x[:, 1] = x[:, 0] + 0.05 * rng.standard_normal(40)
    y = 1.5 * x[:, 0] - 0.8 * x[:, 3] + 0.5 * rng.standard_normal(40)
    scales = np.array([0.05, 2.0])

    def sample(rng: np.random.Generator, size: int) -> Any:
        return scales[rng.integers(2, size=(size, 6))] * rng.standard_normal((size, 6))

    def logpdf(b: Any) -> Any:
        logs = [np.log(0.5) - 0.5 * (b / s) ** 2 - np.log(s * np.sqrt(2 * np.pi)) for s in scales]
        return np.logaddexp(*logs).sum(axis=1)

    def log_likelihood(b: Any) -> Any:
        away = (y - b @ x.T) / 0.5
        return -0.5 * (away**2).sum(axis=1) - 40 * np.log(0.5 * np.sqrt(2 * np.pi))

    parts = [
        st.multivariate_normal(np.zeros(40), 0.25 * np.eye(40) + (x * np.array(s) ** 2) @ x.T)
        .logpdf(y) - 6 * np.log(2)
        for s in product(scales, repeat=6)
    ]  # fmt: skip
    prior: Any = (sample, logpdf)
    return Problem(log_likelihood, prior, float(np.logaddexp.reduce(parts)))


#: Each problem with its number of seeds.
PROBLEMS: dict[str, tuple[Callable[[], Problem], int]] = {
    "two modes .6/.4, d = 8": (lambda: two(8, 0.6, 0.4), 50),
    "two modes .5/.2, d = 4": (lambda: two(4, 0.5, 0.2), 50),
    "two modes .8/.4, d = 8": (lambda: two(8, 0.8, 0.4), 50),
    "two modes 1/.3, d = 8": (lambda: two(8, 1.0, 0.3), 50),
    "two modes .6/.4, d = 8, normal prior": (lambda: two_under_a_normal_prior(8, 0.6, 0.4), 50),
    "Student's and a banana, d = 5": (student_and_banana, 20),
    "two explanations, d = 6": (two_explanations, 20),
}


def measured(name: str, seed: int) -> dict[str, Any]:
    """Return the row of one run."""
    problem = PROBLEMS[name][0]()
    result, cpu = answered(problem, seed)
    low, high = result.log_interval
    pilot = result.details["pilot"]
    return {
        "problem": name,
        "seed": seed,
        "error": f"{result.log_value - problem.truth:.5f}",
        "claimed": f"{result.log_stderr:.5f}",
        "covered": int(low <= problem.truth <= high),
        "warned": int(bool(result.warnings)),
        "components": pilot.get("modes", 0),
        "evaluations": int(pilot["evaluations"] + result.cost),
        "cpu s": f"{cpu:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-modes", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, help="at most; some problems have fewer")
    parser.add_argument("--problem", help="those with this in their name")
    options = parser.parse_args()
    wanted = [
        (name, seed)
        for seed in range(options.seeds)
        for name, (_, seeds) in PROBLEMS.items()
        if seed < seeds and (options.problem is None or options.problem in name)
    ]
    report.fill(NAME, KEY, wanted, measured)
    pages.main()


if __name__ == "__main__":
    main()
