"""merge: independent runs of one quantity become one estimate, and are tested for agreement."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from croupier.checks import fraction_of
from croupier.data.draws import Floats
from croupier.data.history import History, Rows
from croupier.data.ledger import Ledger
from croupier.data.log_scale import quiet
from croupier.data.plan import MIXTURE, Plan
from croupier.errors import CroupierWarning, PlanError
from croupier.estimates.combiners import Combiner, as_combiner
from croupier.estimates.intervals import Anytime, FixedSize, Interval, ManyLooks
from croupier.results.make_result import result_of, stderr_of
from croupier.results.result import Result, Runs
from croupier.store.log import Store
from croupier.store.reading import StoredRun, open_run

__all__ = ["merge", "run_agreement", "trusted"]

Run: TypeAlias = Result | StoredRun | Store | str | os.PathLike[str]

#: Runs that disagree this clearly do not do so by chance.
_CLEARLY: Final = 1e-3


def merge(
    runs: Iterable[Run],
    *,
    confidence: float | None = None,
    combine: Combiner | None = None,
    same_seed: bool = False,
) -> Result:
    """Merge independent runs of one quantity into one estimate, and test whether they agree.

    Runs of the same arms (names, versions, unit, combiner) are put together arm by arm, as if
    they had been one run: every draw counts as it would have there. Runs of different arms are
    weighted by what is known of their precision, each run a row of the result.

    Args:
        runs: Results, stored runs, or paths of stores; two or more.
        confidence: The level of the interval; by default that of the runs.
        combine: Needed where the runs were combined by a function of your own.
        same_seed: Merge runs with the same seed too. Their draws are the same numbers, not
            independent ones: only for runs whose arms do not use the generator they are given.

    Returns:
        A `Result`; its `runs` has the seeds, the estimates, and the p-value of the agreement. The
        interval is of the widest kind among the runs.

    >>> import croupier as cr
    >>> arms = {"rough": lambda rng, size: rng.normal(1.0, 1.0, size)}
    >>> first, second = (cr.estimate(arms, draws=1000, rng=seed) for seed in (1, 2))
    >>> both = cr.merge([first, second])
    >>> both.draws, round(both.stderr / first.stderr, 1), both.runs.agreement > 0.001
    (2000, 0.7, True)
    """
    if isinstance(runs, str | os.PathLike | Result | StoredRun | Store):
        raise PlanError(f"merge takes a sequence of runs, got one: {runs!r}")
    results = [_result(run, combine) for run in runs]
    _check(results, same_seed)
    level = _confidence(results, confidence)
    alike = all(_arms(one.plan) == _arms(results[0].plan) for one in results)
    # Of a mixture there is no ledger that its estimate could be had from.
    alike = alike and all(one.plan.combine != MIXTURE for one in results)
    interval = _widest([one._interval for one in results])
    with quiet() if results[0].plan.log else nullcontext():
        merged = (_arm_by_arm if alike else _run_by_run)(results, level, interval, combine)
        p = run_agreement(results)
    scalar = results[0].history.scalar
    doubts = [*_disagreement(p), *_short(results), *merged.warnings, *_of_runs(results, merged)]
    for doubt in doubts:
        warnings.warn(doubt, CroupierWarning, stacklevel=2)
    return replace(
        merged,
        seconds=float(sum(one.seconds for one in results)),
        stopped="merged",
        warnings=tuple(doubts),
        runs=Runs(
            seeds=tuple(one.seed for one in results),
            values=tuple(one.value for one in results),
            stderrs=tuple(one.stderr for one in results),
            agreement=(None if np.isnan(p[0]) else float(p[0])) if scalar else p,
            log_values=tuple(one.log_value for one in results) if merged.plan.log else None,
            log_stderrs=tuple(one.log_stderr for one in results) if merged.plan.log else None,
        ),
    )


# -- at the door


def _result(run: Any, combine: Combiner | None) -> Result:
    if isinstance(run, Result):
        if run.runs is not None:
            raise PlanError("merge takes single runs: merge all of them at once")
        return run
    if isinstance(run, StoredRun):
        return run.result()
    if isinstance(run, Store):
        run = run.path
    if not isinstance(run, str | os.PathLike):
        raise PlanError(f"merge takes results, stored runs and paths of stores, got {run!r}")
    return open_run(run, combine=combine).result()


def _check(results: Sequence[Result], same_seed: bool) -> None:
    if len(results) < 2:
        raise PlanError(f"merge needs at least two runs, got {len(results)}")
    shapes = [np.shape(one.value) for one in results]
    if len(set(shapes)) > 1:
        raise PlanError(f"the runs estimate quantities of different shapes: {shapes}")
    if len({one.plan.log for one in results}) > 1:
        raise PlanError(
            "some of the runs are runs of logs, some are not: run all with log=True, or none"
        )
    seen: dict[int, int] = {}
    for number, one in enumerate(results, 1):
        if one.seed in seen and not same_seed:
            raise PlanError(
                f"runs {seen[one.seed]} and {number} have the same seed {one.seed}: they are not "
                "independent; give every run its own rng=, or say same_seed=True"
            )
        seen.setdefault(one.seed, number)


def _confidence(results: Sequence[Result], confidence: float | None) -> float:
    if confidence is not None:
        return fraction_of("confidence", confidence)
    levels = sorted({one.confidence for one in results})
    if len(levels) > 1:
        raise PlanError(f"the runs have different levels, {levels}: give confidence=")
    return levels[0]


def _arms(plan: Plan) -> tuple[Any, ...]:
    """Return what must be the same for draws of two runs to be draws of the same arms."""
    return plan.names, plan.versions, plan.unit, plan.combine, plan.weights, plan.log


def _widest(intervals: Sequence[Interval]) -> Interval:
    """Return the widest kind of interval among the runs.

    One run after the other is one long run, and the end of the last one a time to stop at that
    nothing but the past has decided: what holds at all such times holds there.
    """
    for one in intervals:
        if isinstance(one, Anytime) and one.rho2 is not None:
            return one
    fixed = all(isinstance(one, FixedSize) for one in intervals)
    return FixedSize() if fixed else ManyLooks()


# -- one estimate


def _arm_by_arm(
    results: Sequence[Result], confidence: float, interval: Interval, combine: Combiner | None
) -> Result:
    """Merge the ledgers: the runs one after the other, as one long run."""
    plan = replace(results[0].plan, confidence=confidence)
    combiner = combine or as_combiner(plan.combine, plan.weights)
    ledger = results[0]._ledger.copy()
    for one in results[1:]:
        ledger.merge(one._ledger)
    parts = [one.history.rows() for one in results]
    numbers = np.concatenate([part.numbers for part in parts])
    numbers[:, 0] = np.arange(len(numbers))
    kept = all(part.values for part in parts)  # by each of the runs, or the draws of some are gone
    rows = Rows(
        numbers,
        np.concatenate([part.moments for part in parts]),
        parts[0].scalar,
        [values for part in parts for values in part.values] if kept else [],
    )
    return _answer(plan, ledger, rows, combiner, interval)


def _run_by_run(
    results: Sequence[Result], confidence: float, interval: Interval, _: Combiner | None
) -> Result:
    """Weight the runs, each of them an arm of which only the mean and its error are known."""
    units = {one.plan.unit for one in results}
    names = tuple(f"run {number} (seed {one.seed})" for number, one in enumerate(results, 1))
    plan = Plan(
        names=names,
        seed=results[0].seed,
        unit=units.pop() if len(units) == 1 else "draws",
        policy={"name": "independent runs"},
        combine="trusted",
        confidence=confidence,
        log=results[0].plan.log,
    )
    numbers = np.empty((len(results), 5))
    moments = []
    for number, one in enumerate(results):
        cost = one.cost if plan.unit == one.plan.unit else one.draws
        numbers[number] = number, number, one.draws, cost, 0.0
        moments.append(_moments(one))
    rows = Rows(numbers, np.array(moments), results[0].history.scalar, [])
    history = History(names, trusted, measured=plan.unit == "seconds", log=plan.log)
    history.take(rows)
    return _answer(plan, history.ledger(), rows, trusted, interval)


def _moments(run: Result) -> Floats:
    """Return origin, exponent, mean, M2, M3, M4 of draws that would have come to the same.

    n draws with the mean of the run, its variance times n, and the fourth moment that gives the
    effective degrees of freedom which its error has: see `Ledger.df`.
    """
    n, pooled, unit = run.draws, run._pooled, run._ledger.exponent
    m2 = np.where(pooled.varies, pooled.variance * n, 0.0) * max(n - 1, 1)
    m4 = np.square(m2) / n**2 * np.maximum(2 * (n - 1) * (n + 10) / pooled.df + n - 40, 0.0)
    nothing = np.zeros_like(pooled.mean)
    if run.plan.log:
        return np.array((nothing, unit, pooled.mean, m2, nothing, m4))
    value = run._ledger.value_of(pooled.mean)
    return np.array((value, unit, nothing, m2, nothing, m4))


def trusted(ledger: Ledger) -> Floats:
    """Weight runs by 1/(V_k exp(1.5 sqrt(2/df_k))), V_k = s2_k/n_k the square of their errors.

    By inverse variance, but an error that is not well known is taken to be larger than it looks:
    among many short runs those that were lucky would count for the most. A run in which nothing
    has varied gets no weight; if none has, each by its draws.
    """
    n, s2 = ledger.count[:, None], ledger.variance
    doubtful = s2 * np.exp(1.5 * np.sqrt(2 / ledger.df))
    precise = np.divide(n, doubtful, out=np.zeros_like(s2), where=s2 > 0)
    precise = np.where((s2 > 0).any(axis=0), precise, n)
    return np.asarray(precise / precise.sum(axis=0))


def _answer(
    plan: Plan, ledger: Ledger, rows: Rows, combiner: Combiner, interval: Interval
) -> Result:
    history = History(
        plan.names,
        combiner,
        confidence=plan.confidence,
        interval=interval,
        measured=plan.unit == "seconds",
        log=plan.log,
    )
    history.take(rows)
    return result_of(plan, ledger, history, combiner, interval, {})


# -- do they agree?


def run_agreement(results: Sequence[Result]) -> Floats:
    """Return the p-value, per component, that the runs estimate the same number.

    Welch's test for means of unequal variances (Biometrika 38, 1951): with w = 1/V,
    F = sum w (x - x_w)^2/(R - 1) / (1 + 2 (R - 2)/(R^2 - 1) L), L = sum (1 - w/W)^2/df, on R - 1
    and (R^2 - 1)/(3 L) degrees of freedom. NaN where fewer than two runs have varied.
    """
    from scipy.special import fdtrc

    if results[0].plan.log:  # in a unit that all of them share
        units = np.array([one._ledger.exponent for one in results])
        shift = units - units.max(axis=0)
        x = np.ldexp(np.array([one._pooled.mean for one in results]), shift)
        error = np.ldexp(np.array([stderr_of(one._pooled) for one in results]), shift)
    else:
        x = np.array([np.atleast_1d(one.value) for one in results])
        error = np.array([np.atleast_1d(one.stderr) for one in results], dtype=float)
    df = np.array([one._pooled.df for one in results])
    p = np.full(x.shape[1], np.nan)
    for j in range(x.shape[1]):
        known = np.isfinite(error[:, j]) & (error[:, j] > 0)
        R = int(known.sum())
        if R < 2:
            continue
        scale = error[known, j].max()  # of draws of 2^600 the square is infinite
        w = np.square(scale / error[known, j])
        off = (x[known, j] - x[known, j][0]) / scale
        W = w.sum()
        centre = (w * off).sum() / W
        L = (np.square(1 - w / W) / df[known, j]).sum()
        F = (w * np.square(off - centre)).sum() / (R - 1) / (1 + 2 * (R - 2) / (R * R - 1) * L)
        p[j] = fdtrc(R - 1, (R * R - 1) / (3 * L), F)
    return p


def _disagreement(p: Floats) -> list[str]:
    low = float(np.nanmin(p)) * len(p) if np.isfinite(p).any() else 1.0
    if low >= _CLEARLY:
        return []
    shown = f"p = {low:.1g}" if low > 1e-99 else "p < 1e-99"
    return [
        f"the runs disagree ({shown}): they do not estimate the same quantity, or at least one of "
        "them is biased, and so may the answer be"
    ]


def _short(results: Sequence[Result]) -> list[str]:
    """Warn of many short runs: a bias of order 1/n, which all of them share, does not average out.

    It is about sqrt(R/n) standard errors of R merged runs of n draws.
    """
    fewest = min(one.draws for one in results)
    if 10 * len(results) <= fewest:
        return []
    return [
        f"{len(results)} runs, the shortest of {fewest} draws: what a short run is biased by, the "
        "mean of many is biased by too, and the error bar does not show it; merge longer runs"
    ]


def _of_runs(results: Sequence[Result], merged: Result) -> list[str]:
    """Return what the runs themselves warn of, once each, with the runs that do."""
    found: dict[str, list[str]] = {}
    for number, one in enumerate(results, 1):
        for doubt in one.warnings:
            if doubt not in merged.warnings:
                found.setdefault(doubt, []).append(str(number))
    return [
        f"run{'s' * (len(numbers) > 1)} {', '.join(numbers)}: {doubt}"
        for doubt, numbers in found.items()
    ]
