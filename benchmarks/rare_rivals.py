"""Other methods for the probability of a limit state: three small and plain ones, and OpenTURNS.

Each goes on until its own coefficient of variation is 5 %, or until it has made MOST calls of g.
The small ones work on standard normal points. A miss is a value outside of 1.96 of the method's own
standard errors; it is silent if the method reached its goal and had no complaint. A mode is missed
if no failing draw of the estimate lies in it.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from benchmarks.rare_problems import FIRST, MORE, Problem
from benchmarks.runner import load
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import log_standard_normal
from croupier.distributions.weights import effective_size_of_logs
from croupier.rare.fit import fitted
from croupier.spaces.base import Space
from croupier.spaces.read_space import read_space

#: No run makes more calls of g than this.
MOST = 1_000_000
COV = 0.05

G = Callable[[Any], Any]


class Found(NamedTuple):
    """A value with its standard error; failing points of the estimate; did the method warn?"""

    value: float
    stderr: float
    points: Any
    warned: bool


def importance(g: G, calls: list[int], mixture: Mixture, rng: np.random.Generator) -> Found:
    """Draw from a fixed mixture until the standard error is 5 %."""
    n, total, squares = 0, 0.0, 0.0
    points = []
    while True:
        z, _ = mixture.draw(rng, 500)
        fails = g(z) < 0
        y = np.exp(log_standard_normal(z) - mixture.log_density(z)) * fails
        n, total, squares = n + len(y), total + float(y.sum()), squares + float(y @ y)
        points.append(z[fails])
        value = total / n
        stderr = math.sqrt(max(squares / n - value * value, 0.0) / (n - 1))
        reached = value > 0 and stderr <= COV * value
        if reached or sum(calls) >= MOST:
            return Found(value, stderr, np.concatenate(points), not reached)


def form(g: G, calls: list[int], d: int, rng: np.random.Generator) -> Found:
    """FORM by finite differences, then importance sampling at the design point.

    Rackwitz and Fiessler (Computers and Structures 9, 1978), with the merit of Zhang and Der
    Kiureghian (1995); importance sampling: Melchers (Structural Safety 6, 1989).
    """
    z = 0.1 * rng.standard_normal(d)  # at the centre itself, some gradients are zero
    arrived = False
    for _ in range(50):
        here = float(g(z[None])[0])
        slope = (g(z + 1e-4 * np.eye(d)) - here) / 1e-4
        size = float(slope @ slope)
        if not size > 0:
            break
        aim = (slope @ z - here) / size * slope
        if np.linalg.norm(aim - z) < 1e-2 * max(1.0, float(np.linalg.norm(z))):
            arrived = True
            break
        c = 2 * max(np.linalg.norm(z) / math.sqrt(size), aim @ aim / 2 / max(abs(here), 1e-12))
        merit, share = 0.5 * z @ z + c * abs(here), 1.0
        for _ in range(5):
            tried = z + share * (aim - z)
            if 0.5 * tried @ tried + c * abs(float(g(tried[None])[0])) < merit:
                break
            share /= 2
        z = tried
    found = importance(g, calls, Mixture.normal(z), rng)
    return found._replace(warned=found.warned or not arrived)


def subset(g: G, calls: list[int], d: int, rng: np.random.Generator) -> Found:
    """Subset simulation, runs of 1000 points per level until their mean is known to 5 %.

    Au and Beck (Probabilistic Engineering Mechanics 16, 2001), with the conditional sampling of
    Papaioannou, Betz, Zwirglmaier and Straub (same journal 41, 2015). At least 8 runs.
    """
    values: list[float] = []
    points = []
    while True:
        value, fails = _subset_run(g, d, rng)
        values.append(value)
        points.append(fails)
        if len(values) < 8 and sum(calls) < MOST:
            continue
        mean = float(np.mean(values))
        stderr = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0
        reached = len(values) >= 8 and mean > 0 and stderr <= COV * mean
        if reached or sum(calls) >= MOST:
            return Found(mean, stderr, np.concatenate(points), not reached)


def _subset_run(g: G, d: int, rng: np.random.Generator, n: int = 1000) -> tuple[float, Any]:
    z = rng.standard_normal((n, d))
    h = np.asarray(g(z), float)
    estimate, spread = 1.0, 0.8
    for _ in range(20):
        order = np.argsort(h, kind="stable")
        level = h[order[n // 10]]
        if level <= 0:
            break
        estimate *= float((h <= level).mean())
        seeds = order[: n // 10]
        chains, values = [z[seeds]], [h[seeds]]
        for _ in range(9):
            now = chains[-1]
            b = np.sqrt(1 - (1 - spread) ** 2) if spread < 1 else 1.0
            tried = np.sqrt(1 - b * b) * now + b * rng.standard_normal(now.shape)
            there = np.asarray(g(tried), float)
            taken = there <= level
            chains.append(np.where(taken[:, None], tried, now))
            values.append(np.where(taken, there, values[-1]))
            spread = float(np.clip(spread * math.exp((taken.mean() - 0.44) / 2), 0.02, 1.0))
        z, h = np.concatenate(chains), np.concatenate(values)
    fails = h < 0
    return estimate * float(fails.mean()), z[fails]


def cross_entropy(g: G, calls: list[int], d: int, rng: np.random.Generator) -> Found:
    """Improved cross-entropy with a mixture of normals, then importance sampling.

    Papaioannou, Geyer and Straub (Structural Safety 76, 2019): the indicator is smoothed to
    Phi(-g/s), and s falls so that the weights have a coefficient of variation of 1.5. 1000 points
    per level. The mixture is fitted by croupier's own EM, with its shrunk covariances.
    """
    mixture = Mixture.normal(np.zeros(d))
    width, warned = math.inf, True
    for _ in range(30):
        z, _ = mixture.draw(rng, 1000)
        h, log_w = np.asarray(g(z), float), log_standard_normal(z) - mixture.log_density(z)
        fails = h < 0
        if fails.any() and _variation(log_w[fails], len(z)) < 1.5:
            warned = False
            break
        width = _smoothing(h, log_w, width)
        smooth = log_w + log_ndtr(-h / width)
        kept = np.isfinite(smooth) & (smooth > smooth.max() - 30)
        mixture = fitted(z[kept], smooth[kept], rng)
    found = importance(g, calls, mixture, rng)
    return found._replace(warned=found.warned or warned)


def _variation(log_weight: Any, n: int) -> float:
    """Return the coefficient of variation of n weights, of which the given ones are not zero."""
    return math.sqrt(max(n / effective_size_of_logs(log_weight) - 1, 0.0))


def _smoothing(h: Any, log_w: Any, before: float) -> float:
    """Return the width at which the weights vary by 1.5, below the one before."""
    high = min(before, 10 * float(np.abs(h).max()) + 1e-12)
    low = 1e-6 * high
    for _ in range(40):
        middle = math.sqrt(low * high)
        if _variation(log_w + log_ndtr(-h / middle), len(h)) > 1.5:
            low = middle
        else:
            high = middle
    return high


RIVALS = {"FORM + IS": form, "subset": subset, "cross-entropy": cross_entropy}


# -- OpenTURNS

#: A run of OpenTURNS that takes more seconds of processor time is stopped.
LONGEST = 30.0
TOO_LONG = f"stopped after {LONGEST:.0f} s"

#: A method that has not reached its goal once in so many runs gets no more.
HOPELESS = 10


def openturns(name: str, problem: Problem, calls: list[int], space: Space, seed: int) -> Found:
    """Run an algorithm of OpenTURNS with its default settings and a limit for the variation."""
    ot = load("openturns", "rare")
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


PROBLEMS = {problem.name: problem for problem in (*FIRST, *MORE)}


def compare(name: str, method: str, seeds: int, seconds: float) -> dict[str, Any]:
    """Run a method with `seeds` seeds, or fewer.

    It ends after 3 or more runs that took so many seconds of processor time, and after 10 runs
    none of which reached the goal.
    """
    problem = PROBLEMS[name]
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
