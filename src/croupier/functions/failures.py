"""What a call that fails counts as: an error, both of its bounds, or what the user knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from croupier.checks import range_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.functions.function import Function

__all__ = [
    "AT_LEAST",
    "AT_MOST",
    "Bounded",
    "OnFailure",
    "both_ends",
    "failures_in",
    "known_range",
    "named_ends",
]

#: What a failed call means: the end of the run, anything between bounds, a failure, or none.
OnFailure: TypeAlias = Literal["raise", "bounds", "fails", "safe"]

#: The two estimates between which the answer lies, whatever failed calls would have returned.
AT_LEAST: Final = "at least"
AT_MOST: Final = "at most"


@dataclass(frozen=True)
class Bounded:
    """An integrand whose failed calls count as both ends of its known range: (n, 2) or (n, 2m).

    The first half of the columns has the low end there, the second half the high end.
    """

    function: Function
    bounds: tuple[float, float]

    @property
    def takes(self) -> str:
        """How the function is called."""
        return self.function.takes

    def __call__(self, x: Floats) -> Floats:
        """Return the values at points, twice."""
        values, _ = self.function.evaluated(x)
        return both_ends(values, self.bounds)


def both_ends(values: Floats, bounds: tuple[float, float]) -> Floats:
    """Return values (n,) or (n, m) twice, as (n, 2) or (n, 2m), with the bounds in place of NaN.

    >>> both_ends(np.array([0.5, np.nan]), (0.0, 1.0)).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    columns = values.reshape(len(values), -1)
    missing = np.isnan(columns)
    return np.hstack([np.where(missing, end, columns) for end in bounds])


def named_ends(names: Sequence[str] | None, several: int) -> tuple[str, ...]:
    """Return the names of the columns of `both_ends`, for `several` values or for one.

    >>> named_ends(None, 1), named_ends(["a", "b"], 2)
    (('at least', 'at most'), ('a at least', 'b at least', 'a at most', 'b at most'))
    """
    if several == 1 and names is None:
        return AT_LEAST, AT_MOST
    known = [str(k) for k in range(several)] if names is None else list(names)
    return tuple([f"{name} {end}" for end in (AT_LEAST, AT_MOST) for name in known])


def failures_in(integrand: Function | Bounded, columns: Floats) -> dict[str, int]:
    """Return how many rows of values (n, 2m) come from failed calls, or nothing if none does."""
    if not isinstance(integrand, Bounded):
        return {}
    low, high = np.hsplit(columns, 2)
    failed = int((low != high).any(axis=1).sum())
    return {"failed": failed} if failed else {}


def known_range(bounds: Any, whose: str) -> tuple[float, float]:
    """Return the range of the values, which on_failure="bounds" needs."""
    found = range_of("bounds", bounds)
    if found is None:
        raise PlanError(f"on_failure='bounds' needs the range of the values: give {whose}")
    return found
