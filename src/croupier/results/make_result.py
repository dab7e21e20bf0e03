"""From a ledger to the answer: combine, interval, warnings, and a row for every arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.data.extremes import Tail
from croupier.data.history import History
from croupier.data.ledger import Ledger
from croupier.data.log_scale import exp_of, log_of, quiet, relative
from croupier.data.plan import Plan
from croupier.estimates.combiners import Combiner, Pooled, pool
from croupier.estimates.diagnostics import doubts
from croupier.estimates.intervals import Interval, half_width
from croupier.policies.base import objective_weights
from croupier.results.result import ArmRow, ArmRows, Result, log_ends

__all__ = [
    "Estimate",
    "estimate_of",
    "result_from",
    "result_of",
    "rows_of",
    "shaped",
    "stderr_of",
]


class Estimate(NamedTuple):
    """An estimate with its error, made once for all that read it: arrays of d numbers.

    `logs` has the rows log(value), its standard error and its half-width, in a run of logs.
    """

    pooled: Pooled
    interval: Interval
    value: Floats
    stderr: Floats
    half_width: Floats
    logs: Floats | None


def estimate_of(plan: Plan, ledger: Ledger, pooled: Pooled, interval: Interval) -> Estimate:
    """Return the estimate in the user's units; pooled numbers are relative to the ledger."""
    error, half = stderr_of(pooled), half_width(interval, pooled, plan.confidence)
    scaled = np.array((pooled.mean, error, half))
    if not plan.log:
        value, (stderr, half) = ledger.value_of(scaled[0]), ledger.spread_of(scaled[1:])
        return Estimate(pooled, interval, value, stderr, half, None)
    mean = scaled[0]
    logs = np.array((log_of(mean, ledger.exponent), *relative(scaled[1:], mean)))
    value, stderr, half = exp_of(scaled, ledger.exponent)
    return Estimate(pooled, interval, value, stderr, half, logs)


def result_of(
    plan: Plan,
    ledger: Ledger,
    history: History,
    combiner: Combiner,
    interval: Interval,
    tails: Mapping[int, Tail],
    estimate: Estimate | None = None,
) -> Result:
    """Return the result of a run that has told what the ledger knows; `estimate` if it is known."""
    with quiet() if plan.log else nullcontext():
        own = ledger.copy()
        estimate = estimate or estimate_of(plan, own, pool(own, combiner), interval)
        rows = rows_of(plan, own, estimate.pooled, history)
        warnings, agreement = doubts(plan, own, estimate.pooled, tails)
        return result_from(plan, own, estimate, history, rows, warnings, agreement)


def result_from(
    plan: Plan,
    ledger: Ledger,
    estimate: Estimate,
    history: History,
    rows: ArmRows,
    warnings: Sequence[str],
    agreement: Floats,
    unit: Ledger | None = None,
) -> Result:
    """Return the result of an estimate, which keeps the ledger.

    `unit` is the ledger that the estimate is relative to, if another.
    """
    scalar = history.scalar
    p = agreement[0]
    answer = _answer if estimate.logs is None else _answer_of_logs
    return Result(
        **answer(estimate, scalar),
        confidence=plan.confidence,
        draws=int(ledger.draws),
        cost=ledger.spent,
        seconds=0.0,
        stopped=None,
        arms=rows,
        agreement=(None if np.isnan(p) else float(p)) if scalar else agreement,
        warnings=tuple(warnings),
        history=history,
        plan=plan,
        seed=plan.seed,
        _ledger=unit or ledger,
        _pooled=estimate.pooled,
        _interval=estimate.interval,
    )


def _answer(estimate: Estimate, scalar: bool) -> dict[str, Any]:
    value, half = estimate.value, estimate.half_width
    return {
        "value": shaped(value, scalar),
        "stderr": shaped(estimate.stderr, scalar),
        "interval": (shaped(value - half, scalar), shaped(value + half, scalar)),
    }


def _answer_of_logs(estimate: Estimate, scalar: bool) -> dict[str, Any]:
    """Return the estimate on both scales; the interval is symmetric on that of the logs."""
    assert estimate.logs is not None
    log, error, half = estimate.logs
    ends = log_ends(log, half)
    low, high = np.exp(ends)
    return {
        "value": shaped(estimate.value, scalar),
        "stderr": shaped(estimate.stderr, scalar),
        "interval": (shaped(low, scalar), shaped(high, scalar)),
        "log_value": shaped(log, scalar),
        "log_stderr": shaped(error, scalar),
        "log_interval": (shaped(ends[0], scalar), shaped(ends[1], scalar)),
    }


def rows_of(plan: Plan, ledger: Ledger, pooled: Pooled, history: History) -> ArmRows:
    """Return what is known of every arm by itself, and its weight in the estimate.

    The rows are made when somebody reads them: ledger and history must not change any more.
    """
    return ArmRows(partial(_rows, plan, ledger, pooled, history))


def _rows(plan: Plan, ledger: Ledger, pooled: Pooled, history: History) -> list[ArmRow]:
    with quiet() if plan.log else nullcontext():
        return _rows_now(plan, ledger, pooled, history)


def _rows_now(plan: Plan, ledger: Ledger, pooled: Pooled, history: History) -> list[ArmRow]:
    s2, price, scalar = ledger.sample_variance, ledger.price, history.scalar
    V = ledger.variance @ objective_weights(plan, ledger, s2)
    known = (ledger.count > 1) & (V > 0)
    loss = price * V
    if plan.weights is not None:  # one more draw takes w^2 V/n^2 from the variance of the estimate
        loss = price * np.square(ledger.count / plan.weights) / np.where(known, V, 1.0)
    best = loss[known].min() if known.any() else np.nan
    deviation, x = np.sqrt(s2), ledger.mean
    mean, spread = ledger.value_of(x), ledger.spread_of(deviation)
    with np.errstate(over="ignore"):  # of draws of 2^600 the variance is infinite, and nobody minds
        variance = np.square(spread)
    root = np.sqrt(np.maximum(ledger.count, 1))[:, None]
    error = spread / root
    logs: dict[str, Floats] = {}
    if plan.log:
        varied = relative(deviation, x)
        logs = {
            "log_mean": log_of(x, ledger.exponent),
            "log_stderr": varied / root,
            "relative_deviation": varied,
        }
    values = history.all_values()
    rows = []
    for k, name in enumerate(plan.names):
        draws = int(ledger.count[k])
        rows.append(
            ArmRow(
                name=name,
                draws=draws,
                share=float(ledger.cost[k] / ledger.spent),
                weight=float(pooled.weights[k].mean()),
                mean=shaped(mean[k], scalar) if draws else None,
                stderr=shaped(error[k], scalar) if draws > 1 else None,
                variance=shaped(variance[k], scalar) if draws > 1 else None,
                cost_per_draw=float(price[k]) if draws else None,
                efficiency=float(best / loss[k]) if known[k] else None,
                values=None if values is None else values[name],
                **{
                    column: shaped(numbers[k], scalar)
                    for column, numbers in logs.items()
                    if draws > (column != "log_mean")
                },
            )
        )
    return rows


def stderr_of(pooled: Pooled) -> Floats:
    """Return the standard error, NaN where no arm has varied; scaled like the ledger's means."""
    error = np.sqrt(pooled.variance)
    return error if pooled.varies.all() else np.where(pooled.varies, error, np.nan)


def shaped(numbers: Floats, scalar: bool) -> Any:
    """Return a number for scalar draws, an array of length d for vectors."""
    return numbers[0].item() if scalar else numbers
