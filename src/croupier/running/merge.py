"""merge: independent runs of one quantity become one estimate, and are tested for agreement."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from croupier.checks import fraction_of
from croupier.data.draws import Floats
from croupier.data.log_scale import arithmetic
from croupier.data.plan import Plan
from croupier.errors import CroupierWarning, PlanError
from croupier.estimates.combiners import Combiner
from croupier.estimates.diagnostics import CLEARLY
from croupier.estimates.guaranteed import merged_bets
from croupier.estimates.intervals import Anytime, FixedSize, Guaranteed, Interval, ManyLooks
from croupier.results.merging import run_agreement, run_by_run
from croupier.results.result import Result, Runs
from croupier.store.log import Store
from croupier.store.reading import StoredRun, open_run
from croupier.tables.base import kind_of

__all__ = ["merge"]

Run: TypeAlias = Result | StoredRun | Store | str | os.PathLike[str]


def merge(
    runs: Iterable[Run],
    *,
    confidence: float | None = None,
    combine: Combiner | None = None,
    same_seed: bool = False,
) -> Result:
    """Merge independent runs of one quantity into one estimate, and test whether they agree.

    Runs of the same arms (names, versions, unit, combiner) are merged arm by arm: every draw
    counts as it would in one long run. Runs of different arms are weighted by their known
    precision, and each run is a row of the result.

    Args:
        runs: Results, stored runs, or paths of stores; two or more.
        confidence: The level of the interval; by default that of the runs.
        combine: Needed if the runs were combined by your own function.
        same_seed: Also merge runs with the same seed. Usually such runs have the same draws and
            are not independent. Use it only if the arms do not use the generator that they get.

    Returns:
        A `Result`. Its `runs` has the seeds, the estimates and the p-value of the agreement. Its
        interval is of the widest kind among the runs.

    >>> import croupier as cr
    >>> arms = {"rough": lambda rng, size: rng.normal(1.0, 1.0, size)}
    >>> first, second = (cr.estimate(arms, draws=1000, rng=seed) for seed in (1, 2))
    >>> both = cr.merge([first, second])
    >>> both.draws, round(both.stderr / first.stderr, 1), both.runs.agreement > 0.001
    (2000, 0.7, True)
    """
    single = isinstance(runs, str | os.PathLike | Result | StoredRun | Store)
    if single or not isinstance(runs, Iterable):
        raise PlanError(f"merge takes a list of two or more runs, got {runs!r}")
    given = [_opened(run, combine) for run in runs]
    _check_copies(given)
    results = [run.result() if isinstance(run, StoredRun) else run for run in given]
    _check(results, same_seed)
    level = _confidence(results, confidence)
    alike = all(_arms(one.plan) == _arms(results[0].plan) for one in results)
    merge_them = kind_of(results[0].plan.table).merge if alike else run_by_run
    interval = _widest(results, alike)
    with arithmetic(results[0].plan.log):
        merged = merge_them(results, level, interval, combine)
        p = run_agreement(results)
    scalar = results[0].history.scalar
    messages = [*_disagreement(p), *_short(results), *merged.warnings, *_of_runs(results, merged)]
    for text in messages:
        warnings.warn(text, CroupierWarning, stacklevel=2)
    return replace(
        merged,
        seconds=float(sum(one.seconds for one in results)),
        stopped="merged",
        warnings=tuple(messages),
        runs=Runs(
            seeds=tuple(one.seed for one in results),
            values=tuple(one.value for one in results),
            stderrs=tuple(one.stderr for one in results),
            agreement=(None if np.isnan(p[0]) else float(p[0])) if scalar else p,
            log_values=tuple(one.log_value for one in results) if merged.plan.log else None,
            log_stderrs=tuple(one.log_stderr for one in results) if merged.plan.log else None,
        ),
    )


# -- what is given


def _opened(run: Any, combine: Combiner | None) -> Result | StoredRun:
    if isinstance(run, Result):
        if run.runs is not None:
            raise PlanError(
                "merge takes single runs, got a merged result: merge all single runs at once"
            )
        return run
    if isinstance(run, StoredRun):
        return run
    if isinstance(run, Store):
        run = run.path
    if not isinstance(run, str | os.PathLike):
        raise PlanError(f"merge takes results, stored runs and paths of stores, got {run!r}")
    return open_run(run, combine=combine)


def _check_copies(runs: Sequence[Result | StoredRun]) -> None:
    """Refuse one run that is given twice: as a result, in its store, or in a copy of its store."""
    seen: dict[str | int, str] = {}
    for number, run in enumerate(runs, 1):
        if isinstance(run, StoredRun):
            name, key = run.status.path, run.status.run_id or id(run)
        else:
            name, key = f"result {number}", run.run_id or id(run)
        if (first := seen.get(key)) is not None:
            raise PlanError(
                f"{first} and {name} hold the same run, also if one of them is a copy or has more "
                "draws, and its draws would be counted twice; give every run once"
            )
        seen[key] = name


def _check(results: Sequence[Result], same_seed: bool) -> None:
    if len(results) < 2:
        raise PlanError(f"merge needs at least two runs, got {len(results)}")
    shapes = [np.shape(one.value) for one in results]
    if len(set(shapes)) > 1:
        raise PlanError(f"the runs must estimate quantities of one shape, got {shapes}")
    if len({one.plan.log for one in results}) > 1:
        raise PlanError(
            "some runs were made with log=True and some without: make all of them the same way"
        )
    seen: dict[int, int] = {}
    for number, one in enumerate(results, 1):
        if one.seed in seen and not same_seed:
            raise PlanError(
                f"runs {seen[one.seed]} and {number} have the same seed {one.seed}: they are not "
                "independent; give every run its own rng=, or give same_seed=True"
            )
        seen.setdefault(one.seed, number)


def _confidence(results: Sequence[Result], confidence: float | None) -> float:
    if confidence is not None:
        return fraction_of("confidence", confidence)
    levels = sorted({one.confidence for one in results})
    if len(levels) > 1:
        raise PlanError(f"the runs have different confidence levels, {levels}: give confidence=")
    return levels[0]


def _arms(plan: Plan) -> tuple[Any, ...]:
    """Return what two runs must have in common to be runs of the same arms."""
    return (
        plan.table, plan.settings, plan.names, plan.versions, plan.unit, plan.combine, plan.log,
    )  # fmt: skip


def _widest(results: Sequence[Result], alike: bool) -> Interval:
    """Return the widest kind of interval among the runs; if all are guaranteed, a guaranteed one.

    The runs, one after the other, are one long run. Only its past decides when it ends. So an
    interval that is valid for every such end is valid for the merged runs.
    """
    intervals = [one.basis.interval for one in results]
    if all(one.follows for one in intervals):
        sure = cast(list[Guaranteed], intervals)
        return merged_bets(sure, [one.plan for one in results], same_arms=alike)
    for one in intervals:
        if isinstance(one, Anytime) and one.rho2 is not None:
            return one
    fixed = all(isinstance(one, FixedSize) for one in intervals)
    return FixedSize() if fixed else ManyLooks()


# -- do they agree?


def _disagreement(p: Floats) -> list[str]:
    low = float(np.nanmin(p)) * len(p) if np.isfinite(p).any() else 1.0
    if low >= CLEARLY:
        return []
    shown = f"p = {low:.1g}" if low > 1e-99 else "p < 1e-99"
    return [
        f"the runs disagree ({shown}): they do not estimate the same quantity, or at least one of "
        "them is biased; the merged estimate may be biased too"
    ]


def _short(results: Sequence[Result]) -> list[str]:
    """Warn about many short runs: they share a bias of order 1/n, which does not average out.

    For R merged runs of n draws it is about sqrt(R/n) standard errors.
    """
    fewest = min(one.draws for one in results)
    if 10 * len(results) <= fewest:
        return []
    return [
        f"{len(results)} runs, the shortest of {fewest} draws: a short run has a small bias, the "
        "mean of many has the same bias, and the error bar does not show it; merge longer runs"
    ]


def _of_runs(results: Sequence[Result], merged: Result) -> list[str]:
    """Return the warnings of the single runs, each one once, with the numbers of its runs."""
    found: dict[str, list[str]] = {}
    for number, one in enumerate(results, 1):
        for warning in one.warnings:
            if warning not in merged.warnings:
                found.setdefault(warning, []).append(str(number))
    return [
        f"run{'s' * (len(numbers) > 1)} {', '.join(numbers)}: {warning}"
        for warning, numbers in found.items()
    ]
