"""`cr.integrate` and other libraries, on 51 integrals with known values.

Every method runs to a claimed relative error. Evaluations, CPU time, the true error and whether the
error bar covered are measured; the figures are medians over seeds. A method that has no tolerance
is told what it should need: vegas doubles the evaluations per iteration (all count), qmc_quad the
points of its nets (only the last call counts, as if the user had known).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import croupier as cr
from benchmarks import runner
from benchmarks.integrands import Problem, held_out, problems
from benchmarks.pages import Table
from benchmarks.runner import load

#: No method makes more evaluations than this.
MOST = 2**22
TOLERANCES = (1e-2, 1e-3, 1e-4)
PEERS = ("CubQMCBayesNetG", "CubQMCSobolG", "qmc_quad", "vegas")
MARKS = {"first": "o", "later": "s", "held out": "D"}

#: The problems that choices were made on, and those that only judge.
SEEN = ("first", "later")
HELD_OUT = ("held out",)

#: What the quick form plays.
QUICK = ("gaussian 5", "discontinuous 5", "continuous 10", "oscillatory 20", "Asian 16", "call 12")
PROBLEMS = {problem.name: problem for problem in (*problems(), *held_out())}


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


def croupier(problem: Problem, f: Counted, rtol: float, seed: int) -> Answer | None:
    result = cr.integrate(
        f, [(0, 1)] * problem.dimension, rtol=rtol, draws=MOST, rng=seed, progress=False
    )
    low, high = result.interval
    reached = result.stopped == "tolerance"
    return Answer(result.value, (high - low) / 2, bool(result.warnings)) if reached else None


def vegas(problem: Problem, f: Counted, rtol: float, seed: int) -> Answer | None:
    """Train for 10 iterations, then double the evaluations of 10 iterations until it is enough."""
    library = load("vegas", "integrate")
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
        library = load("qmcpy", "integrate")
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


def played(problem: Problem, name: str, rtol: float, seeds: Sequence[int]) -> dict[str, Any]:
    """Return the row of one problem, one method and one tolerance.

    A run that does not reach its tolerance counts with the evaluations that it made. `far` are the
    runs whose error is above two half-widths, about four standard errors, without a warning.
    """
    evaluations, seconds, errors, covered, far, reached = [], [], [], 0, 0, 0
    METHODS[name](PROBLEMS["gaussian 5"], Counted(PROBLEMS["gaussian 5"]), 0.1, 1)  # loads
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


def measure(problem: str, method: str, rtol: str, seeds: int) -> dict[str, Any]:
    return played(PROBLEMS[problem], method, float(rtol), range(1, seeds + 1))


def _cells(full: bool) -> Iterator[tuple[str, str, str, int]]:
    chosen = PROBLEMS if full else QUICK
    for rtol in TOLERANCES if full else TOLERANCES[:1]:
        for problem in chosen:
            seeds = {"croupier": 40} if full and rtol == TOLERANCES[0] else {"croupier": 6}
            yield from ((problem, m, f"{rtol:g}", seeds.get(m, 3) if full else 2) for m in METHODS)


# -- the table


def ratios(
    rows: list[dict[str, str]], rtol: str, groups: tuple[str, ...] = SEEN
) -> list[dict[str, Any]]:
    """Return croupier's evaluations and CPU time relative to each peer, geometric means.

    Only problems count that both solved: all runs reached the tolerance, and the median of the
    true errors is at most three times the tolerance. `1 us` is the CPU time if an evaluation took a
    microsecond more.
    """
    rows = [row for row in rows if row["group"] in groups]
    found = {(row["problem"], row["method"]): row for row in rows if row["rtol"] == rtol}
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        pairs = [
            (ours, theirs)
            for (name, other), theirs in found.items()
            if other == method
            and (ours := found.get((name, "croupier"))) is not None
            and _solved(ours)
            and _solved(theirs)
        ]
        own = [row for (_, other), row in found.items() if other == method]
        reached = sum(int(row["reached"]) for row in own)
        if not own:
            continue
        table.append(
            {
                "method": method,
                "rtol": rtol,
                "problems": len(pairs),
                "solved": f"{reached}/{sum(int(row['runs']) for row in own)}",
                "evaluations": _mean(pairs, "evaluations"),
                "CPU time": _mean(pairs, "seconds"),
                "1 us": _mean(pairs, "seconds", 1e-6),
                "most": max((float(a["evaluations"]) / float(b["evaluations"]) for a, b in pairs),
                            default=math.nan),
                "covered": _held(own),
            }
        )  # fmt: skip
    return table


def _held(rows: list[dict[str, str]]) -> float:
    """Return how often error bars held, every problem with the same weight."""
    shares = [int(row["covered"]) / int(row["reached"]) for row in rows if int(row["reached"])]
    return sum(shares) / len(shares) if shares else math.nan


def _solved(row: dict[str, str]) -> bool:
    if row["runs"] != row["reached"]:
        return False
    return float(row["true error"]) <= 3 * float(row["rtol"])


def _mean(
    pairs: list[tuple[dict[str, str], dict[str, str]]], column: str, each: float = 0.0
) -> float:
    """Return the geometric mean of ratios of a column, plus a time for each evaluation."""
    if not pairs:
        return math.nan

    def size(row: dict[str, str]) -> float:
        return max(float(row[column]) + each * float(row["evaluations"]), 1e-5)

    return math.exp(sum(math.log(size(a) / size(b)) for a, b in pairs) / len(pairs))


def table(groups: tuple[str, ...]) -> Table:
    """Return croupier's evaluations and CPU time relative to every method but plain draws."""
    rows = [
        [
            row["method"],
            row["rtol"],
            str(row["problems"]),
            *(_two(row[c]) for c in ("evaluations", "most", "1 us", "covered")),
        ]
        for rtol in ("0.01", "0.001")
        for row in ratios(runner.read("peers"), rtol, groups)
        if row["method"] != "CubMCCLT"
    ]
    header = ["method", "rtol", "problems", "evaluations", "most", "CPU time at 1 µs", "covered"]
    return header, rows


def _two(number: float) -> str:
    return "-" if math.isnan(number) else f"{number:.2f}"


def picture() -> None:
    """Draw croupier's evaluations relative to other methods, problem by problem."""
    from matplotlib import pyplot

    rows = runner.read("peers")
    found = {(row["problem"], row["method"], row["rtol"]): row for row in rows}
    names = {row["problem"]: row["group"] for row in rows}
    order = sorted(names, key=lambda name: list(MARKS).index(names[name]))
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 11), sharey=True, layout="constrained")
    for panel, rtol in zip(panels, ("0.01", "0.001"), strict=True):
        for k, method in enumerate(PEERS):
            for name in order:
                ours, theirs = (found.get((name, one, rtol)) for one in ("croupier", method))
                if ours is None or theirs is None:
                    continue
                solved = all(row["runs"] == row["reached"] for row in (ours, theirs))
                off = float(theirs["true error"] or "inf") > float(rtol)
                ratio = float(ours["evaluations"]) / float(theirs["evaluations"])
                if solved and ratio < 100:  # the others stopped at a wrong value
                    panel.plot(ratio, order.index(name), MARKS[names[name]], color=f"C{k}",
                               fillstyle="none" if off else "full", markersize=5)  # fmt: skip
            panel.plot([], [], "o", color=f"C{k}", label=method if rtol == "0.01" else None)
        panel.axvline(1, color="black", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xlabel(f"croupier's evaluations / theirs, rtol {rtol}")
        panel.grid(axis="y", linewidth=0.3)
    panels[0].set_yticks(range(len(order)), order, fontsize=8)
    panels[0].set_ylim(len(order) - 0.5, -0.5)
    figure.legend(fontsize=8, loc="outside lower center", ncols=len(PEERS))
    figure.suptitle(
        "Left of 1, croupier needs less. Squares and diamonds: later and held-out problems. Open: "
        "the median error\nof the other method is above the tolerance. Problems that one of both "
        "did not solve are missing.", fontsize=9,
    )  # fmt: skip
    figure.savefig(runner.FOLDER / "peers.png", dpi=110)
    pyplot.close(figure)


BENCHMARKS = (runner.Benchmark("peers", ("problem", "method", "rtol"), _cells, measure, picture),)
TABLES: dict[str, Callable[[], Table]] = {
    "peers": lambda: table(SEEN),
    "peers-held-out": lambda: table(HELD_OUT),
}
