"""Estimate: pooled numbers in the user's units, with their standard error and half-width."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.data.history import LookBack
from croupier.data.ledger import Ledger
from croupier.data.log_scale import exp_of, log_of, relative
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.estimates.combiners import Combiner, Pooled, pool
from croupier.estimates.intervals import Interval, half_width

__all__ = ["Estimate", "estimate_of", "look_back", "shaped", "stderr_of"]


class Estimate(NamedTuple):
    """An estimate with its error, made once for all readers: arrays of d numbers.

    `scale` is the scale of the pooled numbers. In a run of logs, `logs` has the rows log(value),
    its standard error and its half-width.
    """

    pooled: Pooled
    scale: Scale
    interval: Interval
    value: Floats
    stderr: Floats
    half_width: Floats
    logs: Floats | None


def estimate_of(plan: Plan, scale: Scale, pooled: Pooled, interval: Interval) -> Estimate:
    """Return the estimate in the user's units; `scale` is the scale of the pooled numbers."""
    error, half = stderr_of(pooled), half_width(interval, pooled, plan.confidence)
    scaled = np.array((pooled.mean, error, half))
    if not plan.log:
        value, (stderr, half) = scale.value_of(scaled[0]), scale.spread_of(scaled[1:])
        return Estimate(pooled, scale, interval, value, stderr, half, None)
    mean = scaled[0]
    logs = np.array((log_of(mean, scale.exponent), *relative(scaled[1:], mean)))
    value, stderr, half = exp_of(scaled, scale.exponent)
    return Estimate(pooled, scale, interval, value, stderr, half, logs)


def look_back(plan: Plan, combiner: Combiner, interval: Interval) -> LookBack:
    """Return the function that makes earlier estimates for a history, with the last interval."""
    return partial(_estimate_then, plan.log, plan.confidence, combiner, interval)


def _estimate_then(
    log: bool, confidence: float, combiner: Combiner, interval: Interval, ledger: Ledger
) -> tuple[Floats, Floats]:
    pooled = pool(ledger, combiner)
    half = half_width(interval, pooled, confidence)
    if log:
        return log_of(pooled.mean, ledger.exponent), relative(half, pooled.mean)
    return ledger.scale.value_of(pooled.mean), ledger.scale.spread_of(half)


def stderr_of(pooled: Pooled) -> Floats:
    """Return the standard error, NaN where no arm has varied; scaled like the pooled means."""
    error = np.sqrt(pooled.variance)
    return error if pooled.varies.all() else np.where(pooled.varies, error, np.nan)


def shaped(numbers: Floats, scalar: bool) -> Any:
    """Return a number for scalar draws, an array of length d for vectors."""
    return numbers[0].item() if scalar else numbers
