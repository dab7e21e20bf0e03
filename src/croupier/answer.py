"""From a ledger to the answer: combine, interval, warnings, and a row for every arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from croupier.combine import Combiner, Pooled, pool
from croupier.diagnostics import doubts
from croupier.draws import Floats
from croupier.history import History
from croupier.intervals import Interval, half_width
from croupier.ledger import Ledger
from croupier.logs import exp_of, log_of, quiet, relative
from croupier.plan import Plan
from croupier.policies.base import objective_weights
from croupier.result import ArmRow, ArmRows, Result, log_ends
from croupier.tails import Tail

__all__ = ["result_from", "result_of", "rows_of", "shaped", "stderr_of"]


def result_of(
    plan: Plan,
    ledger: Ledger,
    history: History,
    combiner: Combiner,
    interval: Interval,
    tails: Mapping[int, Tail],
) -> Result:
    """Return the result of a run that has told what the ledger knows."""
    if plan.log:
        with quiet():
            return _result(plan, ledger, history, combiner, interval, tails)
    return _result(plan, ledger, history, combiner, interval, tails)


def _result(
    plan: Plan,
    ledger: Ledger,
    history: History,
    combiner: Combiner,
    interval: Interval,
    tails: Mapping[int, Tail],
) -> Result:
    pooled = pool(ledger, combiner)
    rows = rows_of(plan, ledger, pooled, history)
    warnings, agreement = doubts(plan, ledger, pooled, tails)
    return result_from(plan, ledger, pooled, history, interval, rows, warnings, agreement)


def result_from(
    plan: Plan,
    ledger: Ledger,
    pooled: Pooled,
    history: History,
    interval: Interval,
    rows: ArmRows,
    warnings: Sequence[str],
    agreement: Floats,
    unit: Ledger | None = None,
) -> Result:
    """Return the result of an estimate; `unit` is the ledger that it is relative to, if another."""
    scalar, unit = history.scalar, ledger.copy() if unit is None else unit
    half = half_width(interval, pooled, plan.confidence)
    p = agreement[0]
    answer = _estimate_of_logs if plan.log else _estimate
    return Result(
        **answer(unit, pooled, half, scalar),
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
        _ledger=unit,
        _pooled=pooled,
        _interval=interval,
    )


def _estimate(ledger: Ledger, pooled: Pooled, half: Floats, scalar: bool) -> dict[str, Any]:
    value, half = ledger.value_of(pooled.mean), ledger.spread_of(half)
    return {
        "value": shaped(value, scalar),
        "stderr": shaped(ledger.spread_of(stderr_of(pooled)), scalar),
        "interval": (shaped(value - half, scalar), shaped(value + half, scalar)),
    }


def _estimate_of_logs(ledger: Ledger, pooled: Pooled, half: Floats, scalar: bool) -> dict[str, Any]:
    """Return the estimate on both scales; the interval is symmetric on that of the logs."""
    stderr, ends = stderr_of(pooled), log_ends(ledger, pooled, half)
    return {
        "value": shaped(exp_of(pooled.mean, ledger.exponent), scalar),
        "stderr": shaped(exp_of(stderr, ledger.exponent), scalar),
        "interval": tuple(shaped(np.exp(end), scalar) for end in ends),
        "log_value": shaped(log_of(pooled.mean, ledger.exponent), scalar),
        "log_stderr": shaped(relative(stderr, pooled.mean), scalar),
        "log_interval": tuple(shaped(end, scalar) for end in ends),
    }


def rows_of(plan: Plan, ledger: Ledger, pooled: Pooled, history: History) -> ArmRows:
    """Return what is known of every arm by itself, and its weight in the estimate."""
    s2, price, scalar = ledger.variance, ledger.price, history.scalar
    V = s2 @ objective_weights(plan, ledger, s2)
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
    return ArmRows(rows)


def stderr_of(pooled: Pooled) -> Floats:
    """Return the standard error, NaN where no arm has varied; scaled like the ledger's means."""
    return np.where(pooled.varies, np.sqrt(pooled.variance), np.nan)


def shaped(numbers: Floats, scalar: bool) -> Any:
    """Return a number for scalar draws, an array of length d for vectors."""
    return numbers[0].item() if scalar else numbers
