"""make bench-rare, part 3: the same limit states by other methods, and by OpenTURNS.

Each method stops at a coefficient of variation of 5 % by its own account. A miss is a value
outside of 1.96 of its standard errors; it is silent if the method reached its goal and had no
complaint. A mode is missed if no failing draw of the estimate lies in it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import pages, report
from benchmarks.rare_problems import FIRST, MORE, Problem
from benchmarks.rare_rivals import COV, MOST, RIVALS, Found
from croupier.spaces.base import Space
from croupier.spaces.read_space import read_space

MISSING = """openturns is not installed. `make bench-rare` installs it with croupier into a separate
virtual environment. To do it by hand:
    pip install -c constraints.txt -e . -r benchmarks/rare.txt"""

#: A run of OpenTURNS that takes more seconds of processor time is stopped.
LONGEST = 30.0
TOO_LONG = f"stopped after {LONGEST:.0f} s"

#: A method that has not reached its goal once in so many runs gets no more.
HOPELESS = 10


def openturns(name: str, problem: Problem, calls: list[int], space: Space, seed: int) -> Found:
    """Run an algorithm of OpenTURNS with its default settings and a limit for the variation."""
    try:
        ot: Any = import_module("openturns")
    except ModuleNotFoundError:
        raise SystemExit(MISSING) from None
    ot.RandomGenerator.SetSeed(seed)
    ot.Log.Show(ot.Log.NONE)
    failing: list[Any] = []

    began = time.process_time()

    def many(points: Any) -> Any:
        if time.process_time() - began > LONGEST:
            raise RuntimeError(TOO_LONG)
        z = np.asarray(points)
        g = np.asarray(problem.g(space.from_normal(z)), float)
        calls.append(len(z))
        failing.append(z[g < 0])
        return g[:, None]

    d = space.dimension
    function = ot.PythonFunction(d, 1, func_sample=many)
    inputs = ot.RandomVector(ot.Normal(d))
    event = ot.ThresholdEvent(ot.CompositeRandomVector(function, inputs), ot.Less(), 0.0)
    algorithm = _algorithm(ot, name, event, d, seed)
    algorithm.run()
    result = algorithm.getResult()
    value = result.getProbabilityEstimate()
    stderr = float(np.sqrt(result.getVarianceEstimate()))
    points = np.concatenate(failing) if failing else np.empty((0, d))
    return Found(value, stderr, points, not value > 0 or stderr > 1.05 * COV * value)


def _algorithm(ot: Any, name: str, event: Any, d: int, seed: int) -> Any:
    if name == "FORM":
        there = _design_point(ot, event, d, seed)
        proposal = ot.ImportanceSamplingExperiment(ot.Normal(there, ot.CovarianceMatrix(d)))
        algorithm = ot.ProbabilitySimulationAlgorithm(event, proposal)
        algorithm.setMaximumCoefficientOfVariation(COV)
        algorithm.setBlockSize(100)
        algorithm.setMaximumOuterSampling(MOST // 100)
        return algorithm
    if name == "subset":
        algorithm = ot.SubsetSampling(event)
        algorithm.setBlockSize(100)
        algorithm.setMaximumOuterSampling(500)  # 50 000 points per level
        algorithm.setMaximumCoefficientOfVariation(COV)
        return algorithm
    algorithm = ot.NAIS(event, 0.1)
    algorithm.setBlockSize(1)
    algorithm.setMaximumOuterSampling(4000)
    algorithm.setMaximumCoefficientOfVariation(COV)
    return algorithm


def _design_point(ot: Any, event: Any, d: int, seed: int) -> Any:
    """Return the first design point that an optimiser of OpenTURNS finds.

    Abdo-Rackwitz, SQP and COBYLA near the centre, then COBYLA from five random points: an error of
    one is no error of FORM. The first error is raised if all fail.
    """
    rng = np.random.default_rng(seed)
    near, kinds = [0.01] * d, (ot.AbdoRackwitz, ot.SQP, ot.Cobyla)
    tries = [(kind, near) for kind in kinds]
    tries += [(ot.Cobyla, rng.standard_normal(d).tolist()) for _ in range(5)]
    failed: list[Exception] = []
    for kind, start in tries:
        search = ot.FORM(kind(), event, start)
        try:
            search.run()
        except Exception as error:
            failed.append(error)
            continue
        return search.getResult().getStandardSpaceDesignPoint()
    raise failed[0]


#: What the errors of OpenTURNS mean, by a part of their text.
REASONS = {
    TOO_LONG: TOO_LONG,
    "maximum calls number": "no convergence",
    "gradient of the level function is zero": "g has no slope",
    "not on the limit state": "ends beside the limit state",
    "matrix is singular": "no convergence",
}


def _reason(error: Exception) -> str:
    known = [reason for text, reason in REASONS.items() if text in str(error)]
    return known[0] if known else str(error).splitlines()[0][:60]


OPENTURNS = {"OT FORM + IS": "FORM", "OT subset": "subset", "OT NAIS": "NAIS"}
METHODS = (*RIVALS, *OPENTURNS)


def one(problem: Problem, method: str, seed: int) -> tuple[Found | str, int]:
    """Run a method; the reason if it raises."""
    space, calls = read_space(problem.over), []

    def g(z: Any) -> Any:
        calls.append(len(z))
        return np.asarray(problem.g(space.from_normal(z)), float)

    rng = np.random.default_rng(seed)
    try:
        if method in RIVALS:
            found = RIVALS[method](g, calls, space.dimension, rng)
        else:
            found = openturns(OPENTURNS[method], problem, calls, space, seed)
    except SystemExit:
        raise
    except Exception as error:  # a method that cannot do a problem says so
        return _reason(error), sum(calls)
    return found, sum(calls)


def measure(problem: Problem, method: str, seeds: int, seconds: float) -> dict[str, Any]:
    """Run a method with `seeds` seeds, or fewer.

    It ends after 3 or more runs that took so many seconds of processor time, and after 10 runs
    none of which reached the goal.
    """
    value, began = float(problem.value()), time.process_time()
    parts = {"four": 4, "RP11": 4}.get(problem.name[:4], 2)
    space = read_space(problem.over)
    calls, reasons = [], []
    missed = silent = warned = lost = reached = 0
    for seed in range(1, seeds + 1):
        if seed > 3 and time.process_time() - began > seconds:
            break
        if seed > HOPELESS and not reached:
            break
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found, made = one(problem, method, seed)
        calls.append(made)
        if isinstance(found, str):
            reasons.append(found)
            continue
        miss = not abs(found.value - value) <= 1.96 * found.stderr
        missed, warned = missed + miss, warned + found.warned
        silent += miss and not found.warned
        reached += found.value > 0 and found.stderr <= 1.05 * COV * found.value
        if problem.modes is not None:
            there = (
                problem.modes(space.from_normal(found.points)) if len(found.points) else np.empty(0)
            )
            lost += len(np.unique(there)) < parts
    return {
        "problem": problem.name,
        "method": method,
        "runs": len(calls),
        "calls": round(float(np.median(calls))),
        "reached": reached,
        "misses": missed,
        "silent misses": silent,
        "modes missed": lost if problem.modes is not None else "",
        "warned": warned + len(reasons),
        "raised": len(reasons),
        "reason": Counter(reasons).most_common(1)[0][0] if reasons else "",
        "seconds per run": round((time.process_time() - began) / len(calls), 2),
    }


def _enough(row: dict[str, str] | None, seeds: int) -> bool:
    """Does a row of the file have all its runs, or as many as a hopeless case gets?"""
    if row is None:
        return False
    return int(row["runs"]) >= (HOPELESS if row["reached"] == "0" else seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time of one cell")
    parser.add_argument("--case", nargs="*", help="names of problems; all by default")
    parser.add_argument("--method", nargs="*", choices=METHODS)
    parser.add_argument("--more", action="store_true", help="only cells with fewer runs than asked")
    args = parser.parse_args()
    made = {(row["problem"], row["method"]): row for row in report.read("rare-methods")}
    for problem in (*FIRST, *MORE):
        if args.case and problem.name not in args.case:
            continue
        for method in args.method or METHODS:
            if args.more and _enough(made.get((problem.name, method)), args.seeds):
                continue
            row = measure(problem, method, args.seeds, args.seconds)
            report.write("rare-methods", [row], ("problem", "method"))
            report.show(f"{problem.name}, {method}", [row])
    pages.main()


if __name__ == "__main__":
    main()
