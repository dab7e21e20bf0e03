"""make bench-peers: `cr.integrate` and other libraries, on 51 integrals with known values.

Every method runs to a claimed relative error. Evaluations, CPU time, the true error and whether the
error bar covered are measured; the figures are medians over seeds. A method that has no tolerance
is told what it should need: vegas doubles the evaluations per iteration (all count), qmc_quad the
points of its nets (only the last call counts, as if the user had known).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import croupier as cr
from benchmarks import pages, peer_picture, report
from benchmarks.held_out_problems import held_out
from benchmarks.peer_problems import Problem, problems
from benchmarks.peer_ratios import HELD_OUT, SEEN, ratios

#: No method makes more evaluations than this.
MOST = 2**22
TOLERANCES = (1e-2, 1e-3, 1e-4)
KEY = ("problem", "method", "rtol")
MISSING = """{name} is not installed. `make bench-peers` installs it with croupier into a separate
virtual environment. To do it by hand:
    pip install -c constraints.txt -e '.[plot]' -r benchmarks/peers.txt"""


class Answer(NamedTuple):
    """What one run of a method claims: a value and its error bar at 95 %, or a warning."""

    value: float
    half_width: float
    warned: bool = False


class Counted:
    """An integrand that counts its evaluations, for functions of arrays (..., d)."""

    def __init__(self, problem: Problem) -> None:
        self.f, self.evaluations = problem.f, 0

    def __call__(self, x: Any) -> np.ndarray:
        """Return the values, and count them."""
        x = np.asarray(x)
        rows = x.reshape(-1, x.shape[-1])
        self.evaluations += len(rows)
        return self.f(rows).reshape(x.shape[:-1])


Method = Callable[[Problem, Counted, float, int], Answer | None]


def load(name: str) -> Any:
    """Import a peer, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise SystemExit(MISSING.format(name=error.name)) from None


def croupier(problem: Problem, f: Counted, rtol: float, seed: int) -> Answer | None:
    result = cr.integrate(
        f, [(0, 1)] * problem.dimension, rtol=rtol, draws=MOST, rng=seed, progress=False
    )
    low, high = result.interval
    reached = result.stopped == "tolerance"
    return Answer(result.value, (high - low) / 2, bool(result.warnings)) if reached else None


def vegas(problem: Problem, f: Counted, rtol: float, seed: int) -> Answer | None:
    """Train for 10 iterations, then double the evaluations of 10 iterations until it is enough."""
    library = load("vegas")
    integrator = library.Integrator([[0, 1]] * problem.dimension, ran_array_generator=_ran(seed))
    g, size = library.lbatchintegrand(f), 1000
    integrator(g, nitn=10, neval=size)
    while f.evaluations + 10 * size <= MOST:
        result = integrator(g, nitn=10, neval=size)
        half = 1.96 * result.sdev
        if half <= rtol * abs(result.mean):
            return Answer(result.mean, half)
        size *= 2
    return None


def _ran(seed: int) -> Callable[[Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    return lambda size: rng.random(size)


def qmc_quad(problem: Problem, f: Counted, rtol: float, seed: int) -> Answer | None:
    from scipy.integrate import qmc_quad as quad
    from scipy.special import stdtrit
    from scipy.stats import qmc

    t, points, d = float(stdtrit(7, 0.975)), 32, problem.dimension
    while 8 * points <= MOST:
        f.evaluations = 0
        engine = qmc.Sobol(d, rng=np.random.default_rng(seed))
        found = quad(lambda x: f(x.T), [0.0] * d, [1.0] * d, n_estimates=8, n_points=points,
                     qrng=engine)  # fmt: skip
        half = t * found.standard_error
        if half <= rtol * abs(found.integral):
            return Answer(found.integral, half)
        points *= 2
    return None


def cubature(problem: Problem, f: Counted, rtol: float, seed: int) -> Answer | None:
    """Play scipy's adaptive cubature; its cost grows too fast above three dimensions."""
    from scipy.integrate import cubature as adaptive

    d = problem.dimension
    if d > 3:
        return None
    found = adaptive(f, [0.0] * d, [1.0] * d, rtol=rtol, atol=0.0, max_subdivisions=2000)
    if found.status != "converged" or f.evaluations > MOST:
        return None
    return Answer(float(found.estimate), float(found.error))


def qmcpy(name: str, **settings: Any) -> Method:
    """Return a stopping rule of QMCPy as a method."""

    def method(problem: Problem, f: Counted, rtol: float, seed: int) -> Answer | None:
        library = load("qmcpy")
        d = problem.dimension
        if name == "CubMCCLT":
            points = library.IIDStdUniform(d, seed=seed)
        elif name == "CubQMCRepStudentT":
            points = library.DigitalNetB2(d, seed=seed, replications=32)
        else:
            points = library.DigitalNetB2(d, seed=seed)
        integrand = library.CustomFun(library.Uniform(points), f)
        given = {"n_limit": MOST, "rel_tol": rtol, "abs_tol": 0, **settings}
        rule = getattr(library, name)(integrand, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a limit that was reached is a warning
            try:
                value, data = rule.integrate()
            except Warning:
                return None
        low = getattr(data, "comb_bound_low", getattr(data, "bound_low", None))
        high = getattr(data, "comb_bound_high", getattr(data, "bound_high", None))
        value, low, high = (float(np.squeeze(each)) for each in (value, low, high))
        return Answer(value, max(high - value, value - low))

    return method


METHODS: dict[str, Method] = {
    "croupier": croupier,
    "vegas": vegas,
    "qmc_quad": qmc_quad,
    "cubature": cubature,
    "CubMCCLT": qmcpy("CubMCCLT", alpha=0.05),
    "CubQMCSobolG": qmcpy("CubQMCSobolG"),
    "CubQMCRepStudentT": qmcpy("CubQMCRepStudentT", alpha=0.05),
    # Its own time grows fast: 2^17 points take seconds, 2^22 take minutes.
    "CubQMCBayesNetG": qmcpy("CubQMCBayesNetG", alpha=0.05, n_limit=2**17),
}


def measure(problem: Problem, name: str, rtol: float, seeds: Iterable[int]) -> dict[str, Any]:
    """Return the row of one problem, one method and one tolerance.

    A run that does not reach its tolerance counts with the evaluations that it made. `far` are the
    runs whose error is above two half-widths, about four standard errors, without a warning.
    """
    evaluations, seconds, errors, covered, far, reached = [], [], [], 0, 0, 0
    for seed in seeds:
        f = Counted(problem)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = METHODS[name](problem, f, rtol, seed)
        seconds.append(time.process_time() - began)
        evaluations.append(f.evaluations)
        if answer is not None:
            reached += 1
            off = abs(answer.value - problem.value)
            errors.append(off / abs(problem.value))
            covered += off <= answer.half_width * (1 + 1e-12)
            far += off > 2 * answer.half_width * (1 + 1e-12) and not answer.warned
    return {
        "problem": problem.name,
        "method": name,
        "rtol": f"{rtol:g}",
        "group": problem.group,
        "runs": len(evaluations),
        "reached": reached,
        "covered": covered,
        "far": far,
        "evaluations": round(float(np.median(evaluations))),
        "seconds": round(float(np.median(seconds)), 5),
        "true error": f"{float(np.median(errors)):.3g}" if errors else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", action="append", choices=list(METHODS))
    parser.add_argument("--problem", action="append")
    parser.add_argument("--rtol", action="append", type=float)
    parser.add_argument("--group", action="append", choices=("first", "later", "held out"))
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    every = [*problems(), *held_out()]
    for name in args.method or METHODS:  # what a first call loads is not timed
        METHODS[name](every[0], Counted(every[0]), 0.1, 1)
    for problem in every:
        if args.problem and problem.name not in args.problem:
            continue
        if args.group and problem.group not in args.group:
            continue
        for rtol in args.rtol or TOLERANCES:
            chosen = args.method or list(METHODS)
            rows = [measure(problem, name, rtol, range(1, args.seeds + 1)) for name in chosen]
            report.write("peers", rows, KEY)
            report.show(f"{problem.name}, rtol {rtol:g}", rows)
    for rtol in TOLERANCES:
        for groups in (SEEN, HELD_OUT):
            if table := ratios(report.read("peers"), f"{rtol:g}", groups):
                report.show(f"croupier relative to each method, {' and '.join(groups)}", table)
    peer_picture.main()
    pages.main()


if __name__ == "__main__":
    main()
