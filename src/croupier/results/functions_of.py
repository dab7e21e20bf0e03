"""Functions of several estimates: their covariance, and the delta method."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from croupier.checks import fraction_of
from croupier.data.draws import Floats
from croupier.errors import CroupierWarning, PlanError
from croupier.estimates.estimate import stderr_of

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["FunctionOf", "covariance_of", "function_of"]

#: A function that leaves its tangent by this part of its half-width, within the error bars of its
#: components, is not linear enough for the delta method.
_BENT: Final = 0.5


class FunctionOf(NamedTuple):
    """A function of the components of a result: numbers, or arrays if the function returns them.

    `interval` is (low, high) at `confidence`. `warnings` says why it may be wrong.
    """

    value: Any
    stderr: Any
    interval: tuple[Any, Any]
    confidence: float
    warnings: tuple[str, ...] = ()


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
    """Return from the draws themselves what `croupier.tables.arm_books` knows from sums."""
    values = result.history.all_values()
    if values is None:
        raise PlanError(
            "the covariance of the components is not known: a merged run, vectors of more than 64 "
            "components and draws beyond 1e150 need their draws for it: give keep_values=True"
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
    multiplier of the run's own interval; the largest one among the components. There is a warning
    if the function is not nearly linear within the error bars: see `_leaves_its_tangent`.
    """
    _check_callable(function, result)
    level = result.confidence if confidence is None else fraction_of("confidence", confidence)
    basis, value = result.basis, np.atleast_1d(np.asarray(result.value, dtype=float))
    if basis.interval.follows:
        raise PlanError(
            "the delta method gives no guaranteed interval: run without interval='guaranteed'"
        )
    covariance = result.covariance
    error = np.sqrt(np.diag(covariance))
    middle = _at(function, value)
    gradient = np.zeros((len(value), *middle.shape))
    for j, (at, spread) in enumerate(zip(value, error, strict=True)):
        step = max(1e-3 * spread if np.isfinite(spread) else 0.0, 1e-7 * abs(at))
        if step > 0:
            ends = value.copy(), value.copy()
            ends[0][j], ends[1][j] = at - step, at + step
            low, high = (_at(function, end) for end in ends)
            with np.errstate(invalid="ignore"):
                gradient[j] = (high - low) / (ends[1][j] - ends[0][j])
    if not np.isfinite(middle).all() or not np.isfinite(gradient).all():
        raise PlanError(
            f"the function is not finite near the estimate {value.tolist()}: {middle.tolist()}"
        )
    variance = np.einsum("i...,ij,j...->...", gradient, covariance, gradient)
    stderr = np.sqrt(np.maximum(variance, 0.0))
    times = float(np.max(basis.interval.multiplier(basis.pooled, level)))
    half = np.where(np.isnan(stderr * times), np.inf, stderr * times)
    found: tuple[str, ...] = ()
    if _leaves_its_tangent(function, value, gradient, covariance, times):
        found = (
            "the function is not nearly linear within the error bars of its components, near "
            f"{value.tolist()}: it bends, jumps or has a pole there, so its interval by the delta "
            "method may be wrong: draw more",
        )
        warnings.warn(found[0], CroupierWarning, stacklevel=3)

    def shaped(numbers: Any) -> Any:
        return float(numbers) if middle.ndim == 0 else np.asarray(numbers)

    interval = shaped(middle - half), shaped(middle + half)
    return FunctionOf(shaped(middle), shaped(stderr), interval, level, found)


def _check_callable(function: Any, result: Result) -> None:
    """Refuse what cannot be called with one number for each component."""
    d = np.size(result.value)
    example = "lambda a: a**2" if d == 1 else "lambda a, b: a / b"
    way = f"one for each component, such as {example}"
    if not callable(function):
        raise PlanError(f"of needs a function of {d} numbers, {way}; got {function!r}")
    try:
        inspect.signature(function).bind(*[0.0] * d)
    except ValueError:
        return  # some compiled functions have no signature
    except TypeError as error:
        raise PlanError(f"of calls its function with {d} numbers, {way}: {error}") from None


def _at(function: Callable[..., Any], value: Floats) -> Floats:
    try:
        return np.asarray(function(*value), dtype=float)
    except Exception as error:
        raise PlanError(
            f"the function raised {type(error).__name__}: {error}, at {value.tolist()}; it takes "
            f"{len(value)} numbers, one for each component"
        ) from error


def _leaves_its_tangent(
    function: Callable[..., Any],
    value: Floats,
    gradient: Floats,
    covariance: Floats,
    times: float,
) -> bool:
    """Tell whether a function bends, jumps or is not finite within `times` standard errors.

    It is compared with its tangent at both ends of two sets of axes. Along the first, a component
    moves by its error and the others follow it by their regression. The second are the principal
    axes of the correlations, which also see a small difference of two components that move
    together. The distance must be less than `_BENT` times its half-width.
    """
    error = np.sqrt(np.diag(covariance))
    if not np.isfinite(covariance).all() or not np.isfinite(times):
        return False  # the error is not known, and the interval says so
    unit = np.where(error > 0, error, 1.0)
    size, axes = np.linalg.eigh(covariance / np.outer(unit, unit))
    principal = (np.sqrt(np.maximum(size, 0.0)) * axes * unit[:, None]).T
    steps = times * np.concatenate((covariance / unit[:, None], principal))
    half = times * np.sqrt(
        np.maximum(np.einsum("i...,ij,j...->...", gradient, covariance, gradient), 0.0)
    )
    middle = _at(function, value)
    rounding = 1e-9 * np.abs(middle)
    for step in (*steps, *-steps):
        try:
            with np.errstate(all="ignore"):
                away = np.asarray(function(*(value + step)), dtype=float) - middle
        except (ArithmeticError, ValueError):  # the log of a negative number, for example
            return True
        gap = np.abs(away - np.tensordot(step, gradient, axes=(0, 0)))
        if not (gap <= _BENT * half + rounding).all():
            return True
    return False
