"""Finds out how a user's function is called: with all points, with one, or with a number."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import ArmError, CroupierError, PlanError
from croupier.functions.function import (
    INTEGRAND,
    LIMIT_STATE,
    Function,
    Role,
    Takes,
    numbers,
    shown,
    told,
)

__all__ = ["enough_points", "read_function"]


def enough_points(dimension: int) -> int:
    """Return how many points show how a function is called: a number that is not `dimension`."""
    return 3 if dimension == 2 else 2


def read_function(
    given: Any,
    points: Sequence[Floats],
    role: Role,
    *,
    takes: Takes | None = None,
    retries: int = 0,
) -> Function:
    """Return a function with its way of being called, found out by at most six calls.

    Args:
        given: The function, or a `Program`.
        points: Sets of points (n, d) with n from `enough_points`. The next set is only tried where
            all calls with the one before failed, as a solver may at some points.
        role: What it is for.
        takes: How it is called, if this is known.
        retries: How often a call that fails is repeated.

    A function of all points gives the same number for a point alone and among others.

    >>> read_function(lambda x: x[0] + x[1], [np.ones((3, 2))], INTEGRAND).takes
    'one'
    """
    if hasattr(given, "as_function"):
        function, takes = given.as_function(int(np.prod(points[0].shape[1:])))
        return _tried_out(Function(function, takes, role, given.shape, retries), points)
    if not callable(given):
        several = isinstance(given, list | tuple | dict) and role in (INTEGRAND, LIMIT_STATE)
        way_out = ": for several, give one that returns np.column_stack of their values" * several
        raise PlanError(
            f"{role.name} must be a function of points (n, d), got {given!r:.80}{way_out}"
        )
    _check_arguments(given, role, points[0])
    trouble = ""
    for x in points:
        ways: list[Takes] = ["all", "one"] if takes is None else [takes]
        if takes is None and x.shape[1:] == (1,):
            ways.append("number")
        reasons = []
        for way in ways:
            found = _as_all(given, x, role) if way == "all" else _as_one(given, x, role, way)
            if isinstance(found, Function):
                return replace(found, retries=retries)
            reasons.append(found)
        trouble = trouble or f"{reasons[0]}; {reasons[-1]}" if len(reasons) > 1 else reasons[0]
    d = points[0].shape[1]
    raise PlanError(
        f"{role.name} can be called neither with many points nor with one: {trouble}; the points "
        f"have {d} coordinate{'s' * (d != 1)}"
    )


def _tried_out(function: Function, points: Sequence[Floats]) -> Function:
    """Call a program once before the run: an error in its command must not end it late."""
    for number, x in enumerate(points, 1):
        try:
            function(x[:1])
            break
        except ArmError as error:
            if number == len(points):
                raise PlanError(str(error).partition(": ")[2]) from error
    return function


def _as_all(given: Any, x: Floats, role: Role) -> Function | str:
    """Return the function of all points, or why it is none."""
    together, trouble = _returned(given, x, role)
    if together is None:
        return f"with points of shape {x.shape}, it {trouble}"
    n = len(x)
    if together.ndim not in (1, 2) or len(together) != n or not together.size:
        return f"for points of shape {x.shape}, it returned an array of shape {together.shape}"
    shape = together.shape[1:] if together[0].size > 1 else ()
    function = Function(given, "all", role, shape, logical=together.dtype == np.bool_)
    # Two finite numbers say more than -inf twice.
    at = int(np.isfinite(together.reshape(n, -1)).all(axis=1).argmax())
    row, trouble = _returned(given, x[at : at + 1], role)
    if row is None or row.size != together[at].size:
        how = trouble if row is None else f"returned an array of shape {row.shape}"
        return (
            f"with points of shape {x.shape} it returned {together.shape}, but for one row it {how}"
        )
    if _same(row.ravel(), together[at].ravel()):
        return function
    again, _ = _returned(given, x, role)
    if again is None or again.shape != together.shape or not _same(again, together):
        if role.noisy:
            return function
        raise _different(role, together)
    return "it gives a point another value alone than among other points"


def _as_one(given: Any, x: Floats, role: Role, way: Takes) -> Function | str:
    """Return the function of one point, or why it is none."""
    point: Any = np.array(x[0]) if way == "one" else float(x[0, 0])
    with warnings.catch_warnings():
        # math.exp of an array of one number
        warnings.filterwarnings("error", "Conversion of an array", DeprecationWarning)
        alone, trouble = _returned(given, point, role)
    if alone is None:
        return f"with one point {shown(x[0])}, it {trouble}"
    if alone.ndim > 1 or not alone.size:
        return f"for one point {shown(x[0])}, it returned an array of shape {alone.shape}"
    if not role.noisy:
        again, _ = _returned(given, point, role)
        if again is None or again.shape != alone.shape or not _same(again, alone):
            raise _different(role, alone)
    shape = (alone.size,) if alone.size > 1 else ()
    return Function(given, way, role, shape, logical=alone.dtype == np.bool_)


def _different(role: Role, values: Any) -> ArmError:
    return ArmError(
        f"{role.name} gives different values for the same points: it must depend on the points "
        "alone; if it uses random numbers, draw them once and use them for all points",
        arm=role.name,
        value=values,
    )


def _returned(given: Callable[[Any], Any], x: Any, role: Role) -> tuple[Any, str]:
    """Return what a function gives as an array, or None and what went wrong."""
    with np.errstate(all="ignore"):
        try:
            return numbers(given(np.array(x) if isinstance(x, np.ndarray) else x), role), ""
        except ArmError as error:
            if error.arm != role.name:
                raise
            return None, str(error).partition(f"{role.name} ")[2]
        except CroupierError:
            raise
        except Exception as error:
            return None, told(error)


def _same(one: Floats, other: Floats) -> bool:
    near = np.array_equal(one, other)  # ten times as fast, and nearly always true
    return near or bool(np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True))


def _check_arguments(given: Any, role: Role, x: Floats) -> None:
    """Refuse a function with an argument for each coordinate."""
    code = getattr(given, "__code__", None)
    if code is not None and code.co_argcount - len(given.__defaults__ or ()) < 2:
        return  # a plain function: its whole signature takes 50 us
    try:
        arguments = inspect.signature(given).parameters.values()
    except (TypeError, ValueError):
        return  # some compiled functions have none
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in arguments if one.kind in kinds and one.default is one.empty]
    if len(names) > 1:
        columns = ", ".join(f"x[:, {j}]" for j in range(len(names)))
        raise PlanError(
            f"{role.name} takes {len(names)} arguments ({', '.join(names)}), but it gets one array "
            f"of points {('n', *x.shape[1:])}: give lambda x: {role.name}({columns})".replace(
                "'", ""
            )
        )
