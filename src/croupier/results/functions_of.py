"""Functions of several estimates: their covariance, and the delta method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from croupier.checks import fraction_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.estimates.estimate import stderr_of
from croupier.estimates.intervals import Guaranteed

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["FunctionOf", "covariance_of", "function_of"]


class FunctionOf(NamedTuple):
    """A function of the components of a result: numbers, or arrays if the function returns them.

    `interval` is (low, high) at `confidence`.
    """

    value: Any
    stderr: Any
    interval: tuple[Any, Any]
    confidence: float


def covariance_of(result: Result) -> Floats:
    """Return the covariance (d, d) of the estimates of a result, in the user's units.

    The correlations are those of the draws, or of the nets of a race. The diagonal is the square
    of `stderr`.
    """
    basis = result.basis
    error = basis.scale.spread_of(stderr_of(basis.pooled))
    if result.plan.log:
        raise PlanError("the covariance of a run of logs is not known: run without log=True")
    if len(error) == 1:
        return np.asarray(np.square(error)[:, None])
    joint = basis.pooled.covariance
    if joint is None:
        joint = _joint(result)
    deviation = np.sqrt(np.diag(joint))
    known = (deviation > 0) & np.isfinite(error)
    scale = np.divide(error, deviation, out=np.zeros_like(error), where=known)
    return np.where(np.isnan(error[:, None] + error), np.nan, joint * np.outer(scale, scale))


def _joint(result: Result) -> Floats:
    """Return sum_k w_k w_k' M_k/n_k^2: M_k are the products of the distances of an arm's draws.

    The distances are those from the estimate, or from the mean of a stratum, as in
    `croupier.estimates.combiners.pool`.
    """
    values = result.history.all_values()
    if values is None:
        raise PlanError(
            "the covariance of the components is not known, because the run kept no draws: give "
            "keep_values=True"
        )
    pooled = result.basis.pooled
    total = np.zeros((len(pooled.mean),) * 2)
    for k, name in enumerate(result.plan.names):
        own = values[name]
        if not len(own):
            continue
        centre = np.asarray(result.value) if pooled.shared else own.mean(axis=0)
        away = (own - centre) * (pooled.weights[k] / len(own))
        total += away.T @ away
    return total


def function_of(
    result: Result, function: Callable[..., Any], confidence: float | None = None
) -> FunctionOf:
    """Return a function of the components, with the error bar of the delta method.

    Its variance is g' C g, with g the gradient at the estimate (by central differences, a
    thousandth of a standard error to both sides) and C the covariance. The half-width has the
    multiplier of the run's own interval; the largest one among the components.
    """
    level = result.confidence if confidence is None else fraction_of("confidence", confidence)
    basis, value = result.basis, np.atleast_1d(np.asarray(result.value, dtype=float))
    if isinstance(basis.interval, Guaranteed):
        raise PlanError(
            "the delta method gives no guaranteed interval: run without interval='guaranteed'"
        )
    covariance = covariance_of(result)
    error = np.sqrt(np.diag(covariance))
    middle = np.asarray(function(*value), dtype=float)
    gradient = np.zeros((len(value), *middle.shape))
    for j, (at, spread) in enumerate(zip(value, error, strict=True)):
        step = max(1e-3 * spread if np.isfinite(spread) else 0.0, 1e-7 * abs(at))
        if step > 0:
            ends = value.copy(), value.copy()
            ends[0][j], ends[1][j] = at - step, at + step
            low, high = (np.asarray(function(*end), dtype=float) for end in ends)
            with np.errstate(invalid="ignore"):
                gradient[j] = (high - low) / (ends[1][j] - ends[0][j])
    if not np.isfinite(middle).all() or not np.isfinite(gradient).all():
        raise PlanError(
            f"the function is not finite near the estimate {value.tolist()}: {middle.tolist()}"
        )
    variance = np.einsum("i...,ij,j...->...", gradient, covariance, gradient)
    stderr = np.sqrt(np.maximum(variance, 0.0))
    half = stderr * float(np.max(basis.interval.multiplier(basis.pooled, level)))
    half = np.where(np.isnan(half), np.inf, half)

    def shaped(numbers: Any) -> Any:
        return float(numbers) if middle.ndim == 0 else np.asarray(numbers)

    interval = shaped(middle - half), shaped(middle + half)
    return FunctionOf(shaped(middle), shaped(stderr), interval, level)
