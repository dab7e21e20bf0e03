"""The integrand: a function of points, found out to take all points at once or one at a time."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import ArmError, CroupierWarning, PlanError, text_of
from croupier.spaces.base import Moved, Space

__all__ = ["Integrand", "integrand_of", "weighted_values"]

#: The function is tried at these points of the cube before the run. They do not count as draws.
_TRIED: Final = (0.37, 0.61, 0.53)


@dataclass(frozen=True)
class Integrand:
    """A function f with one way to call it: (n, d) -> (n,) or (n, m), at once or point by point.

    f gets its own copy of the points, so it may change them in place. Values (n, 1) are one
    integral, as (n,) are.
    """

    f: Callable[[Any], Any]
    at_once: bool
    as_numbers: bool = False

    def __call__(self, x: Floats) -> Floats:
        """Return the values at points x (n, d), not checked for NaN."""
        if self.at_once:
            values = np.asarray(self.f(x.copy()))
        else:
            values = np.asarray([self.f(float(p[0]) if self.as_numbers else p) for p in x.copy()])
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]  # f(x) = x**2 of points (n, 1)
        if values.dtype.kind == "c":
            raise PlanError(
                "f returned complex numbers: integrate its two parts at once, with "
                "np.column_stack((f.real, f.imag))"
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(f"f returned values of type {values.dtype}: return real numbers")
        if values.ndim not in (1, 2) or len(values) != len(x):
            raise ValueError(
                f"f returned an array of shape {values.shape} for {len(x)} points of dimension "
                f"{x.shape[1]}: return ({len(x)},), or ({len(x)}, m) for m integrals"
            )
        return values.astype(float, copy=False)


def integrand_of(f: Any, domain: Space) -> Integrand:
    """Find out how f is called, and return it as an integrand.

    A function of one point is wrapped, with a warning that a function of all points is faster.
    """
    if not callable(f):
        several = isinstance(f, list | tuple) and any(callable(each) for each in f)
        way = ": for several integrals, return np.column_stack of their values" if several else ""
        raise PlanError(f"f must be a function of points (n, d), got {f!r:.80}{way}")
    d = domain.dimension
    _check_arguments(f, d)
    many = 3 if d == 2 else 2
    u = np.array([[(base + 0.618 * j) % 1.0 for j in range(d)] for base in _TRIED[:many]])
    try:
        if "cube" in domain.lacks:
            x = domain.sample(np.random.default_rng(0), many)
        else:
            x, _ = domain.place(Moved(u, None, None))
    except PlanError:
        raise
    except Exception as error:
        raise PlanError(f"over= cannot be evaluated: {text_of(error)}") from error
    try:
        values = Integrand(f, at_once=True)(x)
        single = Integrand(f, at_once=True)(x[:1])
        if single.shape[1:] == values.shape[1:]:
            return Integrand(f, at_once=True)
        first = f"it returned shape {values.shape} for {many} points and {single.shape} for 1"
    except PlanError:
        raise
    except Exception as error:
        first = text_of(error) or type(error).__name__
    for as_numbers in (False, True) if d == 1 else (False,):
        try:
            one = Integrand(f, at_once=False, as_numbers=as_numbers)
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)  # float(array) of one number
                one(x)
        except PlanError:
            raise
        except Exception as error:
            last = text_of(error) or type(error).__name__
            continue
        warnings.warn(
            f"f takes one point at a time, so it is called in a loop: a function of all points "
            f"(n, {d}) is much faster (with all points: {first})",
            CroupierWarning,
            stacklevel=4,
        )
        return one
    raise PlanError(
        f"f cannot be evaluated. With points of shape ({many}, {d}): {first}. With one point "
        f"{_shown(x[0])}: {last}"
    )


def _check_arguments(f: Any, d: int) -> None:
    """Refuse a function with an argument for each coordinate."""
    try:
        arguments = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return  # some compiled functions have none
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in arguments if one.kind in kinds and one.default is one.empty]
    if len(names) > 1:
        columns = ", ".join(f"x[:, {j}]" for j in range(len(names)))
        raise PlanError(
            f"f takes {len(names)} arguments ({', '.join(names)}), but it gets one array of points "
            f"(n, {d}): give lambda x: f({columns})"
        )


def weighted_values(integrand: Integrand, domain: Space, moved: Moved, name: str) -> Floats:
    """Return f(x) times all weights at points of the cube; refuse what is not finite."""
    x, weight = domain.place(moved)
    try:
        values = integrand(x)
    except (ArmError, PlanError):
        raise
    except Exception as error:
        text = f"raised {type(error).__name__}: {text_of(error)}{_raised_at(integrand, x)}"
        raise ArmError(text, arm=name) from error
    for factor in (weight, moved.jac):
        if factor is not None:
            values = _times(values, factor)
    if not np.isfinite(values).all():
        _refuse(integrand, x, values, name)
    return values


def _raised_at(integrand: Integrand, x: Floats) -> str:
    """Say at which point f raises, if it does when it is asked there alone: by halving."""
    while len(x) > 1:
        half = len(x) // 2
        x = x[:half] if _raises(integrand, x[:half]) else x[half:]
    return f", at the point {_shown(x[0])}" if _raises(integrand, x) else ""


def _raises(integrand: Integrand, x: Floats) -> bool:
    try:
        integrand(x)
    except Exception:
        return True
    return False


def _refuse(integrand: Integrand, x: Floats, values: Floats, name: str) -> None:
    bad = ~np.isfinite(values.reshape(len(x), -1)).all(axis=1)
    at = x[int(np.argmax(bad))]
    with np.errstate(all="ignore"):
        raw = np.asarray(integrand(at[None, :])).ravel()
    value = raw[~np.isfinite(raw)][0] if not np.isfinite(raw).all() else np.inf
    own = "f is" if not np.isfinite(raw).all() else "f times the weight of the point is"
    raise ArmError(
        f"{own} {value} at the point {_shown(at)}. All points lie inside of the bounds, none "
        "on a bound. If the integral exists without this point, return 0 there; otherwise "
        "choose bounds that leave it out",
        arm=name,
        value=float(value),
    )


def _times(values: Floats, factor: Floats) -> Floats:
    """Multiply values by weights. A value of 0 stays 0, also where the weight is infinite."""
    factor = factor if values.ndim == 1 else factor[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(values == 0, 0.0, values * factor)


def _shown(point: Sequence[float] | Floats) -> str:
    shown = ", ".join(f"{each:.6g}" for each in point[:8])
    return f"({shown}{', ...' if len(point) > 8 else ''})"
