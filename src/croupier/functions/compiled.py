"""Functions of one point that numba has compiled: a loop over points in compiled code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["each_point", "is_compiled"]


def is_compiled(function: Any) -> bool:
    """Return whether numba has compiled a function, without loading numba."""
    return hasattr(function, "py_func") and type(function).__module__.startswith("numba")


@lru_cache(maxsize=64)
def each_point(function: Any) -> Any:
    """Return a function of points (m, d) from a compiled function of one point (d,)."""
    import numba

    @numba.njit(nogil=True, error_model="numpy")
    def loop(points):  # type: ignore[no-untyped-def]
        values = np.empty(len(points))
        for i in range(len(points)):
            values[i] = function(points[i])
        return values

    return loop
