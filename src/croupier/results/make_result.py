"""From an estimate to a result: the answer on both scales, and a row for every arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from croupier.data.draws import Floats
from croupier.data.history import History
from croupier.data.ledger import Ledger
from croupier.data.log_scale import arithmetic, exp, log_of, relative
from croupier.data.plan import Plan
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate, shaped
from croupier.policies.base import objective_weights
from croupier.results.result import Basis, Result, log_ends
from croupier.results.rows import ArmRow, ArmRows, RowMeaning

__all__ = ["Loss", "cost_times_variance", "result_of", "untested"]

#: Returns a number for each arm from the prices (K,) and the variances (K,) of the arms; smaller
#: is better. The efficiency of an arm is the smallest loss divided by the loss of the arm.
Loss: TypeAlias = Callable[[Plan, Ledger, Floats, Floats], Floats]


def cost_times_variance(plan: Plan, ledger: Ledger, price: Floats, variance: Floats) -> Floats:
    """Return the cost of a draw times its variance. It is smallest for the best single arm."""
    return price * variance


def untested(components: int) -> Floats:
    """Return the agreement of arms that do not share one mean: NaN for every component."""
    return np.full(components, np.nan)


def result_of(
    plan: Plan,
    ledger: Ledger,
    estimate: Estimate,
    history: History,
    *,
    warnings: Sequence[str],
    agreement: Floats,
    loss: Loss = cost_times_variance,
    meaning: RowMeaning | None = None,
) -> Result:
    """Return the result of an estimate. The result keeps the ledger and the history.

    `meaning` says what the rows of the result show.
    """
    scalar = history.scalar
    p = agreement[0]
    return Result(
        **_answer(estimate, scalar),
        confidence=plan.confidence,
        draws=int(ledger.draws),
        cost=ledger.spent,
        seconds=0.0,
        stopped=None,
        # The rows are made when they are first read: ledger and history do not change any more.
        arms=ArmRows(partial(_rows, plan, ledger, estimate.pooled, history, loss)),
        agreement=(None if np.isnan(p) else float(p)) if scalar else agreement,
        warnings=tuple(warnings),
        history=history,
        plan=plan,
        seed=plan.seed,
        basis=Basis(ledger, estimate, estimate.ends.kind, meaning or RowMeaning()),
    )


def _answer(estimate: Estimate, scalar: bool) -> dict[str, Any]:
    """Return the estimate, in a run of logs on both scales: there, that of logs is symmetric."""
    low, high = estimate.ends.low, estimate.ends.high
    found: dict[str, Any] = {}
    if estimate.logs is not None:
        log, error, half = estimate.logs
        ends = log_ends(log, half)
        low, high = exp(np.array(ends))
        found = {
            "log_value": shaped(log, scalar),
            "log_stderr": shaped(error, scalar),
            "log_interval": (shaped(ends[0], scalar), shaped(ends[1], scalar)),
        }
    return {
        "value": shaped(estimate.value, scalar),
        "stderr": shaped(estimate.stderr, scalar),
        "interval": (shaped(low, scalar), shaped(high, scalar)),
        **found,
    }


def _rows(
    plan: Plan, ledger: Ledger, pooled: Pooled, history: History, loss_of: Loss
) -> list[ArmRow]:
    """Return what is known about every arm, and its weight in the estimate."""
    with arithmetic(plan.log):
        s2, price, scalar = ledger.sample_variance, ledger.price, history.scalar
        seen = ledger.for_estimate
        x = seen.mean
        V = ledger.variance @ objective_weights(plan, ledger, s2)
        known = (ledger.count > 1) & (V > 0)
        loss = loss_of(plan, ledger, price, np.where(known, V, 1.0))
        best = loss[known].min() if known.any() else np.nan
        deviation, scale = np.sqrt(s2), ledger.scale
        root = np.sqrt(np.maximum(seen.count, 1))[:, None]
        mean, spread = scale.value_of(x), scale.spread_of(deviation)
        with np.errstate(over="ignore"):  # the variance of draws of 2^600 is infinite
            variance = np.square(spread)
        error = scale.spread_of(np.sqrt(seen.sample_variance)) / root
        logs: dict[str, Floats] = {}
        if plan.log:
            varied = relative(deviation, x)
            logs = {
                "log_mean": log_of(x, ledger.exponent),
                "log_stderr": relative(np.sqrt(seen.sample_variance), x) / root,
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
                efficiency=float(best / loss[k]) if known[k] and best < np.inf else None,
                values=None if values is None else values[name],
                **{
                    column: shaped(numbers[k], scalar)
                    for column, numbers in logs.items()
                    if draws > (column != "log_mean")
                },
            )
        )
    return rows
