"""Results of independent runs become one result: arm by arm, or run by run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from croupier.data.draws import Floats
from croupier.data.history import BATCH, History, Rows
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.estimates.combiners import Combiner, pool
from croupier.estimates.diagnostics import warnings_of
from croupier.estimates.estimate import Estimate, look_back, stderr_of
from croupier.estimates.intervals import Interval
from croupier.results.make_result import Loss, cost_times_variance, result_of
from croupier.results.result import Result
from croupier.results.rows import RowMeaning

__all__ = ["arm_by_arm", "run_agreement", "run_by_run", "trusted"]


def arm_by_arm(
    results: Sequence[Result],
    confidence: float,
    interval: Interval,
    combiner: Combiner,
    loss: Loss = cost_times_variance,
) -> Result:
    """Merge the ledgers, as if the runs were one long run."""
    plan = replace(results[0].plan, confidence=confidence)
    ledger = results[0].basis.ledger.copy()
    for one in results[1:]:
        ledger.merge(one.basis.ledger)
    parts = [one.history.rows() for one in results]
    batches = np.concatenate([part.batches for part in parts])
    batches["ticket"] = np.arange(len(batches))
    kept = all(part.values for part in parts)  # if a run did not keep its draws, none are kept
    rows = Rows(
        batches,
        np.concatenate([part.moments for part in parts]),
        parts[0].scalar,
        [values for part in parts for values in part.values] if kept else [],
    )
    return _merged(plan, ledger, rows, combiner, interval, results, loss)


def run_by_run(
    results: Sequence[Result], confidence: float, interval: Interval, _: Combiner | None = None
) -> Result:
    """Weight the runs: each run counts as an arm with a known mean and a known error."""
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
    batches = np.empty(len(results), BATCH)
    moments = []
    for number, one in enumerate(results):
        cost = one.cost if plan.unit == one.plan.unit else one.draws
        batches[number] = number, number, one.draws, cost, 0.0
        moments.append(_moments(one))
    rows = Rows(batches, np.array(moments), results[0].history.scalar, [])
    history = History(names, measured=plan.unit == "seconds", log=plan.log)
    history.take(rows)
    return _merged(plan, history.ledger(), rows, trusted, interval, [])


def _moments(run: Result) -> Floats:
    """Return origin, exponent, mean, M2, M3, M4 of n draws that would give the same estimate.

    Their mean is the mean of the run, and their variance is n times the variance of the run. Their
    fourth moment gives the effective degrees of freedom of its error: see `Ledger.df`.
    """
    n, pooled, scale = run.draws, run.basis.pooled, run.basis.scale
    m2 = np.where(pooled.varies, pooled.variance * n, 0.0) * max(n - 1, 1)
    m4 = np.square(m2) / n**2 * np.maximum(2 * (n - 1) * (n + 10) / pooled.df + n - 40, 0.0)
    nothing = np.zeros_like(pooled.mean)
    if run.plan.log:
        return np.array((nothing, scale.exponent, pooled.mean, m2, nothing, m4))
    return np.array((scale.value_of(pooled.mean), scale.exponent, nothing, m2, nothing, m4))


def trusted(ledger: Ledger) -> Floats:
    """Weight runs by 1/(V_k exp(1.5 sqrt(2/df_k))), V_k = s2_k/n_k the square of their errors.

    This is inverse variance, but an error that is not well known counts as larger than it looks.
    Otherwise, among many short runs, the lucky ones would count most. A run without variation gets
    no weight. If no run has varied, each run is weighted by its number of draws.
    """
    n, s2 = ledger.count[:, None], ledger.variance
    inflated = s2 * np.exp(1.5 * np.sqrt(2 / ledger.df))
    precise = np.divide(n, inflated, out=np.zeros_like(s2), where=s2 > 0)
    precise = np.where((s2 > 0).any(axis=0), precise, n)
    return np.asarray(precise / precise.sum(axis=0))


def _merged(
    plan: Plan,
    ledger: Ledger,
    rows: Rows,
    combiner: Combiner,
    interval: Interval,
    like: Sequence[Result],
    loss: Loss = cost_times_variance,
) -> Result:
    history = History(
        plan.names,
        look_back(plan, combiner, interval),
        log=plan.log,
        like=ledger.empty(),
    )
    history.take(rows)
    estimate = Estimate(plan, ledger.scale, pool(ledger, combiner), interval, ledger)
    meaning = like[0].basis.meaning if like else RowMeaning()
    warnings, agreement = warnings_of(
        plan,
        ledger,
        estimate.pooled,
        {},
        exact=estimate.ends.exact,
        one_estimator=meaning.one_estimator,
    )
    return result_of(
        plan,
        ledger,
        estimate,
        history,
        warnings=warnings,
        agreement=agreement,
        loss=loss,
        meaning=meaning,
    )


def run_agreement(results: Sequence[Result]) -> Floats:
    """Return the p-value, per component, that the runs estimate the same number.

    This is Welch's test for means of unequal variances (Biometrika 38, 1951): with w = 1/V,
    F = sum w (x - x_w)^2/(R - 1) / (1 + 2 (R - 2)/(R^2 - 1) L), L = sum (1 - w/W)^2/df, on R - 1
    and (R^2 - 1)/(3 L) degrees of freedom. It is NaN if fewer than two runs have varied.
    """
    from scipy.special import fdtrc

    if results[0].plan.log:  # in a unit that all of them share
        units = np.array([one.basis.scale.exponent for one in results])
        shift = units - units.max(axis=0)
        x = np.ldexp(np.array([one.basis.pooled.mean for one in results]), shift)
        error = np.ldexp(np.array([stderr_of(one.basis.pooled) for one in results]), shift)
    else:
        x = np.array([np.atleast_1d(one.value) for one in results])
        error = np.array([np.atleast_1d(one.stderr) for one in results], dtype=float)
    df = np.array([one.basis.pooled.df for one in results])
    p = np.full(x.shape[1], np.nan)
    for j in range(x.shape[1]):
        known = np.isfinite(error[:, j]) & (error[:, j] > 0)
        R = int(known.sum())
        if R < 2:
            continue
        scale = error[known, j].max()  # the square of draws of 2^600 is infinite
        w = np.square(scale / error[known, j])
        off = (x[known, j] - x[known, j][0]) / scale
        W = w.sum()
        centre = (w * off).sum() / W
        L = (np.square(1 - w / W) / df[known, j]).sum()
        F = (w * np.square(off - centre)).sum() / (R - 1) / (1 + 2 * (R - 2) / (R * R - 1) * L)
        p[j] = fdtrc(R - 1, (R * R - 1) / (3 * L), F)
    return p
