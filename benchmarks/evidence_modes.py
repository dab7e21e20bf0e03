"""make bench-evidence, second part: hard posteriors, compared with dynesty and nautilus.

One row for each problem, library and seed, in docs/benchmarks/evidence-runs.csv. A row that is
there is not run again, so an interrupted benchmark continues. A run that takes more CPU time than
the limit is noted as not done. croupier is asked for an error of 0.025 in log Z within 4 million
evaluations, so its rows are the same on a busy machine.
dynesty has 500 live points and its own choice of bounds and moves, nautilus 2000 live points.
"""

from __future__ import annotations

import argparse
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri

import croupier as cr
from benchmarks import pages, report
from benchmarks.evidence_problems import PROBLEMS, Problem
from benchmarks.rivals import load

NAME = "evidence-runs"
KEY = ("problem", "library", "seed")

#: Seconds of CPU time that a run may take.
LIMIT = 60

#: The half-width of croupier's interval, two standard errors of 0.025, and its evaluations.
RTOL = 0.05
EVALUATIONS = 4_000_000


class Answer(NamedTuple):
    """log Z with its claimed error, and whether the library warned."""

    log_z: float
    error: float
    warned: bool = False


class TooLongError(Exception):
    """Ends a run that takes longer than its limit."""


def answered(
    problem: Problem, seed: int, cost: float = EVALUATIONS, rtol: float = RTOL
) -> tuple[Any, float]:
    """Return what croupier says of a problem, quietly, and the CPU seconds that it took."""
    cpu = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = cr.evidence(
            problem.log_likelihood, problem.prior, cost=cost, rtol=rtol, rng=seed,
            vectorised=True, progress=False,
        )  # fmt: skip
    return result, time.process_time() - cpu


def of_croupier(problem: Problem, likelihood: Any, seed: int, limit: float) -> Answer:
    result, _ = answered(problem._replace(log_likelihood=likelihood), seed)
    return Answer(result.log_value, result.log_stderr, bool(result.warnings))


def _line(law: Any) -> tuple[float, float]:
    """Return a and b of the parameter a + b v: v is uniform, or standard normal."""
    if law.dist.name == "uniform":
        return law.ppf(0.0), law.ppf(1.0) - law.ppf(0.0)
    return (law.mean(), law.std()) if law.dist.name == "norm" else (0.0, 1.0)


def transform(problem: Problem) -> Callable[[Any], Any]:
    """Return the function from the unit cube to the parameters; points may be (d,) or (m, d)."""
    kinds = [law.dist.name for law in problem.prior]
    normal = np.array([kind == "norm" for kind in kinds])
    others = [i for i, kind in enumerate(kinds) if kind not in ("uniform", "norm")]
    low, scale = np.array([_line(law) for law in problem.prior]).T

    def to(u: Any) -> Any:  # without the overhead of scipy, which would be most of the time
        x = low + scale * np.where(normal, ndtri(u), u)
        for i in others:
            x[..., i] = problem.prior[i].ppf(u[..., i])
        return x

    return to


def of_dynesty(problem: Problem, likelihood: Any, seed: int, limit: float) -> Answer:
    dynesty: Any = load("dynesty")
    sampler = dynesty.NestedSampler(
        lambda x: float(likelihood(x[None])[0]), transform(problem), len(problem.prior),
        nlive=500, rstate=np.random.default_rng(seed),
    )  # fmt: skip
    sampler.run_nested(print_progress=False)
    return Answer(float(sampler.results.logz[-1]), float(sampler.results.logzerr[-1]))


def of_nautilus(problem: Problem, likelihood: Any, seed: int, limit: float) -> Answer:
    nautilus: Any = load("nautilus")
    sampler = nautilus.Sampler(
        transform(problem), likelihood, len(problem.prior), n_live=2000, vectorized=True, seed=seed,
        pass_dict=False,
    )  # fmt: skip
    sampler.run(verbose=False)
    return Answer(float(sampler.log_z), float(1 / np.sqrt(sampler.n_eff)))


Libraries: TypeAlias = Mapping[str, Callable[[Problem, Any, int, float], Answer]]

LIBRARIES: Libraries = {
    "croupier": of_croupier,
    "nautilus": of_nautilus,
    "dynesty": of_dynesty,
}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise an error if the block takes more CPU time."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def measured(
    name: str, library: str, seed: int, limit: float, libraries: Libraries = LIBRARIES
) -> dict[str, Any]:
    """Return the row of one run."""
    problem, evaluations = PROBLEMS[name](), 0

    def counted(points: Any) -> Any:
        nonlocal evaluations
        evaluations += len(points)
        return problem.log_likelihood(points)

    began, cpu = time.perf_counter(), time.process_time()
    answer = Answer(np.nan, np.nan)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with within(limit):
                answer = libraries[library](problem, counted, seed, limit)
        except TooLongError:
            pass
        except cr.ArmError as error:  # the limit was reached within an arm
            if TooLongError.__name__ not in str(error):
                raise
    return {
        "problem": name,
        "library": library,
        "seed": seed,
        "done": int(np.isfinite(answer.log_z)),
        "error": f"{answer.log_z - problem.truth:.5f}",
        "claimed": f"{answer.error:.5f}",
        "warned": int(answer.warned),
        "evaluations": evaluations,
        "cpu s": f"{time.process_time() - cpu:.2f}",
        "s": f"{time.perf_counter() - began:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-evidence", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problem", help="those with this in their name")
    parser.add_argument("--library", action="append", choices=LIBRARIES)
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds of a run")
    options = parser.parse_args()
    wanted = [
        (name, library, seed)
        for seed in range(options.seeds)
        for library in options.library or LIBRARIES
        for name in PROBLEMS
        if options.problem is None or options.problem in name
    ]
    report.fill(NAME, KEY, wanted, partial(measured, limit=options.limit))
    pages.main()


if __name__ == "__main__":
    main()
