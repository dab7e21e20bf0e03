"""make bench-importance: the mixture of an importance family, compared with its best proposal.

For every integral it measures n MSE/V* with its standard error, where 1 is the best proposal by
itself, and how often the 95 % interval covers. It also runs pypmc's population Monte Carlo with the
same number of draws.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import multiprocessing
import os
import time
import warnings
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks import pages, report
from benchmarks.integrals import MAKERS, THREE, Integral, Paths
from croupier.importance import Family

DRAWS = (1_000, 10_000)
KEY = ("integral", "method", "draws")
OPTIONS = ("option 0.06", "option 0.07", "option 0.08")

#: Tuned from three proposals, at 1000 draws, against the best of all sixteen.
TUNED = 0.12
#: The limit of the relative error for a perfect proposal.
EXACT = 1e-4

METHODS = ("mixture", "equal proportions", "tuned from 3", "tuned, unbiased", "pypmc")
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
        unbiased = method.endswith("unbiased")
        result = family.tune(draws=draws, unbiased=unbiased, rng=seed, progress=False)
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
    from pypmc.density.mixture import create_gaussian_mixture
    from pypmc.mix_adapt.pmc import gaussian_pmc

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


def runs_of(name: str, method: str, runs: int, rival_runs: int) -> int:
    """Return how often a method is repeated: more often if there is a promise for it."""
    promised = method in ("mixture", "tuned from 3") or integral(name).hidden
    return runs if promised and method != "pypmc" else rival_runs


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-importance", description=__doc__)
    parser.add_argument("--case", action="append", choices=sorted(MAKERS), help="one integral")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--draws", action="append", type=int, choices=DRAWS)
    parser.add_argument("--runs", type=int, default=2000, help="repetitions of the mixture")
    parser.add_argument("--rival-runs", type=int, default=500, help="repetitions of the others")
    parser.add_argument("--processes", type=int, help="by default one for each core")
    options = parser.parse_args()
    for draws in options.draws or DRAWS:
        for method in options.method or METHODS:
            rows = []
            for name in options.case or MAKERS:
                if takes_part(name, method, draws):
                    runs = runs_of(name, method, options.runs, options.rival_runs)
                    rows.append(measure(name, method, draws, runs, options.processes))
                    report.write("importance", rows[-1:], KEY)
            if rows:
                report.show(f"{method}, {draws:,} draws", rows)
    pages.main()


if __name__ == "__main__":
    main()
