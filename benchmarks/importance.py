"""The mixture of an importance family, compared with its best proposal.

For every integral it measures n MSE/V* with its standard error, where 1 is the best proposal by
itself, and how often the 95 % interval covers. It also runs pypmc's population Monte Carlo with the
same number of draws.
"""

from __future__ import annotations

import contextlib
import io
import math
import multiprocessing
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks import runner
from benchmarks.integrals import MAKERS, THREE, Integral, Paths
from benchmarks.pages import Table
from benchmarks.runner import load
from croupier.importance import Family

DRAWS = (1_000, 10_000)
OPTIONS = ("option 0.06", "option 0.07", "option 0.08")

#: Tuned from three proposals, at 1000 draws, against the best of all sixteen.
TUNED = 0.12
#: The limit of the relative error for a perfect proposal.
EXACT = 1e-4

METHODS = ("mixture", "equal proportions", "tuned from 3", "pypmc")
_CHUNK = 20


@cache
def integral(name: str) -> Integral:
    return MAKERS[name]()


@cache
def family_of(name: str, method: str) -> Family:
    if method.startswith("tuned"):
        return Family.simulated(Paths(float(name.split()[1])), THREE)
    return integral(name).make()


def once(name: str, method: str, draws: int, seed: int) -> tuple[float, float, float]:
    """Return the estimate of one run, and the ends of its interval."""
    if method == "pypmc":
        value = population(integral(name), draws, seed)
        return value, math.nan, math.nan
    family = family_of(name, method)
    if method.startswith("tuned"):
        result = family.tune(draws=draws, rng=seed, progress=False)
    else:
        shares = "learned" if method == "mixture" else "equal"
        result = family.estimate(draws=draws, proportions=shares, rng=seed, progress=False)
    return result.value, *result.interval


def population(case: Integral, draws: int, seed: int, steps: int = 10) -> float:
    """Play pypmc's Gaussian population Monte Carlo: ten populations, all weighted at the end.

    The sampler of pypmc evaluates the target point by point. Here the target is evaluated at all
    points at once; proposals, densities and updates are pypmc's. The weights are those of the
    mixture of all populations, which are pypmc's best.
    """
    create_gaussian_mixture = load("pypmc.density.mixture", "doors").create_gaussian_mixture
    gaussian_pmc = load("pypmc.mix_adapt.pmc", "doors").gaussian_pmc

    assert case.start is not None
    assert case.target is not None
    means, spreads = case.start
    covariances = [np.diag(np.square(spread)) for spread in spreads]
    proposal = create_gaussian_mixture(means, covariances, np.full(len(means), 1 / len(means)))
    old, rng = np.random.RandomState(seed % 2**32), np.random.default_rng(seed)
    points, targets, proposals = [], [], []
    for _ in range(steps):
        x = proposal.propose(draws // steps, old)
        log_fp = case.target(rng, x)
        proposals.append(proposal)
        points.append(x)
        targets.append(log_fp)
        weights = np.exp(log_fp - proposal.multi_evaluate(x))
        if weights.any():
            try:
                with contextlib.redirect_stderr(io.StringIO()):  # it prints what it cannot update
                    adapted = gaussian_pmc(x, proposal, weights, rb=True)
            except ValueError:
                continue  # a component whose covariance became NaN does not change
            if np.isfinite(adapted.weights).all() and adapted.weights.any():
                adapted.weights[:] = np.clip(adapted.weights / adapted.weights.sum(), 0, 1)
                proposal = adapted
    x, log_fp = np.concatenate(points), np.concatenate(targets)
    log_q = np.array([one.multi_evaluate(x) for one in proposals])
    mixture = np.logaddexp.reduce(log_q, axis=0) - math.log(steps)
    return float(np.exp(log_fp - mixture).mean())


def _play(job: tuple[str, str, int, Sequence[int]]) -> list[tuple[float, float, float]]:
    name, method, draws, seeds = job
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [once(name, method, draws, seed) for seed in seeds]


def measure(
    name: str, method: str, draws: int, runs: int, processes: int | None = None
) -> dict[str, Any]:
    """Repeat runs of one method; the seeds depend on the integral, not on the method."""
    began = time.perf_counter()
    case = integral(name)
    first = zlib.crc32(f"{name} {draws}".encode())
    jobs = [
        (name, method, draws, range(first + start, first + min(start + _CHUNK, runs)))
        for start in range(0, runs, _CHUNK)
    ]
    many = processes or os.cpu_count() or 1
    if many == 1:
        parts = [_play(job) for job in jobs]
    else:
        with multiprocessing.get_context("spawn").Pool(many) as pool:
            parts = pool.map(_play, jobs, chunksize=1)
    value, low, high = np.array([one for part in parts for one in part]).T
    error = value - case.value
    loss = np.square(error) * draws / case.best if not case.perfect else np.abs(error / case.value)
    covered = float(((low <= case.value) & (case.value <= high)).mean())
    row: dict[str, Any] = {
        "integral": name,
        "method": method,
        "draws": draws,
        "runs": runs,
        "ratio": float(loss.mean()),
        "ratio_se": float(loss.std() / math.sqrt(runs)),
        "bias": float(error.mean() / error.std()) if error.std() > 0 else 0.0,
        "covered": math.nan if method == "pypmc" else covered,
        "covered_se": math.sqrt(max(covered * (1 - covered), 1 / runs) / runs),
    }
    row["verdict"] = verdict(case, method, draws, row)
    row["seconds"] = round(time.perf_counter() - began, 1)
    return row


def verdict(case: Integral, method: str, draws: int, row: dict[str, Any]) -> str:
    """Return whether a method keeps its promise: "ok", "OVER", or "-" if there is none."""
    covers = row["covered"] >= 0.93
    if case.hidden:  # only four or five of 1000 draws see it
        safe = method == "equal proportions" and draws == DRAWS[1]
        return ("ok" if covers else "OVER") if safe else "-"
    if method == "tuned from 3":
        kept = row["ratio"] <= TUNED and covers
        return ("ok" if kept else "OVER") if draws == DRAWS[0] else "-"
    limit = case.limits[DRAWS.index(draws)]
    if method != "mixture" or limit is None:
        return "-"
    if case.perfect:
        limit = EXACT
    slack = 0.0 if case.limits[0] is not None else 2 * row["ratio_se"]
    return "ok" if row["ratio"] <= limit + slack and covers else "OVER"


def takes_part(name: str, method: str, draws: int) -> bool:
    if method.startswith("tuned"):
        return name in OPTIONS
    return method != "pypmc" or integral(name).start is not None


def runs_of(name: str, method: str) -> int:
    """Return how often a method is repeated: more often if there is a promise for it."""
    promised = method in ("mixture", "tuned from 3") or integral(name).hidden
    return 2000 if promised and method != "pypmc" else 500


def _cells(full: bool) -> Iterator[tuple[str, str, int, int]]:
    methods = METHODS if full else ("mixture", "pypmc")
    for draws in DRAWS if full else DRAWS[:1]:
        for method in methods:
            for name in MAKERS:
                if takes_part(name, method, draws):
                    yield name, method, draws, runs_of(name, method) if full else 20


def _importance() -> Table:
    """Return n MSE/V* and the coverage of the mixture, and n MSE/V* of the others, by integral."""
    found = {(r["integral"], r["method"], r["draws"]): r for r in runner.read("importance")}
    header, rows = ["integral"], []
    for draws in map(str, DRAWS):
        header += [f"mixture, {draws}", "covers", f"equal, {draws}", "covers", f"pypmc, {draws}"]
    for name in dict.fromkeys(name for name, *_ in found):
        cells = [name]
        for draws in map(str, DRAWS):
            for method in ("mixture", "equal proportions", "pypmc"):
                row = found.get((name, method, draws))
                cells.append("-" if row is None else _loss(row))
                if method != "pypmc":
                    cells.append("-" if row is None else f"{float(row['covered']):.3f}")
        rows.append(cells)
    return header, rows


def _loss(row: dict[str, str]) -> str:
    """Return a ratio with its standard error, in a few digits.

    >>> _loss({"ratio": "0.0654", "ratio_se": "0.0021"}), _loss({"ratio": "131", "ratio_se": "27"})
    ('0.065 ± 0.002', '131 ± 27')
    """
    ratio, error = float(row["ratio"]), float(row["ratio_se"])
    if not 1e-3 < ratio < 1e4:
        return f"{ratio:.1e}"
    digits = 3 if ratio < 1 else 2 if ratio < 10 else 0
    return f"{ratio:.{digits}f} ± {error:.{digits}f}"


def _importance_tuned() -> Table:
    rows = [
        [
            row["integral"],
            row["method"],
            row["draws"],
            row["runs"],
            _loss(row),
            f"{float(row['covered']):.3f}",
            f"{float(row['bias']):+.2f} ± {float(row['runs']) ** -0.5:.2f}",
        ]
        for row in runner.read("importance")
        if row["method"].startswith("tuned")
    ]
    header = ["integral", "method", "draws", "runs", "n MSE/V*", "covers", "bias/deviation"]
    return header, rows


BENCHMARKS = (runner.Benchmark("importance", ("integral", "method", "draws"), _cells, measure),)
TABLES: dict[str, Callable[[], Table]] = {
    "importance": _importance,
    "importance-tuned": _importance_tuned,
}
