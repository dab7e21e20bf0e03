"""The evidence of hard posteriors, beside other libraries, which get the same numpy likelihood."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

import croupier as cr
from benchmarks import runner
from benchmarks.evidence_problems import PROBLEMS, Problem
from benchmarks.pages import Table
from benchmarks.runner import load

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


def by_croupier(problem: Problem, likelihood: Any, seed: int) -> Answer:
    result = cr.evidence(
        likelihood, problem.prior, cost=EVALUATIONS, rtol=RTOL, rng=seed, vectorised=True,
        progress=False,
    )  # fmt: skip
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


def by_dynesty(problem: Problem, likelihood: Any, seed: int) -> Answer:
    dynesty: Any = load("dynesty", "evidence")
    sampler = dynesty.NestedSampler(
        lambda x: float(likelihood(x[None])[0]), transform(problem), len(problem.prior),
        nlive=500, rstate=np.random.default_rng(seed),
    )  # fmt: skip
    sampler.run_nested(print_progress=False)
    return Answer(float(sampler.results.logz[-1]), float(sampler.results.logzerr[-1]))


def by_nautilus(problem: Problem, likelihood: Any, seed: int) -> Answer:
    nautilus: Any = load("nautilus", "evidence")
    sampler = nautilus.Sampler(
        transform(problem), likelihood, len(problem.prior), n_live=2000, vectorized=True, seed=seed,
        pass_dict=False,
    )  # fmt: skip
    sampler.run(verbose=False)
    return Answer(float(sampler.log_z), float(1 / np.sqrt(sampler.n_eff)))


SAMPLERS: dict[str, Callable[[Problem, Any, int], Answer]] = {
    "croupier": by_croupier,
    "nautilus": by_nautilus,
    "dynesty": by_dynesty,
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


def played(name: str, library: str, seed: int) -> dict[str, Any]:
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
            with within(LIMIT):
                answer = SAMPLERS[library](problem, counted, seed)
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


#: What the quick form plays.
QUICK = ("two modes .5/.2, d = 4", "shells, d = 2", "eight schools")


def _runs(full: bool) -> Iterator[tuple[str, str, int]]:
    for seed in range(10 if full else 1):
        for library in SAMPLERS:
            yield from ((name, library, seed) for name in (PROBLEMS if full else QUICK))


BENCHMARKS = (runner.Benchmark("evidence-runs", ("problem", "library", "seed"), _runs, played),)


# -- tables


def _rms(rows: list[dict[str, str]], column: str) -> str:
    return f"{(sum(float(row[column]) ** 2 for row in rows) / len(rows)) ** 0.5:.3g}"


def modes() -> Table:
    """Return the errors of log Z on the hard posteriors that croupier has played.

    A library without a run that ended has no row.
    """
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    measured = runner.read("evidence-runs")
    ended = {(row["problem"], row["library"]) for row in measured if row["done"] == "1"}
    for row in measured:
        key = row["problem"], row["library"]
        if key in ended and (row["problem"], "croupier") in ended:
            groups.setdefault(key, []).append(row)
    problems = list(dict.fromkeys(problem for problem, _ in groups))
    rows = []
    for problem, library in sorted(groups, key=lambda group: problems.index(group[0])):
        runs = groups[problem, library]
        done = [row for row in runs if row["done"] == "1"]
        cells = ["-"] * 2
        if done:
            cells = [_rms(done, "error"), _rms(done, "claimed")]
        evaluations = sum(float(row["evaluations"]) for row in runs) / len(runs)
        rows.append([problem, library, *cells, f"{evaluations:,.0f}"])
    return ["problem", "library", "rmse", "claimed", "evaluations"], rows


TABLES: dict[str, Callable[[], Table]] = {"evidence-modes": modes}
