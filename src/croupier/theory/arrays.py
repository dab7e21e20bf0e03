"""Check the arguments of the theory functions: numbers, or arrays of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["array_of", "at_least_zero"]


def array_of(name: str, value: ArrayLike) -> Floats:
    """Return a number, or an array of them, as an array."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise PlanError(f"{name} must be a number or an array of them, got {value!r}") from None


def at_least_zero(name: str, value: ArrayLike) -> Floats:
    """Return an array of finite numbers from zero, at least one."""
    array = array_of(name, value)
    if not array.size or not ((array >= 0) & (array < np.inf)).all():
        raise PlanError(f"{name} must be finite numbers of at least 0, got {value!r}")
    return array
