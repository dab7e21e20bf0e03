"""How a log-likelihood takes its points: all at once, one by one, or in compiled code.

Whether a function is vectorised is found out by a few calls, at points of the prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError

__all__ = [
    "NO_NUMBERS",
    "LogLikelihood",
    "is_compiled",
    "is_vectorised",
    "one_number",
    "said",
    "shape_hint",
    "tried",
]

LogLikelihood: TypeAlias = Callable[[Any], Any]

#: What is said of a function that returned None.
NO_NUMBERS: Final = "returned None, not numbers: check whether a return is missing"


def is_vectorised(function: LogLikelihood, points: Floats, name: str) -> bool:
    """Find out by calls whether a function takes points (m, d) or one point (d,).

    A vectorised function gives one number per row, and the same number for the row alone. If it
    also takes one point, it must give the same number there.
    """
    together, trouble = tried(function, points)
    rows = len(points)
    columns = (rows, 1) if points.shape[1] == 1 else (rows,)
    fits = together is not None and together.shape in ((rows,), columns)
    # Two finite numbers say more than -inf twice.
    at = int(np.isfinite(together.ravel()).argmax()) if fits else 0
    alone, trouble_alone = tried(function, points[at])
    single = alone is not None and alone.size == 1
    if fits:
        row = tried(function, points[at : at + 1])[0]
        if row is not None and row.size == 1 and _same(row, together[at]):
            if single and not _same(alone, together[at]):
                raise PlanError(
                    "log_likelihood gives different values for one point and for many: "
                    "give vectorised=True or vectorised=False"
                )
            return True
        again = tried(function, points)[0]
        same = again is not None and again.shape == together.shape
        if not same or not np.allclose(again, together, rtol=1e-9, equal_nan=True):
            raise ArmError(
                "the log-likelihood gives different values for the same points: it must depend on "
                "the points alone; if it uses random numbers, draw them once and use them for all "
                "points",
                arm=name,
                value=together,
            )
    if single:
        return False
    d = points.shape[1]
    if together is None:
        assert trouble is not None
        message = said(trouble)
        if trouble_alone is not None and str(trouble_alone) != str(trouble):
            message += f"; for one point, it {said(trouble_alone)}"
        hint = shape_hint(trouble, d)
        raise ArmError(f"the log-likelihood {message}{hint}", arm=name, value=trouble) from trouble
    at_one = "is no number at one point"
    if trouble_alone is not None:
        at_one = f"for one point it {said(trouble_alone)}"
    raise ArmError(
        f"the log-likelihood has shape {together.shape} at points of shape {points.shape}, and "
        f"{at_one}; expected ({rows},), or one number for one point{shape_hint(trouble_alone, d)}",
        arm=name,
        value=together,
    )


class _NoNumbersError(TypeError):
    """Describe what a function returned instead of numbers."""


def said(trouble: Exception) -> str:
    """Return what a function did instead of returning numbers."""
    if isinstance(trouble, _NoNumbersError):
        return str(trouble)
    return f"raised {type(trouble).__name__}: {trouble}"


def shape_hint(trouble: Exception | None, dimensions: int) -> str:
    """Return a hint for errors of an index or a shape, and nothing for other errors."""
    if not isinstance(trouble, IndexError | ValueError):
        return ""
    return f"; the prior has {dimensions} coordinate{'s' * (dimensions != 1)}"


def tried(function: LogLikelihood, points: Floats) -> tuple[Any, Exception | None]:
    """Return what a function gives at points as an array, or None and what went wrong."""
    with np.errstate(all="ignore"):
        try:
            raw = function(points.copy())
            returned = np.asarray(raw)
        except Exception as error:
            return None, error
    if raw is None:
        return None, _NoNumbersError(NO_NUMBERS)
    if returned.dtype.kind not in "fiub":
        return None, _NoNumbersError(f"returned {returned.dtype}, not numbers")
    return returned, None


def _same(one: Any, other: Any) -> bool:
    first, second = float(one.item()), float(other.item())
    both_missing = math.isnan(first) and math.isnan(second)
    return both_missing or math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)


def one_number(value: Any) -> Any:
    """Return one number, which a function of one point may have wrapped in an array."""
    return np.reshape(value, ()) if value is not None and np.size(value) == 1 else value


def is_compiled(function: Any) -> bool:
    """Return whether numba has compiled a function, without loading numba."""
    return hasattr(function, "py_func") and type(function).__module__.startswith("numba")
