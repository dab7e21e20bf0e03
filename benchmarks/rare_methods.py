"""make bench-rare, part 3: the same limit states by other methods, and by OpenTURNS.

Each method stops at a coefficient of variation of 5 % by its own account. A miss is a value
outside of 1.96 of its standard errors; it is silent if the method reached its goal and had no
complaint. A mode is missed if no failing draw of the estimate lies in it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import pages, report
from benchmarks.rare_problems import FIRST, MORE, Problem
from benchmarks.rare_rivals import COV, MOST, RIVALS, Found
from croupier.rare.normal_space import Space, space_of

MISSING = """openturns is not installed. `make bench-rare` installs it with croupier into a separate
virtual environment. To do it by hand:
    pip install -c constraints.txt -e . -r benchmarks/rare.txt"""


def openturns(name: str, problem: Problem, calls: list[int], space: Space, seed: int) -> Found:
    """Run an algorithm of OpenTURNS with its default settings and a limit for the variation."""
    try:
        ot: Any = import_module("openturns")
    except ModuleNotFoundError:
        raise SystemExit(MISSING) from None
    ot.RandomGenerator.SetSeed(seed)
    ot.Log.Show(ot.Log.NONE)
    failing: list[Any] = []

    def many(points: Any) -> Any:
        z = np.asarray(points)
        g = np.asarray(problem.g(space.to_user(z)), float)
        calls.append(len(z))
        failing.append(z[g < 0])
        return g[:, None]

    d = space.d
    function = ot.PythonFunction(d, 1, func_sample=many)
    inputs = ot.RandomVector(ot.Normal(d))
    event = ot.ThresholdEvent(ot.CompositeRandomVector(function, inputs), ot.Less(), 0.0)
    algorithm = _algorithm(ot, name, event, d)
    algorithm.run()
    result = algorithm.getResult()
    value = result.getProbabilityEstimate()
    stderr = float(np.sqrt(result.getVarianceEstimate()))
    points = np.concatenate(failing) if failing else np.empty((0, d))
    return Found(value, stderr, points, not value > 0 or stderr > 1.05 * COV * value)


def _algorithm(ot: Any, name: str, event: Any, d: int) -> Any:
    if name == "FORM":
        search = ot.FORM(ot.AbdoRackwitz(), event, [0.01] * d)
        search.run()
        there = search.getResult().getStandardSpaceDesignPoint()
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


OPENTURNS = {"OT FORM + IS": "FORM", "OT subset": "subset", "OT NAIS": "NAIS"}
METHODS = (*RIVALS, *OPENTURNS)


def one(problem: Problem, method: str, seed: int) -> tuple[Found | None, int]:
    """Run a method; None if it raises."""
    space, calls = space_of(problem.over), []

    def g(z: Any) -> Any:
        calls.append(len(z))
        return np.asarray(problem.g(space.to_user(z)), float)

    rng = np.random.default_rng(seed)
    try:
        if method in RIVALS:
            found = RIVALS[method](g, calls, space.d, rng)
        else:
            found = openturns(OPENTURNS[method], problem, calls, space, seed)
    except SystemExit:
        raise
    except Exception:  # a method that cannot do a problem says so
        return None, sum(calls)
    return found, sum(calls)


def measure(problem: Problem, method: str, seeds: int) -> dict[str, Any]:
    value, began = float(problem.value()), time.perf_counter()
    parts = {"four": 4, "RP11": 4}.get(problem.name[:4], 2)
    space = space_of(problem.over)
    calls, missed, silent, warned, lost, failed = [], 0, 0, 0, 0, 0
    for seed in range(1, seeds + 1):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found, made = one(problem, method, seed)
        calls.append(made)
        if found is None:
            failed, warned = failed + 1, warned + 1
            continue
        miss = not abs(found.value - value) <= 1.96 * found.stderr
        missed, warned = missed + miss, warned + found.warned
        silent += miss and not found.warned
        if problem.modes is not None:
            there = problem.modes(space.to_user(found.points)) if len(found.points) else np.empty(0)
            lost += len(np.unique(there)) < parts
    return {
        "problem": problem.name,
        "method": method,
        "runs": seeds,
        "calls": round(float(np.median(calls))),
        "misses": missed,
        "silent misses": silent,
        "modes missed": lost if problem.modes is not None else "",
        "warned": warned,
        "raised": failed,
        "seconds per run": round((time.perf_counter() - began) / seeds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--case", nargs="*", help="names of problems; all by default")
    parser.add_argument("--method", nargs="*", choices=METHODS)
    args = parser.parse_args()
    for problem in (*FIRST, *MORE):
        if args.case and problem.name not in args.case:
            continue
        rows = [measure(problem, method, args.seeds) for method in args.method or METHODS]
        report.write("rare-methods", rows, ("problem", "method"))
        report.show(problem.name, rows)
    pages.main()


if __name__ == "__main__":
    main()
